/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks view. Times are ages in seconds, so that nobody needs this machine's clock;
 * fences are texts, because JSON's numbers lose their last digits.
 */
#include "locks.h"

#include <stdio.h>
#include <string.h>

#include <hami/handshake.h>
#include <hami/transport.h>

struct view {
    json_t *nodes;
    uint64_t now_ns;
    bool all; /* free nodes without waiters are left out */
};

static const char *state_name(enum hami_slot_state state)
{
    switch (state) {
    case HAMI_SLOT_FREE:
        return "free";
    case HAMI_SLOT_ACQUIRING:
        return "acquiring";
    case HAMI_SLOT_HELD:
        return "held";
    case HAMI_SLOT_HANDED_OFF:
        return "handed-off";
    case HAMI_SLOT_RELEASING:
        return "releasing";
    case HAMI_SLOT_FOREIGN:
        return "foreign";
    default:
        return "unknown";
    }
}

static double seconds_between(uint64_t from, uint64_t to)
{
    return from != 0 && to > from ? (double)(to - from) / 1e9 : 0;
}

/* A permit's key ends with its number. */
bool locks_is_permit(const struct hami_slot_view *slot)
{
    size_t length = strlen(slot->key);
    return length > 2 && slot->key[length - 2] == '.' && slot->key[length - 1] >= '1' &&
           slot->key[length - 1] <= '0' + HAMI_NODELOCK_SIDE_BY_SIDE_MAX;
}

/* The calls of the lease beside a lock, false where it has none. */
static bool has_calls(const struct hami_slot_view *slot, struct hami_lock_record *ret)
{
    *ret = (struct hami_lock_record)HAMI_LOCK_RECORD_INIT;
    return slot->value != NULL &&
           hami_lock_record_parse(slot->value, slot->lease, ret) == 0 &&
           ret->calls[0] != '\0';
}

bool locks_is_cover(const struct hami_slot_view *slot)
{
    struct hami_lock_record record;
    return !locks_is_permit(slot) && has_calls(slot, &record);
}

/* What a pod beside others is known by; of a cover that stands for them all, nothing. */
static void set_calls(json_t *formed, const struct hami_slot_view *slot)
{
    struct hami_lock_record record;
    if (!has_calls(slot, &record)) {
        return;
    }
    if (locks_is_permit(slot)) {
        (void)json_object_set_new(formed, "calls", json_string(record.calls));
        return;
    }
    (void)json_object_set_new(formed, "state", json_string("cover"));
    (void)json_object_set_new(formed, "alarm", json_false());
    (void)json_object_set_new(
        formed, "reason",
        json_string("pods are in flight side by side, each with a "
                    "permit of its own: it goes with the last one"));
}

json_t *locks_format_slot(const struct hami_slot_view *slot, uint64_t now_ns)
{
    char fence[24];
    char token[HAMI_PAIR_TOKEN_BYTES];
    bool is_locked = slot->value != NULL && slot->value[0] != '\0';
    (void)hami_pair_token(slot->value, slot->lease, token, sizeof(token));
    (void)snprintf(fence, sizeof(fence), "%llu", (unsigned long long)slot->fence);
    json_t *formed = json_pack(
        "{s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:s, s:s*, s:f, s:f, s:b, s:s*}", "key",
        slot->key, "state", state_name(slot->state), "value", slot->value, "namespace",
        slot->owner.namespace_name, "pod", slot->owner.name, "uid", slot->owner.uid,
        "holder", slot->holder, "fence", fence, "token", is_locked ? token : NULL,
        "ageSeconds", seconds_between(slot->since_ns, now_ns), "stateSeconds",
        seconds_between(slot->state_since_ns, now_ns), "alarm", (int)slot->alarm,
        "reason", slot->reason);
    set_calls(formed, slot);
    return formed;
}

json_t *locks_format_waiter(const struct hami_waiter_view *waiter, uint64_t now_ns)
{
    return json_pack(
        "{s:s*, s:s*, s:s*, s:i, s:i, s:s*, s:i, s:b, s:f, s:f, s:f}", "namespace",
        waiter->owner.namespace_name, "pod", waiter->owner.name, "uid", waiter->owner.uid,
        "position", (int)waiter->position, "priority", (int)waiter->priority, "group",
        waiter->group, "overtaken", (int)waiter->overtaken, "returned",
        (int)waiter->returned, "waitedSeconds", seconds_between(waiter->since_ns, now_ns),
        "expectedSeconds", (double)waiter->expected_ns / 1e9, "leftSeconds",
        seconds_between(now_ns, waiter->deadline_ns));
}

bool locks_is_idle(const struct hami_node_view *node)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        const char *value = node->slots[i].value;
        enum hami_slot_state state = node->slots[i].state;
        if ((value != NULL && value[0] != '\0') || state == HAMI_SLOT_ACQUIRING) {
            return false;
        }
    }
    return node->waiter_count == 0;
}

static int add_node(void *data, const struct hami_node_view *node)
{
    struct view *view = data;
    if (view->all && locks_is_idle(node)) {
        return 0;
    }
    json_t *slots = json_array();
    json_t *waiters = json_array();
    for (size_t i = 0; i < node->slot_count; i++) {
        (void)json_array_append_new(slots,
                                    locks_format_slot(&node->slots[i], view->now_ns));
    }
    for (size_t i = 0; i < node->waiter_count; i++) {
        (void)json_array_append_new(waiters,
                                    locks_format_waiter(&node->waiters[i], view->now_ns));
    }
    (void)json_array_append_new(view->nodes,
                                json_pack("{s:s, s:o, s:o}", "node", node->node, "slots",
                                          slots, "waiters", waiters));
    return 0;
}

char *locks_format(hami_nodelock *lock, const char *node)
{
    struct view view = {json_array(), hami_nodelock_now(lock), node == NULL};
    (void)hami_nodelock_snapshot(lock, node, add_node, &view);
    json_t *root = json_pack("{s:s*, s:o}", "holder", hami_nodelock_holder(lock), "nodes",
                             view.nodes);
    char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

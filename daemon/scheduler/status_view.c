/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of /api/v1. Spans are seconds, so that nobody needs this machine's clock;
 * the time of each answer is there once, for people. Numbers that may pass 2^53 are
 * texts.
 */
#include "status_view.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <hami/version.h>

#include "locks.h"

struct list {
    json_t *nodes;
    uint64_t now_ns;
    bool all;
    json_int_t known, busy, waiting, alarms;
};

static double seconds_until(uint64_t from, uint64_t to)
{
    return from != 0 && to > from ? (double)(to - from) / 1e9 : 0;
}

/* ---- what every answer begins with ------------------------------------------------ */

static void set_time(json_t *root)
{
    struct timespec now;
    struct tm parts;
    char day[32];
    char text[40];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    (void)strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text, sizeof(text), "%s.%03uZ", day,
                   (unsigned)(now.tv_nsec / 1000000) % 1000);
    (void)json_object_set_new(root, "time", json_string(text));
}

static json_t *begin(const struct status_facts *facts)
{
    json_t *root = json_pack("{s:s, s:s, s:b, s:s}", "version", hami_version(), "holder",
                             hami_nodelock_holder(facts->lock), "ready",
                             (int)facts->is_ready, "readyReason", facts->ready_reason);
    set_time(root);
    return root;
}

/* ---- nodes ------------------------------------------------------------------------ */

static bool is_busy(const struct hami_slot_view *slot)
{
    return (slot->value != NULL && slot->value[0] != '\0') ||
           slot->state == HAMI_SLOT_ACQUIRING;
}

static bool has_alarm(const struct hami_node_view *node)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        if (node->slots[i].alarm && !locks_is_cover(&node->slots[i])) {
            return true;
        }
    }
    return false;
}

/* Of pods side by side each has its own; what covers them is told of one node alone. */
static json_t *format_slots(const struct hami_node_view *node, uint64_t now_ns,
                            bool free_too)
{
    json_t *slots = json_array();
    for (size_t i = 0; i < node->slot_count; i++) {
        const struct hami_slot_view *slot = &node->slots[i];
        bool is_shown = is_busy(slot) ? free_too || !locks_is_cover(slot)
                                      : free_too && !locks_is_permit(slot);
        if (is_shown) {
            (void)json_array_append_new(slots, locks_format_slot(slot, now_ns));
        }
    }
    return slots;
}

static json_t *format_waiters(const struct hami_node_view *node, uint64_t now_ns,
                              size_t most)
{
    json_t *waiters = json_array();
    for (size_t i = 0; i < node->waiter_count && i < most; i++) {
        (void)json_array_append_new(waiters,
                                    locks_format_waiter(&node->waiters[i], now_ns));
    }
    return waiters;
}

/* By the node's pace, from the oldest of its locks; 0 = free, not measured or overdue. */
static double free_in(const struct hami_node_view *node, uint64_t now_ns)
{
    uint64_t since = now_ns;
    for (size_t i = 0; i < node->slot_count; i++) {
        bool is_older = is_busy(&node->slots[i]) && node->slots[i].since_ns < since;
        since = is_older ? node->slots[i].since_ns : since;
    }
    uint64_t until = since + node->pace_ns;
    return since < now_ns && node->pace_ns != 0 ? seconds_until(now_ns, until) : 0;
}

static json_t *format_node(const struct hami_node_view *node, uint64_t now_ns, bool whole)
{
    uint64_t oldest = now_ns;
    for (size_t i = 0; i < node->waiter_count; i++) {
        uint64_t since = node->waiters[i].since_ns;
        oldest = since < oldest ? since : oldest;
    }
    return json_pack(
        "{s:s, s:b, s:i, s:f, s:f, s:f, s:I, s:o, s:o}", "node", node->node, "alarm",
        (int)has_alarm(node), "waiting", (int)node->waiter_count, "longestWaitSeconds",
        seconds_until(oldest, now_ns), "paceSeconds", (double)node->pace_ns / 1e9,
        "freeInSeconds", free_in(node, now_ns), "refusals", (json_int_t)node->refusals,
        "slots", format_slots(node, now_ns, whole), whole ? "waiters" : "next",
        format_waiters(node, now_ns, whole ? node->waiter_count : STATUS_NEXT_MAX));
}

static int add_to_list(void *data, const struct hami_node_view *node)
{
    struct list *list = data;
    bool is_idle = locks_is_idle(node);
    list->known++;
    list->busy += is_idle ? 0 : 1;
    list->waiting += (json_int_t)node->waiter_count;
    list->alarms += has_alarm(node) ? 1 : 0;
    if (!is_idle || list->all) {
        (void)json_array_append_new(list->nodes, format_node(node, list->now_ns, false));
    }
    return 0;
}

json_t *status_view_nodes(const struct status_facts *facts, bool all)
{
    struct list list = {
        .nodes = json_array(), .now_ns = hami_nodelock_now(facts->lock), .all = all};
    (void)hami_nodelock_snapshot(facts->lock, NULL, add_to_list, &list);
    json_t *root = begin(facts);
    json_t *counts = json_pack("{s:I, s:I, s:I, s:I}", "nodes", list.known, "busy",
                               list.busy, "waiting", list.waiting, "alarms", list.alarms);
    (void)json_object_set_new(root, "counts", counts);
    (void)json_object_set_new(root, "nodes", list.nodes);
    return root;
}

/* ---- happenings ------------------------------------------------------------------- */

static json_t *format_happening(const struct happening *one, uint64_t now_ns)
{
    char sequence[24];
    /* A server may have said something that is no text. */
    json_t *text = json_string(one->text);
    (void)snprintf(sequence, sizeof(sequence), "%llu", (unsigned long long)one->sequence);
    return json_pack("{s:s, s:s, s:f, s:f, s:s, s:s, s:s, s:s, s:o}", "sequence",
                     sequence, "what", happening_name(one->kind), "secondsAgo",
                     seconds_until(one->at_ns, now_ns), "afterSeconds",
                     (double)one->span_ns / 1e9, "node", one->about.node, "namespace",
                     one->about.namespace_name, "pod", one->about.name, "uid",
                     one->about.uid, "text", text != NULL ? text : json_string(""));
}

/* The latest first: of one node, or of all where NULL. */
static json_t *format_happenings(const struct status_facts *facts, const char *node,
                                 uint64_t after, size_t most)
{
    json_t *found = json_array();
    uint64_t now = hami_nodelock_now(facts->lock);
    const struct happening *one = NULL;
    for (uint64_t n = history_last(facts->history);
         n > after && json_array_size(found) < most &&
         (one = history_at(facts->history, n)) != NULL;
         n--) {
        if (node == NULL || strcmp(one->about.node, node) == 0) {
            (void)json_array_append_new(found, format_happening(one, now));
        }
    }
    return found;
}

/* ---- hand-overs ------------------------------------------------------------------- */

static const char *how_name(enum hami_hand_over how)
{
    static const char *const names[] = {"take", "direct", "takeover", "own", "foreign"};
    return (size_t)how < sizeof(names) / sizeof(names[0]) ? names[how] : "foreign";
}

static json_t *format_owner(const struct hami_owner *owner)
{
    return json_pack("{s:s*, s:s*, s:s*}", "namespace", owner->namespace_name, "pod",
                     owner->name, "uid", owner->uid);
}

static void add_hand_overs(json_t *array, const struct hami_node_view *node,
                           uint64_t since_ns)
{
    for (size_t i = 0; i < node->hand_over_count; i++) {
        const struct hami_hand_over_view *one = &node->hand_overs[i];
        if (one->at_ns < since_ns || json_array_size(array) >= STATUS_HAND_OVERS_MAX) {
            return;
        }
        char fence[24];
        (void)snprintf(fence, sizeof(fence), "%llu", (unsigned long long)one->fence);
        (void)json_array_append_new(
            array,
            json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:s, s:o, s:o}", "node", node->node,
                      "key", one->key, "how", how_name(one->how), "reason",
                      one->reason != NULL ? one->reason : "", "secondsAgo",
                      seconds_until(one->at_ns, node->now_ns), "heldSeconds",
                      (double)one->held_ns / 1e9, "fence", fence, "from",
                      format_owner(&one->from), "to", format_owner(&one->to)));
    }
}

static int add_late_hand_overs(void *data, const struct hami_node_view *node)
{
    struct list *list = data;
    uint64_t now = list->now_ns;
    add_hand_overs(list->nodes, node,
                   now > STATUS_HAND_OVERS_NS ? now - STATUS_HAND_OVERS_NS : 0);
    return 0;
}

json_t *status_view_hand_overs(const struct status_facts *facts)
{
    struct list list = {.nodes = json_array(), .now_ns = hami_nodelock_now(facts->lock)};
    (void)hami_nodelock_snapshot(facts->lock, NULL, add_late_hand_overs, &list);
    return list.nodes;
}

/* ---- events ----------------------------------------------------------------------- */

static int add_alarms(void *data, const struct hami_node_view *node)
{
    struct list *list = data;
    for (size_t i = 0; i < node->slot_count; i++) {
        json_t *slot = node->slots[i].alarm && !locks_is_cover(&node->slots[i])
                           ? locks_format_slot(&node->slots[i], list->now_ns)
                           : NULL;
        if (slot != NULL) {
            (void)json_object_set_new(slot, "node", json_string(node->node));
            (void)json_array_append_new(list->nodes, slot);
        }
    }
    return 0;
}

json_t *status_view_alarms(const struct status_facts *facts)
{
    struct list list = {.nodes = json_array(), .now_ns = hami_nodelock_now(facts->lock)};
    (void)hami_nodelock_snapshot(facts->lock, NULL, add_alarms, &list);
    return list.nodes;
}

json_t *status_view_events(const struct status_facts *facts, uint64_t after)
{
    char last[24];
    json_t *root = begin(facts);
    (void)snprintf(last, sizeof(last), "%llu",
                   (unsigned long long)history_last(facts->history));
    (void)json_object_set_new(root, "last", json_string(last));
    (void)json_object_set_new(root, "events",
                              format_happenings(facts, NULL, after, HISTORY_MAX));
    return root;
}

/* ---- one node --------------------------------------------------------------------- */

struct one_node {
    json_t *found;
    uint64_t now_ns;
};

static int take_node(void *data, const struct hami_node_view *node)
{
    struct one_node *one = data;
    json_decref(one->found);
    one->found = format_node(node, one->now_ns, true);
    json_t *hand_overs = json_array();
    add_hand_overs(hand_overs, node, 0);
    (void)json_object_set_new(one->found, "handOvers", hand_overs);
    return 0;
}

json_t *status_view_problem(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

json_t *status_view_node(const struct status_facts *facts, const char *node,
                         bool *ret_found)
{
    struct one_node one = {NULL, hami_nodelock_now(facts->lock)};
    (void)hami_nodelock_snapshot(facts->lock, node, take_node, &one);
    *ret_found = one.found != NULL;
    if (one.found == NULL) {
        return status_view_problem("hamid knows no such node");
    }
    json_t *root = begin(facts);
    (void)json_object_update(root, one.found);
    json_decref(one.found);
    (void)json_object_set_new(root, "events",
                              format_happenings(facts, node, 0, STATUS_EVENTS_MAX));
    return root;
}

/* ---- one pod ---------------------------------------------------------------------- */

struct search {
    const char *namespace_name;
    const char *name;
    uint64_t now_ns;
    json_t *held; /* as {"state","node","slot",..} */
    json_t *waits;
};

static bool is_owner(const struct search *search, const struct hami_owner *owner)
{
    return owner->name != NULL && owner->namespace_name != NULL &&
           strcmp(owner->name, search->name) == 0 &&
           strcmp(owner->namespace_name, search->namespace_name) == 0;
}

/* Whose lock the waiters wait for: the first that isn't free; NULL = none. */
static const struct hami_slot_view *blocker(const struct hami_node_view *node)
{
    for (size_t i = 0; i < node->slot_count; i++) {
        if (is_busy(&node->slots[i]) && !locks_is_cover(&node->slots[i])) {
            return &node->slots[i];
        }
    }
    return NULL;
}

/* How many pods are in flight side by side; 0 where nobody may be. */
static unsigned count_beside(const struct hami_node_view *node)
{
    unsigned count = 0;
    for (size_t i = 0; i < node->slot_count; i++) {
        count += locks_is_permit(&node->slots[i]) && is_busy(&node->slots[i]) ? 1 : 0;
    }
    return count;
}

static void format_why(const struct hami_node_view *node,
                       const struct hami_waiter_view *waiter,
                       const struct hami_slot_view *slot, char *text, size_t size)
{
    char before[48] = "it is next";
    if (waiter->position > 0) {
        (void)snprintf(before, sizeof(before), "%u %s before it", waiter->position,
                       waiter->position == 1 ? "pod is" : "pods are");
    }
    unsigned beside = count_beside(node);
    if (beside > 0) {
        (void)snprintf(text, size,
                       "waits for node %s, where %u %s in flight side by side that it "
                       "may not join yet; %s",
                       node->node, beside, beside == 1 ? "pod is" : "pods are", before);
    } else if (slot == NULL) {
        (void)snprintf(text, size, "waits for node %s, whose lock is being taken; %s",
                       node->node, before);
    } else if (slot->owner.name != NULL) {
        (void)snprintf(
            text, size, "waits for node %s, whose lock is %.64s/%.253s's; %s", node->node,
            slot->owner.namespace_name != NULL ? slot->owner.namespace_name : "",
            slot->owner.name, before);
    } else {
        (void)snprintf(text, size, "waits for node %s, whose lock names no pod; %s",
                       node->node, before);
    }
}

static json_t *format_waiting(const struct search *search,
                              const struct hami_node_view *node,
                              const struct hami_waiter_view *waiter)
{
    char why[768];
    const struct hami_slot_view *slot = blocker(node);
    format_why(node, waiter, slot, why, sizeof(why));
    json_t *found = locks_format_waiter(waiter, search->now_ns);
    json_t *more =
        json_pack("{s:s, s:s, s:i, s:s, s:s}", "state", "waiting", "node", node->node,
                  "waiting", (int)node->waiter_count, "why", why, "frees",
                  slot != NULL && slot->reason != NULL ? slot->reason : "free");
    (void)json_object_update(found, more);
    json_decref(more);
    if (slot != NULL) {
        (void)json_object_set_new(found, "slot", locks_format_slot(slot, search->now_ns));
    }
    return found;
}

static json_t *format_holding(const struct search *search,
                              const struct hami_node_view *node,
                              const struct hami_slot_view *slot)
{
    char why[512];
    (void)snprintf(why, sizeof(why), "has the lock of node %s", node->node);
    return json_pack("{s:s, s:s, s:s*, s:s, s:s, s:i, s:s, s:s, s:o}", "namespace",
                     search->namespace_name, "pod", search->name, "uid", slot->owner.uid,
                     "state", "holding", "node", node->node, "waiting",
                     (int)node->waiter_count, "why", why, "frees",
                     slot->reason != NULL ? slot->reason : "", "slot",
                     locks_format_slot(slot, search->now_ns));
}

static int look_for_pod(void *data, const struct hami_node_view *node)
{
    struct search *search = data;
    for (size_t i = 0; i < node->waiter_count; i++) {
        if (is_owner(search, &node->waiters[i].owner)) {
            search->waits = format_waiting(search, node, &node->waiters[i]);
            return 1;
        }
    }
    for (size_t i = 0; i < node->slot_count && search->held == NULL; i++) {
        if (is_owner(search, &node->slots[i].owner) && !locks_is_cover(&node->slots[i])) {
            search->held = format_holding(search, node, &node->slots[i]);
        }
    }
    return 0;
}

json_t *status_view_pod(const struct status_facts *facts, const char *namespace_name,
                        const char *name, bool *ret_found)
{
    struct search search = {.namespace_name = namespace_name,
                            .name = name,
                            .now_ns = hami_nodelock_now(facts->lock)};
    (void)hami_nodelock_snapshot(facts->lock, NULL, look_for_pod, &search);
    json_t *found = search.waits != NULL ? search.waits : search.held;
    *ret_found = found != NULL;
    if (found == NULL) {
        return status_view_problem(
            "this pod neither waits for a node's lock here nor has one");
    }
    json_t *root = begin(facts);
    (void)json_object_update(root, found);
    json_decref(search.waits);
    json_decref(search.held);
    return root;
}

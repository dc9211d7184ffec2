/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of waits, grants, releases and checks: see node.h. A wait and a done end once;
 * whoever waits is woken under the node's mutex, whoever has a callback is queued for
 * dispatch. No I/O.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "admit.h"
#include "after.h"
#include "cancel.h"
#include "cover.h"
#include "errors.h"
#include "grant.h"
#include "node.h"
#include "pen.h"

void hami_internal_node_end_grant(struct hami_internal_node *node,
                                  struct hami_internal_grant *grant, int code,
                                  struct hami_internal_after *after)
{
    if (grant->release) {
        hami_internal_node_end_done(node, grant->release, code, after, "%s",
                                    code == 0 ? "" : hami_strerror(code));
        grant->release = NULL;
    }
    for (size_t i = 0; i < grant->slot_count; i++) {
        if (grant->slots[i]->grant == grant) {
            grant->slots[i]->grant = NULL;
        }
    }
    if (node->doubt == grant) {
        node->doubt = NULL;
    }
    if (node->operation_grant == grant) {
        node->operation_grant = NULL;
    }
    list_remove(&grant->link);
    if (node->next_grant) {
        grant->state = GRANT_ENDED;
        list_insert(&after->ended_grants, &grant->link);
        return;
    }
    hami_internal_after_free_facts(after, grant->judged);
    hami_internal_grant_clear(grant);
    node->next_grant = grant;
}

void hami_internal_node_lose_grant(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant, int code,
                                   struct hami_internal_after *after)
{
    if (grant->state == GRANT_RELEASING) {
        /* Gone before we removed it. If our removal may have done it, it did. */
        bool removed = grant->unsure && code == HAMI_E_LOST;
        hami_internal_node_end_grant(node, grant, removed ? 0 : code, after);
        return;
    }
    grant->gone = true;
    grant->gone_code = code;
    if (grant->shares == 0) {
        hami_internal_node_end_grant(node, grant, 0, after);
        return;
    }
    /* The node side may be quicker than the holder's hand-off: its orderly release is no
     * loss. */
    const struct hami_internal_slot *slot = grant->slots[0];
    bool orderly = slot->known && slot->record.kind == HAMI_LOCK_FREE &&
                   slot->record.last_fence == grant->fence && !slot->record.has_lease &&
                   slot->pair.lease && strcmp(slot->pair.lease, grant->lease) != 0;
    if (!orderly && !grant->handed_off) {
        hami_internal_count(&node->lock->counters.lost);
        after->lost = true;
        hami_internal_after_log(
            after, HAMI_LOG_WARNING,
            "Lock of pod %s/%s on node %s was lost while it was held: %s",
            grant->owner.namespace_name, grant->owner.name, node->name,
            slot->pair.lock ? slot->pair.lock : "removed");
    }
}

static void count_end(struct hami_nodelock *lock, int code)
{
    struct hami_internal_counters *counters = &lock->counters;

    hami_internal_count(code == 0                 ? &counters->grants
                        : code == HAMI_E_TIMEDOUT ? &counters->timeouts
                        : code == HAMI_E_CANCELED ? &counters->cancels
                                                  : &counters->refusals);
    atomic_fetch_sub_explicit(&counters->waiters, 1, memory_order_relaxed);
}

static void give_share(struct hami_wait *wait, struct hami_internal_grant *grant,
                       struct hami_internal_after *after)
{
    hami_lease *lease = wait->lease;

    if (grant == lease->turn.grant) {
        grant->judged = lease->turn.judged;
    } else {
        hami_internal_after_free_facts(after, lease->turn.judged);
    }
    lease->turn.judged = NULL;
    lease->grant = grant;
    grant->shares++;
    list_insert(&wait->node->leases, &lease->link);
    atomic_fetch_add_explicit(&wait->node->lock->counters.leases, 1,
                              memory_order_relaxed);
}

/* The grant made for a wait stays with the node while its write is in flight or in doubt.
 */
static void part_from_grant(struct hami_wait *wait,
                            const struct hami_internal_grant *given,
                            struct hami_internal_after *after)
{
    struct hami_internal_grant *grant = wait->lease ? wait->lease->turn.grant : NULL;

    if (!grant) {
        return;
    }
    wait->lease->turn.grant = NULL;
    if (grant == given) {
        return;
    }
    if (grant->state == GRANT_TAKING) {
        grant->taker = NULL;
    } else {
        list_insert(&after->ended_grants, &grant->link);
    }
}

/* Who leaves unserved keeps its place for its next try; who is served has had its turn,
 * whatever another of its waits left behind. */
static void settle_place(const struct hami_wait *wait, int code)
{
    struct hami_nodelock *lock = wait->node->lock;
    const char *uid = wait->uid, *node = wait->node->name;
    uint64_t now = wait->node->now_ns;
    bool left =
        code == HAMI_E_TIMEDOUT || code == HAMI_E_CANCELED || code == HAMI_E_LIMIT;

    if (code == 0 ? !atomic_load(&lock->keeps) : !left || wait->queued.place == 0) {
        return;
    }
    (void)pthread_mutex_lock(&lock->kept_mutex);
    if (code == 0) {
        uint32_t overtaken;
        (void)hami_internal_places_take(lock->kept, uid, node, now, &overtaken);
    } else {
        hami_internal_places_keep(lock->kept, uid, node, wait->queued.place,
                                  wait->queued.overtaken, now);
    }
    atomic_store(&lock->keeps, lock->kept->count > 0);
    (void)pthread_mutex_unlock(&lock->kept_mutex);
}

/* It leaves the queue and all indices. */
static void leave(struct hami_wait *wait)
{
    struct hami_internal_node *node = wait->node;

    hami_internal_queue_remove(&node->queue, &wait->queued);
    hami_internal_owners_remove(node, &wait->owner_link);
    hami_internal_owners_remove(node, &wait->uid_link);
    node->waiter_count--;
    node->suspects -= wait->asker == ASKER_SUSPECT;
    node->owners -= wait->own;
    if (wait->is_due) {
        hami_internal_sorted_remove(&node->due, &wait->due);
    }
    if (node->operation_wait == wait) {
        node->operation_wait = NULL;
    }
}

/* Where the text of its end is to be written, and how much room there is. One that is not
 * blocked has memory of its own for it when the mutex is free. */
static char *text_of(struct hami_wait *wait, struct hami_internal_after *after,
                     size_t *ret_room)
{
    struct hami_internal_blocked *blocked =
        LIST_ENTRY(wait, struct hami_internal_blocked, wait);

    *ret_room = HAMI_INTERNAL_END_TEXT;
    if (wait->blocking) {
        wait->end.text = blocked->text;
        return blocked->text;
    }
    if (after->end_count < sizeof(after->ends) / sizeof(after->ends[0])) {
        after->ends[after->end_count].wait = wait;
        return after->ends[after->end_count++].text;
    }
    /* Only where many end at once for one reason. */
    *ret_room = sizeof(wait->end.brief);
    return wait->end.brief;
}

static void tell_end(struct hami_wait *wait, struct hami_internal_after *after)
{
    if (wait->blocking) {
        hami_internal_after_wake(
            after, &LIST_ENTRY(wait, struct hami_internal_blocked, wait)->parking);
    } else {
        list_insert(&after->ready_waits, &wait->end.ready_link);
    }
}

void hami_internal_node_end_wait(struct hami_wait *wait, int code,
                                 struct hami_internal_grant *grant,
                                 struct hami_internal_after *after, const char *format,
                                 ...)
{
    struct hami_internal_node *node = wait->node;
    struct hami_internal_extra *extra = wait_extra(wait);
    struct hami_error outlook = {.position = 0};
    char text[HAMI_INTERNAL_END_TEXT];

    if (code == HAMI_E_TIMEDOUT || code == HAMI_E_LIMIT) {
        hami_internal_admit_foresee(wait, node->now_ns, &outlook);
        node->refusals += code == HAMI_E_LIMIT;
    }
    if (code == 0) {
        hami_internal_queue_served(&node->queue, &wait->queued);
    } else { /* of texts that go when it leaves */
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
    }
    leave(wait);
    settle_place(wait, code);
    /* From here on `end` has the room of what it left. */
    wait->ended = true;
    wait->end.code = code;
    wait->end.position = outlook.position;
    wait->end.waiting = outlook.waiting;
    wait->end.expected_ns = outlook.expected_ns;
    wait->end.extra = extra;
    wait->end.text = NULL;
    wait->end.brief[0] = '\0';
    if (code < 0) {
        size_t room;
        char *to = text_of(wait, after, &room);
        pen_copy(to, room, text);
    } else {
        give_share(wait, grant, after);
    }
    part_from_grant(wait, grant, after);
    count_end(node->lock, code);
    tell_end(wait, after);
}

void hami_internal_node_end_all_waits(struct hami_internal_node *node, int code,
                                      struct hami_internal_after *after, const char *text)
{
    while (node->queue.first) {
        hami_internal_node_end_wait(
            LIST_ENTRY(node->queue.first, struct hami_wait, queued), code, NULL, after,
            "%s", text);
    }
}

void hami_internal_node_end_done(struct hami_internal_node *node,
                                 struct hami_internal_done *done, int code,
                                 struct hami_internal_after *after, const char *format,
                                 ...)
{
    va_list arguments;

    done->ended = true;
    done->error.size = sizeof(done->error);
    done->error.code = code;
    if (code < 0) {
        va_start(arguments, format);
        (void)vsnprintf(done->error.text, sizeof(done->error.text), format, arguments);
        va_end(arguments);
    }
    list_remove(&done->link);
    hami_internal_timers_clear(&node->deadlines, &done->timer);
    if (done->blocking) {
        hami_internal_after_wake(after, &done->parking);
    } else {
        list_insert(&after->ready_dones, &done->link);
    }
}

void hami_internal_node_cancel(struct hami_internal_node *node,
                               struct hami_internal_after *after)
{
    for (struct hami_internal_waiter *one = node->queue.first, *next; one; one = next) {
        struct hami_wait *wait = LIST_ENTRY(one, struct hami_wait, queued);
        next = queue_next(one);
        if (hami_internal_cancel_is_fired(wait)) {
            hami_internal_node_end_wait(wait, HAMI_E_CANCELED, NULL, after,
                                        "cancelled while waiting for node %s",
                                        node->name);
        }
    }
}

/* Behind whom a wait stands, for people. */
static void end_late(struct hami_wait *wait, struct hami_internal_after *after)
{
    const struct hami_internal_node *node = wait->node;
    const struct hami_internal_slot *slot =
        hami_internal_node_slot(node, wait_keys(wait)[0], 0);
    if (slot && hami_internal_cover_is_used(node, slot->key)) {
        slot = hami_internal_cover_in_way(wait, NULL);
    }
    int failure = wait->lease ? wait->lease->turn.failure : 0;

    failure = failure ? failure : node->failure;

    if (failure) {
        hami_internal_node_end_wait(
            wait, HAMI_E_TIMEDOUT, NULL, after,
            "the store did not let node %s be locked before the deadline: "
            "%s%s%s",
            node->name, hami_strerror(failure), *node->failure_text ? ": " : "",
            node->failure_text);
    } else if (slot && slot->grant && slot->grant->owner.uid) {
        hami_internal_node_end_wait(
            wait, HAMI_E_TIMEDOUT, NULL, after,
            "node %s is still locked by pod %s/%s: %s", node->name,
            slot->grant->owner.namespace_name, slot->grant->owner.name,
            slot->grant->handed_off ? "it waits for its devices (Allocate)"
                                    : "it is being bound");
    } else if (slot && slot->known && slot->record.kind != HAMI_LOCK_FREE) {
        hami_internal_node_end_wait(wait, HAMI_E_TIMEDOUT, NULL, after,
                                    "node %s is still locked by \"%.200s\": %s",
                                    node->name, slot->pair.lock,
                                    hami_internal_protocol_reason_text(slot->reason));
    } else if (node->operation != OPERATION_NONE) {
        uint64_t since = node->now_ns - node->operation_ns;
        hami_internal_node_end_wait(
            wait, HAMI_E_TIMEDOUT, NULL, after,
            "the deadline passed before node %s could be locked: the store has not "
            "answered a call for %llu ms",
            node->name, (unsigned long long)(since / NS_PER_MS));
    } else {
        hami_internal_node_end_wait(wait, HAMI_E_TIMEDOUT, NULL, after,
                                    "the deadline passed before node %s could be locked",
                                    node->name);
    }
}

bool hami_internal_node_expire(struct hami_internal_node *node, uint64_t now_ns,
                               struct hami_internal_after *after)
{
    struct hami_internal_timer *timer;
    struct hami_wait *wait;

    while ((wait = hami_internal_node_due(node)) && wait->deadline_ns <= now_ns) {
        if (after->end_count == sizeof(after->ends) / sizeof(after->ends[0])) {
            return false;
        }
        end_late(wait, after);
    }
    while ((timer = hami_internal_timers_pop(&node->deadlines, now_ns))) {
        struct hami_internal_done *done =
            LIST_ENTRY(timer, struct hami_internal_done, timer);
        if (!done->check) {
            done->grant->release = NULL;
        }
        hami_internal_node_end_done(
            node, done, HAMI_E_IN_DOUBT, after,
            "node %s: no sure answer from the store before the deadline", node->name);
    }
    return true;
}

void hami_internal_node_end_dones(struct hami_internal_node *node,
                                  struct hami_internal_after *after)
{
    const char *text = hami_strerror(HAMI_E_CLOSED);

    LIST_EACH(link, &node->grants)
    {
        struct hami_internal_grant *grant =
            LIST_ENTRY(link, struct hami_internal_grant, link);
        if (grant->release) {
            hami_internal_node_end_done(node, grant->release, HAMI_E_CLOSED, after, "%s",
                                        text);
            grant->release = NULL;
        }
    }
    LIST_EACH_SAFE(check_link, next, &node->checks)
    {
        hami_internal_node_end_done(
            node, LIST_ENTRY(check_link, struct hami_internal_done, link), HAMI_E_CLOSED,
            after, "%s", text);
    }
}

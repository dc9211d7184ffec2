/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pod_events.h. Loop's thread, but for answered(), which runs on the client's and
 * touches nothing but `is_forbidden`.
 *
 * Invariants: a pod has an entry from its first event until a look in which it waits no
 * more; of two names of a pod's Event the later one is the one that is brought up to
 * date.
 */
#include "pod_events.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include <event2/event.h>
#include <jansson.h>

#include "budget.h"
#include "locks.h"
#include "log.h"
#include "metrics.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_MS_MIN 50
#define LOOK_MS_MAX 5000
#define PERIOD_NS_MAX (600 * UINT64_C(1000000000))
#define REQUEST_MS 5000
#define BUCKETS 1024
#define ENTRIES_MAX 16384

struct entry {
    LIST_ENTRY(entry) siblings;
    char uid[HAMI_NODELOCK_UID_MAX + 1];
    char name[254]; /* of the Event */
    char first[32]; /* its firstTimestamp */
    unsigned count;
    uint64_t due_ns;
    uint64_t period_ns;
    uint64_t look; /* the last one that has seen it wait */
};

LIST_HEAD(entries, entry);

struct pod_events {
    hami_nodelock *lock;
    hami_kubernetes *client;
    struct metrics *metrics;
    uint64_t after_ns;
    struct timeval period;
    struct event *timer;
    struct hamid_budget budget;
    struct entries buckets[BUCKETS];
    size_t entry_count;
    uint64_t look;
    uint64_t now_ns; /* of this look */
    atomic_bool is_forbidden;
};

/* ---- entries -------------------------------------------------------------------- */

static struct entries *bucket_of(struct pod_events *events, const char *uid)
{
    uint32_t hash = 2166136261u;
    for (; *uid != '\0'; uid++) {
        hash = (hash ^ (unsigned char)*uid) * 16777619u;
    }
    return &events->buckets[hash % BUCKETS];
}

static struct entry *find(struct pod_events *events, const char *uid)
{
    struct entry *entry = NULL;
    LIST_FOREACH(entry, bucket_of(events, uid), siblings)
    {
        if (strcmp(entry->uid, uid) == 0) {
            return entry;
        }
    }
    return NULL;
}

static void format_time(char *text, size_t size)
{
    time_t seconds = time(NULL);
    struct tm parts;
    (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
}

/* NULL without memory, or where there are too many. */
static struct entry *add(struct pod_events *events, const struct hami_owner *pod)
{
    struct entry *entry =
        events->entry_count < ENTRIES_MAX ? calloc(1, sizeof(*entry)) : NULL;
    if (entry == NULL) {
        return NULL;
    }
    (void)snprintf(entry->uid, sizeof(entry->uid), "%s", pod->uid);
    (void)snprintf(entry->name, sizeof(entry->name), "%.230s.%016" PRIx64, pod->name,
                   events->now_ns);
    format_time(entry->first, sizeof(entry->first));
    entry->period_ns = events->after_ns;
    LIST_INSERT_HEAD(bucket_of(events, pod->uid), entry, siblings);
    events->entry_count++;
    return entry;
}

static void drop(struct pod_events *events, struct entry *entry)
{
    LIST_REMOVE(entry, siblings);
    events->entry_count--;
    free(entry);
}

/* Those of an earlier look than this one wait no more. */
static void forget_before(struct pod_events *events, uint64_t look)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        struct entry *entry = LIST_FIRST(&events->buckets[i]);
        while (entry != NULL) {
            struct entry *next = LIST_NEXT(entry, siblings);
            if (entry->look < look) {
                drop(events, entry);
            }
            entry = next;
        }
    }
}

/* ---- sending -------------------------------------------------------------------- */

/* On the client's thread. */
static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct pod_events *events = data;
    if (answer->status == 403 && !atomic_exchange(&events->is_forbidden, true)) {
        hamid_log_warning("May not write events, and tries no more: give the role create "
                          "and patch on events, or --event-after=0",
                          "err", answer->text, NULL);
    }
}

static void describe(const struct hami_node_view *view,
                     const struct hami_waiter_view *waiter, uint64_t now_ns, char *text,
                     size_t size)
{
    size_t length =
        (size_t)snprintf(text, size, "Waits for its turn on node %s for %.0f s",
                         view->node, (double)(now_ns - waiter->since_ns) / 1e9);
    if (waiter->position > 0 && length < size) {
        length +=
            (size_t)snprintf(text + length, size - length, ", behind %u other pod%s",
                             waiter->position, waiter->position > 1 ? "s" : "");
    }
    for (size_t i = 0; i < view->slot_count && length < size; i++) {
        const struct hami_slot_view *slot = &view->slots[i];
        if (slot->value != NULL && slot->value[0] != '\0' && slot->owner.name != NULL &&
            !locks_is_cover(slot)) {
            length += (size_t)snprintf(
                text + length, size - length, "; the lock is held for pod %s/%s",
                slot->owner.namespace_name != NULL ? slot->owner.namespace_name : "",
                slot->owner.name);
        }
    }
}

static json_t *new_event(const struct entry *entry, const struct hami_owner *pod,
                         const char *message, const char *now)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s, s:s}, s:s, s:s, "
                     "s:s, s:{s:s}, s:s, s:s, s:i}",
                     "apiVersion", "v1", "kind", "Event", "metadata", "name", entry->name,
                     "namespace", pod->namespace_name, "involvedObject", "apiVersion",
                     "v1", "kind", "Pod", "namespace", pod->namespace_name, "name",
                     pod->name, "uid", pod->uid, "reason", "WaitingForNodeLock",
                     "message", message, "type", "Normal", "source", "component",
                     "hamid-scheduler", "firstTimestamp", entry->first, "lastTimestamp",
                     now, "count", 1);
}

static json_t *event_change(const struct entry *entry, const char *message,
                            const char *now)
{
    return json_pack("{s:s, s:s, s:i}", "message", message, "lastTimestamp", now, "count",
                     (int)entry->count);
}

static void write_event(struct pod_events *events, const struct entry *entry,
                        const struct hami_owner *pod, const char *message)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    bool is_first = entry->count == 1;
    char now[32];
    char path[640];
    format_time(now, sizeof(now));
    json_t *event = is_first ? new_event(entry, pod, message, now)
                             : event_change(entry, message, now);
    char *body = event != NULL ? json_dumps(event, JSON_COMPACT) : NULL;
    json_decref(event);
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events%s%s",
                   pod->namespace_name, is_first ? "" : "/", is_first ? "" : entry->name);
    if (body != NULL) {
        request.method = is_first ? HAMI_KUBERNETES_POST : HAMI_KUBERNETES_PATCH;
        request.content_type = is_first ? NULL : "application/merge-patch+json";
        request.path = path;
        request.body = body;
        request.body_length = strlen(body);
        request.deadline_ns = hami_kubernetes_in_ms(REQUEST_MS);
        (void)hami_kubernetes_request_start(events->client, &request, answered, events);
    }
    free(body);
}

/* ---- looking -------------------------------------------------------------------- */

static void look_at(struct pod_events *events, const struct hami_node_view *view,
                    const struct hami_waiter_view *waiter)
{
    const struct hami_owner *pod = &waiter->owner;
    char message[768];
    if (pod->uid == NULL || pod->uid[0] == '\0' ||
        events->now_ns < waiter->since_ns + events->after_ns) {
        return;
    }
    struct entry *entry = find(events, pod->uid);
    if (entry != NULL) {
        entry->look = events->look;
    }
    if (entry != NULL && events->now_ns < entry->due_ns) {
        return;
    }
    bool may_send = hamid_budget_take(&events->budget, events->now_ns);
    if (may_send && entry == NULL) {
        entry = add(events, pod);
    }
    if (!may_send || entry == NULL) {
        events->metrics->events_left_out++;
        return;
    }
    entry->look = events->look;
    entry->count++;
    entry->due_ns = events->now_ns + entry->period_ns;
    entry->period_ns =
        entry->period_ns < PERIOD_NS_MAX / 2 ? entry->period_ns * 2 : PERIOD_NS_MAX;
    describe(view, waiter, events->now_ns, message, sizeof(message));
    write_event(events, entry, pod, message);
    events->metrics->events_sent++;
}

static int look_at_node(void *data, const struct hami_node_view *view)
{
    struct pod_events *events = data;
    for (size_t i = 0; i < view->waiter_count; i++) {
        look_at(events, view, &view->waiters[i]);
    }
    return 0;
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct pod_events *events = data;
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
    (void)fd;
    (void)what;
    if (atomic_load(&events->is_forbidden)) {
        return;
    }
    (void)event_add(events->timer, &events->period);
    events->look++;
    events->now_ns = hami_nodelock_now(events->lock);
    if (hami_nodelock_stats(events->lock, &stats) == 0 && stats.waiters > 0) {
        (void)hami_nodelock_snapshot(events->lock, NULL, look_at_node, events);
    }
    if (events->entry_count > 0) {
        forget_before(events, events->look);
    }
}

/* ---- life ----------------------------------------------------------------------- */

struct pod_events *pod_events_new(struct event_base *base, hami_nodelock *lock,
                                  hami_kubernetes *client, struct metrics *metrics,
                                  uint64_t after_ms)
{
    struct pod_events *events = calloc(1, sizeof(*events));
    uint64_t look_ms = after_ms / 2;
    if (events == NULL) {
        return NULL;
    }
    look_ms = look_ms < LOOK_MS_MIN ? LOOK_MS_MIN : look_ms;
    look_ms = look_ms > LOOK_MS_MAX ? LOOK_MS_MAX : look_ms;
    events->lock = lock;
    events->client = client;
    events->metrics = metrics;
    events->after_ns = after_ms * NS_PER_MS;
    events->period = (struct timeval){.tv_sec = (time_t)(look_ms / 1000),
                                      .tv_usec = (suseconds_t)(look_ms % 1000 * 1000)};
    hamid_budget_init(&events->budget, POD_EVENTS_BURST, POD_EVENTS_EVERY_NS,
                      hami_nodelock_now(lock));
    events->timer = evtimer_new(base, on_timer, events);
    if (events->timer == NULL) {
        free(events);
        return NULL;
    }
    (void)event_add(events->timer, &events->period);
    return events;
}

void pod_events_stop(struct pod_events *events)
{
    if (events != NULL) {
        (void)event_del(events->timer);
    }
}

struct pod_events *pod_events_free(struct pod_events *events)
{
    if (events != NULL) {
        forget_before(events, UINT64_MAX);
        event_free(events->timer);
        free(events);
    }
    return NULL;
}

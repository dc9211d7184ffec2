/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of /api/v1. A look must not cost the binds: a list of nodes that took t to
 * make is shown to everybody for twenty times t, and for LIST_LIFE_NS at the least;
 * searches for a pod have a share of the processor; those who wait for news are bounded,
 * and told together.
 */
#include "status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "page.h"
#include "service.h"
#include "status_view.h"

#define LIST_LIFE_NS (400ull * 1000000)
#define LIST_LIFE_SHARE 20
#define JSON_FORM (JSON_COMPACT | JSON_REAL_PRECISION(8))
#define SEARCHES_AHEAD_NS 1000000000ull
#define WATCHERS_MAX 64
#define WAIT_MAX_S 30
#define TOLD_TOGETHER_MS 200

#define HEADERS                                                                          \
    "Cache-Control: no-store\r\n"                                                        \
    "X-Content-Type-Options: nosniff\r\n"                                                \
    "Referrer-Policy: no-referrer\r\n"                                                   \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

/* An answer that is shown more than once. */
struct list_kept {
    struct evbuffer *text;
    uint64_t until_ns;
};

/* A request that waits for news. */
struct watcher {
    TAILQ_ENTRY(watcher) siblings;
    struct status *status;
    struct hamid_http_exchange *exchange;
    struct event *timer;
    uint64_t after;
};

struct status {
    struct service *service;
    struct history *history;
    struct list_kept lists[2]; /* of the busy ones, of all */
    json_t *alarms;            /* shown until alarms_until_ns */
    uint64_t alarms_until_ns;
    json_t *hand_overs;
    uint64_t hand_overs_until_ns;
    uint64_t
        searches_paid_ns; /* until when the searches so far have used up their share */
    TAILQ_HEAD(, watcher) watchers;
    size_t watcher_count;
    struct event *news; /* tells the watchers */
    char page_headers[1024];
};

/* ---- answering -------------------------------------------------------------------- */

static int write_piece(const char *bytes, size_t length, void *data)
{
    return evbuffer_add(data, bytes, length);
}

static void free_text(struct evbuffer *text)
{
    if (text != NULL) {
        evbuffer_free(text);
    }
}

/* Consumes root. */
static void answer(struct hamid_http_exchange *exchange, int status, json_t *root)
{
    static const char none[] = "{\"error\":\"hamid is out of memory\"}";
    struct evbuffer *text = evbuffer_new();
    hamid_http_set_headers(exchange, HEADERS);
    if (text == NULL || root == NULL ||
        json_dump_callback(root, write_piece, text, JSON_FORM) != 0) {
        hamid_http_answer(exchange, 503, "application/json", none, sizeof(none) - 1);
    } else {
        hamid_http_answer_buffer(exchange, status, "application/json", text);
    }
    json_decref(root);
    free_text(text);
}

static struct status_facts facts_of(const struct status *status)
{
    const struct service *service = status->service;
    struct status_facts facts = {.lock = service->lock, .history = status->history};
    facts.is_ready = service_is_ready(service, &facts.ready_reason);
    return facts;
}

void status_handle_page(struct hamid_http_exchange *exchange, void *data)
{
    const struct status *status = ((struct service *)data)->status;
    hamid_http_set_headers(exchange, status->page_headers);
    hamid_http_answer(exchange, 200, "text/html; charset=utf-8", page_text, page_length);
}

/* ---- the list of nodes ------------------------------------------------------------ */

/* When what was made from begun to now is to be made again. */
static uint64_t shown_until(uint64_t begun, uint64_t now)
{
    uint64_t life = (now - begun) * LIST_LIFE_SHARE;
    return now + (life > LIST_LIFE_NS ? life : LIST_LIFE_NS);
}

static bool renew_list(struct status *status, bool all)
{
    struct list_kept *kept = &status->lists[all ? 1 : 0];
    struct status_facts facts = facts_of(status);
    uint64_t begun = hami_nodelock_now(facts.lock);
    if (begun < kept->until_ns) {
        return true;
    }
    json_t *root = status_view_nodes(&facts, all);
    struct evbuffer *text = evbuffer_new();
    bool is_made = root != NULL && text != NULL &&
                   json_dump_callback(root, write_piece, text, JSON_FORM) == 0;
    json_decref(root);
    free_text(kept->text); /* answers on their way out still have it */
    kept->text = text;
    kept->until_ns = is_made ? shown_until(begun, hami_nodelock_now(facts.lock)) : 0;
    return is_made;
}

void status_handle_nodes(struct hamid_http_exchange *exchange, void *data)
{
    struct status *status = ((struct service *)data)->status;
    bool all = hamid_http_has_query(exchange, "all");
    struct evbuffer *copy = evbuffer_new();
    if (copy == NULL || !renew_list(status, all) ||
        evbuffer_add_buffer_reference(copy, status->lists[all ? 1 : 0].text) != 0) {
        answer(exchange, 503, NULL);
    } else {
        hamid_http_set_headers(exchange, HEADERS);
        hamid_http_answer_buffer(exchange, 200, "application/json", copy);
    }
    free_text(copy);
}

/* ---- one node, one pod ------------------------------------------------------------ */

static const char *rest_of_path(const struct hamid_http_exchange *exchange,
                                const char *route)
{
    return hamid_http_path(exchange) + strlen(route);
}

void status_handle_node(struct hamid_http_exchange *exchange, void *data)
{
    struct status *status = ((struct service *)data)->status;
    struct status_facts facts = facts_of(status);
    bool is_found = false;
    json_t *root =
        status_view_node(&facts, rest_of_path(exchange, "/api/v1/nodes/"), &is_found);
    answer(exchange, is_found ? 200 : 404, root);
}

static uint64_t processor_time(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Looks through all nodes: what searches cost is a twentieth of the time at the most. */
void status_handle_pod(struct hamid_http_exchange *exchange, void *data)
{
    struct status *status = ((struct service *)data)->status;
    struct status_facts facts = facts_of(status);
    char namespace_name[64] = "";
    bool is_found = false;
    const char *names = rest_of_path(exchange, "/api/v1/pods/");
    size_t length = strcspn(names, "/");
    if (names[length] != '/' || length >= sizeof(namespace_name)) {
        answer(exchange, 404, status_view_problem("a pod is NAMESPACE/NAME here"));
        return;
    }
    memcpy(namespace_name, names, length);
    uint64_t now = hami_nodelock_now(facts.lock);
    if (status->searches_paid_ns > now + SEARCHES_AHEAD_NS) {
        answer(exchange, 429,
               status_view_problem("too many pods are asked for; ask again in a moment"));
        return;
    }
    uint64_t begun = processor_time();
    json_t *root = status_view_pod(&facts, namespace_name, names + length + 1, &is_found);
    uint64_t from = status->searches_paid_ns > now ? status->searches_paid_ns : now;
    status->searches_paid_ns = from + (processor_time() - begun) * LIST_LIFE_SHARE;
    answer(exchange, is_found ? 200 : 404, root);
}

/* ---- news ------------------------------------------------------------------------- */

static void drop_watcher(struct watcher *watcher)
{
    TAILQ_REMOVE(&watcher->status->watchers, watcher, siblings);
    watcher->status->watcher_count--;
    if (watcher->timer != NULL) {
        event_free(watcher->timer);
    }
    free(watcher);
}

static void renew_hand_overs(struct status *status, const struct status_facts *facts)
{
    uint64_t begun = hami_nodelock_now(facts->lock);
    if (status->hand_overs != NULL && begun < status->hand_overs_until_ns) {
        return;
    }
    json_decref(status->hand_overs);
    status->hand_overs = status_view_hand_overs(facts);
    uint64_t now = hami_nodelock_now(facts->lock);
    status->hand_overs_until_ns = now + (now - begun) * LIST_LIFE_SHARE;
}

/* The hand-overs are for those who begin to look. */
static json_t *make_events(struct status *status, uint64_t after)
{
    struct status_facts facts = facts_of(status);
    uint64_t begun = hami_nodelock_now(facts.lock);
    if (begun >= status->alarms_until_ns) {
        json_decref(status->alarms);
        status->alarms = status_view_alarms(&facts);
        status->alarms_until_ns = shown_until(begun, hami_nodelock_now(facts.lock));
    }
    json_t *root = status_view_events(&facts, after);
    (void)json_object_set(root, "alarms", status->alarms);
    if (after == 0) {
        renew_hand_overs(status, &facts);
        (void)json_object_set(root, "handOvers", status->hand_overs);
    }
    return root;
}

static void tell_watcher(struct watcher *watcher)
{
    struct hamid_http_exchange *exchange = watcher->exchange;
    json_t *root = make_events(watcher->status, watcher->after);
    drop_watcher(watcher);
    answer(exchange, 200, root);
}

static void on_news(evutil_socket_t fd, short what, void *data)
{
    struct status *status = data;
    (void)fd;
    (void)what;
    while (!TAILQ_EMPTY(&status->watchers)) {
        tell_watcher(TAILQ_FIRST(&status->watchers));
    }
}

/* A happening: those who wait hear of it, and of what comes right after it. */
static void happened(void *data)
{
    struct status *status = data;
    struct timeval soon = {.tv_usec = TOLD_TOGETHER_MS * 1000};
    if (status->watcher_count > 0 && !event_pending(status->news, EV_TIMEOUT, NULL)) {
        (void)event_add(status->news, &soon);
    }
}

static void on_waited(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    tell_watcher(data);
}

static void watcher_gone(void *data)
{
    drop_watcher(data);
}

/* False where there are too many, or no memory. */
static bool watch(struct status *status, struct hamid_http_exchange *exchange,
                  uint64_t after, uint64_t seconds)
{
    struct timeval when = {.tv_sec = (time_t)seconds};
    struct watcher *watcher =
        status->watcher_count < WATCHERS_MAX ? calloc(1, sizeof(*watcher)) : NULL;
    if (watcher == NULL) {
        return false;
    }
    watcher->status = status;
    watcher->exchange = exchange;
    watcher->after = after;
    watcher->timer = evtimer_new(status->service->base, on_waited, watcher);
    TAILQ_INSERT_TAIL(&status->watchers, watcher, siblings);
    status->watcher_count++;
    if (watcher->timer == NULL || event_add(watcher->timer, &when) != 0) {
        drop_watcher(watcher);
        return false;
    }
    hamid_http_on_gone(exchange, watcher_gone, watcher);
    return true;
}

/* The number after "NAME=" in the query; 0 without. */
static uint64_t query_number(const struct hamid_http_exchange *exchange, const char *name)
{
    const char *query = hamid_http_query(exchange);
    size_t length = strlen(name);
    while (*query != '\0') {
        if (strncmp(query, name, length) == 0 && query[length] == '=') {
            return strtoull(query + length + 1, NULL, 10);
        }
        query += strcspn(query, "&");
        query += *query == '&' ? 1 : 0;
    }
    return 0;
}

void status_handle_events(struct hamid_http_exchange *exchange, void *data)
{
    struct service *service = data;
    struct status *status = service->status;
    uint64_t after = query_number(exchange, "after");
    uint64_t seconds = query_number(exchange, "wait");
    if (seconds == 0 || after != history_last(status->history) || service->draining) {
        answer(exchange, 200, make_events(status, after));
        return;
    }
    seconds = seconds < WAIT_MAX_S ? seconds : WAIT_MAX_S;
    if (!watch(status, exchange, after, seconds)) {
        answer(exchange, 429, status_view_problem("too many wait for events already"));
    }
}

/* ---- life ------------------------------------------------------------------------- */

struct status *status_new(struct service *service)
{
    struct status *status = calloc(1, sizeof(*status));
    if (status == NULL) {
        return NULL;
    }
    TAILQ_INIT(&status->watchers);
    int length = snprintf(status->page_headers, sizeof(status->page_headers),
                          HEADERS "Content-Security-Policy: %s\r\n", page_policy);
    status->service = service;
    status->history = history_new(happened, status);
    status->news = evtimer_new(service->base, on_news, status);
    if (status->history == NULL || status->news == NULL || length < 0 ||
        (size_t)length >= sizeof(status->page_headers)) {
        return status_free(status);
    }
    return status;
}

struct status *status_free(struct status *status)
{
    if (status == NULL) {
        return NULL;
    }
    while (!TAILQ_EMPTY(&status->watchers)) {
        drop_watcher(TAILQ_FIRST(&status->watchers));
    }
    json_decref(status->alarms);
    json_decref(status->hand_overs);
    free_text(status->lists[0].text);
    free_text(status->lists[1].text);
    if (status->news != NULL) {
        event_free(status->news);
    }
    (void)history_free(status->history);
    free(status);
    return NULL;
}

struct history *status_history(struct status *status)
{
    return status->history;
}

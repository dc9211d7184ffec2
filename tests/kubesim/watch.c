/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH: each watch is the last version that it has seen, and follows the store's ring
 * of changes from there. A change wakes one pump event, which moves all of them on; one
 * that is blocked by its client catches up later, one that falls out of the ring gets a
 * 410 event. Bookmarks never run ahead of what was sent. Server's thread only, no lock.
 */
#include "server.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDING_LIMIT (1u << 20)
#define INITIAL_END "k8s.io/initial-events-end"

struct sim_watch {
    struct sim_watch *next, **link;
    struct sim_exchange *exchange;
    struct sim_selector selector;
    uint64_t seen; /* all changes up to this one are sent or were not wanted */
    bool bookmarks;
    unsigned last_ms; /* from the last bookmark to the end */
};

struct watch_request {
    bool initial; /* the present state comes first, as ADDED events */
    bool list;    /* sendInitialEvents: a marked bookmark after them */
    uint64_t version;
    unsigned timeout_ms;
};

static void send_event(struct sim_watch *watch, const char *type, const char *object)
{
    char *line = NULL;
    int length = asprintf(&line, "{\"type\":\"%s\",\"object\":%s}\n", type, object);
    if (length < 0) {
        abort();
    }
    watch->exchange->transport->write(watch->exchange, line, (size_t)length);
    free(line);
}

static const char *form_of(const struct sim_watch *watch, struct sim_object *object)
{
    return watch->exchange->form == SIM_FORM_METADATA ? sim_object_metadata(object)
                                                      : object->text;
}

static bool is_wanted(const struct sim_watch *watch, const struct sim_object *object)
{
    const char *space = watch->exchange->target.namespace_name;
    return object != NULL &&
           (space[0] == '\0' || strcmp(space, object->namespace_name) == 0) &&
           sim_selector_matches(&watch->selector, object->value);
}

/* An object that no longer matches is gone for this watch: its last matching state,
 * with the version of the change. */
static void send_departure(struct sim_watch *watch, const struct sim_change *change)
{
    json_t *value = json_deep_copy(change->before->value);
    json_object_set(json_object_get(value, "metadata"), "resourceVersion",
                    json_object_get(json_object_get(change->now->value, "metadata"),
                                    "resourceVersion"));
    if (watch->exchange->form == SIM_FORM_METADATA) {
        json_t *partial =
            json_pack("{s:s,s:s,s:O}", "kind", "PartialObjectMetadata", "apiVersion",
                      "meta.k8s.io/v1", "metadata", json_object_get(value, "metadata"));
        json_decref(value);
        value = partial;
    }
    char *text = json_dumps(value, JSON_COMPACT);
    send_event(watch, "DELETED", text);
    free(text);
    json_decref(value);
}

static void send_change(struct sim_watch *watch, const struct sim_change *change)
{
    if (change->now->resource != watch->exchange->target.resource) {
        return;
    }
    bool was = is_wanted(watch, change->before);
    bool is = change->type != SIM_DELETED && is_wanted(watch, change->now);
    if (is) {
        send_event(watch, was ? "MODIFIED" : "ADDED", form_of(watch, change->now));
    } else if (was && change->type == SIM_DELETED) {
        send_event(watch, "DELETED", form_of(watch, change->now));
    } else if (was) {
        send_departure(watch, change);
    }
}

static void send_bookmark(struct sim_watch *watch, bool initial_end)
{
    const struct sim_resource *resource = watch->exchange->target.resource;
    bool metadata = watch->exchange->form == SIM_FORM_METADATA;
    char version[24];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)watch->seen);
    json_t *object = json_pack(
        "{s:s,s:s,s:{s:s}}", "kind", metadata ? "PartialObjectMetadata" : resource->kind,
        "apiVersion", metadata ? "meta.k8s.io/v1" : resource->group_version, "metadata",
        "resourceVersion", version);
    if (initial_end) {
        json_object_set_new(json_object_get(object, "metadata"), "annotations",
                            json_pack("{s:s}", INITIAL_END, "true"));
    }
    char *text = json_dumps(object, JSON_COMPACT);
    send_event(watch, "BOOKMARK", text);
    free(text);
    json_decref(object);
}

/* The stream is complete; the exchange stays until its transport lets go of it. */
static void end_watch(struct sim_exchange *exchange)
{
    if (exchange->transport != NULL) {
        exchange->transport->end(exchange);
    }
    sim_watch_stop(exchange);
    sim_audit_close(exchange);
    sim_exchange_finish(exchange);
}

static void expire(struct sim_watch *watch)
{
    json_t *status = sim_status_gone();
    char *text = json_dumps(status, JSON_COMPACT);
    send_event(watch, "ERROR", text);
    free(text);
    json_decref(status);
    end_watch(watch->exchange);
}

static void pump(struct kubesim *sim, struct sim_watch *watch)
{
    struct sim_exchange *exchange = watch->exchange;
    uint64_t version = sim_store_version(sim->store);
    while (watch->seen < version &&
           exchange->transport->pending(exchange) < PENDING_LIMIT) {
        const struct sim_change *change = sim_store_change(sim->store, watch->seen + 1);
        if (change == NULL) {
            expire(watch);
            return;
        }
        watch->seen++;
        send_change(watch, change);
    }
}

static void on_pump(evutil_socket_t fd, short what, void *data)
{
    struct kubesim *sim = data;
    struct sim_watch *next;
    (void)fd;
    (void)what;
    for (struct sim_watch *watch = sim->watches; watch != NULL && !sim->paused;
         watch = next) {
        next = watch->next;
        pump(sim, watch);
    }
}

void sim_watch_wake(struct kubesim *sim)
{
    if (sim->watches != NULL) {
        event_active(sim->pump_event, EV_TIMEOUT, 0);
    }
    sim_server_notify(sim);
}

static void on_bookmark(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    sim_watch_bookmark(data);
}

int sim_watch_init(struct kubesim *sim)
{
    unsigned ms = sim->options.bookmark_ms;
    struct timeval interval = {ms / 1000, (ms % 1000) * 1000L};
    sim->pump_event = event_new(sim->base, -1, EV_PERSIST, on_pump, sim);
    sim->bookmark_timer = event_new(sim->base, -1, EV_PERSIST, on_bookmark, sim);
    if (sim->pump_event == NULL || sim->bookmark_timer == NULL) {
        return -1;
    }
    return event_add(sim->bookmark_timer, &interval);
}

void sim_watch_done(struct kubesim *sim)
{
    if (sim->pump_event != NULL) {
        event_free(sim->pump_event);
    }
    if (sim->bookmark_timer != NULL) {
        event_free(sim->bookmark_timer);
    }
    sim->pump_event = sim->bookmark_timer = NULL;
}

static void end_soon(struct sim_exchange *exchange)
{
    struct sim_watch *watch = exchange->watch;
    if (watch->bookmarks && watch->seen <= sim_store_version(exchange->server->store)) {
        send_bookmark(watch, false);
    }
    sim_exchange_after(exchange, watch->last_ms, end_watch);
}

/* The end comes after the asked timeout, with a bookmark two seconds before it. */
static void set_timeout(struct sim_watch *watch, unsigned timeout_ms)
{
    watch->last_ms = timeout_ms > 2000 ? 2000 : 0;
    sim_exchange_after(watch->exchange, timeout_ms - watch->last_ms,
                       watch->last_ms > 0 ? end_soon : end_watch);
}

/* The rules around sendInitialEvents; false: answered. */
static bool check_initial(struct sim_exchange *exchange, struct watch_request *request)
{
    char *send = sim_query_get(exchange, "sendInitialEvents");
    char *match = sim_query_get(exchange, "resourceVersionMatch");
    bool newer = match != NULL && strcmp(match, "NotOlderThan") == 0;
    bool good = true;
    if (send != NULL && exchange->server->options.without_watch_list) {
        good = sim_status_list_options(
            exchange, "sendInitialEvents",
            "Forbidden: sendInitialEvents is forbidden for watch unless the "
            "WatchList feature gate is enabled");
    } else if (send != NULL && !newer) {
        good = sim_status_list_options(
            exchange, "resourceVersionMatch",
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch "
            "to NotOlderThan");
    } else if (send == NULL && match != NULL) {
        good = sim_status_list_options(
            exchange, "resourceVersionMatch",
            "Forbidden: resourceVersionMatch is forbidden for watch unless "
            "sendInitialEvents is provided");
    } else if (send != NULL) {
        request->list = strcmp(send, "true") == 0 || strcmp(send, "1") == 0;
        request->initial = request->list;
    }
    free(send);
    free(match);
    return good;
}

static bool parse(struct sim_exchange *exchange, struct watch_request *request)
{
    char *version = sim_query_get(exchange, "resourceVersion");
    char *timeout = sim_query_get(exchange, "timeoutSeconds");
    char *end = NULL;
    unsigned char noise = 0;
    bool good = true;
    if (version != NULL && version[0] != '\0') {
        request->version = strtoull(version, &end, 10);
        if (*end != '\0') {
            sim_status(exchange, 500, NULL, NULL,
                       "resourceVersion: Invalid value: \"%s\": invalid syntax", version);
            good = false;
        }
    }
    (void)RAND_bytes(&noise, 1);
    request->timeout_ms = 1800000u + noise * 7000u;
    if (timeout != NULL && strtoul(timeout, NULL, 10) > 0) {
        unsigned long seconds = strtoul(timeout, NULL, 10);
        request->timeout_ms = seconds < 86400 ? (unsigned)seconds * 1000u : 86400000u;
    }
    request->initial = request->version == 0;
    free(version);
    free(timeout);
    return good && check_initial(exchange, request);
}

static void send_initial(struct sim_watch *watch)
{
    struct kubesim *sim = watch->exchange->server;
    struct sim_object **objects;
    size_t count;
    watch->seen = sim_store_version(sim->store);
    if (sim_store_list(sim->store, watch->exchange->target.resource, watch->seen,
                       &objects, &count) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(watch, objects[i])) {
            send_event(watch, "ADDED", form_of(watch, objects[i]));
        }
    }
    sim_store_list_free(objects, count);
}

static void link_watch(struct kubesim *sim, struct sim_watch *watch)
{
    watch->next = sim->watches;
    watch->link = &sim->watches;
    if (watch->next != NULL) {
        watch->next->link = &watch->next;
    }
    sim->watches = watch;
}

bool sim_watch_start(struct sim_exchange *exchange)
{
    struct kubesim *sim = exchange->server;
    struct watch_request request = {0};
    struct sim_selector selector = {0};
    if (!parse(exchange, &request) || !sim_query_selector(exchange, &selector)) {
        sim_selector_clear(&selector);
        return false;
    }
    struct sim_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        abort();
    }
    watch->exchange = exchange;
    watch->selector = selector;
    watch->seen = request.version;
    watch->bookmarks = sim_query_flag(exchange, "allowWatchBookmarks");
    exchange->watch = watch;
    link_watch(sim, watch);
    sim_answer_text(exchange, 200, "application/json", NULL);
    exchange->transport->start(exchange, &exchange->answer);
    set_timeout(watch, request.timeout_ms);
    if (request.initial) {
        send_initial(watch);
        if (request.list && watch->bookmarks) {
            send_bookmark(watch, true);
        }
    }
    sim_watch_wake(sim);
    return true;
}

void sim_watch_stop(struct sim_exchange *exchange)
{
    struct sim_watch *watch = exchange->watch;
    if (watch == NULL) {
        return;
    }
    *watch->link = watch->next;
    if (watch->next != NULL) {
        watch->next->link = watch->link;
    }
    if (exchange->timer != NULL) {
        evtimer_del(exchange->timer);
    }
    sim_selector_clear(&watch->selector);
    free(watch);
    exchange->watch = NULL;
    sim_server_notify(exchange->server);
}

static bool is_of(const struct sim_watch *watch, const char *resource)
{
    return resource == NULL ||
           strcmp(watch->exchange->target.resource->plural, resource) == 0;
}

void sim_watch_cut(struct kubesim *sim, const char *resource)
{
    struct sim_watch *next;
    for (struct sim_watch *watch = sim->watches; watch != NULL; watch = next) {
        next = watch->next;
        if (is_of(watch, resource)) {
            end_watch(watch->exchange);
        }
    }
}

void sim_watch_expire(struct kubesim *sim, const char *resource)
{
    struct sim_watch *next;
    for (struct sim_watch *watch = sim->watches; watch != NULL; watch = next) {
        next = watch->next;
        if (is_of(watch, resource)) {
            expire(watch);
        }
    }
}

void sim_watch_expire_one(struct sim_exchange *exchange)
{
    expire(exchange->watch);
}

void sim_watch_bookmark(struct kubesim *sim)
{
    if (!sim->paused) {
        on_pump(-1, 0, sim);
    }
    for (struct sim_watch *watch = sim->watches; watch != NULL; watch = watch->next) {
        if (watch->bookmarks && watch->seen <= sim_store_version(sim->store)) {
            send_bookmark(watch, false);
        }
    }
}

unsigned sim_watch_count(struct kubesim *sim, const char *resource)
{
    unsigned count = 0;
    for (struct sim_watch *watch = sim->watches; watch != NULL; watch = watch->next) {
        count += is_of(watch, resource);
    }
    return count;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and timers of the simulated HTTP client, and the transport around the
 * Kubernetes library's. How long a pause lasts is drawn here: the jitter that is asked
 * for differs from process to process, and a story has to repeat.
 */
#include "client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

/* ---- streams ---- */

struct hami_internal_http_stream {
    struct hami_internal_http_stream *next, *previous;
    struct client *client;
    struct stream *stream;
    bool cancelled, opened;
    struct hami_internal_http_stream_options options;
};

static void unlink_stream(struct hami_internal_http_stream *handle)
{
    if (handle->next) {
        handle->next->previous = handle->previous;
    }
    if (handle->previous) {
        handle->previous->next = handle->next;
    } else {
        handle->client->streams = handle->next;
    }
}

static void end(struct hami_internal_http_stream *handle, int code, int status)
{
    struct hami_kubernetes_answer answer = {.size = sizeof(answer),
                                            .code = code,
                                            .status = status,
                                            .body = "",
                                            .text = code ? hami_strerror(code) : ""};

    unlink_stream(handle);
    handle->options.on_end(handle->options.data, &answer);
    free(handle);
}

static void give_line(struct hami_internal_http_stream *handle, const char *type,
                      const char *object)
{
    size_t size = strlen(object) + 64;
    char *line = malloc(size);
    int length = snprintf(line, size, "{\"type\":\"%s\",\"object\":%s}", type, object);

    handle->options.on_line(handle->options.data, line, (size_t)length);
    free(line);
}

static void give_list_end(struct hami_internal_http_stream *handle, uint64_t version)
{
    char text[256];

    (void)snprintf(
        text, sizeof(text),
        "{\"kind\":\"PartialObjectMetadata\",\"metadata\":{\"resourceVersion\":"
        "\"%" PRIu64 "\",\"annotations\":{\"k8s.io/initial-events-end\":"
        "\"true\"}}}",
        version);
    give_line(handle, "BOOKMARK", text);
}

static void open_handle(struct hami_internal_http_stream *handle)
{
    if (!handle->opened && handle->options.on_open) {
        handle->options.on_open(handle->options.data);
    }
    handle->opened = true;
}

static void came(void *data, enum stream_news news, struct object *object,
                 uint64_t version)
{
    struct hami_internal_http_stream *handle = data;
    struct engine *engine = &handle->client->world->engine;

    if (handle->cancelled && news != STREAM_EXPIRED && news != STREAM_BROKEN &&
        news != STREAM_REFUSED) {
        return;
    }
    switch (news) {
    case STREAM_OPENED:
        open_handle(handle);
        break;
    case STREAM_CHANGED:
        give_line(handle, "MODIFIED", object_line(object));
        break;
    case STREAM_GONE:
        give_line(handle, "DELETED", object_line(object));
        break;
    case STREAM_LISTED:
        give_list_end(handle, version);
        break;
    case STREAM_EXPIRED:
        /* Said as a status, or as an event of a stream that was opened. */
        if (handle->cancelled ||
            (!handle->opened && engine_below(engine, RANDOM_NETWORK, 2))) {
            end(handle, 0, 410);
        } else {
            open_handle(handle);
            give_line(handle, "ERROR",
                      "{\"kind\":\"Status\",\"code\":410,\"message\":\"too old\"}");
            end(handle, 0, 200);
        }
        break;
    case STREAM_REFUSED:
        end(handle, 0, 400);
        break;
    case STREAM_BROKEN:
        end(handle, HAMI_E_TRANSPORT, 0);
        break;
    }
}

int hami_internal_http_stream_start(
    hami_kubernetes *handle_of_client,
    const struct hami_internal_http_stream_options *options,
    struct hami_internal_http_stream **ret)
{
    struct client *client = client_of(handle_of_client);
    const char *version = strstr(options->path, "&resourceVersion=");

    if (client->closed || client->world->replicas[client->replica].dead) {
        return HAMI_E_CLOSED;
    }
    struct hami_internal_http_stream *handle = calloc(1, sizeof(*handle));
    handle->client = client;
    handle->options = *options;
    handle->next = client->streams;
    if (handle->next) {
        handle->next->previous = handle;
    }
    client->streams = handle;
    *ret = handle;
    handle->stream = stream_open(
        client->world, client->replica, strstr(options->path, "/pods?") != NULL,
        version ? strtoull(version + strlen("&resourceVersion="), NULL, 10) : 0, came,
        handle);
    return 0;
}

void hami_internal_http_stream_cancel(hami_kubernetes *client,
                                      struct hami_internal_http_stream *handle)
{
    (void)client;
    handle->cancelled = true;
}

bool client_end_stream(struct client *client)
{
    struct hami_internal_http_stream *at = client->streams;

    while (at && !at->cancelled && !client->closed) {
        at = at->next;
    }
    if (at) {
        stream_close(at->stream);
        end(at, client->closed ? HAMI_E_CLOSED : HAMI_E_CANCELED, 0);
    }
    return at != NULL;
}

/* ---- timers ---- */

struct hami_internal_http_timer {
    struct hami_internal_http_timer *next, *previous;
    struct client *client;
    struct tick *tick;
    bool cancelled;
    hami_internal_http_timer_fn on_fire;
    void *data;
};

/* Its event; outlives the timer. */
struct tick {
    struct hami_internal_http_timer *timer; /* NULL = it has fired */
};

static void fire(struct hami_internal_http_timer *timer, int code)
{
    if (timer->next) {
        timer->next->previous = timer->previous;
    }
    if (timer->previous) {
        timer->previous->next = timer->next;
    } else {
        timer->client->timers = timer->next;
    }
    timer->tick->timer = NULL;
    timer->on_fire(timer->data, code);
    free(timer);
}

static void ticked(struct world *world, void *subject, uint64_t argument)
{
    struct tick *tick = subject;

    (void)world;
    (void)argument;
    if (tick->timer) {
        fire(tick->timer, 0);
    }
    free(tick);
}

int hami_internal_http_timer_start(hami_kubernetes *handle_of_client, uint64_t delay_ms,
                                   hami_internal_http_timer_fn on_fire, void *data,
                                   struct hami_internal_http_timer **ret)
{
    struct client *client = client_of(handle_of_client);
    struct world *world = client->world;

    (void)delay_ms;
    if (client->closed || world->replicas[client->replica].dead) {
        return HAMI_E_CLOSED;
    }
    struct hami_internal_http_timer *timer = calloc(1, sizeof(*timer));
    *timer = (struct hami_internal_http_timer){client->timers, NULL,    client, NULL,
                                               false,          on_fire, data};
    timer->tick = calloc(1, sizeof(*timer->tick));
    timer->tick->timer = timer;
    if (timer->next) {
        timer->next->previous = timer;
    }
    client->timers = timer;
    *ret = timer;
    uint64_t most = engine_chance(&world->engine, RANDOM_NETWORK, 50000) && !world->calm
                        ? 5 * SECOND
                        : 200 * MS;
    engine_add(&world->engine,
               world_now(world) + engine_span(&world->engine, RANDOM_NETWORK, 0, most),
               client->replica, ticked, timer->tick, 0);
    return 0;
}

void hami_internal_http_timer_cancel(hami_kubernetes *client,
                                     struct hami_internal_http_timer *timer)
{
    (void)client;
    timer->cancelled = true;
}

bool client_end_timer(struct client *client)
{
    struct hami_internal_http_timer *at = client->timers;

    while (at && !at->cancelled && !client->closed) {
        at = at->next;
    }
    if (at) {
        fire(at, client->closed ? HAMI_E_CLOSED : HAMI_E_CANCELED);
    }
    return at != NULL;
}

/* ---- the transport around ---- */

static struct client *of(struct hami_transport *transport)
{
    return (struct client *)transport;
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    return of(transport)->inner->submit(of(transport)->inner, call);
}

static int inspect(struct hami_transport *transport, hami_call *call)
{
    return of(transport)->inner->inspect(of(transport)->inner, call);
}

static int revoke(struct hami_transport *transport, hami_call *call)
{
    return of(transport)->inner->revoke(of(transport)->inner, call);
}

static void abort_call(struct hami_transport *transport, hami_call *call)
{
    of(transport)->inner->abort(of(transport)->inner, call);
    client_pump(transport);
}

static int watch(struct hami_transport *transport, hami_nodelock *lock)
{
    return of(transport)->inner->watch(of(transport)->inner, lock);
}

static void unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    of(transport)->inner->unwatch(of(transport)->inner, lock);
    client_pump(transport);
}

void client_wrap(struct client *client)
{
    client->transport = (struct hami_transport){.size = sizeof(client->transport),
                                                .name = "kubernetes",
                                                .flags = client->inner->flags,
                                                .submit = submit,
                                                .abort = abort_call,
                                                .inspect = inspect,
                                                .revoke = revoke,
                                                .watch = watch,
                                                .unwatch = unwatch};
}

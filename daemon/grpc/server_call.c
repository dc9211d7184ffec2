/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as its server sees it.
 *
 * coming -> handled -> ended -> freed. In `coming` fields and the one message are
 * collected; `handled`: the handler has it. `ended`: an answer is decided, by the handler
 * or here, and what is left of it goes out. The call is freed when its stream has closed,
 * whatever its state; a handler that still had it is told by `gone`.
 */
#include "server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "text.h"

enum call_state { COMING = 0, HANDLED, ENDED };

struct hamid_grpc_call {
    struct hamid_grpc_stream stream; /* first */
    struct hamid_grpc_server *server;
    struct hamid_grpc_peer peer;
    enum call_state state;
    const struct hamid_grpc_method *method;
    bool is_post, is_grpc, is_encoded, has_bad_timeout;
    bool has_deadline;
    uint64_t timeout_ms, deadline_ms;
    struct event *timer;
    uint8_t *message; /* the request's; NULL = none has come */
    size_t length;
    void (*gone)(void *data);
    void (*drained)(void *data);
    void *data;
};

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The answer is decided. */
static void end(struct hamid_grpc_call *call, int code, const char *text)
{
    if (call->state == ENDED) {
        return;
    }
    call->state = ENDED;
    call->server->call_count--;
    if (call->timer != NULL) {
        (void)event_del(call->timer);
    }
    hamid_grpc_stream_finish(&call->stream, code, text);
}

/* Ends a call that its handler may have, and tells that last: it may free the server. */
static void end_and_tell(struct hamid_grpc_call *call, int code, const char *text)
{
    void (*gone)(void *) = call->state == HANDLED ? call->gone : NULL;
    void *data = call->data;

    call->gone = NULL;
    call->drained = NULL;
    end(call, code, text);
    if (gone != NULL) {
        gone(data);
    }
}

static void time_is_up(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    end_and_tell(data, HAMID_GRPC_DEADLINE_EXCEEDED, "the call's deadline has passed");
}

/* ---- what comes in ----------------------------------------------------------------- */

static void field(struct hamid_grpc_stream *stream, const char *name, const char *value,
                  size_t length)
{
    struct hamid_grpc_call *call = (struct hamid_grpc_call *)stream;

    if (strcmp(name, ":method") == 0) {
        call->is_post = strcmp(value, "POST") == 0;
    } else if (strcmp(name, ":path") == 0) {
        for (const struct hamid_grpc_method *one = call->server->config.methods;
             one->path != NULL; one++) {
            if (strcmp(one->path, value) == 0) {
                call->method = one;
            }
        }
    } else if (strcmp(name, "content-type") == 0) {
        call->is_grpc = hamid_grpc_is_grpc(value, length);
    } else if (strcmp(name, "grpc-encoding") == 0) {
        call->is_encoded = strcmp(value, "identity") != 0;
    } else if (strcmp(name, "grpc-timeout") == 0) {
        call->has_deadline = true;
        call->has_bad_timeout =
            hamid_grpc_timeout_parse(value, length, &call->timeout_ms) != 0;
    }
}

static void start_timer(struct hamid_grpc_call *call)
{
    struct timeval after = {(time_t)(call->timeout_ms / 1000),
                            (suseconds_t)(call->timeout_ms % 1000 * 1000)};

    call->deadline_ms = now_ms() + call->timeout_ms;
    call->timer = event_new(call->server->base, -1, 0, time_is_up, call);
    if (call->timer == NULL || event_add(call->timer, &after) != 0) {
        end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
}

/* The request's head is whole. */
static void block(struct hamid_grpc_stream *stream, bool ended)
{
    struct hamid_grpc_call *call = (struct hamid_grpc_call *)stream;

    (void)ended;
    if (call->state != COMING || call->timer != NULL) {
        return; /* trailers of a request mean nothing */
    }
    if (!call->is_post || !call->is_grpc) {
        call->state = ENDED;
        call->server->call_count--;
        hamid_grpc_stream_refuse(stream, call->is_post ? "415" : "405");
    } else if (call->method == NULL) {
        end(call, HAMID_GRPC_UNIMPLEMENTED, "there is no such method here");
    } else if (call->is_encoded) {
        end(call, HAMID_GRPC_UNIMPLEMENTED, "compressed messages are not supported");
    } else if (call->has_bad_timeout) {
        end(call, HAMID_GRPC_INTERNAL, "the timeout can't be read");
    } else if (call->has_deadline) {
        start_timer(call);
    }
}

static int message_came(struct hamid_grpc_stream *stream, const uint8_t *message,
                        size_t length)
{
    struct hamid_grpc_call *call = (struct hamid_grpc_call *)stream;

    if (call->state != COMING) {
        return -1;
    }
    if (call->message != NULL) {
        end(call, HAMID_GRPC_INTERNAL, "one message was expected, more came");
        return -1;
    }
    call->message = malloc(length + 1);
    if (call->message == NULL) {
        end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return -1;
    }
    memcpy(call->message, message, length);
    call->length = length;
    return 0;
}

/* The request is whole: its handler's turn. */
static void ended(struct hamid_grpc_stream *stream)
{
    struct hamid_grpc_call *call = (struct hamid_grpc_call *)stream;

    if (call->state != COMING) {
        return;
    }
    if (call->message == NULL) {
        end(call, HAMID_GRPC_INTERNAL, "one message was expected, none came");
        return;
    }
    uint8_t *message = call->message;
    call->message = NULL;
    call->state = HANDLED;
    call->method->handle(call->server->config.data, call, message, call->length);
    free(message);
}

static void broken(struct hamid_grpc_stream *stream, int code, const char *text)
{
    end_and_tell((struct hamid_grpc_call *)stream, code, text);
}

static void has_drained(struct hamid_grpc_stream *stream)
{
    struct hamid_grpc_call *call = (struct hamid_grpc_call *)stream;

    if (call->drained != NULL) {
        call->drained(call->data);
    }
}

static void closed(struct hamid_grpc_stream *stream, uint32_t error, const char *why)
{
    struct hamid_grpc_call *call = (struct hamid_grpc_call *)stream;
    void (*gone)(void *) = call->state == HANDLED ? call->gone : NULL;
    void *data = call->data;

    (void)error;
    (void)why;
    end(call, HAMID_GRPC_CANCELLED, NULL);
    if (call->timer != NULL) {
        event_free(call->timer);
    }
    hamid_grpc_stream_done(stream);
    free(call->message);
    free(call);
    if (gone != NULL) {
        gone(data);
    }
}

static const struct hamid_grpc_stream_events events = {.field = field,
                                                       .block = block,
                                                       .message = message_came,
                                                       .ended = ended,
                                                       .broken = broken,
                                                       .drained = has_drained,
                                                       .closed = closed};

struct hamid_grpc_stream *hamid_grpc_internal_call_new(struct server_connection *from)
{
    struct hamid_grpc_call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        return NULL;
    }
    if (!hamid_grpc_stream_init(&call->stream, &events,
                                from->server->config.message_max)) {
        free(call);
        return NULL;
    }
    call->server = from->server;
    call->peer = from->peer;
    call->server->call_count++;
    return &call->stream;
}

/* ---- public ------------------------------------------------------------------------ */

int hamid_grpc_call_send(struct hamid_grpc_call *call, const uint8_t *message,
                         size_t length)
{
    if (length > call->server->config.message_max ||
        hamid_grpc_stream_put(&call->stream, message, length) != 0) {
        return -1;
    }
    hamid_grpc_stream_flush(&call->stream);
    return 0;
}

size_t hamid_grpc_call_pending(const struct hamid_grpc_call *call)
{
    return evbuffer_get_length(call->stream.output);
}

void hamid_grpc_call_end(struct hamid_grpc_call *call, int code, const char *text)
{
    call->gone = NULL;
    call->drained = NULL;
    end(call, code, text);
}

void hamid_grpc_call_reply(struct hamid_grpc_call *call, const uint8_t *message,
                           size_t length)
{
    if (hamid_grpc_call_send(call, message, length) == 0) {
        hamid_grpc_call_end(call, HAMID_GRPC_OK, NULL);
    } else {
        hamid_grpc_call_end(call, HAMID_GRPC_INTERNAL,
                            "the answer is too long to be sent");
    }
}

void hamid_grpc_call_watch(struct hamid_grpc_call *call, void (*gone)(void *data),
                           void (*drained)(void *data), void *data)
{
    call->gone = gone;
    call->drained = drained;
    call->data = data;
}

uint64_t hamid_grpc_call_time_left(const struct hamid_grpc_call *call)
{
    uint64_t now = now_ms();

    if (!call->has_deadline) {
        return UINT64_MAX;
    }
    return call->deadline_ms > now ? call->deadline_ms - now : 0;
}

const struct hamid_grpc_peer *hamid_grpc_call_peer(const struct hamid_grpc_call *call)
{
    return &call->peer;
}

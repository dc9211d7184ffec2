/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call as its client sees it.
 *
 * It waits for a connection, then runs on it as a stream, and ends once: by the status of
 * the server, by its own deadline, with its stream or connection, or cancelled. Its end
 * takes it off everything and frees it; the caller is told after that, so that whatever
 * the caller does then finds it gone.
 *
 * A unary answer is kept until its status has come: OK with no message, or with two, is
 * no answer.
 */
#include "client_internal.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "text.h"

#define DEADLINE_ROUNDED_MS                                                              \
    2 /* that the server's may be earlier, by the rounding of texts */
#define USER_AGENT "grpc-c-hamid/0.1"

struct hamid_grpc_request {
    struct hamid_grpc_stream stream; /* first */
    TAILQ_ENTRY(hamid_grpc_request) siblings;
    struct hamid_grpc_requests *list; /* of the client, that it is in */
    struct hamid_grpc_client *client;
    struct hamid_grpc_call_config config;
    char method[HAMID_GRPC_PATH_MAX];
    uint64_t deadline_ms;
    struct event *timer;
    int http_status;
    bool has_head, is_grpc, is_encoded;
    int code; /* the server's status; -1 = none has come */
    char text[HAMID_GRPC_TEXT_MAX];
    uint8_t *answer; /* unary: kept until the status */
    size_t answer_length;
};

/* ---- the end ----------------------------------------------------------------------- */

static void take_off(struct hamid_grpc_request *request)
{
    if (request->stream.connection != NULL) {
        hamid_grpc_stream_drop(&request->stream, NGHTTP2_CANCEL);
    }
    TAILQ_REMOVE(request->list, request, siblings);
    if (request->timer != NULL) {
        event_free(request->timer);
    }
    hamid_grpc_stream_done(&request->stream);
}

void hamid_grpc_internal_request_end(struct hamid_grpc_request *request, int code,
                                     const char *text, bool never_ran)
{
    const struct hamid_grpc_status status = {code, text, never_ran};
    uint8_t *answer = code == HAMID_GRPC_OK ? request->answer : NULL;

    take_off(request);
    if (answer != NULL) {
        request->config.message_came(request->config.data, answer,
                                     request->answer_length);
    }
    request->config.ended(request->config.data, &status);
    free(request->answer);
    free(request);
}

void hamid_grpc_internal_requests_fail(struct hamid_grpc_client *client)
{
    while (!TAILQ_EMPTY(&client->waiting)) {
        struct hamid_grpc_request *request = TAILQ_FIRST(&client->waiting);

        TAILQ_REMOVE(request->list, request, siblings);
        request->list = &client->failing;
        TAILQ_INSERT_TAIL(request->list, request, siblings);
    }
}

static void time_is_up(evutil_socket_t fd, short what, void *data)
{
    struct hamid_grpc_request *request = data;

    (void)fd;
    (void)what;
    hamid_grpc_internal_request_end(request, HAMID_GRPC_DEADLINE_EXCEEDED,
                                    "the call's deadline has passed",
                                    !request->stream.has_left);
}

/* The server has said all: judges it. */
static void judge(struct hamid_grpc_request *request)
{
    if (request->code < 0) {
        if (request->http_status != 200) {
            hamid_grpc_internal_request_end(
                request, hamid_grpc_code_of_http(request->http_status),
                "the server answered by an HTTP error", false);
        } else {
            hamid_grpc_internal_request_end(request, HAMID_GRPC_UNKNOWN,
                                            "the answer has no status of gRPC", false);
        }
    } else if (request->code == HAMID_GRPC_OK && !request->config.many &&
               request->answer == NULL) {
        hamid_grpc_internal_request_end(request, HAMID_GRPC_INTERNAL,
                                        "the answer is OK, but has no message", false);
    } else {
        hamid_grpc_internal_request_end(request, request->code, request->text, false);
    }
}

/* ---- what comes in ----------------------------------------------------------------- */

static void field(struct hamid_grpc_stream *stream, const char *name, const char *value,
                  size_t length)
{
    struct hamid_grpc_request *request = (struct hamid_grpc_request *)stream;

    if (strcmp(name, ":status") == 0) {
        request->http_status = atoi(value); /* three digits, nghttp2 saw to it */
    } else if (strcmp(name, "content-type") == 0) {
        request->is_grpc = hamid_grpc_is_grpc(value, length);
    } else if (strcmp(name, "grpc-encoding") == 0) {
        request->is_encoded = strcmp(value, "identity") != 0;
    } else if (strcmp(name, "grpc-status") == 0) {
        int code = hamid_grpc_code_parse(value, length);

        request->code = code >= 0 ? code : HAMID_GRPC_UNKNOWN;
    } else if (strcmp(name, "grpc-message") == 0) {
        hamid_grpc_text_decode(value, length, request->text, sizeof(request->text));
    }
}

static void block(struct hamid_grpc_stream *stream, bool ended)
{
    struct hamid_grpc_request *request = (struct hamid_grpc_request *)stream;

    if (request->http_status / 100 == 1) {
        return;
    }
    if (request->has_head || ended) {
        return; /* trailers; `ended` judges */
    }
    request->has_head = true;
    if (request->http_status != 200) {
        hamid_grpc_internal_request_end(request,
                                        hamid_grpc_code_of_http(request->http_status),
                                        "the server answered by an HTTP error", false);
    } else if (!request->is_grpc) {
        hamid_grpc_internal_request_end(request, HAMID_GRPC_UNKNOWN,
                                        "the answer is not gRPC", false);
    } else if (request->is_encoded) {
        hamid_grpc_internal_request_end(request, HAMID_GRPC_INTERNAL,
                                        "the answer is compressed", false);
    }
}

static int message_came(struct hamid_grpc_stream *stream, const uint8_t *message,
                        size_t length)
{
    struct hamid_grpc_request *request = (struct hamid_grpc_request *)stream;

    if (request->config.many) {
        struct hamid_grpc_connection *connection = stream->connection;
        int32_t id = stream->id;

        request->config.message_came(request->config.data, message, length);
        return hamid_grpc_stream_lives(connection, id, stream) ? 0 : -1;
    }
    if (request->answer != NULL) {
        hamid_grpc_internal_request_end(request, HAMID_GRPC_INTERNAL,
                                        "one message was expected, more came", false);
        return -1;
    }
    request->answer = malloc(length + 1);
    if (request->answer == NULL) {
        hamid_grpc_internal_request_end(request, HAMID_GRPC_RESOURCE_EXHAUSTED,
                                        "out of memory", false);
        return -1;
    }
    memcpy(request->answer, message, length);
    request->answer_length = length;
    return 0;
}

static void ended(struct hamid_grpc_stream *stream)
{
    judge((struct hamid_grpc_request *)stream);
}

static void broken(struct hamid_grpc_stream *stream, int code, const char *text)
{
    hamid_grpc_internal_request_end((struct hamid_grpc_request *)stream, code, text,
                                    false);
}

static void drained(struct hamid_grpc_stream *stream)
{
    (void)stream;
}

/* A server that sees the deadline first cancels the stream. */
static bool is_late(const struct hamid_grpc_request *request)
{
    return request->config.timeout_ms != 0 &&
           hamid_grpc_internal_now_ms() + DEADLINE_ROUNDED_MS >= request->deadline_ms;
}

static void closed(struct hamid_grpc_stream *stream, uint32_t error, const char *why)
{
    struct hamid_grpc_request *request = (struct hamid_grpc_request *)stream;
    bool never_ran = !stream->has_left || error == NGHTTP2_REFUSED_STREAM;
    int code = error == HAMID_GRPC_LOST || !stream->has_left
                   ? HAMID_GRPC_UNAVAILABLE
                   : hamid_grpc_code_of_reset(error);

    if (code == HAMID_GRPC_CANCELLED && is_late(request)) {
        code = HAMID_GRPC_DEADLINE_EXCEEDED;
        why = "the call's deadline has passed";
    }
    hamid_grpc_internal_request_end(request, code, why, never_ran);
}

static const struct hamid_grpc_stream_events events = {.field = field,
                                                       .block = block,
                                                       .message = message_came,
                                                       .ended = ended,
                                                       .broken = broken,
                                                       .drained = drained,
                                                       .closed = closed};

/* ---- the start --------------------------------------------------------------------- */

static nghttp2_nv make_field(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

int hamid_grpc_internal_request_start(struct hamid_grpc_request *request)
{
    struct hamid_grpc_client *client = request->client;
    char timeout[HAMID_GRPC_TIMEOUT_TEXT];
    nghttp2_nv fields[8] = {make_field(":method", "POST"),
                            make_field(":scheme", "http"),
                            make_field(":path", request->method),
                            make_field(":authority", "localhost"),
                            make_field("te", "trailers"),
                            make_field("content-type", "application/grpc"),
                            make_field("user-agent", USER_AGENT)};
    size_t count = 7;

    TAILQ_REMOVE(request->list, request, siblings);
    request->list = &client->running;
    TAILQ_INSERT_TAIL(request->list, request, siblings);
    if (request->config.timeout_ms != 0) {
        uint64_t now = hamid_grpc_internal_now_ms();

        hamid_grpc_timeout_format(
            request->deadline_ms > now ? request->deadline_ms - now : 1, timeout);
        fields[count++] = make_field("grpc-timeout", timeout);
    }
    return hamid_grpc_stream_request(client->current->connection, &request->stream,
                                     fields, count);
}

static bool start_timer(struct hamid_grpc_request *request)
{
    uint64_t timeout = request->config.timeout_ms;
    struct timeval after = {(time_t)(timeout / 1000),
                            (suseconds_t)(timeout % 1000 * 1000)};

    if (timeout == 0) {
        return true;
    }
    request->deadline_ms = hamid_grpc_internal_now_ms() + timeout;
    request->timer = event_new(request->client->base, -1, 0, time_is_up, request);
    return request->timer != NULL && event_add(request->timer, &after) == 0;
}

struct hamid_grpc_request *
hamid_grpc_client_call(struct hamid_grpc_client *client,
                       const struct hamid_grpc_call_config *config)
{
    struct hamid_grpc_request *request;

    if (client->is_freed || strlen(config->method) >= sizeof(request->method) ||
        config->length > client->config.message_max) {
        return NULL;
    }
    request = calloc(1, sizeof(*request));
    if (request == NULL) {
        return NULL;
    }
    request->client = client;
    request->config = *config;
    request->code = -1;
    memcpy(request->method, config->method, strlen(config->method) + 1);
    if (!hamid_grpc_stream_init(&request->stream, &events, client->config.message_max) ||
        hamid_grpc_stream_put(&request->stream, config->message, config->length) != 0 ||
        !start_timer(request)) {
        if (request->timer != NULL) {
            event_free(request->timer);
        }
        hamid_grpc_stream_done(&request->stream);
        free(request);
        return NULL;
    }
    request->list = &client->waiting;
    TAILQ_INSERT_TAIL(request->list, request, siblings);
    hamid_grpc_internal_client_dial(client);
    return request;
}

void hamid_grpc_request_cancel(struct hamid_grpc_request *request)
{
    take_off(request);
    free(request->answer);
    free(request);
}

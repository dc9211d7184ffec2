/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The two sides, and the methods that the tests call. */
#include "world.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- methods ----------------------------------------------------------------------- */

static void note(struct world *world, struct hamid_grpc_call *call)
{
    world->served++;
    world->peer_pid = hamid_grpc_call_peer(call)->pid;
    world->time_left_ms = hamid_grpc_call_time_left(call);
}

static void echo(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                 size_t length)
{
    note(data, call);
    hamid_grpc_call_reply(call, message, length);
}

/* The message is the code and the text: "5text". */
static void refuse(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                   size_t length)
{
    char text[2048] = "";

    note(data, call);
    memcpy(text, message + 1, length - 1);
    hamid_grpc_call_end(call, message[0] - '0', text);
}

/* As many messages as the first byte says, each all of the request; then the code 0. */
static void repeat(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                   size_t length)
{
    note(data, call);
    for (unsigned i = 0; i < message[0]; i++) {
        ck_assert_int_eq(hamid_grpc_call_send(call, message, length), 0);
    }
    hamid_grpc_call_end(call, HAMID_GRPC_OK, NULL);
}

static void has_gone(void *data)
{
    struct world *world = data;

    world->gone_count++;
    if (world->free_in_gone) {
        world->server = hamid_grpc_server_free(world->server);
    }
}

static void has_drained(void *data)
{
    struct world *world = data;

    world->drained_count++;
}

/* The test ends it. */
static void keep(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                 size_t length)
{
    struct world *world = data;

    (void)message;
    (void)length;
    note(world, call);
    ck_assert_uint_lt(world->kept_count, 8);
    world->kept[world->kept_count++] = call;
    hamid_grpc_call_watch(call, has_gone, has_drained, world);
}

static const struct hamid_grpc_method methods[] = {{"/t/echo", echo},
                                                   {"/t/refuse", refuse},
                                                   {"/t/repeat", repeat},
                                                   {"/t/keep", keep},
                                                   {NULL, NULL}};

/* ---- life -------------------------------------------------------------------------- */

void world_open_with(struct world *world, const struct hamid_grpc_server_config *server,
                     const struct hamid_grpc_client_config *client)
{
    struct hamid_grpc_server_config server_config = *server;
    struct hamid_grpc_client_config client_config = *client;
    char error[256] = "";

    (void)signal(SIGPIPE, SIG_IGN);
    memset(world, 0, sizeof(*world));
    strcpy(world->folder, "/tmp/hamid-grpc-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(world->folder));
    snprintf(world->path, sizeof(world->path), "%s/socket", world->folder);
    world->base = event_base_new();
    server_config.methods = methods;
    server_config.data = world;
    world->server = hamid_grpc_server_new(world->base, &server_config);
    ck_assert_ptr_nonnull(world->server);
    ck_assert_msg(hamid_grpc_server_listen(world->server, world->path, 0600, error,
                                           sizeof(error)) == 0,
                  "%s", error);
    client_config.path = world->path;
    world->client = hamid_grpc_client_new(world->base, &client_config);
    ck_assert_ptr_nonnull(world->client);
}

void world_open(struct world *world)
{
    const struct hamid_grpc_server_config server = {0};
    const struct hamid_grpc_client_config client = {0};

    world_open_with(world, &server, &client);
}

void world_close(struct world *world)
{
    hamid_grpc_client_free(world->client);
    hamid_grpc_server_free(world->server);
    event_base_free(world->base);
    (void)unlink(world->path);
    ck_assert_int_eq(rmdir(world->folder), 0);
}

/* ---- calls ------------------------------------------------------------------------- */

static void message_came(void *data, const uint8_t *message, size_t length)
{
    struct seen *seen = data;

    ck_assert(!seen->ended);
    seen->messages++;
    seen->bytes += length;
    if (length > 0) {
        seen->first = message[0];
        seen->last = message[length - 1];
    }
    if (seen->messages == seen->cancel_after) {
        hamid_grpc_request_cancel(seen->request);
    }
}

static void call_ended(void *data, const struct hamid_grpc_status *status)
{
    struct seen *seen = data;

    ck_assert(!seen->ended);
    seen->ended = true;
    seen->code = status->code;
    seen->never_ran = status->never_ran;
    snprintf(seen->text, sizeof(seen->text), "%s", status->text);
    if (seen->free_client_then) {
        seen->world->client = hamid_grpc_client_free(seen->world->client);
    }
}

static void start(struct world *world, struct seen *seen,
                  struct hamid_grpc_call_config *config)
{
    memset(seen, 0, sizeof(*seen));
    seen->world = world;
    config->message_came = message_came;
    config->ended = call_ended;
    config->data = seen;
    seen->request = hamid_grpc_client_call(world->client, config);
    ck_assert_ptr_nonnull(seen->request);
}

void world_call(struct world *world, struct seen *seen, const char *method,
                const void *message, size_t length, uint64_t timeout_ms)
{
    struct hamid_grpc_call_config config = {
        .method = method, .message = message, .length = length, .timeout_ms = timeout_ms};

    start(world, seen, &config);
}

void world_stream(struct world *world, struct seen *seen, const char *method,
                  const void *message, size_t length)
{
    struct hamid_grpc_call_config config = {
        .method = method, .message = message, .length = length, .many = true};

    start(world, seen, &config);
}

static void time_is_up(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    *(bool *)data = true;
}

static struct event *start_clock(struct world *world, unsigned milliseconds, bool *is_up)
{
    struct timeval after = {milliseconds / 1000, (milliseconds % 1000) * 1000};
    struct event *clock = event_new(world->base, -1, 0, time_is_up, is_up);

    *is_up = false;
    event_add(clock, &after);
    return clock;
}

void world_until(struct world *world, const bool *flag)
{
    bool is_up;
    struct event *clock = start_clock(world, PATIENCE_MS, &is_up);

    while (!*flag && !is_up) {
        event_base_loop(world->base, EVLOOP_ONCE);
    }
    event_free(clock);
    ck_assert_msg(*flag, "it did not happen in time");
}

void world_until_count(struct world *world, const size_t *count, size_t wanted)
{
    bool is_up;
    struct event *clock = start_clock(world, PATIENCE_MS, &is_up);

    while (*count != wanted && !is_up) {
        event_base_loop(world->base, EVLOOP_ONCE);
    }
    event_free(clock);
    ck_assert_uint_eq(*count, wanted);
}

void world_turn(struct world *world, unsigned milliseconds)
{
    bool is_up;
    struct event *clock = start_clock(world, milliseconds, &is_up);

    while (!is_up) {
        event_base_loop(world->base, EVLOOP_ONCE);
    }
    event_free(clock);
}

void world_expect_service(struct world *world)
{
    struct seen seen;

    world_call(world, &seen, "/t/echo", "x", 1, 0);
    world_until(world, &seen.ended);
    ck_assert_int_eq(seen.code, HAMID_GRPC_OK);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler role's port: its HTTP server, its routes, the bind verb's body. What is
 * behind them is played here. Input: see conversation.h.
 */
#include "conversation.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <jansson.h>

#include "http/server.h"
#include "locks.h"
#include "pass.h"
#include "service.h"
#include "status.h"

static struct service service;
static struct conversation conversation;

/* ---- the binder, played: it answers at once, later or never ---- */

struct bind_caller {
    bind_answer_fn answer;
    void *data;
    bool is_late;
};

static struct bind_caller caller; /* the one of the connection */
static unsigned asked, ended;

static void check_request(const struct bind_request *request)
{
    char lock[HAMI_LOCK_VALUE_MAX];
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    FUZZ_CHECK(request->uid[0] != '\0' && request->node[0] != '\0');
    FUZZ_CHECK(strpbrk(request->uid, ",\"\\/ ") == NULL);
    FUZZ_CHECK(strpbrk(request->node, ",\"\\/ ") == NULL);
    /* What is accepted can be written into a lock and read back. */
    int length = snprintf(lock, sizeof(lock), "2026-01-02T03:04:05Z,%s,%s",
                          request->namespace_name, request->name);
    FUZZ_CHECK((size_t)length < sizeof(lock));
    FUZZ_CHECK(hami_lock_record_parse(lock, NULL, &record) == 0);
    FUZZ_CHECK(record.kind == HAMI_LOCK_OWNED);
    FUZZ_CHECK(strcmp(record.name, request->name) == 0);
}

struct bind_caller *binder_ask(struct binder *binder, const struct bind_request *request,
                               bind_answer_fn answer, void *data)
{
    (void)binder;
    check_request(request);
    FUZZ_CHECK(asked == ended);
    asked++;
    size_t kind = strlen(request->uid) % 3;
    if (kind == 0) {
        ended++;
        answer(data, request->name);
        return NULL;
    }
    caller = (struct bind_caller){answer, data, kind == 1};
    return &caller;
}

void binder_leave(struct bind_caller *given)
{
    FUZZ_CHECK(given == &caller && asked == ended + 1);
    ended++;
    caller.is_late = false;
}

size_t binder_in_flight(const struct binder *binder)
{
    (void)binder;
    return asked - ended;
}

static void answer_late(void)
{
    if (caller.is_late) {
        caller.is_late = false;
        ended++;
        caller.answer(caller.data, "");
    }
}

/* ---- the rest, played ---- */

void pass_on(struct upstream *upstream, struct metrics *metrics,
             struct hamid_http_exchange *exchange)
{
    (void)upstream;
    (void)metrics;
    static const char text[] = "{\"passed\":true}";
    hamid_http_answer(exchange, 200, "application/json", text, sizeof(text) - 1);
}

char *locks_format(hami_nodelock *lock, const char *node)
{
    (void)lock;
    FUZZ_CHECK(node == NULL || strlen(node) <= HAMI_NODELOCK_NODE_MAX);
    return strdup("[]");
}

void metrics_write(const struct metrics_sources *sources, struct evbuffer *out)
{
    (void)evbuffer_add_printf(out, "binds %zu\n", sources->binds_in_flight);
}

void service_listener_metrics(const struct service *played, struct evbuffer *out)
{
    (void)played;
    (void)evbuffer_add_printf(out, "connections 1\n");
}

static void answer_looked(struct hamid_http_exchange *exchange)
{
    static const char text[] = "{}";
    hamid_http_answer(exchange, 200, "application/json", text, sizeof(text) - 1);
}

void status_handle_page(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    answer_looked(exchange);
}

void status_handle_nodes(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    answer_looked(exchange);
}

void status_handle_node(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    answer_looked(exchange);
}

void status_handle_pod(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    answer_looked(exchange);
}

void status_handle_events(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    answer_looked(exchange);
}

void changes_read(struct changes *changes, struct changes_counts *ret)
{
    (void)changes;
    memset(ret, 0, sizeof(*ret));
}

uint64_t hami_kubernetes_now(void)
{
    return UINT64_C(1000000000);
}

bool hami_kubernetes_transport_is_synced(const struct hami_transport *transport)
{
    return transport != NULL;
}

const char *hami_kubernetes_server(const hami_kubernetes *client)
{
    return client != NULL ? "" : "https://played";
}

/* ---- answers ---- */

static void answered(int status, const char *content_type, const char *body)
{
    if (strcmp(content_type, "application/json") == 0) {
        json_t *value = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
        FUZZ_CHECK(value != NULL);
        FUZZ_CHECK(json_is_array(value) || json_object_size(value) == 1);
        json_decref(value);
        return;
    }
    FUZZ_CHECK(strncmp(content_type, "text/plain", 10) == 0);
    FUZZ_CHECK(status == 200 || body[0] != '\0');
}

static void set_up(void)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    struct hamid_http_config config;

    service.hosts[0] = hosts[0];
    service.hosts[1] = hosts[1];
    service.host_count = 2;
    service.base = event_base_new();
    FUZZ_CHECK(service.base != NULL);
    service_http_config(&service, true, &config);
    service.server = hamid_http_server_new(service.base, &config);
    FUZZ_CHECK(service.server != NULL);
    conversation = (struct conversation){.base = service.base,
                                         .server = service.server,
                                         .answered = answered,
                                         .pause = answer_late};
}

static void tear_down(void)
{
    (void)hamid_http_server_free(service.server);
    event_base_free(service.base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (service.base == NULL) {
        set_up();
        (void)atexit(tear_down);
    }
    caller.is_late = false;
    conversation_hold(&conversation, data, size);
    FUZZ_CHECK(asked == ended);
    return 0;
}

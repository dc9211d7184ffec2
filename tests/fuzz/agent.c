/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node role's socket: its HTTP server, its routes, its bodies, its table of
 * allocations. The libraries are played here. Input: see conversation.h; "@@" stands for
 * the id of an allocation that is open at the beginning.
 */
#include "conversation.h"

#include <event2/event.h>
#include <jansson.h>
#include <unistd.h>

#include "agent_internal.h"
#include "client_metrics.h"
#include "mailbox.h"

#define JOBS_MAX 64

/* ---- the handshake, played ---- */

struct hami_handshake_job {
    struct hami_owner owner;
    bool is_open;
};

static struct hami_handshake_job jobs[JOBS_MAX];
static struct hami_device device = {"GPU-0", "NVIDIA", 1024, 50};
static size_t begun;
static uint64_t now_ns = UINT64_C(1000000000);

char *hamid_client_metrics(hami_kubernetes *self)
{
    (void)self;
    return NULL;
}

uint64_t hami_kubernetes_now(void)
{
    return now_ns;
}

uint64_t hami_kubernetes_in_ms(uint64_t ms)
{
    return now_ns + ms * UINT64_C(1000000);
}

static hami_handshake_job *open_job(void)
{
    for (size_t i = 0; i < JOBS_MAX; i++) {
        if (!jobs[i].is_open) {
            jobs[i] =
                (struct hami_handshake_job){{"default", "pod", "uid"}, .is_open = true};
            return &jobs[i];
        }
    }
    return NULL;
}

int hami_handshake_call_start(hami_handshake *handshake,
                              const struct hami_handshake_call *call,
                              hami_handshake_begun_fn callback, void *data)
{
    const char *resource = call->resource;
    const struct hami_handshake_container *containers = call->containers;
    size_t container_count = call->container_count;
    uint64_t deadline_ns = call->deadline_ns;
    static const int codes[] = {0, 0, 0, HAMI_E_BUSY, HAMI_E_HELD, HAMI_E_TIMEDOUT};
    struct hami_error error = HAMI_ERROR_INIT;

    (void)handshake;
    FUZZ_CHECK(resource[0] != '\0' && strlen(resource) <= 317);
    FUZZ_CHECK(container_count > 0 && container_count <= 64 && deadline_ns > now_ns);
    for (size_t i = 0; i < container_count; i++) {
        FUZZ_CHECK(containers[i].id_count > 0);
        for (size_t j = 0; j < containers[i].id_count; j++) {
            FUZZ_CHECK(containers[i].ids[j][0] != '\0');
        }
    }
    if (strchr(resource, '/') == NULL) {
        return HAMI_E_INVAL;
    }
    int code = codes[begun++ % (sizeof(codes) / sizeof(codes[0]))];
    hami_handshake_job *job = code == 0 ? open_job() : NULL;
    code = code == 0 && job == NULL ? HAMI_E_NOMEM : code;
    error.code = code;
    (void)snprintf(error.text, sizeof(error.text), "%s", code < 0 ? resource : "");
    callback(data, code, job, &error);
    return 0;
}

static int end(hami_handshake_job *job, hami_done_fn callback, void *data)
{
    struct hami_error error = HAMI_ERROR_INIT;

    FUZZ_CHECK(job->is_open);
    job->is_open = false;
    error.code = begun % 3 == 0 ? HAMI_E_LOST : 0;
    callback(data, error.code, &error);
    return 0;
}

int hami_handshake_finish_start(hami_handshake_job *job, uint64_t deadline_ns,
                                hami_done_fn callback, void *data)
{
    (void)deadline_ns;
    return end(job, callback, data);
}

int hami_handshake_fail_start(hami_handshake_job *job, const char *reason,
                              uint64_t deadline_ns, hami_done_fn callback, void *data)
{
    (void)deadline_ns;
    FUZZ_CHECK(strlen(reason) < 256 && strpbrk(reason, "\r\n\t\x7f") == NULL);
    return end(job, callback, data);
}

hami_handshake_job *hami_handshake_drop(hami_handshake_job *job)
{
    FUZZ_CHECK(job == NULL || job->is_open);
    if (job != NULL) {
        job->is_open = false;
    }
    return NULL;
}

const struct hami_owner *hami_handshake_owner(const hami_handshake_job *job)
{
    return &job->owner;
}

uint64_t hami_handshake_fence(const hami_handshake_job *job)
{
    return job->is_open ? UINT64_MAX : 0;
}

size_t hami_handshake_container_count(const hami_handshake_job *job)
{
    (void)job;
    return 1;
}

const char *hami_handshake_container_name(const hami_handshake_job *job, size_t container)
{
    (void)job;
    return container == 0 ? "main" : "";
}

size_t hami_handshake_container_device_count(const hami_handshake_job *job,
                                             size_t container)
{
    (void)job;
    return container == 0 ? 1 : 0;
}

const struct hami_device *hami_handshake_container_device(const hami_handshake_job *job,
                                                          size_t container, size_t index)
{
    (void)job;
    FUZZ_CHECK(container == 0 && index == 0);
    return &device;
}

int hami_handshake_stats(hami_handshake *handshake, struct hami_handshake_stats *ret)
{
    (void)handshake;
    (void)ret;
    return 0;
}

int hami_kubernetes_request_start(hami_kubernetes *client,
                                  const struct hami_kubernetes_request *request,
                                  hami_kubernetes_answered_fn callback, void *data)
{
    struct hami_kubernetes_answer answer = {
        .size = sizeof(answer), .status = 201, .body = "", .text = ""};
    json_t *event = json_loadb(request->body, request->body_length, 0, NULL);

    (void)client;
    FUZZ_CHECK(json_is_object(event));
    json_decref(event);
    callback(data, &answer);
    return 0;
}

/* ---- the agent ---- */

static char folder[] = "/tmp/agent-fuzz-XXXXXX";
static char path[64];
static struct event_base *base;
static struct hamid_mailbox *mailbox;
static struct agent *agent;
static struct conversation conversation;

static void answered(int status, const char *content_type, const char *body)
{
    if (strcmp(content_type, "application/json") != 0) {
        FUZZ_CHECK(status == 204 || strncmp(content_type, "text/plain", 10) == 0);
        return;
    }
    json_t *value = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(json_is_object(value));
    const char *id = json_string_value(json_object_get(value, "allocation"));
    if (status == 200 && id == NULL) {
        /* Whether a container may start: no books are read here, so nobody is swapped. */
        const char *verdict = json_string_value(json_object_get(value, "verdict"));
        FUZZ_CHECK(verdict != NULL && strcmp(verdict, "unknown") == 0);
    } else if (status == 200) {
        FUZZ_CHECK(allocations_is_id(id));
        FUZZ_CHECK(allocations_is_own(&agent->table, id));
    } else {
        FUZZ_CHECK(json_is_string(json_object_get(value, "code")));
        FUZZ_CHECK(json_is_string(json_object_get(value, "message")));
    }
    json_decref(value);
}

static void set_up(void)
{
    char error[256] = "";

    FUZZ_CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/agent.sock", folder);
    base = event_base_new();
    FUZZ_CHECK(base != NULL);
    mailbox = hamid_mailbox_new(base, NULL, NULL);
    static struct node_events events;
    node_events_init(&events, NULL, "n1", now_ns);
    struct agent_config config = {.base = base,
                                  .events = &events,
                                  .mailbox = mailbox,
                                  .node = "n1",
                                  .socket = path,
                                  .timeout_ms = 2000,
                                  .lifetime_ms = 60000};
    agent = agent_new(&config, error, sizeof(error));
    FUZZ_CHECK(agent != NULL);
    conversation = (struct conversation){
        .base = base, .server = agent->server, .is_unix = true, .answered = answered};
}

static void tear_down(void)
{
    (void)agent_free(agent);
    (void)hamid_mailbox_free(mailbox);
    event_base_free(base);
    (void)rmdir(folder);
}

/* Puts the id into the place of each "@@". */
static char *fill_in(const uint8_t *data, size_t size, const char *id, size_t *ret_size)
{
    char *filled = malloc(size * (ALLOCATION_ID_LENGTH / 2) + 1);
    size_t length = 0;

    FUZZ_CHECK(filled != NULL);
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '@' && i + 1 < size && data[i + 1] == '@') {
            memcpy(filled + length, id, ALLOCATION_ID_LENGTH);
            length += ALLOCATION_ID_LENGTH;
            i++;
        } else {
            filled[length++] = (char)data[i];
        }
    }
    *ret_size = length;
    return filled;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t length = 0;

    if (agent == NULL) {
        set_up();
        (void)atexit(tear_down);
    }
    begun = 0;
    const struct allocation *open = allocations_add(&agent->table, open_job(), now_ns);
    FUZZ_CHECK(open != NULL);
    char *filled = fill_in(data, size, open->id, &length);
    conversation_hold(&conversation, (const uint8_t *)filled, length);
    FUZZ_CHECK(agent_pending(agent) == 0);
    /* Whatever is open is forgotten in time, and its job is given back. */
    now_ns += UINT64_C(61000000000);
    (void)allocations_expire(&agent->table, now_ns);
    FUZZ_CHECK(agent->table.open == 0 && agent->table.count == 0);
    for (size_t i = 0; i < JOBS_MAX; i++) {
        FUZZ_CHECK(!jobs[i].is_open);
    }
    free(filled);
    return 0;
}

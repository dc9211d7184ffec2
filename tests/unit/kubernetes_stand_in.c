/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-ins of kubernetes_stand_in.h. Each struct has a mutex of its own, held for
 * moments only.
 */
#include "kubernetes_stand_in.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ABSENT "(absent)"

/* ---- world ---- */

void world_begin(struct world *world, const struct kubesim_options *options,
                 const char *const *schedulers)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_kubernetes_transport_config transport =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    int code;

    memset(world, 0, sizeof(*world));
    ck_assert_int_eq(kubesim_start(options, &world->sim), 0);
    snprintf(world->ca_file, sizeof(world->ca_file), "/tmp/haminodelock-ca-XXXXXX");
    int file = mkstemp(world->ca_file);
    ck_assert_int_ge(file, 0);
    const char *pem = kubesim_ca_pem(world->sim);
    ck_assert_int_eq(dprintf(file, "%s", pem), (int)strlen(pem));
    close(file);
    config.server = kubesim_url(world->sim);
    config.ca_file = world->ca_file;
    config.token = kubesim_token(world->sim, "admin");
    code = hami_kubernetes_new(&config, &world->client, &error);
    ck_assert_msg(code == 0, "client: %s", error.text);
    transport.scheduler_names = schedulers;
    for (; schedulers != NULL && schedulers[transport.scheduler_name_count] != NULL;) {
        transport.scheduler_name_count++;
    }
    ck_assert_int_eq(hami_kubernetes_transport_new(world->client, &transport,
                                                   &world->transport, &error),
                     0);
}

void world_end(struct world *world)
{
    world->transport = hami_kubernetes_transport_free(world->transport);
    world->client = hami_kubernetes_free(world->client);
    world->sim = kubesim_free(world->sim);
    unlink(world->ca_file);
}

void world_add_node(struct world *world, const char *name)
{
    ck_assert_int_eq(kubesim_create_node(world->sim, name, "nvidia.com/gpu", 1), 201);
    ck_assert_int_eq(
        kubesim_set_annotation(world->sim, "nodes", NULL, name, "other", "1"), 200);
}

void world_drop_annotations(struct world *world, const char *resource,
                            const char *namespace_name, const char *name)
{
    char uri[600];
    if (namespace_name != NULL) {
        snprintf(uri, sizeof(uri), "/api/v1/namespaces/%s/%s/%s", namespace_name,
                 resource, name);
    } else {
        snprintf(uri, sizeof(uri), "/api/v1/%s/%s", resource, name);
    }
    ck_assert_int_eq(kubesim_request(world->sim, "PATCH", uri,
                                     "application/merge-patch+json",
                                     "{\"metadata\":{\"annotations\":null}}", NULL),
                     200);
}

void expect_annotation(struct world *world, const char *resource,
                       const char *namespace_name, const char *name, const char *key,
                       const char *value)
{
    char *found = kubesim_annotation(world->sim, resource, namespace_name, name, key);
    ck_assert_msg(value == NULL ? found == NULL
                                : found != NULL && strcmp(found, value) == 0,
                  "%s of %s is %s, wanted %s", key, name, found != NULL ? found : ABSENT,
                  value != NULL ? value : ABSENT);
    free(found);
}

/* ---- calls, as the test sees them ---- */

static void begin_wait(pthread_mutex_t *mutex, pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static struct timespec in_ms(uint64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

void call_begin(struct hami_call *call, const char *node, uint64_t timeout_ms)
{
    memset(call, 0, sizeof(*call));
    begin_wait(&call->mutex, &call->ended);
    snprintf(call->node, sizeof(call->node), "%s", node);
    call->deadline_ns = hami_kubernetes_in_ms(timeout_ms);
    call->wants_read = true;
}

void call_edit(struct hami_call *call, enum hami_edit_action action, const char *key,
               const char *expect, const char *value)
{
    ck_assert_uint_lt(call->edit_count, STAND_IN_EDITS_MAX);
    call->edits[call->edit_count++] =
        (struct hami_transport_edit){action, key, expect, value};
}

int call_wait_for(struct hami_call *call, uint64_t ms)
{
    struct timespec until = in_ms(ms);
    int late = 0;
    pthread_mutex_lock(&call->mutex);
    while (call->done == 0 && late == 0) {
        late = pthread_cond_timedwait(&call->ended, &call->mutex, &until);
    }
    unsigned done = call->done;
    pthread_mutex_unlock(&call->mutex);
    ck_assert_msg(done == 1, "the call was completed %u times", done);
    return call->code;
}

int call_wait(struct hami_call *call)
{
    return call_wait_for(call, hami_call_remaining(call) / 1000000 + 3000);
}

int call_submit(struct world *world, struct hami_call *call)
{
    int code = world->transport->submit(world->transport, call);
    return code < 0 ? code : call_wait(call);
}

int call_inspect(struct world *world, struct hami_call *call)
{
    int code = world->transport->inspect(world->transport, call);
    return code < 0 ? code : call_wait(call);
}

int call_revoke(struct world *world, struct hami_call *call)
{
    int code = world->transport->revoke(world->transport, call);
    return code < 0 ? code : call_wait(call);
}

/* ---- calls, as the transport sees them ---- */

const char *hami_call_node(const hami_call *call)
{
    return call->node;
}

const struct hami_transport_edit *hami_call_edits(const hami_call *call,
                                                  size_t *ret_count)
{
    *ret_count = call->edit_count;
    return call->edits;
}

const char *hami_call_version(const hami_call *call)
{
    return call->version;
}

bool hami_call_is_write(const hami_call *call)
{
    for (size_t i = 0; i < call->edit_count; i++) {
        if (call->edits[i].action != HAMI_EDIT_READ) {
            return true;
        }
    }
    return false;
}

uint64_t hami_call_remaining(const hami_call *call)
{
    uint64_t now = hami_kubernetes_now();
    return call->deadline_ns > now ? call->deadline_ns - now : 0;
}

const struct hami_owner *hami_call_owner(const hami_call *call)
{
    return &call->owner;
}

bool hami_call_wants_read(const hami_call *call)
{
    return call->wants_read;
}

const char *hami_call_revocation(const hami_call *call)
{
    return call->revocation;
}

static void copy_text(char *target, size_t size, const char *text)
{
    snprintf(target, size, "%s", text != NULL ? text : ABSENT);
}

void hami_call_done(hami_call *call, const struct hami_transport_result *result)
{
    pthread_mutex_lock(&call->mutex);
    call->done++;
    call->code = result->code;
    call->status = result->status;
    call->server_time_us = result->server_time_us;
    call->has_values = result->values != NULL && result->value_count == call->edit_count;
    for (size_t i = 0; i < call->edit_count && call->has_values; i++) {
        copy_text(call->values[i], sizeof(call->values[i]), result->values[i]);
    }
    copy_text(call->node_version, sizeof(call->node_version), result->version);
    copy_text(call->text, sizeof(call->text), result->text);
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->mutex);
}

static void keep_fact(hami_call *call, int place, const char **text)
{
    if (*text != NULL) {
        copy_text(call->facts_texts[place], sizeof(call->facts_texts[place]), *text);
        *text = call->facts_texts[place];
    }
}

void hami_call_done_owner(hami_call *call, int code, const struct hami_owner_facts *facts,
                          const char *text)
{
    pthread_mutex_lock(&call->mutex);
    call->done++;
    call->code = code;
    copy_text(call->text, sizeof(call->text), text);
    call->has_facts = facts != NULL;
    if (facts != NULL) {
        call->facts = *facts;
        keep_fact(call, 0, &call->facts.uid);
        keep_fact(call, 1, &call->facts.node);
        keep_fact(call, 2, &call->facts.assigned_node);
        keep_fact(call, 3, &call->facts.version);
        keep_fact(call, 4, &call->facts.revoked);
    }
    pthread_cond_signal(&call->ended);
    pthread_mutex_unlock(&call->mutex);
}

/* ---- manager ---- */

hami_nodelock *manager_new(void)
{
    hami_nodelock *manager = calloc(1, sizeof(*manager));
    ck_assert_ptr_nonnull(manager);
    begin_wait(&manager->mutex, &manager->told);
    return manager;
}

void manager_free(hami_nodelock *manager)
{
    pthread_cond_destroy(&manager->told);
    pthread_mutex_destroy(&manager->mutex);
    free(manager);
}

static void keep_news(hami_nodelock *manager, const struct news *news)
{
    pthread_mutex_lock(&manager->mutex);
    manager->late_news += manager->closed;
    if (manager->news_count < STAND_IN_NEWS_MAX) {
        manager->news[manager->news_count++] = *news;
    }
    pthread_cond_broadcast(&manager->told);
    pthread_mutex_unlock(&manager->mutex);
}

int hami_nodelock_observe(hami_nodelock *lock, const char *node,
                          const struct hami_node_record *record)
{
    struct news news = {.kind = NEWS_OBSERVED,
                        .annotation_count = record->annotation_count};
    const char *value = NULL;
    for (size_t i = 0; i < record->annotation_count; i++) {
        if (strcmp(record->annotations[i].key, LOCK) == 0) {
            value = record->annotations[i].value;
        }
    }
    copy_text(news.name, sizeof(news.name), node);
    copy_text(news.version, sizeof(news.version), record->version);
    copy_text(news.lock, sizeof(news.lock), value);
    keep_news(lock, &news);
    return 0;
}

int hami_nodelock_observe_owner(hami_nodelock *lock, const struct hami_owner *owner,
                                const struct hami_owner_facts *facts)
{
    struct news news = {
        .kind = NEWS_OWNER, .deleting = facts->deleting, .done = facts->done};
    copy_text(news.node, sizeof(news.node), facts->node != NULL ? facts->node : "");
    snprintf(news.name, sizeof(news.name), "%.63s/%.200s", owner->namespace_name,
             owner->name);
    keep_news(lock, &news);
    return 0;
}

int hami_nodelock_forget(hami_nodelock *lock, const char *node)
{
    struct news news = {.kind = NEWS_FORGOTTEN};
    copy_text(news.name, sizeof(news.name), node);
    keep_news(lock, &news);
    return 0;
}

size_t manager_count(hami_nodelock *manager)
{
    pthread_mutex_lock(&manager->mutex);
    size_t count = manager->news_count;
    pthread_mutex_unlock(&manager->mutex);
    return count;
}

size_t manager_wait(hami_nodelock *manager, size_t from, enum news_kind kind,
                    const char *name, const char *lock)
{
    struct timespec until = in_ms(WAIT_MS);
    size_t found = 0;
    int late = 0;
    pthread_mutex_lock(&manager->mutex);
    while (found == 0 && late == 0) {
        for (; from < manager->news_count && found == 0; from++) {
            const struct news *news = &manager->news[from];
            if (news->kind == kind && strcmp(news->name, name) == 0 &&
                (lock == NULL || strcmp(news->lock, lock) == 0)) {
                found = from + 1;
            }
        }
        if (found == 0) {
            late = pthread_cond_timedwait(&manager->told, &manager->mutex, &until);
        }
    }
    pthread_mutex_unlock(&manager->mutex);
    return found;
}

bool wait_synced(struct world *world)
{
    /* The client's thread sets it without an event that could be waited for: look until
     * it is so. */
    uint64_t until = hami_kubernetes_in_ms(WAIT_MS);
    while (!hami_kubernetes_transport_is_synced(world->transport)) {
        if (hami_kubernetes_now() > until) {
            return false;
        }
        (void)poll(NULL, 0, 1);
    }
    return true;
}

/* ---- lease ---- */

int hami_lease_facts(const hami_lease *lease, struct hami_lease_view *ret)
{
    *ret = lease->view;
    return 0;
}

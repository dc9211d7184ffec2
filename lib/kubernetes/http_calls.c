/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of calls by verb and code, how long they took, and how far watches are behind.
 *
 * The lag is measured by our own writes: the version that a write's answer names is
 * remembered, and so is each that a watch shows; whichever comes second tells the lag. A
 * write of what nobody watches is never met, and gives way to later ones. Lock:
 * client->mutex for the counts; the versions are the client's thread's.
 */
#include "http_client.h"

#include <string.h>

static const int codes[HAMI_KUBERNETES_CODES] = HAMI_KUBERNETES_CODES_INIT;
static const uint64_t bounds_us[HAMI_KUBERNETES_BOUNDS] = HAMI_KUBERNETES_BOUNDS_INIT;

static size_t place_of_code(int status)
{
    size_t place = 0;

    while (place < HAMI_KUBERNETES_CODES - 1 && codes[place] != status) {
        place++;
    }
    return place;
}

static void add_time(struct hami_kubernetes_times *times, uint64_t ns)
{
    uint64_t us = ns / 1000;
    size_t place = 0;

    while (place < HAMI_KUBERNETES_BOUNDS && us > bounds_us[place]) {
        place++;
    }
    times->counts[place]++;
    times->sum_us += us;
}

static enum hami_kubernetes_verb verb_of(const hami_kubernetes *client,
                                         enum hami_kubernetes_method method,
                                         const char *url)
{
    static const enum hami_kubernetes_verb verbs[] = {
        HAMI_KUBERNETES_VERB_GET, HAMI_KUBERNETES_VERB_CREATE,
        HAMI_KUBERNETES_VERB_UPDATE, HAMI_KUBERNETES_VERB_PATCH,
        HAMI_KUBERNETES_VERB_DELETE};
    const char *name = hami_internal_denial_verb(client, method, url);

    return name != NULL && strcmp(name, "list") == 0 ? HAMI_KUBERNETES_VERB_LIST
                                                     : verbs[method];
}

/* ---- calls ---------------------------------------------------------------------- */

void hami_internal_http_calls_count(hami_kubernetes *client,
                                    enum hami_kubernetes_method method, const char *url,
                                    int status, uint64_t sent_ns)
{
    enum hami_kubernetes_verb verb = verb_of(client, method, url);
    uint64_t now = hami_kubernetes_now();

    pthread_mutex_lock(&client->mutex);
    client->calls.answers[verb][place_of_code(status)]++;
    if (sent_ns != 0) {
        add_time(&client->calls.durations[verb], now > sent_ns ? now - sent_ns : 0);
    }
    pthread_mutex_unlock(&client->mutex);
}

void hami_internal_http_calls_count_watch(hami_kubernetes *client, int status)
{
    pthread_mutex_lock(&client->mutex);
    client->calls.answers[HAMI_KUBERNETES_VERB_WATCH][place_of_code(status)]++;
    pthread_mutex_unlock(&client->mutex);
}

/* ---- lag ------------------------------------------------------------------------ */

/* Never 0. */
static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    }
    return hash | 1;
}

static void add_lag(hami_kubernetes *client, uint64_t lag_ns)
{
    pthread_mutex_lock(&client->mutex);
    add_time(&client->calls.watch_lag, lag_ns);
    pthread_mutex_unlock(&client->mutex);
}

void hami_internal_http_calls_wrote(hami_kubernetes *client, const char *body)
{
    static const char member[] = "\"resourceVersion\":\"";
    struct hami_internal_http_sights *sights = &client->sights;
    const char *version = strstr(body, member);
    uint64_t hash;

    if (version == NULL) {
        return;
    }
    version += sizeof(member) - 1;
    hash = hash_of(version, strcspn(version, "\""));
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_SIGHTS_MAX; i++) {
        if (sights->seen[i].version == hash) {
            sights->seen[i].version = 0;
            add_lag(client, 0);
            return;
        }
    }
    sights->written[sights->next_written].version = hash;
    sights->written[sights->next_written].at_ns = hami_kubernetes_now();
    sights->next_written = (sights->next_written + 1) % HAMI_INTERNAL_HTTP_SIGHTS_MAX;
}

void hami_internal_http_count_sight(hami_kubernetes *client, const char *version)
{
    struct hami_internal_http_sights *sights = &client->sights;
    uint64_t hash = hash_of(version, strlen(version));

    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_SIGHTS_MAX; i++) {
        if (sights->written[i].version == hash) {
            sights->written[i].version = 0;
            add_lag(client, hami_kubernetes_now() - sights->written[i].at_ns);
            return;
        }
    }
    sights->seen[sights->next_seen].version = hash;
    sights->next_seen = (sights->next_seen + 1) % HAMI_INTERNAL_HTTP_SIGHTS_MAX;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See etcd_http.h. One thread owns the libcurl handles. `mutex` guards the list of
 * requests that were not started yet, and the flags that others set; it is never held
 * over a callback.
 *
 * Each request has a connection of its own: libcurl sends a request again by itself when
 * a connection that it used before turns out dead, and a write sent twice could be
 * refused because its own first copy won.
 */
#include "etcd_http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX (1024 * 1024)

struct request {
    struct request *next;
    CURL *easy;
    struct curl_slist *headers;
    char *body;
    char *answer;
    size_t answer_length;
    bool sent;    /* the thread's */
    bool aborted; /* guarded by mutex */
    etcd_answered_fn answered;
    void *data;
};

struct etcd_http {
    struct hami_transport transport; /* first */
    char *url;
    CURLM *multi;
    pthread_t thread;
    pthread_mutex_t mutex;
    struct request *incoming; /* guarded by mutex */
    struct request *running;  /* links guarded by mutex, changed by the thread alone */
    bool stop;                /* guarded by mutex */
};

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    struct request *request = data;
    size_t length = request->answer_length + size * count;
    char *larger = length <= ANSWER_MAX ? realloc(request->answer, length + 1) : NULL;
    if (!larger) {
        return 0;
    }
    memcpy(larger + request->answer_length, bytes, size * count);
    request->answer = larger;
    request->answer_length = length;
    return size * count;
}

/* libcurl calls this when it is connected and before the first byte of the request. */
static int about_to_send(void *data, char *peer, char *local, int peer_port,
                         int local_port)
{
    (void)peer;
    (void)local;
    (void)peer_port;
    (void)local_port;
    ((struct request *)data)->sent = true;
    return CURL_PREREQFUNC_OK;
}

static void request_free(struct request *request)
{
    curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->headers);
    free(request->body);
    free(request->answer);
    free(request);
}

static void tell(struct request *request, bool complete)
{
    json_t *body = NULL;
    long status = 0;
    enum etcd_fate fate = request->sent ? ETCD_NO_ANSWER : ETCD_NOT_SENT;
    if (complete) {
        fate = ETCD_ANSWERED;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        body = json_loadb(request->answer ? request->answer : "", request->answer_length,
                          0, NULL);
    }
    request->answered(request->data, fate, (int)status, body);
    json_decref(body);
    request_free(request);
}

/* ---- the thread ---- */

static void unlink_running(struct etcd_http *http, const struct request *request)
{
    pthread_mutex_lock(&http->mutex);
    struct request **link = &http->running;
    while (*link != request) {
        link = &(*link)->next;
    }
    *link = request->next;
    pthread_mutex_unlock(&http->mutex);
    curl_multi_remove_handle(http->multi, request->easy);
}

static bool start_incoming(struct etcd_http *http)
{
    pthread_mutex_lock(&http->mutex);
    while (http->incoming) {
        struct request *request = http->incoming;
        http->incoming = request->next;
        request->next = http->running;
        http->running = request;
        curl_multi_add_handle(http->multi, request->easy);
    }
    bool go_on = !http->stop;
    pthread_mutex_unlock(&http->mutex);
    return go_on;
}

static struct request *find_ended(struct etcd_http *http, bool all)
{
    pthread_mutex_lock(&http->mutex);
    struct request *request = http->running;
    while (request && !request->aborted && !all) {
        request = request->next;
    }
    pthread_mutex_unlock(&http->mutex);
    return request;
}

static void end_early(struct etcd_http *http, bool all)
{
    struct request *request;
    while ((request = find_ended(http, all)) != NULL) {
        unlink_running(http, request);
        tell(request, false);
    }
}

static void finish_done(struct etcd_http *http)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
        struct request *request = NULL;
        bool complete = message->data.result == CURLE_OK;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
        unlink_running(http, request);
        tell(request, complete);
    }
}

static void *run(void *data)
{
    struct etcd_http *http = data;
    int running;
    while (start_incoming(http)) {
        curl_multi_perform(http->multi, &running);
        finish_done(http);
        end_early(http, false);
        curl_multi_poll(http->multi, NULL, 0, 1000, NULL);
    }
    end_early(http, true);
    return NULL;
}

/* ---- for the transport ---- */

struct etcd_http *etcd_http_new(const char *url, const struct hami_transport *functions)
{
    struct etcd_http *http = calloc(1, sizeof(*http));
    if (!http) {
        return NULL;
    }
    http->transport = *functions;
    http->url = strdup(url);
    http->multi = curl_multi_init();
    pthread_mutex_init(&http->mutex, NULL);
    if (!http->url || !http->multi ||
        pthread_create(&http->thread, NULL, run, http) != 0) {
        curl_multi_cleanup(http->multi);
        free(http->url);
        free(http);
        return NULL;
    }
    return http;
}

void etcd_http_free(struct etcd_http *http)
{
    if (!http) {
        return;
    }
    pthread_mutex_lock(&http->mutex);
    http->stop = true;
    pthread_mutex_unlock(&http->mutex);
    curl_multi_wakeup(http->multi);
    pthread_join(http->thread, NULL);
    curl_multi_cleanup(http->multi);
    pthread_mutex_destroy(&http->mutex);
    free(http->url);
    free(http);
}

static bool prepare(const struct etcd_http *http, struct request *request,
                    const char *path, uint64_t timeout_ns)
{
    char url[512];
    snprintf(url, sizeof(url), "%s%s", http->url, path);
    request->easy = curl_easy_init();
    request->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (!request->easy || !request->headers || !request->body) {
        return false;
    }
    uint64_t ms = timeout_ns / 1000000 + 1;
    CURL *easy = request->easy;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, ms < 600000 ? (long)ms : 600000L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, request->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, about_to_send);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
    return true;
}

int etcd_post(struct etcd_http *http, const char *path, json_t *json, uint64_t timeout_ns,
              etcd_answered_fn answered, void *data)
{
    struct request *request = calloc(1, sizeof(*request));
    if (request && json) {
        request->body = json_dumps(json, JSON_COMPACT);
    }
    json_decref(json);
    if (!request || !prepare(http, request, path, timeout_ns)) {
        if (request) {
            request_free(request);
        }
        return HAMI_E_NOMEM;
    }
    request->answered = answered;
    request->data = data;
    pthread_mutex_lock(&http->mutex);
    request->next = http->incoming;
    http->incoming = request;
    pthread_mutex_unlock(&http->mutex);
    curl_multi_wakeup(http->multi);
    return 0;
}

void etcd_abort(struct etcd_http *http, void *data)
{
    pthread_mutex_lock(&http->mutex);
    struct request *lists[] = {http->incoming, http->running};
    for (size_t i = 0; i < 2; i++) {
        for (struct request *request = lists[i]; request; request = request->next) {
            if (request->data == data) {
                request->aborted = true;
            }
        }
    }
    pthread_mutex_unlock(&http->mutex);
    curl_multi_wakeup(http->multi);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another extender, asked over HTTP from the event loop. libcurl says which sockets and
 * which time it waits for; libevent tells it when they come. One thread: the loop's.
 *
 * A request's body is kept until its answer is complete and read by position, because
 * libcurl may have to send it a second time when a kept connection turns out dead.
 */
#include "upstream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <curl/curl.h>
#include <event2/buffer.h>
#include <event2/event.h>

#define PIECE_BYTES                                                                      \
    (256L << 10) /* of one read or write; lists of nodes have megabytes  \
                                  */

struct upstream_call {
    LIST_ENTRY(upstream_call) siblings;
    struct upstream *upstream;
    CURL *handle;
    struct curl_slist *headers;
    struct evbuffer *body;
    size_t sent; /* of body */
    struct evbuffer *answer_body;
    upstream_answer_fn answer;
    void *data;
    char reason[CURL_ERROR_SIZE];
};

struct upstream {
    struct event_base *base;
    CURLM *multi;
    struct event *timer;
    char *url; /* without '/' at its end */
    char *ca_file;
    bool insecure;
    uint64_t timeout_ms;
    LIST_HEAD(, upstream_call) calls;
    size_t call_count;
};

/* ---- libcurl on libevent -------------------------------------------------------- */

static void free_call(struct upstream_call *call)
{
    if (call->handle != NULL) {
        (void)curl_multi_remove_handle(call->upstream->multi, call->handle);
        curl_easy_cleanup(call->handle);
    }
    curl_slist_free_all(call->headers);
    if (call->body != NULL) {
        evbuffer_free(call->body);
    }
    if (call->answer_body != NULL) {
        evbuffer_free(call->answer_body);
    }
    LIST_REMOVE(call, siblings);
    call->upstream->call_count--;
    free(call);
}

static void tell(struct upstream_call *call, CURLcode result)
{
    long status = 0;
    const char *content_type = NULL;
    char error[CURL_ERROR_SIZE + 64] = "";
    (void)curl_easy_getinfo(call->handle, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->handle, CURLINFO_CONTENT_TYPE, &content_type);
    if (result != CURLE_OK) {
        status = 0;
        (void)snprintf(error, sizeof(error), "%s",
                       call->reason[0] != '\0' ? call->reason
                                               : curl_easy_strerror(result));
    }
    call->answer(call->data, (int)status, content_type, call->answer_body, error);
    free_call(call);
}

static void finish_calls(struct upstream *upstream)
{
    int left = 0;
    CURLMsg *message = curl_multi_info_read(upstream->multi, &left);
    for (; message != NULL; message = curl_multi_info_read(upstream->multi, &left)) {
        char *private_data = NULL;
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        CURLcode result = message->data.result;
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private_data);
        tell((struct upstream_call *)private_data, result);
    }
}

static void on_socket_ready(evutil_socket_t fd, short what, void *data)
{
    struct upstream *upstream = data;
    int running = 0;
    int action = ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
                 ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0);
    (void)curl_multi_socket_action(upstream->multi, fd, action, &running);
    finish_calls(upstream);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct upstream *upstream = data;
    int running = 0;
    (void)fd;
    (void)what;
    (void)curl_multi_socket_action(upstream->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    finish_calls(upstream);
}

static int watch_socket(CURL *handle, curl_socket_t fd, int what, void *data,
                        void *socket_data)
{
    struct upstream *upstream = data;
    struct event *event = socket_data;
    (void)handle;
    if (event != NULL) {
        event_free(event);
    }
    (void)curl_multi_assign(upstream->multi, fd, NULL);
    if (what == CURL_POLL_REMOVE) {
        return 0;
    }
    short events = (short)(EV_PERSIST | ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
                           ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0));
    event = event_new(upstream->base, fd, events, on_socket_ready, upstream);
    if (event == NULL || event_add(event, NULL) != 0) {
        if (event != NULL) {
            event_free(event);
        }
        return -1;
    }
    (void)curl_multi_assign(upstream->multi, fd, event);
    return 0;
}

static int watch_time(CURLM *multi, long milliseconds, void *data)
{
    struct upstream *upstream = data;
    (void)multi;
    if (milliseconds < 0) {
        (void)event_del(upstream->timer);
        return 0;
    }
    struct timeval when = {.tv_sec = milliseconds / 1000,
                           .tv_usec = milliseconds % 1000 * 1000};
    return event_add(upstream->timer, &when);
}

/* ---- one call ------------------------------------------------------------------- */

static size_t read_body(char *buffer, size_t size, size_t count, void *data)
{
    struct upstream_call *call = data;
    struct evbuffer_ptr at;
    if (call->sent == evbuffer_get_length(call->body) ||
        evbuffer_ptr_set(call->body, &at, call->sent, EVBUFFER_PTR_SET) != 0) {
        return 0;
    }
    ev_ssize_t copied = evbuffer_copyout_from(call->body, &at, buffer, size * count);
    if (copied < 0) {
        return CURL_READFUNC_ABORT;
    }
    call->sent += (size_t)copied;
    return (size_t)copied;
}

static int seek_body(void *data, curl_off_t offset, int origin)
{
    struct upstream_call *call = data;
    if (origin != SEEK_SET || offset < 0 ||
        (size_t)offset > evbuffer_get_length(call->body)) {
        return CURL_SEEKFUNC_FAIL;
    }
    call->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static size_t write_answer(char *bytes, size_t size, size_t count, void *data)
{
    struct upstream_call *call = data;
    size_t length = size * count;
    if (evbuffer_get_length(call->answer_body) + length > UPSTREAM_BODY_MAX ||
        evbuffer_add(call->answer_body, bytes, length) != 0) {
        (void)snprintf(call->reason, sizeof(call->reason),
                       "its answer is larger than %u bytes", UPSTREAM_BODY_MAX);
        return 0;
    }
    return length;
}

static bool set_headers(struct upstream_call *call, const char *content_type)
{
    char line[256];
    (void)snprintf(line, sizeof(line), "Content-Type: %.200s", content_type);
    struct curl_slist *headers = curl_slist_append(NULL, line);
    struct curl_slist *more =
        headers != NULL ? curl_slist_append(headers, "Expect:") : NULL;
    call->headers = headers;
    return more != NULL;
}

static bool set_options(struct upstream_call *call, const char *url)
{
    CURL *handle = call->handle;
    const struct upstream *upstream = call->upstream;
    long verify = upstream->insecure ? 0 : 1;
    CURLcode results[] = {
        curl_easy_setopt(handle, CURLOPT_URL, url),
        curl_easy_setopt(handle, CURLOPT_PROXY, ""),
        curl_easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED),
        curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L),
        curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
        curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L),
        curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, (long)upstream->timeout_ms),
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, verify),
        curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, verify * 2),
        curl_easy_setopt(handle, CURLOPT_POST, 1L),
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)evbuffer_get_length(call->body)),
        curl_easy_setopt(handle, CURLOPT_HTTPHEADER, call->headers),
        curl_easy_setopt(handle, CURLOPT_READFUNCTION, read_body),
        curl_easy_setopt(handle, CURLOPT_READDATA, call),
        curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_body),
        curl_easy_setopt(handle, CURLOPT_SEEKDATA, call),
        curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write_answer),
        curl_easy_setopt(handle, CURLOPT_WRITEDATA, call),
        curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, call->reason),
        curl_easy_setopt(handle, CURLOPT_PRIVATE, (char *)call),
        upstream->ca_file != NULL
            ? curl_easy_setopt(handle, CURLOPT_CAINFO, upstream->ca_file)
            : CURLE_OK,
    };
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        if (results[i] != CURLE_OK) {
            return false;
        }
    }
    (void)curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, PIECE_BYTES);
    (void)curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, PIECE_BYTES);
    (void)curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L); /* libcurl 7.87 and later */
    return true;
}

static char *join_url(const char *url, const char *path)
{
    char *joined = NULL;
    return asprintf(&joined, "%s%s", url, path) < 0 ? NULL : joined;
}

/* ---- public --------------------------------------------------------------------- */

struct upstream *upstream_new(struct event_base *base,
                              const struct upstream_config *config)
{
    struct upstream *upstream = calloc(1, sizeof(*upstream));
    if (upstream == NULL) {
        return NULL;
    }
    LIST_INIT(&upstream->calls);
    upstream->base = base;
    upstream->insecure = config->insecure;
    upstream->timeout_ms = config->timeout_ms;
    upstream->url = strdup(config->url);
    upstream->ca_file = config->ca_file != NULL ? strdup(config->ca_file) : NULL;
    upstream->timer = evtimer_new(base, on_timer, upstream);
    upstream->multi = curl_multi_init();
    if (upstream->url == NULL || (config->ca_file != NULL && upstream->ca_file == NULL) ||
        upstream->timer == NULL || upstream->multi == NULL) {
        return upstream_free(upstream);
    }
    size_t length = strlen(upstream->url);
    while (length > 0 && upstream->url[length - 1] == '/') {
        upstream->url[--length] = '\0';
    }
    (void)curl_multi_setopt(upstream->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    (void)curl_multi_setopt(upstream->multi, CURLMOPT_SOCKETDATA, upstream);
    (void)curl_multi_setopt(upstream->multi, CURLMOPT_TIMERFUNCTION, watch_time);
    (void)curl_multi_setopt(upstream->multi, CURLMOPT_TIMERDATA, upstream);
    return upstream;
}

struct upstream *upstream_free(struct upstream *upstream)
{
    if (upstream == NULL) {
        return NULL;
    }
    while (!LIST_EMPTY(&upstream->calls)) {
        free_call(LIST_FIRST(&upstream->calls));
    }
    if (upstream->multi != NULL) {
        (void)curl_multi_cleanup(upstream->multi);
    }
    if (upstream->timer != NULL) {
        event_free(upstream->timer);
    }
    free(upstream->url);
    free(upstream->ca_file);
    free(upstream);
    return NULL;
}

struct upstream_call *upstream_post(struct upstream *upstream, const char *path,
                                    const char *content_type, struct evbuffer *body,
                                    upstream_answer_fn answer, void *data)
{
    struct upstream_call *call =
        upstream->call_count < UPSTREAM_CALLS_MAX ? calloc(1, sizeof(*call)) : NULL;
    if (call == NULL) {
        return NULL;
    }
    LIST_INSERT_HEAD(&upstream->calls, call, siblings);
    upstream->call_count++;
    call->upstream = upstream;
    call->answer = answer;
    call->data = data;
    call->body = evbuffer_new();
    call->answer_body = evbuffer_new();
    call->handle = curl_easy_init();
    char *url = join_url(upstream->url, path);
    bool is_made = call->body != NULL && call->answer_body != NULL &&
                   call->handle != NULL && url != NULL &&
                   evbuffer_add_buffer(call->body, body) == 0 &&
                   set_headers(call, content_type) && set_options(call, url) &&
                   curl_multi_add_handle(upstream->multi, call->handle) == CURLM_OK;
    free(url);
    if (!is_made) {
        free_call(call);
        return NULL;
    }
    return call;
}

void upstream_cancel(struct upstream_call *call)
{
    free_call(call);
}

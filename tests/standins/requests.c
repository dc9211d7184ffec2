/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin cover of curl's multi interface. Each request is one box that lives from
 * requests_send() until its callback has returned.
 */
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_MAX (64u << 20)

struct box {
    struct box *next;
    struct box *previous;
    struct requests *owner;
    CURL *handle;
    struct curl_slist *headers;
    char *body;
    char *received;
    size_t length;
    size_t capacity;
    void (*done)(void *data, const struct answer *answer);
    void (*line)(void *data, const char *line);
    void (*sending)(void *data);
    void *data;
    char problem[CURL_ERROR_SIZE];
};

struct requests {
    CURLM *multi;
    const struct kubeconfig *config;
    const char *agent;
    struct box *boxes;
};

static void unlink_box(struct box *box)
{
    if (box->previous != NULL) {
        box->previous->next = box->next;
    } else if (box->owner->boxes == box) {
        box->owner->boxes = box->next;
    }
    if (box->next != NULL) {
        box->next->previous = box->previous;
    }
}

static void free_box(struct box *box)
{
    curl_easy_cleanup(box->handle);
    curl_slist_free_all(box->headers);
    free(box->body);
    free(box->received);
    free(box);
}

/* Hand out the whole lines of a watch and keep the rest. */
static void hand_out_lines(struct box *box)
{
    char *begin = box->received;
    char *end;
    while ((end = memchr(begin, '\n', box->length - (size_t)(begin - box->received)))) {
        *end = '\0';
        if (end > begin) {
            box->line(box->data, begin);
        }
        begin = end + 1;
    }
    box->length -= (size_t)(begin - box->received);
    memmove(box->received, begin, box->length);
}

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    struct box *box = data;
    size_t got = size * count;
    if (box->length + got + 1 > box->capacity) {
        size_t capacity = (box->length + got + 1) * 2;
        char *larger = capacity > BODY_MAX ? NULL : realloc(box->received, capacity);
        if (larger == NULL) {
            return 0;
        }
        box->received = larger;
        box->capacity = capacity;
    }
    memcpy(box->received + box->length, bytes, got);
    box->length += got;
    box->received[box->length] = '\0';
    if (box->line != NULL) {
        hand_out_lines(box);
    }
    return got;
}

static int note_sending(void *data, char *remote, char *local, int remote_port,
                        int local_port)
{
    struct box *box = data;
    (void)remote;
    (void)local;
    (void)remote_port;
    (void)local_port;
    box->sending(box->data);
    return CURL_PREREQFUNC_OK;
}

static int add_header(struct box *box, const char *text)
{
    struct curl_slist *longer = curl_slist_append(box->headers, text);
    if (longer == NULL) {
        return -1;
    }
    box->headers = longer;
    return 0;
}

static int set_api_options(struct box *box, const char *path)
{
    const struct kubeconfig *config = box->owner->config;
    char *url;
    if (asprintf(&url, "%s%s", config->server, path) < 0) {
        return -1;
    }
    CURLcode code = curl_easy_setopt(box->handle, CURLOPT_URL, url);
    free(url);
    kubeconfig_apply(config, box->handle);
    curl_easy_setopt(box->handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(box->handle, CURLOPT_PIPEWAIT, 1L);
    if (config->bearer != NULL && add_header(box, config->bearer) < 0) {
        return -1;
    }
    return code == CURLE_OK ? 0 : -1;
}

static int set_binder_options(struct box *box, const struct request *request)
{
    if (curl_easy_setopt(box->handle, CURLOPT_URL, request->url) != CURLE_OK) {
        return -1;
    }
    curl_easy_setopt(box->handle, CURLOPT_PROXY, "");
    curl_easy_setopt(box->handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(box->handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    /* No pause before a body: kube-scheduler's client doesn't make one either. */
    return add_header(box, "Expect:");
}

static int set_options(struct box *box, const struct request *request)
{
    char header[128];
    CURL *handle = box->handle;
    int code = request->url[0] == '/' ? set_api_options(box, request->url)
                                      : set_binder_options(box, request);
    if (code < 0) {
        return -1;
    }
    if (request->unix_socket != NULL &&
        curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket) !=
            CURLE_OK) {
        return -1;
    }
    snprintf(header, sizeof(header), "Content-Type: %s",
             request->content_type ? request->content_type : "application/json");
    if (request->body != NULL) {
        box->body = strdup(request->body);
        if (box->body == NULL || add_header(box, header) < 0) {
            return -1;
        }
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, box->body);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)strlen(box->body));
    }
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, box->owner->agent);
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, box->headers);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, request->timeout_ms);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, box);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, box->problem);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, box);
    if (request->sending != NULL) {
        curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, note_sending);
        curl_easy_setopt(handle, CURLOPT_PREREQDATA, box);
    }
    return 0;
}

int requests_send(struct requests *requests, const struct request *request)
{
    struct box *box = calloc(1, sizeof(*box));
    if (box == NULL) {
        return -1;
    }
    box->owner = requests;
    box->done = request->done;
    box->line = request->line;
    box->sending = request->sending;
    box->data = request->data;
    box->handle = curl_easy_init();
    if (box->handle == NULL || set_options(box, request) < 0 ||
        curl_multi_add_handle(requests->multi, box->handle) != CURLM_OK) {
        free_box(box);
        return -1;
    }
    box->next = requests->boxes;
    if (box->next != NULL) {
        box->next->previous = box;
    }
    requests->boxes = box;
    return 0;
}

static void finish(struct requests *requests, CURL *handle, CURLcode code)
{
    struct box *box;
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_PRIVATE, &box);
    if (code == CURLE_OK) {
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    } else if (box->problem[0] == '\0') {
        snprintf(box->problem, sizeof(box->problem), "%s", curl_easy_strerror(code));
    }
    struct answer answer = {
        .status = (int)status,
        .timed_out = code == CURLE_OPERATION_TIMEDOUT,
        .problem = code == CURLE_OK ? "" : box->problem,
        .body = box->received != NULL && box->line == NULL ? box->received : "",
    };
    curl_multi_remove_handle(requests->multi, handle);
    unlink_box(box);
    if (box->done != NULL) {
        box->done(box->data, &answer);
    }
    free_box(box);
}

void requests_turn(struct requests *requests, int wait_ms)
{
    int running;
    int left;
    CURLMsg *message;
    /* The wait first: what it brings is then handed out before the caller's next look. */
    curl_multi_poll(requests->multi, NULL, 0, wait_ms, NULL);
    curl_multi_perform(requests->multi, &running);
    while ((message = curl_multi_info_read(requests->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            finish(requests, message->easy_handle, message->data.result);
        }
    }
}

struct requests *requests_new(const struct kubeconfig *config, const char *agent)
{
    struct requests *requests = calloc(1, sizeof(*requests));
    if (requests == NULL) {
        return NULL;
    }
    requests->config = config;
    requests->agent = agent;
    requests->multi = curl_multi_init();
    if (requests->multi == NULL) {
        free(requests);
        return NULL;
    }
    curl_multi_setopt(requests->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    return requests;
}

void requests_free(struct requests *requests)
{
    while (requests->boxes != NULL) {
        struct box *box = requests->boxes;
        curl_multi_remove_handle(requests->multi, box->handle);
        unlink_box(box);
        free_box(box);
    }
    curl_multi_cleanup(requests->multi);
    free(requests);
}

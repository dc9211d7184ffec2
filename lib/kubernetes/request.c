/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests as the public functions take them: checked, copied into one block of memory,
 * entered; the blocking form is thin on the asynchronous one.
 *
 * Lock: a blocking call has a mutex and a condition of its own on its stack; it leaves
 * only after its callback has come, which the deadline guarantees.
 */
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wait.h"

/* ---- checks --------------------------------------------------------------------- */

static bool is_printable(const char *text, char first, size_t length_max)
{
    size_t length = 0;

    for (; text[length] != '\0'; length++) {
        if (text[length] < first || text[length] > '~' || length >= length_max) {
            return false;
        }
    }
    return length > 0;
}

bool hami_internal_http_path_is_valid(const char *path)
{
    return path != NULL && path[0] == '/' && strchr(path, '#') == NULL &&
           is_printable(path, '!', HAMI_INTERNAL_HTTP_PATH_MAX);
}

bool hami_internal_http_value_is_valid(const char *value)
{
    return is_printable(value, ' ', HAMI_INTERNAL_HTTP_HEADER_VALUE_MAX);
}

static int check(const struct hami_kubernetes_request *request)
{
    if ((unsigned)request->method > HAMI_KUBERNETES_DELETE ||
        !hami_internal_http_path_is_valid(request->path) ||
        (request->accept != NULL &&
         !hami_internal_http_value_is_valid(request->accept)) ||
        (request->content_type != NULL &&
         !hami_internal_http_value_is_valid(request->content_type)) ||
        (request->body == NULL && request->body_length != 0) ||
        (request->body != NULL && request->method == HAMI_KUBERNETES_GET) ||
        request->body_length > HAMI_INTERNAL_HTTP_REQUEST_BODY_MAX) {
        return HAMI_E_INVAL;
    }
    return 0;
}

/* ---- start ---------------------------------------------------------------------- */

/* Adds two texts, ended with NUL, at *target; moves *target behind them and returns where
 * they are. */
static const char *append(char **target, const char *first, const char *second)
{
    char *start = *target;

    *target = stpcpy(stpcpy(start, first), second) + 1;
    return start;
}

static struct hami_internal_http_request *
copy_request(const hami_kubernetes *client, const struct hami_kubernetes_request *from)
{
    static const char accept_name[] = "Accept: ";
    static const char content_name[] = "Content-Type: ";
    const char *accept = from->accept != NULL ? from->accept : "application/json";
    const char *content =
        from->content_type != NULL ? from->content_type : "application/json";
    struct hami_internal_http_request *request;
    char *target;

    request = malloc(sizeof(*request) + strlen(client->base_url) + strlen(from->path) +
                     1 + sizeof(accept_name) + strlen(accept) + sizeof(content_name) +
                     strlen(content) + from->body_length);
    if (request == NULL) {
        return NULL;
    }
    memset(request, 0, sizeof(*request));
    target = request->texts;
    request->url = append(&target, client->base_url, from->path);
    request->accept_header = append(&target, accept_name, accept);
    if (from->body != NULL) {
        request->content_header = append(&target, content_name, content);
        request->body = memcpy(target, from->body, from->body_length);
        request->body_length = from->body_length;
    }
    request->method = from->method;
    return request;
}

int hami_internal_http_request_start(hami_kubernetes *client,
                                     const struct hami_kubernetes_request *request,
                                     hami_kubernetes_answered_fn callback, void *data,
                                     struct hami_internal_http_request **ret)
{
    struct hami_kubernetes_request copy;
    struct hami_internal_http_request *job;
    int code;

    if (client == NULL || callback == NULL) {
        return HAMI_E_INVAL;
    }
    code = hami_internal_support_copy_sized(&copy, sizeof(copy), request);
    if (code == 0) {
        code = check(&copy);
    }
    if (code != 0) {
        return code;
    }
    if (hami_internal_http_is_forked(client)) {
        return HAMI_E_FORKED;
    }
    job = copy_request(client, &copy);
    if (job == NULL) {
        return HAMI_E_NOMEM;
    }
    job->job.kind = HAMI_INTERNAL_HTTP_REQUEST;
    job->job.heap_index = SIZE_MAX;
    job->callback = callback;
    job->data = data;
    job->wait_since_ns = hami_kubernetes_now();
    job->deadline_ns = copy.deadline_ns != 0
                           ? copy.deadline_ns
                           : hami_kubernetes_in_ms(client->request_timeout_ms);
    job->job.due_ns = job->deadline_ns;
    if (ret != NULL) {
        *ret = job;
    }
    code = hami_internal_http_job_enter(client, &job->job);
    if (code != 0) {
        free(job);
        if (ret != NULL) {
            *ret = NULL;
        }
    }
    return code;
}

void hami_internal_http_request_cancel(hami_kubernetes *client,
                                       struct hami_internal_http_request *request)
{
    hami_internal_http_job_cancel(client, &request->job);
}

int hami_kubernetes_request_start(hami_kubernetes *client,
                                  const struct hami_kubernetes_request *request,
                                  hami_kubernetes_answered_fn callback, void *data)
{
    return hami_internal_http_request_start(client, request, callback, data, NULL);
}

/* ---- the blocking form ---------------------------------------------------------- */

struct waiter {
    struct hami_internal_wait wait;
    struct hami_kubernetes_answer *answer; /* NULL = out of memory */
};

/* An answer that owns its body and text: they follow it in the same block. */
static struct hami_kubernetes_answer *
copy_answer(const struct hami_kubernetes_answer *from)
{
    size_t text_size = strlen(from->text) + 1;
    struct hami_kubernetes_answer *answer;
    char *texts;

    answer = malloc(sizeof(*answer) + from->body_length + 1 + text_size);
    if (answer == NULL) {
        return NULL;
    }
    *answer = *from;
    texts = (char *)(answer + 1);
    answer->body = memcpy(texts, from->body, from->body_length);
    texts[from->body_length] = '\0';
    answer->text = memcpy(texts + from->body_length + 1, from->text, text_size);
    return answer;
}

static void wake_waiter(void *data, const struct hami_kubernetes_answer *answer)
{
    struct waiter *waiter = data;

    waiter->answer = copy_answer(answer);
    hami_internal_wait_end(&waiter->wait);
}

int hami_kubernetes_request(hami_kubernetes *client,
                            const struct hami_kubernetes_request *request,
                            struct hami_kubernetes_answer **ret,
                            struct hami_error *reterr)
{
    struct waiter waiter = {.wait = HAMI_INTERNAL_WAIT_INIT};
    struct hami_kubernetes_answer *answer;
    int code;

    if (client == NULL || ret == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "No client, or no place for the answer");
    }
    if (!hami_internal_http_is_forked(client) &&
        hami_internal_http_is_own_thread(client)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "A callback can't wait for an answer");
    }
    code = hami_kubernetes_request_start(client, request, wake_waiter, &waiter);
    if (code != 0) {
        return hami_internal_support_fail(reterr, code, "The request was not started");
    }
    hami_internal_wait_for(&waiter.wait);
    answer = waiter.answer;
    if (answer == NULL) {
        return hami_internal_support_fail(
            reterr, HAMI_E_NOMEM, "Memory for the answer ran out; it came, and is lost");
    }
    code = answer->code;
    if (code != 0) {
        (void)hami_internal_support_fail(reterr, code, "%s", answer->text);
        if (reterr != NULL) {
            reterr->status = answer->status;
        }
        (void)hami_kubernetes_answer_free(answer);
        return code;
    }
    *ret = answer;
    return 0;
}

struct hami_kubernetes_answer *
hami_kubernetes_answer_free(struct hami_kubernetes_answer *answer)
{
    free(answer);
    return NULL;
}

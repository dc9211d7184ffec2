/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a bind whose pod needs no lock: its vendor hands out devices without one.
 * The Binding carries the uid and HAMi's phase and time, as HAMi's own bind would write
 * them. Whatever is not a plain yes is settled by one read of the pod.
 */
#include "bind_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <hami/handshake.h>

#define PATH_MAX_BYTES 512
#define BODY_MAX_BYTES 2048

/* What an answer means, in the library's codes. */
static int code_of(const struct hami_kubernetes_answer *answer)
{
    if (answer->code != 0) {
        return answer->code;
    }
    switch (answer->status) {
    case 200:
    case 201:
    case 202:
        return 0;
    case 401:
    case 403:
        return HAMI_E_ACCESS;
    case 404:
    case 409:
        return HAMI_E_LOST;
    default:
        return answer->status >= 500 ? HAMI_E_IN_DOUBT : HAMI_E_PROTO;
    }
}

static void opened_answer(struct hamid_letter *letter)
{
    struct bind *bind = bind_of_letter(letter);
    char text[BIND_ERROR_MAX];
    int code = bind->code;
    if (code == 0) {
        bind_finish(bind, BIND_bound, "");
        return;
    }
    (void)snprintf(text, sizeof(text), "%s", bind->told->text);
    bind_text_binding(&bind->request, code, text, bind->told->text,
                      sizeof(bind->told->text));
    bind_confirm(bind, code);
}

/* On the client's thread. */
static void heard_answer(void *data, const struct hami_kubernetes_answer *answer)
{
    struct bind *bind = data;
    bind->code = code_of(answer);
    if (answer->code == 0 && bind->code != 0) {
        (void)snprintf(bind->told->text, sizeof(bind->told->text),
                       "the API server answered the Binding with %d", answer->status);
    } else {
        (void)snprintf(bind->told->text, sizeof(bind->told->text), "%s", answer->text);
    }
    hamid_mailbox_post(bind->binder->config.mailbox, &bind->letter);
}

/* The request's texts were checked to the letter: nothing in them has to be escaped. */
static int start_request(struct bind *bind)
{
    const struct bind_request *pod = &bind->request;
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char path[PATH_MAX_BYTES];
    char body[BODY_MAX_BYTES];
    int path_length =
        snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s/binding",
                 pod->namespace_name, pod->name);
    int length = snprintf(
        body, sizeof(body),
        "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"%s\","
        "\"namespace\":\"%s\",\"uid\":\"%s\",\"annotations\":{\"%s\":\"allocating\","
        "\"%s\":\"%" PRId64 "\"}},\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\","
        "\"name\":\"%s\"}}",
        pod->name, pod->namespace_name, pod->uid, HAMI_HANDSHAKE_PHASE_KEY,
        HAMI_HANDSHAKE_TIME_KEY, (int64_t)time(NULL), pod->node);
    if (path_length < 0 || (size_t)path_length >= sizeof(path) || length < 0 ||
        (size_t)length >= sizeof(body)) {
        return HAMI_E_INVAL;
    }
    request.method = HAMI_KUBERNETES_POST;
    request.path = path;
    request.body = body;
    request.body_length = (size_t)length;
    request.deadline_ns = bind_answer_deadline(bind, 2);
    return hami_kubernetes_request_start(bind->binder->config.client, &request,
                                         heard_answer, bind);
}

void bind_without_lock(struct bind *bind)
{
    bind->state = BIND_STATE_BINDING;
    bind->letter.open = opened_answer;
    int code = start_request(bind);
    if (code != 0) {
        bind_text_binding(&bind->request, code, "", bind->told->text,
                          sizeof(bind->told->text));
        bind_finish(bind, bind_outcome_of(code), bind->told->text);
    }
}

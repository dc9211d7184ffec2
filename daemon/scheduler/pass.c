/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs passed on. A failure is told in the form that kube-scheduler reads for the verb:
 * filter's result has an Error, the results of the others have none and a status has to
 * do.
 */
#include "pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include <hami/kubernetes.h>

#include "log.h"
#include "request.h"

struct pass {
    struct metrics *metrics;
    struct hamid_http_exchange *exchange;
    struct upstream_call *call;
    uint64_t started_ns;
};

static void answer_failure(struct hamid_http_exchange *exchange, const char *error)
{
    int status = strcmp(hamid_http_path(exchange), "/filter") == 0 ? 200 : 502;
    char *text = bind_answer_format(error);
    const char *body = text != NULL ? text : "{\"Error\":\"out of memory\"}";
    hamid_http_answer(exchange, status, "application/json", body, strlen(body));
    free(text);
}

static void answered(void *data, int status, const char *content_type,
                     struct evbuffer *body, const char *error)
{
    struct pass *pass = data;
    char text[512];
    histogram_observe(&pass->metrics->pass_duration,
                      hami_kubernetes_now() - pass->started_ns);
    pass->metrics->passes[status != 0 ? PASS_answered : PASS_failed]++;
    if (status != 0) {
        hamid_http_answer_buffer(pass->exchange, status, content_type, body);
    } else {
        (void)snprintf(text, sizeof(text),
                       "the extender behind --filter-url did not answer: %s", error);
        hamid_log_warning(
            "A request could not be passed on; see whether the extender of --filter-url "
            "runs",
            "path", hamid_http_path(pass->exchange), "err", error, NULL);
        answer_failure(pass->exchange, text);
    }
    free(pass);
}

static void gone(void *data)
{
    struct pass *pass = data;
    pass->metrics->passes[PASS_gone]++;
    upstream_cancel(pass->call);
    free(pass);
}

void pass_on(struct upstream *upstream, struct metrics *metrics,
             struct hamid_http_exchange *exchange)
{
    const char *content_type = hamid_http_header(exchange, "Content-Type");
    if (upstream == NULL) {
        metrics->passes[PASS_refused]++;
        answer_failure(
            exchange, "hamid has no extender to pass this on to: --filter-url names one");
        return;
    }
    struct pass *pass = calloc(1, sizeof(*pass));
    if (pass != NULL) {
        pass->metrics = metrics;
        pass->exchange = exchange;
        pass->started_ns = hami_kubernetes_now();
        pass->call =
            upstream_post(upstream, hamid_http_path(exchange),
                          content_type != NULL ? content_type : "application/json",
                          hamid_http_body(exchange), answered, pass);
    }
    if (pass == NULL || pass->call == NULL) {
        free(pass);
        metrics->passes[PASS_refused]++;
        answer_failure(exchange, "too many requests are being passed on at the moment");
        return;
    }
    hamid_http_on_gone(exchange, gone, pass);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport of one's own: each call is one etcd transaction that compares and writes
 * (etcd_txn.c), sent through etcd's JSON gateway (etcd_http.c).
 */
#include "etcd_transport.h"

#include "etcd_http.h"
#include "etcd_txn.h"

static void answered(void *call, enum etcd_fate fate, int status, const json_t *body)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    struct etcd_values values = {0};

    result.code = fate == ETCD_NOT_SENT ? HAMI_E_TRANSPORT : HAMI_E_IN_DOUBT;
    if (fate == ETCD_ANSWERED) {
        etcd_txn_answer(call, status, body, &values, &result);
    }
    hami_call_done(call, &result);
    etcd_values_done(&values);
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    return etcd_post((struct etcd_http *)transport, "/v3/kv/txn", etcd_txn_new(call),
                     hami_call_remaining(call), answered, call);
}

static void abort_call(struct hami_transport *transport, hami_call *call)
{
    etcd_abort((struct etcd_http *)transport, call);
}

struct hami_transport *etcd_transport_new(const char *url)
{
    static const struct hami_transport functions = {
        .size = sizeof(functions), .name = "etcd", .submit = submit, .abort = abort_call};

    return (struct hami_transport *)etcd_http_new(url, &functions);
}

struct hami_transport *etcd_transport_free(struct hami_transport *transport)
{
    etcd_http_free((struct etcd_http *)transport);
    return NULL;
}

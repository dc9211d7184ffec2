/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A transport call as an etcd transaction, and its answer as values. */
#ifndef ETCD_TXN_H
#define ETCD_TXN_H

#include <jansson.h>

#include <hami/transport.h>

/* The transaction of a submit call; NULL if out of memory. */
json_t *etcd_txn_new(const hami_call *call);

/* Values of an answer; the result borrows them. Start with zero, end with
 * etcd_values_done(). */
struct etcd_values {
    char **texts; /* one an edit; NULL = absent */
    size_t count;
    char version[24];
};

/* Takes an answer apart: sets the result's code, and with 0 and HELD its values and
 * version. */
void etcd_txn_answer(const hami_call *call, int status, const json_t *body,
                     struct etcd_values *values, struct hami_transport_result *ret);
void etcd_values_done(struct etcd_values *values);

#endif

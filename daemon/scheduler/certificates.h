/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate of both listeners, and its life: looked at each second and at SIGHUP,
 * taken when it has changed and fits its key, warned of before it ends. One thread: the
 * loop's.
 */
#ifndef HAMID_SCHEDULER_CERTIFICATES_H
#define HAMID_SCHEDULER_CERTIFICATES_H

#include "options.h"
#include "reload.h"

struct certificates;
struct evbuffer;
struct hamid_tls;

/* @error    HAMID_FLAG_ERROR_MAX bytes; a line where NULL is returned */
struct certificates *certificates_new(struct event_base *base,
                                      const struct scheduler_options *options,
                                      char *error);
/* The servers that use them must be gone. Takes NULL, returns NULL. */
struct certificates *certificates_free(struct certificates *certificates);

/* NULL (plain HTTP) where there are none. The extender's wants clients' certificates
 * where
 * --client-ca-file says so, the other listener's never. */
struct hamid_tls *certificates_tls(struct certificates *certificates, bool is_extender);

/* A hamid_reload_fn; data is the certificates. */
enum hamid_reload_outcome certificates_reload(void *data, char *error);

/* Appends their metrics. Takes NULL. */
void certificates_metrics(const struct certificates *certificates, struct evbuffer *out);

/* What is left of a certificate's life that ends at not_after. */
enum certificate_state { CERTIFICATE_GOOD = 0, CERTIFICATE_ENDING, CERTIFICATE_OVER };
enum certificate_state certificate_judge(int64_t not_before, int64_t not_after,
                                         int64_t now);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer of the API server means: its Status object, and the code for it. No
 * state.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_STATUS_H
#define HAMI_INTERNAL_KUBERNETES_STATUS_H

#include <hami/kubernetes.h>

/* What a Status object says; "" and 0 where it says nothing, or the body is none. */
struct hami_internal_status {
    int code;               /* `code` of the object */
    char reason[64];        /* "Conflict", "Invalid", ... */
    char message[384];      /* one line: control characters became blanks */
    char kind[64];          /* details.kind: "pods", "pods/binding", ... */
    size_t cause_count;     /* details.causes: an invalid object, not a failed test */
    uint64_t retry_seconds; /* details.retryAfterSeconds */
};

/* Reads a Status object from JSON text of at most 64 KiB. Returns false (and all empty)
 * if none. */
bool hami_internal_status_read(const char *text, size_t length,
                               struct hami_internal_status *ret);

/*
 * The code for an answer to a write:
 *   0          2xx
 *   HELD       409, 422 without causes: some precondition failed
 *   NODE       404
 *   ACCESS     401, 403
 *   PROTO      1xx, 3xx, other 4xx, 422 with causes: a bug or a limit, never retried
 *   TRANSPORT  surely not applied: not sent, or 429
 *   IN_DOUBT   no answer, or 5xx
 *              (an answer that is too large, too)
 *   ACCESS, NOMEM, CLOSED   as answer->code says
 * Any refusal becomes IN_DOUBT where answer->maybe_resent is set.
 */
int hami_internal_status_of_write(const struct hami_kubernetes_answer *answer);

/* The same for a read: nothing can be in doubt. No answer, 429 and 5xx are TRANSPORT; an
 * answer that is too large is PROTO. */
int hami_internal_status_of_read(const struct hami_kubernetes_answer *answer);

/* One line for people: "409 Conflict: message" or the answer's text. Returns buffer. */
const char *hami_internal_status_text(const struct hami_kubernetes_answer *answer,
                                      char *buffer, size_t size);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One question whose Allocate this is, as its files share it: handshake_begin.c reads and
 * tells, handshake_verdict.c judges what was read. Client's thread throughout.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HANDSHAKE_BEGIN_H
#define HAMI_INTERNAL_KUBERNETES_HANDSHAKE_BEGIN_H

#include "handshake_client.h"

enum {
    HAMI_INTERNAL_HANDSHAKE_READ_PODS = 0,
    HAMI_INTERNAL_HANDSHAKE_READ_NODE,
    HAMI_INTERNAL_HANDSHAKE_READ_COUNT
};

struct hami_internal_handshake_begin;

struct hami_internal_handshake_read {
    struct hami_internal_handshake_begin *begin;
    bool is_node;
    unsigned tries;
    int code;
    json_t *object;
    char text[256];
};

struct hami_internal_handshake_begin {
    hami_handshake *handshake;
    size_t vendor;
    size_t counts[HAMI_INTERNAL_HANDSHAKE_CONTAINERS_MAX];
    size_t count;
    uint64_t deadline_ns;
    hami_handshake_begun_fn callback;
    void *data;
    bool has_books;
    struct hami_internal_handshake_books books; /* own texts; of the call's resource */
    struct hami_internal_handshake_read reads[HAMI_INTERNAL_HANDSHAKE_READ_COUNT];
    unsigned pending;
    uint64_t refusals;      /* handshake->refusals when the reads began */
    bool waits_for_kubelet; /* which has yet to say that a refused pod Failed */
    struct hami_internal_http_timer *timer;
};

/*
 * Judges what both reads brought. Sets begin->waits_for_kubelet.
 * @ret   the job of the one possible caller
 * @text  one line for people on failure; size bytes
 * Returns 0, or the codes of hami_handshake_begin()
 */
int hami_internal_handshake_verdict(struct hami_internal_handshake_begin *begin,
                                    struct hami_handshake_job **ret, char *text,
                                    size_t size);

/* Counts and logs what is unusual about a pod that is served. */
void hami_internal_handshake_note_unusual(const struct hami_handshake_job *job);

#endif

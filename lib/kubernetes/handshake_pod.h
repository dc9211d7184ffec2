/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pod an Allocate can be for, what it gets, and what is left afterwards: decided
 * from pods as the API server lists them. Pure: no clock, no thread, no I/O. Pods'
 * content is never trusted.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HANDSHAKE_POD_H
#define HAMI_INTERNAL_KUBERNETES_HANDSHAKE_POD_H

#include <hami/kubernetes.h>

#include <jansson.h>

#define HAMI_INTERNAL_HANDSHAKE_CONTAINERS_MAX 64
#define HAMI_INTERNAL_HANDSHAKE_VENDORS_MAX 64

/* What the kubelet has on its books. Borrowed. */
struct hami_internal_handshake_books {
    const struct hami_handshake_holding *holdings;
    size_t count;
};

/* What the node side is configured with, and what one Allocate asks. Borrowed. */
struct hami_internal_handshake_ask {
    const char *node;
    const struct hami_handshake_vendor *vendors;
    size_t vendor_count;
    size_t vendor;        /* index of the call's */
    const size_t *counts; /* ids of each container of the call */
    size_t count;         /* containers of the call */
    const struct hami_internal_handshake_books *books; /* NULL = not known */
    bool count_reported; /* pods that the kubelet has reported on may ask again as well */
    bool count_refused;  /* and those that were refused and that it has not reported on */
};

/* A pod's part that one call is about. Zero = empty. */
struct hami_internal_handshake_share {
    json_t *pod; /* counted */
    hami_devices
        *devices; /* of the vendor's string, as the pod had it when the share was found */
    size_t entries[HAMI_INTERNAL_HANDSHAKE_CONTAINERS_MAX];    /* of that string, in the
                                                                  call's order */
    const char *names[HAMI_INTERNAL_HANDSHAKE_CONTAINERS_MAX]; /* of containers; borrowed
                                                                  from pod */
    size_t count;
    size_t offset; /* from an entry's index to its container's, init containers first */
    bool is_again; /* devices that were erased already are put back: it may ask again */
};

/*
 * Finds the one pod that can be the caller.
 * @list     a PodList
 * @ret      to be given to _done on 0
 * @ret_text one line for people on failure; size bytes
 * Returns   0, or LOST (none, or the one has no devices assigned), BUSY (several), LIMIT
 * (its devices don't fit the call), PROTO (its string, or the list, makes no sense),
 * NOMEM
 */
int hami_internal_handshake_find(const json_t *list,
                                 const struct hami_internal_handshake_ask *ask,
                                 struct hami_internal_handshake_share *ret,
                                 char *ret_text, size_t size);
void hami_internal_handshake_share_done(struct hami_internal_handshake_share *share);

/* How many of a resource a container asks; SIZE_MAX where that is no plain count.
 * Extended resources have equal limits and requests. */
size_t hami_internal_handshake_asked(const json_t *container, const char *resource);

/* Containers by index, init containers first; NULL out of range. */
size_t hami_internal_handshake_init_count(const json_t *pod);
const json_t *hami_internal_handshake_container(const json_t *pod, size_t index);

/* How many containers a string skips: an older HAMi's has no entry for init containers.
 */
size_t hami_internal_handshake_offset(const json_t *pod, const char *resource,
                                      const hami_devices *devices);

/* Do both strings give one container the same devices? */
bool hami_internal_handshake_same_devices(const hami_devices *one,
                                          const hami_devices *other, size_t entry);

/*
 * Puts the devices back of containers that were served and that the books don't have;
 * sets is_again if there is one. ask->books is known. Returns 0, or NOMEM.
 */
int hami_internal_handshake_restore(const json_t *pod,
                                    const struct hami_internal_handshake_ask *ask,
                                    struct hami_internal_handshake_share *share);

/* What must be written to say that a share is handed out. */
struct hami_internal_handshake_step {
    char *old_text; /* of the vendor's annotation, as the pod has it; new */
    char *new_text; /* without the share's devices; new; equal to old_text when nothing is
                       to erase */
    bool is_last; /* no Allocate of this pod is outstanding after it, whatever the vendor
                   */
};

/*
 * Works out the next write from the pod as it is now (the share's own, or a later read of
 * it). Returns   0, or LOST (the share's devices were rewritten meanwhile), PROTO, NOMEM
 */
int hami_internal_handshake_next(const json_t *pod,
                                 const struct hami_internal_handshake_ask *ask,
                                 const struct hami_internal_handshake_share *share,
                                 struct hami_internal_handshake_step *ret);
void hami_internal_handshake_step_done(struct hami_internal_handshake_step *step);

#endif

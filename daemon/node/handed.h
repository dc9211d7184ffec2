/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod's own annotations say about a container that this process did not serve: an
 * agent before us, or the plugin itself, erased the container's devices from the string
 * of what is left when it handed them out. One read of the pod. Loop's thread.
 */
#ifndef HAMID_NODE_HANDED_H
#define HAMID_NODE_HANDED_H

#include <hami/kubernetes.h>
#include <jansson.h>

struct hamid_mailbox;

/* All borrowed. */
struct handed {
    struct hamid_mailbox *mailbox;
    hami_kubernetes *client;
    const struct hami_handshake_vendor *vendors;
    size_t vendor_count;
};

enum handed_word {
    HANDED_UNKNOWN, /* the pod can't be read, or says nothing about this container */
    HANDED_OUT,
    HANDED_NOT /* the pod waits for this container's devices still */
};

/* Pure. @to_allocate_key  the annotation of what is left */
enum handed_word handed_judge(const json_t *pod, const char *to_allocate_key,
                              const char *container);

struct handed_ask;
typedef void (*handed_told_fn)(void *data, enum handed_word word);

/*
 * `told` comes once, not within. A stop of the client ends it with UNKNOWN.
 * @holding  copied: the container, as the kubelet's books have it
 * Returns   NULL where it does not come: a resource of no vendor, or no memory
 */
struct handed_ask *handed_ask_start(const struct handed *handed,
                                    const struct hami_handshake_holding *holding,
                                    uint64_t deadline_ns, handed_told_fn told,
                                    void *data);
/* Gives an ask up: nothing comes. */
void handed_ask_cancel(struct handed_ask *ask);

#endif

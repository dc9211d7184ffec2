/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whom an Allocate is for. No state, no lock.
 *
 * A pod is a possible caller by what its spec asks, not by what its annotations claim: an
 * author can write any annotation, but the kubelet calls with what the containers ask.
 * Annotations then say whether the one possible caller can be served. A pod that was
 * served (string used up, phase success) calls no more; one that has no devices otherwise
 * may be calling, so it counts, and is refused. One that was refused (phase failed) is
 * never served, but may call again until the kubelet says that it has Failed: a kubelet
 * that dies before asks for it once more (`count_refused`).
 *
 * Where the kubelet's books are known, a pod that was served counts too as long as they
 * lack it: see handshake_again.c. A pod that the kubelet has reported on (startTime) is
 * on the books, for they are written first; only where nobody else can be the caller are
 * the books believed to have been lost.
 *
 * An entry's index is its container's, init containers first (HAMi v2.9.0 and later).
 * Where a pod has init containers and its string fits only without them, an older HAMi
 * wrote it: `offset` skips them.
 */
#include "handshake_pod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "pod.h"

/* A pod with more containers than this can't be matched by a device string anyway. */
#define SPEC_CONTAINERS_MAX HAMI_DEVICES_CONTAINERS_MAX

enum fit {
    FIT_NONE = 0, /* can't be the caller */
    FIT_SERVABLE,
    FIT_UNASSIGNED, /* may be the caller, but no devices were assigned to it */
    FIT_COUNT,      /* may be, but other numbers of devices were */
    FIT_REFUSED,    /* may be, but was refused already */
    FIT_MALFORMED   /* may be, but its string makes no sense */
};

static const char *text_of(const json_t *object, const char *outer, const char *inner)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(object, outer), inner));

    return text != NULL ? text : "";
}

/* ---- the pod's spec
 * ---------------------------------------------------------------------------- */

size_t hami_internal_handshake_init_count(const json_t *pod)
{
    return json_array_size(
        json_object_get(json_object_get(pod, "spec"), "initContainers"));
}

static size_t container_count(const json_t *pod)
{
    return hami_internal_handshake_init_count(pod) +
           json_array_size(json_object_get(json_object_get(pod, "spec"), "containers"));
}

const json_t *hami_internal_handshake_container(const json_t *pod, size_t index)
{
    const json_t *spec = json_object_get(pod, "spec");
    size_t inits = hami_internal_handshake_init_count(pod);

    if (index < inits) {
        return json_array_get(json_object_get(spec, "initContainers"), index);
    }
    return json_array_get(json_object_get(spec, "containers"), index - inits);
}

size_t hami_internal_handshake_asked(const json_t *container, const char *resource)
{
    return hami_internal_pod_asked(container, resource);
}

static bool any_container_asks(const json_t *pod, const char *resource, size_t count)
{
    size_t total = container_count(pod);

    for (size_t i = 0; i < total && i < SPEC_CONTAINERS_MAX; i++) {
        if (hami_internal_handshake_asked(hami_internal_handshake_container(pod, i),
                                          resource) == count) {
            return true;
        }
    }
    return false;
}

/* ---- string against spec
 * ----------------------------------------------------------------------- */

/* True if each entry that has devices belongs to a container that asks as many. */
static bool string_fits(const json_t *pod, const char *resource,
                        const hami_devices *devices, size_t offset)
{
    size_t total = hami_devices_container_count(devices);

    for (size_t i = 0; i < total; i++) {
        size_t count = hami_devices_count(devices, i);

        if (count > 0 &&
            hami_internal_handshake_asked(
                hami_internal_handshake_container(pod, i + offset), resource) != count) {
            return false;
        }
    }
    return true;
}

size_t hami_internal_handshake_offset(const json_t *pod, const char *resource,
                                      const hami_devices *devices)
{
    size_t inits = hami_internal_handshake_init_count(pod);

    if (inits > 0 && !string_fits(pod, resource, devices, 0) &&
        string_fits(pod, resource, devices, inits)) {
        return inits;
    }
    return 0;
}

/* True if an entry beyond the pod's containers holds a device: HAMi calls that an error.
 */
static bool has_surplus(const json_t *pod, const hami_devices *devices, size_t offset)
{
    size_t entries = hami_devices_container_count(devices);

    for (size_t i = container_count(pod) - offset; i < entries; i++) {
        if (hami_devices_count(devices, i) > 0) {
            return true;
        }
    }
    return false;
}

/* Takes the next entries that hold devices into the share. */
static void take_entries(const json_t *pod, size_t wanted,
                         struct hami_internal_handshake_share *share)
{
    size_t total = hami_devices_container_count(share->devices);

    for (size_t i = 0; i < total && share->count < wanted; i++) {
        if (hami_devices_count(share->devices, i) > 0) {
            const json_t *container =
                hami_internal_handshake_container(pod, i + share->offset);
            const char *name = json_string_value(json_object_get(container, "name"));

            share->entries[share->count] = i;
            share->names[share->count] = name != NULL ? name : "";
            share->count++;
        }
    }
}

/* Judges the entries taken, one by one, against the call. */
static enum fit judge_entries(const json_t *pod,
                              const struct hami_internal_handshake_ask *ask,
                              const struct hami_internal_handshake_share *share)
{
    const char *resource = ask->vendors[ask->vendor].resource;
    enum fit fit = share->count == ask->count ? FIT_SERVABLE : FIT_COUNT;

    for (size_t i = 0; i < share->count; i++) {
        size_t entry = share->entries[i];
        size_t asks = hami_internal_handshake_asked(
            hami_internal_handshake_container(pod, entry + share->offset), resource);

        if (asks == 0) {
            return any_container_asks(pod, resource, ask->counts[0]) ? FIT_MALFORMED
                                                                     : FIT_NONE;
        }
        if (asks != ask->counts[i]) {
            return FIT_NONE;
        }
        if (hami_devices_count(share->devices, entry) != asks) {
            fit = FIT_COUNT;
        }
    }
    return fit;
}

/* Is the pod one of this node's whose Allocate may be running? */
static bool is_waiting_here(const json_t *pod, const char *node)
{
    return strcmp(text_of(pod, "spec", "nodeName"), node) == 0 &&
           strcmp(text_of(pod, "status", "phase"), "Pending") == 0 &&
           *text_of(pod, "metadata", "uid") != '\0' &&
           *text_of(pod, "metadata", "name") != '\0' &&
           *text_of(pod, "metadata", "namespace") != '\0';
}

/* Has the kubelet taken the pod up? It writes its books before it says so. */
static bool is_reported(const json_t *pod)
{
    return *text_of(pod, "status", "startTime") != '\0';
}

/* Judges one pod; a share is filled (and to be given to _done) whatever comes out. */
static int judge_pod(json_t *pod, const struct hami_internal_handshake_ask *ask,
                     struct hami_internal_handshake_share *share, enum fit *ret_fit)
{
    const struct hami_handshake_vendor *vendor = &ask->vendors[ask->vendor];
    enum hami_bind_phase phase;
    const char *text;
    bool asks;
    int code;

    *ret_fit = FIT_NONE;
    if (!is_waiting_here(pod, ask->node)) {
        return 0;
    }
    phase = hami_bind_phase_parse(
        hami_internal_object_annotation(pod, HAMI_HANDSHAKE_PHASE_KEY));
    if (phase == HAMI_BIND_PHASE_FAILED) {
        bool counts = ask->count_refused && !is_reported(pod) &&
                      any_container_asks(pod, vendor->resource, ask->counts[0]);

        share->pod = json_incref(pod);
        *ret_fit = counts ? FIT_REFUSED : FIT_NONE;
        return 0;
    }
    share->pod = json_incref(pod);
    text = hami_internal_object_annotation(pod, vendor->to_allocate_key);
    code = hami_devices_parse(text != NULL ? text : "", &share->devices);
    if (code == HAMI_E_NOMEM) {
        return code;
    }
    if (code == 0 && ask->books != NULL && (ask->count_reported || !is_reported(pod))) {
        code = hami_internal_handshake_restore(pod, ask, share);
        if (code < 0) {
            return code;
        }
    }
    asks = any_container_asks(pod, vendor->resource, ask->counts[0]);
    if (code == 0) {
        share->offset =
            hami_internal_handshake_offset(pod, vendor->resource, share->devices);
    }
    if (code < 0 || has_surplus(pod, share->devices, share->offset)) {
        *ret_fit = asks ? FIT_MALFORMED : FIT_NONE;
        return 0;
    }
    if (hami_devices_is_empty(share->devices)) {
        bool served = text != NULL && phase == HAMI_BIND_PHASE_SUCCESS;

        *ret_fit = asks && !served ? FIT_UNASSIGNED : FIT_NONE;
        return 0;
    }
    take_entries(pod, ask->count, share);
    *ret_fit = judge_entries(pod, ask, share);
    return 0;
}

/* ---- the one caller
 * ---------------------------------------------------------------------------- */

static int explain(const struct hami_internal_handshake_ask *ask, enum fit fit,
                   const struct hami_internal_handshake_share *share, char *text,
                   size_t size)
{
    const char *resource = ask->vendors[ask->vendor].resource;
    const char *key = ask->vendors[ask->vendor].to_allocate_key;
    const char *namespace_name = text_of(share->pod, "metadata", "namespace");
    const char *name = text_of(share->pod, "metadata", "name");

    switch (fit) {
    case FIT_SERVABLE:
        return 0;
    case FIT_UNASSIGNED:
        (void)snprintf(text, size,
                       "pod %s/%s asks %zu %s, but no devices are left for it in %s",
                       namespace_name, name, ask->counts[0], resource, key);
        return HAMI_E_LOST;
    case FIT_COUNT:
        (void)snprintf(
            text, size,
            "the call asks %zu %s for its first container of %zu, which the devices in "
            "%s of pod %s/%s don't fit",
            ask->counts[0], resource, ask->count, key, namespace_name, name);
        return HAMI_E_LIMIT;
    case FIT_REFUSED:
        (void)snprintf(text, size, "pod %s/%s was refused its %s already", namespace_name,
                       name, resource);
        return HAMI_E_LOST;
    case FIT_MALFORMED:
        (void)snprintf(text, size, "%s of pod %s/%s does not fit its containers", key,
                       namespace_name, name);
        return HAMI_E_PROTO;
    case FIT_NONE:
    default:
        (void)snprintf(
            text, size,
            "no Pending pod on node %s waits for %zu %s: none can be the caller",
            ask->node, ask->counts[0], resource);
        return HAMI_E_LOST;
    }
}

static void explain_several(const struct hami_internal_handshake_ask *ask,
                            const json_t *one, const json_t *other, char *text,
                            size_t size)
{
    (void)snprintf(
        text, size,
        "pods %s/%s and %s/%s on node %s both wait for %zu %s: can't tell which one "
        "calls",
        text_of(one, "metadata", "namespace"), text_of(one, "metadata", "name"),
        text_of(other, "metadata", "namespace"), text_of(other, "metadata", "name"),
        ask->node, ask->counts[0], ask->vendors[ask->vendor].resource);
}

/* The one pod of `items` that can be the caller, and how it fits; FIT_NONE without. */
static int find_among(const json_t *items, const struct hami_internal_handshake_ask *ask,
                      struct hami_internal_handshake_share *ret, enum fit *ret_fit,
                      char *ret_text, size_t size)
{
    struct hami_internal_handshake_share found = {0};
    enum fit found_fit = FIT_NONE;
    int code = 0;

    for (size_t i = 0; i < json_array_size(items) && code == 0; i++) {
        struct hami_internal_handshake_share share = {0};
        enum fit fit;

        code = judge_pod(json_array_get(items, i), ask, &share, &fit);
        if (code == 0 && fit != FIT_NONE && found_fit != FIT_NONE) {
            explain_several(ask, found.pod, share.pod, ret_text, size);
            code = HAMI_E_BUSY;
        } else if (code == 0 && fit != FIT_NONE) {
            found = share;
            found_fit = fit;
            continue;
        }
        hami_internal_handshake_share_done(&share);
    }
    if (code < 0) {
        hami_internal_handshake_share_done(&found);
        return code;
    }
    *ret = found;
    *ret_fit = found_fit;
    return 0;
}

int hami_internal_handshake_find(const json_t *list,
                                 const struct hami_internal_handshake_ask *ask,
                                 struct hami_internal_handshake_share *ret,
                                 char *ret_text, size_t size)
{
    struct hami_internal_handshake_share found = {0};
    struct hami_internal_handshake_ask wider = *ask;
    enum fit fit = FIT_NONE;
    json_t *items = json_object_get(list, "items");
    int code;

    if (!json_is_array(items) && !json_is_null(items)) {
        (void)snprintf(ret_text, size, "the API server's answer is no list of pods");
        return HAMI_E_PROTO;
    }
    code = find_among(items, ask, &found, &fit, ret_text, size);
    if (code == 0 && fit == FIT_NONE && ask->books != NULL) {
        wider.count_reported = true;
        code = find_among(items, &wider, &found, &fit, ret_text, size);
    }
    if (code == 0) {
        code = explain(ask, fit, &found, ret_text, size);
    }
    if (code < 0) {
        hami_internal_handshake_share_done(&found);
        return code;
    }
    *ret = found;
    return 0;
}

void hami_internal_handshake_share_done(struct hami_internal_handshake_share *share)
{
    json_decref(share->pod);
    hami_devices_free(share->devices);
    memset(share, 0, sizeof(*share));
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containers that were served and ask again: the kubelet died after the answer to
 * Allocate and before it wrote the devices into its books, so that it asks for them once
 * more. No state, no lock.
 *
 * Which ones these are only the kubelet's books tell (its PodResources API). A container
 * whose devices were erased from the pod's string, and that the books don't have, gets
 * them back from the annotation of what was assigned: from there on it is an ordinary
 * waiting container, counted among the possible callers and served the same devices.
 *
 * Init containers that end are never on the books, so that their absence says nothing.
 */
#include "handshake_pod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

#define ALLOCATED_SUFFIX "-devices-allocated"

bool hami_internal_handshake_same_devices(const hami_devices *one,
                                          const hami_devices *other, size_t entry)
{
    size_t count = hami_devices_count(one, entry);

    if (hami_devices_count(other, entry) != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct hami_device *a = hami_devices_get(one, entry, i);
        const struct hami_device *b = hami_devices_get(other, entry, i);

        if (strcmp(a->uuid, b->uuid) != 0 || strcmp(a->type, b->type) != 0 ||
            a->memory_mib != b->memory_mib || a->core_percent != b->core_percent) {
            return false;
        }
    }
    return true;
}

/* The annotation of what was assigned, from the one of what is left. */
static const char *assigned_text(const json_t *pod, const char *to_allocate_key)
{
    size_t length = strlen(to_allocate_key);
    size_t suffix = strlen(HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX);
    char key[HAMI_NODELOCK_KEY_MAX + 1];

    if (length <= suffix || length >= sizeof(key) ||
        strcmp(to_allocate_key + length - suffix, HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX) !=
            0) {
        return NULL;
    }
    (void)snprintf(key, sizeof(key), "%.*s%s", (int)(length - suffix), to_allocate_key,
                   ALLOCATED_SUFFIX);
    return hami_internal_object_annotation(pod, key);
}

/* Both strings tell of one assignment: what is left is a part of what was assigned. */
static bool is_part(const hami_devices *left, const hami_devices *assigned)
{
    size_t total = hami_devices_container_count(left);

    for (size_t i = 0; i < total; i++) {
        if (hami_devices_count(left, i) > 0 &&
            !hami_internal_handshake_same_devices(left, assigned, i)) {
            return false;
        }
    }
    return true;
}

static bool is_on_books(const struct hami_internal_handshake_ask *ask, const json_t *pod,
                        const char *container)
{
    const char *namespace_name = hami_internal_object_metadata(pod, "namespace");
    const char *name = hami_internal_object_metadata(pod, "name");

    for (size_t i = 0; i < ask->books->count; i++) {
        const struct hami_handshake_holding *holding = &ask->books->holdings[i];

        if (strcmp(holding->pod, name) == 0 &&
            strcmp(holding->namespace_name, namespace_name) == 0 &&
            strcmp(holding->container, container) == 0 &&
            strcmp(holding->resource, ask->vendors[ask->vendor].resource) == 0) {
            return true;
        }
    }
    return false;
}

/* May the container at `index` of the spec, served already, be asking again? */
static bool asks_again(const struct hami_internal_handshake_ask *ask, const json_t *pod,
                       size_t index)
{
    const json_t *container = hami_internal_handshake_container(pod, index);
    const char *name = json_string_value(json_object_get(container, "name"));
    const char *restart = json_string_value(json_object_get(container, "restartPolicy"));

    if (name == NULL) {
        return false;
    }
    if (index < hami_internal_handshake_init_count(pod) &&
        (restart == NULL || strcmp(restart, "Always") != 0)) {
        return false;
    }
    return !is_on_books(ask, pod, name);
}

int hami_internal_handshake_restore(const json_t *pod,
                                    const struct hami_internal_handshake_ask *ask,
                                    struct hami_internal_handshake_share *share)
{
    const char *text = assigned_text(pod, ask->vendors[ask->vendor].to_allocate_key);
    hami_devices *assigned = NULL;
    size_t offset, total;
    int code;

    if (text == NULL || hami_internal_object_annotation(
                            pod, ask->vendors[ask->vendor].to_allocate_key) == NULL) {
        return 0; /* nothing was ever to be allocated from it */
    }
    code = hami_devices_parse(text, &assigned);
    if (code < 0) {
        return code == HAMI_E_NOMEM ? code : 0;
    }
    if (!is_part(share->devices, assigned)) {
        hami_devices_free(assigned);
        return 0;
    }
    offset =
        hami_internal_handshake_offset(pod, ask->vendors[ask->vendor].resource, assigned);
    total = hami_devices_container_count(assigned);
    for (size_t i = 0; i < total; i++) {
        if (hami_devices_count(share->devices, i) == 0 &&
            !asks_again(ask, pod, i + offset)) {
            (void)hami_devices_clear(assigned, i);
        } else if (hami_devices_count(share->devices, i) == 0) {
            share->is_again = share->is_again || hami_devices_count(assigned, i) > 0;
        }
    }
    hami_devices_free(share->devices);
    share->devices = assigned;
    return 0;
}

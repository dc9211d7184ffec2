/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works out what a pod's annotations must say once a share is handed out, and whether it
 * was the last. No state, no lock.
 *
 * Calls are counted by the spec: the kubelet allocates container by container, init
 * containers first, and within one container resource by resource in no set order. So
 * after a share up to container C, outstanding is each later container that asks a known
 * resource, and each container up to C whose entry of another vendor still holds devices.
 * Strings of vendors that the configuration does not know have no resource to count by:
 * they are outstanding while they hold a device.
 */
#include "handshake_pod.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"

static const json_t *containers_of(const json_t *pod, const char *member)
{
    return json_object_get(json_object_get(pod, "spec"), member);
}

/* Does any container of `list`, whose first one has index `start`, still wait for the
 * vendor? */
static bool list_waits(const json_t *list, size_t start, size_t offset, size_t last,
                       const char *resource, const hami_devices *devices)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t index = start + i;
        size_t left = index >= offset ? hami_devices_count(devices, index - offset) : 0;

        if (hami_internal_handshake_asked(json_array_get(list, i), resource) > 0 &&
            (index > last || left > 0)) {
            return true;
        }
    }
    return false;
}

static bool vendor_waits(const json_t *pod, const char *resource, size_t offset,
                         size_t last, const hami_devices *devices)
{
    const json_t *inits = containers_of(pod, "initContainers");

    return list_waits(inits, 0, offset, last, resource, devices) ||
           list_waits(containers_of(pod, "containers"), json_array_size(inits), offset,
                      last, resource, devices);
}

static bool is_to_allocate_key(const char *key)
{
    size_t length = strlen(key);
    size_t suffix = strlen(HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX);

    return length > suffix &&
           strcmp(key + length - suffix, HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX) == 0;
}

static bool is_known_key(const struct hami_internal_handshake_ask *ask, const char *key)
{
    for (size_t i = 0; i < ask->vendor_count; i++) {
        if (strcmp(ask->vendors[i].to_allocate_key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Parses an annotation that may be absent or odd: then nothing is left in it. */
static int parse_other(const json_t *value, hami_devices **ret)
{
    const char *text = json_string_value(value);
    int code = hami_devices_parse(text != NULL ? text : "", ret);

    if (code < 0 && code != HAMI_E_NOMEM) {
        code = hami_devices_parse("", ret);
    }
    return code;
}

/* Is any other vendor's Allocate outstanding? */
static int others_wait(const json_t *pod, const struct hami_internal_handshake_ask *ask,
                       size_t offset, size_t last, bool *ret)
{
    json_t *annotations =
        json_object_get(json_object_get(pod, "metadata"), "annotations");
    hami_devices *devices;
    const char *key;
    json_t *value;
    int code;

    *ret = false;
    for (size_t i = 0; i < ask->vendor_count && !*ret; i++) {
        if (i == ask->vendor) {
            continue;
        }
        code = parse_other(json_object_get(annotations, ask->vendors[i].to_allocate_key),
                           &devices);
        if (code < 0) {
            return code;
        }
        *ret = vendor_waits(pod, ask->vendors[i].resource, offset, last, devices);
        hami_devices_free(devices);
    }
    json_object_foreach(annotations, key, value)
    {
        if (*ret || !is_to_allocate_key(key) || is_known_key(ask, key)) {
            continue;
        }
        code = parse_other(value, &devices);
        if (code < 0) {
            return code;
        }
        *ret = !hami_devices_is_empty(devices);
        hami_devices_free(devices);
    }
    return 0;
}

/* Erases the share from the string as it is now; entries that are empty already stay so.
 */
static int erase(const struct hami_internal_handshake_share *share, hami_devices *devices)
{
    for (size_t i = 0; i < share->count; i++) {
        size_t entry = share->entries[i];

        if (hami_devices_count(devices, entry) == 0) {
            continue;
        }
        if (!hami_internal_handshake_same_devices(share->devices, devices, entry)) {
            return HAMI_E_LOST;
        }
        (void)hami_devices_clear(devices, entry);
    }
    return 0;
}

static int format_new(const hami_devices *devices, char **ret)
{
    size_t length;
    char *text;
    int code = hami_devices_format(devices, NULL, 0, &length);

    if (code < 0) {
        return code;
    }
    text = malloc(length + 1);
    if (text == NULL) {
        return HAMI_E_NOMEM;
    }
    code = hami_devices_format(devices, text, length + 1, NULL);
    if (code < 0) {
        free(text);
        return code;
    }
    *ret = text;
    return 0;
}

/* Fills the step from the string that is left. */
static int fill_step(const json_t *pod, const struct hami_internal_handshake_ask *ask,
                     const struct hami_internal_handshake_share *share,
                     const hami_devices *devices,
                     struct hami_internal_handshake_step *step)
{
    size_t last = share->entries[share->count - 1] + share->offset;
    bool others = false;
    bool own = vendor_waits(pod, ask->vendors[ask->vendor].resource, share->offset, last,
                            devices);
    int code = others_wait(pod, ask, share->offset, last, &others);

    if (code == 0) {
        step->is_last = !own && !others;
        code = format_new(devices, &step->new_text);
    }
    return code;
}

int hami_internal_handshake_next(const json_t *pod,
                                 const struct hami_internal_handshake_ask *ask,
                                 const struct hami_internal_handshake_share *share,
                                 struct hami_internal_handshake_step *ret)
{
    struct hami_internal_handshake_step step = {0};
    const char *key = ask->vendors[ask->vendor].to_allocate_key;
    const char *text = hami_internal_object_annotation(pod, key);
    hami_devices *devices;
    int code;

    if (text == NULL) {
        return HAMI_E_LOST;
    }
    code = hami_devices_parse(text, &devices);
    if (code < 0) {
        return code == HAMI_E_NOMEM ? code : HAMI_E_LOST;
    }
    code = erase(share, devices);
    if (code == 0) {
        code = fill_step(pod, ask, share, devices, &step);
    }
    hami_devices_free(devices);
    if (code == 0) {
        step.old_text = strdup(text);
        code = step.old_text != NULL ? 0 : HAMI_E_NOMEM;
    }
    if (code < 0) {
        hami_internal_handshake_step_done(&step);
        return code;
    }
    *ret = step;
    return 0;
}

void hami_internal_handshake_step_done(struct hami_internal_handshake_step *step)
{
    free(step->old_text);
    free(step->new_text);
    memset(step, 0, sizeof(*step));
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a pod and judges its string. The answer is parsed on the client's thread and
 * told on the loop's, by letter; an ask that was given up is freed when its letter comes.
 */
#include "handed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "mailbox.h"

#define CONTAINER_MAX 256

struct handed_ask {
    struct hamid_letter letter; /* first */
    struct hamid_mailbox *mailbox;
    const char *to_allocate_key;
    char container[CONTAINER_MAX];
    handed_told_fn told; /* NULL: given up */
    void *data;
    enum handed_word word;
};

/* ---- a pod's word
 * --------------------------------------------------------------------------------- */

/* Place of a container by name in a list; its size where it has none. */
static size_t find(const json_t *containers, const char *name)
{
    size_t count = json_array_size(containers);

    for (size_t i = 0; i < count; i++) {
        const char *other =
            json_string_value(json_object_get(json_array_get(containers, i), "name"));

        if (other != NULL && strcmp(other, name) == 0) {
            return i;
        }
    }
    return count;
}

/* An entry's place is its container's, init containers first; older HAMi's leave these
 * out. Where both readings don't agree, nothing is said. */
static enum handed_word judge_place(const hami_devices *left, const json_t *spec,
                                    const char *container)
{
    const json_t *inits = json_object_get(spec, "initContainers");
    const json_t *others = json_object_get(spec, "containers");
    size_t init_count = json_array_size(inits);
    size_t place = find(inits, container);
    bool waits, waited;

    if (place < init_count) {
        return hami_devices_count(left, place) > 0 ? HANDED_NOT : HANDED_OUT;
    }
    place = find(others, container);
    if (place == json_array_size(others)) {
        return HANDED_UNKNOWN;
    }
    waits = hami_devices_count(left, init_count + place) > 0;
    waited = hami_devices_count(left, place) > 0;
    if (waits != waited) {
        return HANDED_UNKNOWN;
    }
    return waits ? HANDED_NOT : HANDED_OUT;
}

enum handed_word handed_judge(const json_t *pod, const char *to_allocate_key,
                              const char *container)
{
    const json_t *annotations =
        json_object_get(json_object_get(pod, "metadata"), "annotations");
    const char *text = json_string_value(json_object_get(annotations, to_allocate_key));
    enum handed_word word = HANDED_UNKNOWN;
    hami_devices *left = NULL;

    if (text != NULL && hami_devices_parse(text, &left) == 0) {
        word = judge_place(left, json_object_get(pod, "spec"), container);
    }
    hami_devices_free(left);
    return word;
}

/* ---- reading it
 * ----------------------------------------------------------------------------------- */

static void opened(struct hamid_letter *letter)
{
    struct handed_ask *ask = (struct handed_ask *)letter;

    if (ask->told != NULL) {
        ask->told(ask->data, ask->word);
    }
    free(ask);
}

/* On the client's thread. */
static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct handed_ask *ask = data;
    json_t *pod = NULL;

    if (answer->code == 0 && answer->status == 200) {
        pod = json_loadb(answer->body, answer->body_length, 0, NULL);
    }
    if (pod != NULL) {
        ask->word = handed_judge(pod, ask->to_allocate_key, ask->container);
    }
    json_decref(pod);
    hamid_mailbox_post(ask->mailbox, &ask->letter);
}

static const char *key_of(const struct handed *handed, const char *resource)
{
    for (size_t i = 0; i < handed->vendor_count; i++) {
        if (strcmp(handed->vendors[i].resource, resource) == 0) {
            return handed->vendors[i].to_allocate_key;
        }
    }
    return NULL;
}

struct handed_ask *handed_ask_start(const struct handed *handed,
                                    const struct hami_handshake_holding *holding,
                                    uint64_t deadline_ns, handed_told_fn told, void *data)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    const char *key = key_of(handed, holding->resource);
    struct handed_ask *ask = key != NULL ? calloc(1, sizeof(*ask)) : NULL;
    char path[640];
    int length;

    if (ask == NULL) {
        return NULL;
    }
    ask->letter.open = opened;
    ask->mailbox = handed->mailbox;
    ask->to_allocate_key = key;
    (void)snprintf(ask->container, sizeof(ask->container), "%.255s", holding->container);
    ask->told = told;
    ask->data = data;
    length = snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s",
                      holding->namespace_name, holding->pod);
    request.path = path;
    request.deadline_ns = deadline_ns;
    if (length < 0 || (size_t)length >= sizeof(path) ||
        hami_kubernetes_request_start(handed->client, &request, answered, ask) < 0) {
        free(ask);
        return NULL;
    }
    return ask;
}

void handed_ask_cancel(struct handed_ask *ask)
{
    ask->told = NULL;
}

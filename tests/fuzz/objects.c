/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the API server: a pod, a list of pods, metadata alone, a Status. Input: one
 * JSON text, read as each of them.
 */
#include "fuzz.h"

#include "handshake_pod.h"
#include "object.h"
#include "pod.h"
#include "status.h"

static const struct hami_handshake_vendor vendors[] = {
    {"nvidia.com/gpu", "hami.io/vgpu-devices-to-allocate"},
    {"huawei.com/Ascend910", "hami.io/Ascend910-devices-to-allocate"},
};

/* ---- a pod ---- */

static bool is_empty_or_filled(const char *text)
{
    return text == NULL || text[0] != '\0';
}

static void check_facts(const struct hami_owner_facts *facts)
{
    FUZZ_CHECK(facts->known && facts->exists);
    FUZZ_CHECK(!(facts->finished && facts->started));
    FUZZ_CHECK(is_empty_or_filled(facts->uid) && is_empty_or_filled(facts->node));
    FUZZ_CHECK(is_empty_or_filled(facts->version));
    FUZZ_CHECK(is_empty_or_filled(facts->assigned_node));
}

/* Each says how many of what, once; or that nobody can tell. */
static void check_calls(const struct hami_kubernetes_pod *told)
{
    bool is_unknown = told->call_count == 1 && strcmp(told->calls[0], "?") == 0;

    FUZZ_CHECK(told->call_count <= HAMI_INTERNAL_POD_CALLS_MAX);
    for (size_t i = 0; i < told->call_count && !is_unknown; i++) {
        const char *call = told->calls[i], *count = strrchr(call, '=');
        FUZZ_CHECK(count != NULL && memchr(call, '/', (size_t)(count - call)) != NULL);
        FUZZ_CHECK(strcmp(count, "=?") == 0 ||
                   (count[1] >= '1' && count[1] <= '9' &&
                    count[1 + strspn(count + 1, "0123456789")] == '\0'));
        for (size_t j = 0; j < i; j++) {
            FUZZ_CHECK(strcmp(call, told->calls[j]) != 0);
        }
    }
}

static bool is_told(const struct hami_kubernetes_pod *told, const char *resource,
                    long long asked)
{
    char call[400];

    FUZZ_CHECK(snprintf(call, sizeof(call), "%s=%lld", resource, asked) > 0);
    for (size_t i = 0; i < told->call_count; i++) {
        if (strcmp(told->calls[i], "?") == 0 || strcmp(told->calls[i], call) == 0) {
            return true;
        }
    }
    return false;
}

/* What a container plainly asks of a device is a call of its pod. */
static void check_asked(const struct hami_kubernetes_pod *told, const json_t *containers)
{
    size_t at;
    json_t *container, *amount;
    const char *resource;

    json_array_foreach(containers, at, container)
    {
        const json_t *resources = json_object_get(container, "resources");
        json_object_foreach(json_object_get(resources, "limits"), resource, amount)
        {
            long long asked = json_is_integer(amount) ? json_integer_value(amount) : 0;
            bool is_device = strchr(resource, '/') != NULL && strlen(resource) < 300 &&
                             strstr(resource, "kubernetes.io/") == NULL;
            FUZZ_CHECK(!is_device || asked <= 0 || is_told(told, resource, asked));
        }
    }
}

static void check_pod(const json_t *pod)
{
    static struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod told;
    struct hami_owner_facts facts;

    hami_internal_pod_facts(pod, HAMI_FACTS_WATCH, &facts);
    check_facts(&facts);
    FUZZ_CHECK(facts.source == HAMI_FACTS_WATCH);
    hami_internal_pod_describe(pod, &texts, &told);
    FUZZ_CHECK(told.facts.source == HAMI_FACTS_READ);
    FUZZ_CHECK(fuzz_is_same(told.facts.uid, facts.uid));
    FUZZ_CHECK(told.facts.fence == facts.fence && told.facts.done == facts.done);
    FUZZ_CHECK(told.resources == texts.resources);
    FUZZ_CHECK(told.resource_count <= HAMI_INTERNAL_POD_RESOURCES_MAX);
    check_calls(&told);
    check_asked(&told, json_object_get(json_object_get(pod, "spec"), "containers"));
    check_asked(&told, json_object_get(json_object_get(pod, "spec"), "initContainers"));
    FUZZ_CHECK(is_empty_or_filled(told.group));
    FUZZ_CHECK(told.group == NULL || strlen(told.group) <= HAMI_NODELOCK_GROUP_MAX);
    for (size_t i = 0; i < told.resource_count; i++) {
        for (size_t j = 0; j < i; j++) {
            FUZZ_CHECK(strcmp(texts.resources[i], texts.resources[j]) != 0);
        }
    }
}

/* ---- annotations ---- */

static void check_annotations(const json_t *object)
{
    struct hami_annotation *list = NULL;
    size_t count = 0;

    FUZZ_CHECK(hami_internal_object_annotations(object, &list, &count) == 0);
    FUZZ_CHECK((count == 0) || hami_internal_object_has_annotations(object));
    for (size_t i = 0; i < count; i++) {
        FUZZ_CHECK(hami_internal_object_annotation(object, list[i].key) == list[i].value);
    }
    free(list);
}

/* ---- a list: whose Allocate is it? ---- */

/* What is written for a share erases its devices and no other; written twice it changes
 * nothing more. */
static void check_step(const struct hami_internal_handshake_ask *ask,
                       const struct hami_internal_handshake_share *share)
{
    struct hami_internal_handshake_step step = {0}, again = {0};
    const char *key = ask->vendors[ask->vendor].to_allocate_key;
    hami_devices *left = NULL;

    int code = hami_internal_handshake_next(share->pod, ask, share, &step);
    FUZZ_CHECK(code == 0);
    FUZZ_CHECK(hami_devices_parse(step.new_text, &left) == 0);
    for (size_t i = 0; i < hami_devices_container_count(share->devices); i++) {
        bool mine = false;
        for (size_t j = 0; j < share->count; j++) {
            mine = mine || share->entries[j] == i;
        }
        FUZZ_CHECK(hami_devices_count(left, i) ==
                   (mine ? 0 : hami_devices_count(share->devices, i)));
    }
    json_t *annotations =
        json_object_get(json_object_get(share->pod, "metadata"), "annotations");
    FUZZ_CHECK(json_object_set_new(annotations, key, json_string(step.new_text)) == 0);
    FUZZ_CHECK(hami_internal_handshake_next(share->pod, ask, share, &again) == 0);
    FUZZ_CHECK(strcmp(again.old_text, again.new_text) == 0);
    FUZZ_CHECK(strcmp(again.new_text, step.new_text) == 0);
    FUZZ_CHECK(again.is_last == step.is_last);
    hami_internal_handshake_step_done(&step);
    hami_internal_handshake_step_done(&again);
    (void)hami_devices_free(left);
}

static void check_caller(const json_t *list, size_t vendor, const size_t *counts,
                         size_t count)
{
    struct hami_internal_handshake_ask ask = {.node = "n1",
                                              .vendors = vendors,
                                              .vendor_count = 2,
                                              .vendor = vendor,
                                              .counts = counts,
                                              .count = count};
    struct hami_internal_handshake_share share = {0};
    char text[512] = "";
    int code = hami_internal_handshake_find(list, &ask, &share, text, sizeof(text));

    FUZZ_CHECK(code == 0 || text[0] != '\0');
    FUZZ_CHECK(code == 0 || code == HAMI_E_LOST || code == HAMI_E_BUSY ||
               code == HAMI_E_LIMIT || code == HAMI_E_PROTO);
    if (code != 0) {
        FUZZ_CHECK(share.pod == NULL && share.devices == NULL);
        return;
    }
    FUZZ_CHECK(share.count == count && share.pod != NULL);
    for (size_t i = 0; i < share.count; i++) {
        FUZZ_CHECK(share.names[i] != NULL);
        FUZZ_CHECK(i == 0 || share.entries[i] > share.entries[i - 1]);
        FUZZ_CHECK(hami_devices_count(share.devices, share.entries[i]) == counts[i]);
    }
    check_step(&ask, &share);
    hami_internal_handshake_share_done(&share);
}

/* With books on which there is nobody: whoever was served may ask again. What is written
 * never gives devices back. */
static void check_again(const json_t *list, size_t vendor, const size_t *counts,
                        size_t count)
{
    static const struct hami_internal_handshake_books books = {NULL, 0};
    struct hami_internal_handshake_ask ask = {.node = "n1",
                                              .vendors = vendors,
                                              .vendor_count = 2,
                                              .vendor = vendor,
                                              .counts = counts,
                                              .count = count,
                                              .books = &books};
    struct hami_internal_handshake_share share = {0};
    struct hami_internal_handshake_step step = {0};
    hami_devices *before = NULL, *after = NULL;
    char text[512] = "";

    if (hami_internal_handshake_find(list, &ask, &share, text, sizeof(text)) != 0) {
        FUZZ_CHECK(text[0] != '\0' && share.pod == NULL && share.devices == NULL);
        return;
    }
    for (size_t i = 0; i < share.count; i++) {
        FUZZ_CHECK(share.names[i] != NULL);
        FUZZ_CHECK(hami_devices_count(share.devices, share.entries[i]) == counts[i]);
    }
    FUZZ_CHECK(hami_internal_handshake_next(share.pod, &ask, &share, &step) == 0);
    FUZZ_CHECK(hami_devices_parse(step.old_text, &before) == 0);
    FUZZ_CHECK(hami_devices_parse(step.new_text, &after) == 0);
    for (size_t i = 0; i < hami_devices_container_count(share.devices); i++) {
        FUZZ_CHECK(hami_devices_count(after, i) <= hami_devices_count(before, i));
        FUZZ_CHECK(share.is_again ||
                   hami_devices_count(share.devices, i) == hami_devices_count(before, i));
    }
    hami_internal_handshake_step_done(&step);
    (void)hami_devices_free(before);
    (void)hami_devices_free(after);
    hami_internal_handshake_share_done(&share);
}

/* ---- a Status ---- */

static bool is_line(const char *text, size_t size)
{
    if (strnlen(text, size) == size) {
        return false;
    }
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return false;
        }
    }
    return true;
}

static void check_status(const char *text, size_t length)
{
    static const int codes[] = {200, 404, 409, 422, 429, 500};
    struct hami_internal_status status;
    bool found = hami_internal_status_read(text, length, &status);

    FUZZ_CHECK(is_line(status.reason, sizeof(status.reason)));
    FUZZ_CHECK(is_line(status.message, sizeof(status.message)));
    FUZZ_CHECK(is_line(status.kind, sizeof(status.kind)));
    FUZZ_CHECK(found || (status.code == 0 && status.cause_count == 0));
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        struct hami_kubernetes_answer answer = {.size = sizeof(answer),
                                                .status = codes[i],
                                                .body = text,
                                                .body_length = length,
                                                .text = ""};
        char line[256];
        int write = hami_internal_status_of_write(&answer);
        int read = hami_internal_status_of_read(&answer);
        FUZZ_CHECK((write == 0) == (codes[i] == 200) && (read == 0) == (write == 0));
        FUZZ_CHECK(read != HAMI_E_IN_DOUBT);
        answer.maybe_resent = true;
        write = hami_internal_status_of_write(&answer);
        FUZZ_CHECK(write == (codes[i] == 200 ? 0 : HAMI_E_IN_DOUBT));
        FUZZ_CHECK(hami_internal_status_text(&answer, line, sizeof(line)) == line);
        FUZZ_CHECK(is_line(line, sizeof(line)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t counts[] = {1, 2, 1};
    char *text = fuzz_copy((const char *)data, size);
    json_t *object = hami_internal_object_parse(text, size);

    check_status(text, size);
    if (object != NULL) {
        check_pod(object);
        check_annotations(object);
        for (size_t i = 0; i < 4; i++) {
            /* One container with one device, with two; two containers; of another vendor.
             */
            check_again(object, i == 3 ? 1 : 0, i == 1 ? counts + 1 : counts,
                        i == 2 ? 2 : 1);
            check_caller(object, i == 3 ? 1 : 0, i == 1 ? counts + 1 : counts,
                         i == 2 ? 2 : 1);
        }
        json_decref(object);
    }
    free(text);
    return 0;
}

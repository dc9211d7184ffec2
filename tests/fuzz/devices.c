/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device strings. Input: one byte that says what is cleared, then the string.
 */
#include "fuzz.h"

#include <hami/handshake.h>

#include "pod.h"

static char *format(const hami_devices *devices)
{
    size_t length = 0;

    FUZZ_CHECK(hami_devices_format(devices, NULL, 0, &length) == 0);
    char *text = malloc(length + 1);
    FUZZ_CHECK(text != NULL);
    if (length > 0) {
        FUZZ_CHECK(hami_devices_format(devices, text, length, NULL) == HAMI_E_LIMIT);
    }
    FUZZ_CHECK(hami_devices_format(devices, text, length + 1, NULL) == 0);
    FUZZ_CHECK(strlen(text) == length);
    return text;
}

static size_t total(const hami_devices *devices)
{
    size_t count = 0;

    FUZZ_CHECK(hami_devices_container_count(devices) <= HAMI_DEVICES_CONTAINERS_MAX);
    for (size_t i = 0; i < hami_devices_container_count(devices); i++) {
        for (size_t j = 0; j < hami_devices_count(devices, i); j++) {
            const struct hami_device *device = hami_devices_get(devices, i, j);
            FUZZ_CHECK(device != NULL && device->uuid[0] != '\0' && device->type != NULL);
            FUZZ_CHECK(strpbrk(device->uuid, ",:;") == NULL);
            FUZZ_CHECK(strpbrk(device->type, ",:;") == NULL);
            count++;
        }
        FUZZ_CHECK(hami_devices_get(devices, i, hami_devices_count(devices, i)) == NULL);
    }
    FUZZ_CHECK(hami_devices_is_empty(devices) == (count == 0));
    return count;
}

static void check_same(const hami_devices *one, const hami_devices *other, size_t cleared)
{
    for (size_t i = 0; i < hami_devices_container_count(one); i++) {
        size_t count = hami_devices_count(one, i);
        if (i == cleared) {
            FUZZ_CHECK(hami_devices_count(other, i) == 0);
            continue;
        }
        FUZZ_CHECK(hami_devices_count(other, i) == count);
        for (size_t j = 0; j < count; j++) {
            const struct hami_device *a = hami_devices_get(one, i, j);
            const struct hami_device *b = hami_devices_get(other, i, j);
            FUZZ_CHECK(strcmp(a->uuid, b->uuid) == 0 && strcmp(a->type, b->type) == 0);
            FUZZ_CHECK(a->memory_mib == b->memory_mib);
            FUZZ_CHECK(a->core_percent == b->core_percent);
        }
    }
}

/* Clears one container in a copy: the others keep place and text. */
static void check_clear(const hami_devices *devices, const char *text, size_t which)
{
    hami_devices *copy = NULL, *again = NULL;

    FUZZ_CHECK(hami_devices_parse(text, &copy) == 0);
    FUZZ_CHECK(hami_devices_clear(copy, which) == 0);
    check_same(devices, copy, which);
    char *cleared = format(copy);
    FUZZ_CHECK(strlen(cleared) <= strlen(text));
    FUZZ_CHECK(hami_devices_parse(cleared, &again) == 0);
    check_same(copy, again, which);
    FUZZ_CHECK(total(again) == total(devices) - hami_devices_count(devices, which));
    free(cleared);
    (void)hami_devices_free(copy);
    (void)hami_devices_free(again);
}

static void check_all_cleared(hami_devices *devices)
{
    for (size_t i = 0; i < hami_devices_container_count(devices); i++) {
        FUZZ_CHECK(hami_devices_clear(devices, i) == 0);
    }
    FUZZ_CHECK(hami_devices_clear(devices, hami_devices_container_count(devices)) ==
               HAMI_E_INVAL);
    FUZZ_CHECK(hami_devices_is_empty(devices));
    char *text = format(devices);
    FUZZ_CHECK(strspn(text, ";") == strlen(text));
    FUZZ_CHECK(!hami_internal_pod_text_has_device(text));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    unsigned which = fuzz_byte(&input);
    char *text = fuzz_copy(input.at, input.left);
    hami_devices *devices = NULL;

    int code = hami_devices_parse(text, &devices);
    FUZZ_CHECK(code == 0 || code == HAMI_E_PROTO || code == HAMI_E_LIMIT);
    FUZZ_CHECK((code == 0) == (devices != NULL));
    if (code == 0) {
        char *same = format(devices);
        FUZZ_CHECK(strcmp(same, text) == 0);
        free(same);
        /* Whoever only looks for a rest must not find none where there are devices. */
        FUZZ_CHECK(total(devices) == 0 || hami_internal_pod_text_has_device(text));
        size_t count = hami_devices_container_count(devices);
        if (count > 0) {
            check_clear(devices, text, which % count);
        }
        check_all_cleared(devices);
    }
    (void)hami_bind_phase_parse(text);
    (void)hami_devices_free(devices);
    free(text);
    return 0;
}

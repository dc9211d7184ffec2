/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codec of HAMi's device strings and bind phases. Pure: no clock, no thread, no I/O;
 * an object belongs to one thread at a time.
 *
 * A string is kept as it was read, with an index over it: what is not cleared is written
 * back byte for byte, fields that we do not know included. Invariants: `containers` ends
 * with a container that was not empty when it was read; `tail` counts the empty entries
 * after it, so that a round trip neither adds nor drops a semicolon (HAMi's own codec
 * adds one at each erase).
 */
#include <hami/handshake.h>

#include <stdlib.h>
#include <string.h>

/* The shortest device is "u,,0,0:". */
#define DEVICE_BYTES_MIN 7

struct container {
    size_t start;  /* of its text, in hami_devices.text */
    size_t length; /* without the semicolon; 0 after a clear */
    size_t first;  /* of its devices, in hami_devices.devices */
    size_t count;
    bool ended; /* by a semicolon; only the last one may lack it */
};

struct hami_devices {
    char *text;   /* as read */
    char *fields; /* the same, cut into ended fields */
    struct container *containers;
    size_t container_count;
    struct hami_device *devices;
    size_t device_count;
    size_t tail; /* empty entries behind the last container */
};

/* A whole 32-bit decimal number, as Go's ParseInt takes it: sign allowed, blanks not. */
static int parse_number(const char *text, int32_t *ret)
{
    bool negative = *text == '-';
    int64_t value = 0;

    if (*text == '-' || *text == '+') {
        text++;
    }
    if (*text == '\0') {
        return HAMI_E_PROTO;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9') {
            return HAMI_E_PROTO;
        }
        value = value * 10 + (*text - '0');
        if (value > (int64_t)INT32_MAX + 1) {
            return HAMI_E_PROTO;
        }
    }
    if (negative) {
        value = -value;
    }
    if (value > INT32_MAX) {
        return HAMI_E_PROTO;
    }
    *ret = (int32_t)value;
    return 0;
}

/* Ends the field at `*rest` and moves to the next; NULL when there is none. */
static char *next_field(char **rest)
{
    char *field = *rest;
    char *comma;

    if (field == NULL) {
        return NULL;
    }
    comma = strchr(field, ',');
    if (comma != NULL) {
        *comma++ = '\0';
    }
    *rest = comma;
    return field;
}

/* One segment between colons, ended with NUL: a device, or nothing when it has no comma.
 */
static int parse_segment(hami_devices *devices, char *segment)
{
    struct hami_device device = {0};
    char *rest = segment;
    const char *memory, *core;
    int code;

    if (strchr(segment, ',') == NULL) {
        return 0; /* HAMi passes over it without a word; so must we */
    }
    device.uuid = next_field(&rest);
    device.type = next_field(&rest);
    memory = next_field(&rest);
    core = next_field(&rest);
    if (core == NULL || *device.uuid == '\0') {
        return HAMI_E_PROTO;
    }
    code = parse_number(memory, &device.memory_mib);
    if (code == 0) {
        code = parse_number(core, &device.core_percent);
    }
    if (code == 0) {
        devices->devices[devices->device_count++] = device;
    }
    return code;
}

/* The devices of one container; its text in `fields` is cut up. */
static int parse_container(hami_devices *devices, struct container *container)
{
    char *segment = devices->fields + container->start;
    char *end = segment + container->length;

    *end = '\0'; /* the semicolon, or the string's own end */
    container->first = devices->device_count;
    while (segment < end) {
        char *colon = memchr(segment, ':', (size_t)(end - segment));
        int code;

        if (colon == NULL) {
            colon = end;
        }
        *colon = '\0';
        code = parse_segment(devices, segment);
        if (code < 0) {
            return code;
        }
        segment = colon + 1;
    }
    container->count = devices->device_count - container->first;
    return 0;
}

/* Takes the empty entries seen so far and then this one as containers. */
static int append_container(hami_devices *devices, size_t start, size_t length,
                            bool ended)
{
    struct container *container;
    size_t index = devices->container_count + devices->tail;

    if (index >= HAMI_DEVICES_CONTAINERS_MAX) {
        return HAMI_E_LIMIT;
    }
    for (; devices->container_count < index; devices->container_count++) {
        container = &devices->containers[devices->container_count];
        *container = (struct container){.start = start, .first = devices->device_count};
        container->ended = true;
    }
    devices->tail = 0;
    container = &devices->containers[index];
    *container = (struct container){.start = start, .length = length, .ended = ended};
    devices->container_count++;
    return parse_container(devices, container);
}

static int parse_text(hami_devices *devices, size_t length)
{
    size_t start = 0;

    while (start < length) {
        const char *semicolon = memchr(devices->text + start, ';', length - start);
        size_t end = semicolon != NULL ? (size_t)(semicolon - devices->text) : length;

        if (end == start) {
            devices->tail++;
        } else {
            int code = append_container(devices, start, end - start, semicolon != NULL);

            if (code < 0) {
                return code;
            }
        }
        start = end + 1;
    }
    return 0;
}

/* How many containers can be in the text: bounds the index. */
static size_t count_entries(const char *text)
{
    size_t count = 1;

    for (; *text != '\0' && count < HAMI_DEVICES_CONTAINERS_MAX; text++) {
        count += *text == ';';
    }
    return count;
}

static hami_devices *devices_new(const char *text, size_t length)
{
    hami_devices *devices = calloc(1, sizeof(*devices));

    if (devices == NULL) {
        return NULL;
    }
    devices->text = strdup(text);
    devices->fields = strdup(text);
    devices->containers = calloc(count_entries(text), sizeof(*devices->containers));
    devices->devices = calloc(length / DEVICE_BYTES_MIN + 1, sizeof(*devices->devices));
    if (devices->text == NULL || devices->fields == NULL || devices->containers == NULL ||
        devices->devices == NULL) {
        return hami_devices_free(devices);
    }
    return devices;
}

int hami_devices_parse(const char *text, hami_devices **ret)
{
    hami_devices *devices;
    size_t length;
    int code;

    if (text == NULL || ret == NULL) {
        return HAMI_E_INVAL;
    }
    length = strnlen(text, HAMI_DEVICES_TEXT_MAX + 1);
    if (length > HAMI_DEVICES_TEXT_MAX) {
        return HAMI_E_LIMIT;
    }
    devices = devices_new(text, length);
    if (devices == NULL) {
        return HAMI_E_NOMEM;
    }
    code = parse_text(devices, length);
    if (code < 0) {
        hami_devices_free(devices);
        return code;
    }
    *ret = devices;
    return 0;
}

hami_devices *hami_devices_free(hami_devices *devices)
{
    if (devices != NULL) {
        free(devices->text);
        free(devices->fields);
        free(devices->containers);
        free(devices->devices);
        free(devices);
    }
    return NULL;
}

size_t hami_devices_container_count(const hami_devices *devices)
{
    return devices != NULL ? devices->container_count : 0;
}

size_t hami_devices_count(const hami_devices *devices, size_t container)
{
    if (devices == NULL || container >= devices->container_count) {
        return 0;
    }
    return devices->containers[container].count;
}

const struct hami_device *hami_devices_get(const hami_devices *devices, size_t container,
                                           size_t index)
{
    if (index >= hami_devices_count(devices, container)) {
        return NULL;
    }
    return &devices->devices[devices->containers[container].first + index];
}

int hami_devices_clear(hami_devices *devices, size_t container)
{
    if (devices == NULL || container >= devices->container_count) {
        return HAMI_E_INVAL;
    }
    devices->containers[container].count = 0;
    devices->containers[container].length = 0;
    return 0;
}

bool hami_devices_is_empty(const hami_devices *devices)
{
    size_t i;

    for (i = 0; i < hami_devices_container_count(devices); i++) {
        if (devices->containers[i].count > 0) {
            return false;
        }
    }
    return true;
}

int hami_devices_format(const hami_devices *devices, char *buffer, size_t size,
                        size_t *ret)
{
    size_t length = 0;
    size_t i;

    if (devices == NULL || (buffer == NULL && size > 0)) {
        return HAMI_E_INVAL;
    }
    for (i = 0; i < devices->container_count; i++) {
        length += devices->containers[i].length + devices->containers[i].ended;
    }
    length += devices->tail;
    if (ret != NULL) {
        *ret = length;
    }
    if (buffer == NULL) {
        return 0;
    }
    if (length >= size) {
        return HAMI_E_LIMIT;
    }
    for (i = 0; i < devices->container_count; i++) {
        const struct container *container = &devices->containers[i];

        memcpy(buffer, devices->text + container->start, container->length);
        buffer += container->length;
        if (container->ended) {
            *buffer++ = ';';
        }
    }
    memset(buffer, ';', devices->tail);
    buffer[devices->tail] = '\0';
    return 0;
}

enum hami_bind_phase hami_bind_phase_parse(const char *text)
{
    if (text == NULL) {
        return HAMI_BIND_PHASE_NONE;
    }
    if (strcmp(text, "allocating") == 0) {
        return HAMI_BIND_PHASE_ALLOCATING;
    }
    if (strcmp(text, "success") == 0) {
        return HAMI_BIND_PHASE_SUCCESS;
    }
    if (strcmp(text, "failed") == 0) {
        return HAMI_BIND_PHASE_FAILED;
    }
    return HAMI_BIND_PHASE_NONE;
}

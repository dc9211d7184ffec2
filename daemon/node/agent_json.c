/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of the agent. Plugins' texts are not trusted: each problem is named in
 * one line.
 */
#include "agent_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESOURCE_MAX 317

static bool complain(char *problem, size_t size, const char *text)
{
    (void)snprintf(problem, size, "%s", text);
    return false;
}

/* Parses one JSON object. NULL with a line in problem. */
static json_t *parse_object(const char *text, size_t length, char *problem, size_t size)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);

    if (root == NULL) {
        (void)snprintf(problem, size, "the body is no JSON: %.160s (line %d, column %d)",
                       error.text, error.line, error.column);
        return NULL;
    }
    if (!json_is_object(root)) {
        json_decref(root);
        (void)complain(problem, size, "the body is no JSON object");
        return NULL;
    }
    return root;
}

/* How many ids there are in all; SIZE_MAX with a line in problem where something is odd.
 */
static size_t count_ids(const json_t *containers, char *problem, size_t size)
{
    size_t total = 0;

    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *ids = json_array_get(containers, i);

        if (!json_is_array(ids) || json_array_size(ids) == 0) {
            (void)snprintf(problem, size, "containers[%zu] is no list of device ids", i);
            return SIZE_MAX;
        }
        for (size_t j = 0; j < json_array_size(ids); j++) {
            const char *id = json_string_value(json_array_get(ids, j));

            if (id == NULL || *id == '\0') {
                (void)snprintf(problem, size, "containers[%zu][%zu] is no device id", i,
                               j);
                return SIZE_MAX;
            }
        }
        total += json_array_size(ids);
    }
    if (total > AGENT_IDS_MAX) {
        (void)complain(problem, size, "containers: more device ids than any node has");
        return SIZE_MAX;
    }
    return total;
}

static bool read_containers(struct agent_ask *ask, char *problem, size_t size)
{
    const json_t *containers = json_object_get(ask->root, "containers");
    size_t total, next = 0;

    if (!json_is_array(containers) || json_array_size(containers) == 0 ||
        json_array_size(containers) > AGENT_CONTAINERS_MAX) {
        return complain(
            problem, size,
            "containers is no list of 1 to 64 lists of device ids, one a container");
    }
    total = count_ids(containers, problem, size);
    if (total == SIZE_MAX) {
        return false;
    }
    ask->ids = calloc(total, sizeof(*ask->ids));
    if (ask->ids == NULL) {
        return complain(problem, size, "out of memory");
    }
    ask->count = json_array_size(containers);
    for (size_t i = 0; i < ask->count; i++) {
        const json_t *ids = json_array_get(containers, i);

        ask->containers[i].ids = ask->ids + next;
        ask->containers[i].id_count = json_array_size(ids);
        for (size_t j = 0; j < json_array_size(ids); j++) {
            ask->ids[next++] = json_string_value(json_array_get(ids, j));
        }
    }
    return true;
}

static bool is_resource(const char *text)
{
    return text != NULL && *text != '\0' && strlen(text) <= RESOURCE_MAX;
}

bool agent_ask_read(const char *text, size_t length, struct agent_ask *ret, char *problem,
                    size_t size)
{
    struct agent_ask ask = {.root = parse_object(text, length, problem, size)};
    bool is_good = false;

    if (ask.root == NULL) {
        return false;
    }
    ask.resource = json_string_value(json_object_get(ask.root, "resource"));
    if (!is_resource(ask.resource)) {
        (void)complain(problem, size,
                       "resource is no resource name such as nvidia.com/gpu");
    } else {
        is_good = read_containers(&ask, problem, size);
    }
    if (!is_good) {
        agent_ask_done(&ask);
        return false;
    }
    *ret = ask;
    return true;
}

void agent_ask_done(struct agent_ask *ask)
{
    free(ask->ids);
    json_decref(ask->root);
    memset(ask, 0, sizeof(*ask));
}

static bool read_ids(struct agent_start *start, char *problem, size_t size)
{
    const json_t *ids = json_object_get(start->root, "ids");
    size_t count = json_array_size(ids);

    if (!json_is_array(ids) || count == 0 || count > AGENT_IDS_MAX) {
        return complain(problem, size, "ids is no list of device ids");
    }
    start->ids = calloc(count, sizeof(*start->ids));
    if (start->ids == NULL) {
        return complain(problem, size, "out of memory");
    }
    start->count = count;
    for (size_t i = 0; i < count; i++) {
        start->ids[i] = json_string_value(json_array_get(ids, i));
        if (start->ids[i] == NULL || *start->ids[i] == '\0') {
            (void)snprintf(problem, size, "ids[%zu] is no device id", i);
            return false;
        }
    }
    return true;
}

bool agent_start_read(const char *text, size_t length, struct agent_start *ret,
                      char *problem, size_t size)
{
    struct agent_start start = {.root = parse_object(text, length, problem, size)};
    bool is_good = false;

    if (start.root == NULL) {
        return false;
    }
    start.resource = json_string_value(json_object_get(start.root, "resource"));
    if (!is_resource(start.resource)) {
        (void)complain(problem, size,
                       "resource is no resource name such as nvidia.com/gpu");
    } else {
        is_good = read_ids(&start, problem, size);
    }
    if (!is_good) {
        agent_start_done(&start);
        return false;
    }
    *ret = start;
    return true;
}

void agent_start_done(struct agent_start *start)
{
    free(start->ids);
    json_decref(start->root);
    memset(start, 0, sizeof(*start));
}

bool agent_reason_read(const char *text, size_t length, char *reason, size_t reason_size,
                       char *problem, size_t size)
{
    const json_t *member;
    json_t *root;

    *reason = '\0';
    if (length == 0) {
        return true;
    }
    root = parse_object(text, length, problem, size);
    if (root == NULL) {
        return false;
    }
    member = json_object_get(root, "reason");
    if (member != NULL && !json_is_string(member)) {
        json_decref(root);
        return complain(problem, size, "reason is no text");
    }
    (void)snprintf(reason, reason_size, "%s",
                   member != NULL ? json_string_value(member) : "");
    for (char *c = reason; *c != '\0'; c++) {
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
    }
    json_decref(root);
    return true;
}

static json_t *devices_json(const hami_handshake_job *job, size_t container)
{
    json_t *devices = json_array();

    for (size_t i = 0; i < hami_handshake_container_device_count(job, container); i++) {
        const struct hami_device *device =
            hami_handshake_container_device(job, container, i);
        json_t *one = json_pack("{s:s, s:s, s:i, s:i}", "uuid", device->uuid, "type",
                                device->type, "memory_mib", (int)device->memory_mib,
                                "core_percent", (int)device->core_percent);

        if (json_array_append_new(devices, one) < 0) {
            json_decref(devices);
            return NULL;
        }
    }
    return devices;
}

json_t *agent_allocation_json(const char *id, const hami_handshake_job *job)
{
    const struct hami_owner *owner = hami_handshake_owner(job);
    json_t *containers = json_array();
    char fence[24];

    for (size_t i = 0; i < hami_handshake_container_count(job); i++) {
        json_t *devices = devices_json(job, i);
        json_t *one = devices != NULL ? json_pack("{s:s, s:o}", "name",
                                                  hami_handshake_container_name(job, i),
                                                  "devices", devices)
                                      : NULL;

        if (json_array_append_new(containers, one) < 0) {
            json_decref(containers);
            return NULL;
        }
    }
    (void)snprintf(fence, sizeof(fence), "%" PRIu64, hami_handshake_fence(job));
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:s, s:o}", "allocation", id, "pod",
                     "namespace", owner->namespace_name, "name", owner->name, "uid",
                     owner->uid, "fence", fence, "containers", containers);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See object.h. */
#include "object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    char *copy = strdup(text);

    if (!copy) {
        abort();
    }
    return copy;
}

struct object *object_new(bool is_pod, const char *name, const char *uid)
{
    struct object *object = calloc(1, sizeof(*object));

    if (!object) {
        abort();
    }
    object->references = 1;
    object->is_pod = is_pod;
    (void)snprintf(object->name, sizeof(object->name), "%s", name);
    (void)snprintf(object->uid, sizeof(object->uid), "%s", uid);
    return object;
}

struct object *object_copy(const struct object *object)
{
    struct object *copy = malloc(sizeof(*copy));

    if (!copy) {
        abort();
    }
    *copy = *object;
    copy->references = 1;
    copy->line = NULL;
    for (size_t i = 0; i < copy->annotation_count; i++) {
        copy->annotations[i].key = copy_text(object->annotations[i].key);
        copy->annotations[i].value = copy_text(object->annotations[i].value);
    }
    return copy;
}

struct object *object_ref(struct object *object)
{
    if (object) {
        object->references++;
    }
    return object;
}

void object_unref(struct object *object)
{
    if (!object || --object->references > 0) {
        return;
    }
    for (size_t i = 0; i < object->annotation_count; i++) {
        free(object->annotations[i].key);
        free(object->annotations[i].value);
    }
    free(object->line);
    free(object);
}

static size_t find(const struct object *object, const char *key)
{
    size_t at = 0;

    while (at < object->annotation_count &&
           strcmp(object->annotations[at].key, key) != 0) {
        at++;
    }
    return at;
}

const char *object_get(const struct object *object, const char *key)
{
    size_t at = object ? find(object, key) : 0;

    return object && at < object->annotation_count ? object->annotations[at].value : NULL;
}

void object_set(struct object *object, const char *key, const char *value)
{
    size_t at = find(object, key);
    bool found = at < object->annotation_count;

    if (!value) {
        if (found) {
            free(object->annotations[at].key);
            free(object->annotations[at].value);
            object->annotations[at] = object->annotations[--object->annotation_count];
            /* An API server keeps no empty map. */
            object->has_map = object->annotation_count > 0;
        }
        return;
    }
    char *copy = copy_text(value);
    object->has_map = true;
    if (found) {
        free(object->annotations[at].value);
    } else if (object->annotation_count == OBJECT_ANNOTATIONS_MAX) {
        abort();
    } else {
        object->annotations[at].key = copy_text(key);
        object->annotation_count++;
    }
    object->annotations[at].value = copy;
}

/* ---- JSON ---- */

json_t *object_to_json(const struct object *object, bool metadata_only)
{
    static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed"};
    char version[24];
    json_t *root = json_object(), *metadata = json_object();

    (void)snprintf(version, sizeof(version), "%" PRIu64, object->version);
    json_object_set_new(metadata, "name", json_string(object->name));
    if (object->is_pod) {
        json_object_set_new(metadata, "namespace", json_string(NAMESPACE));
    }
    json_object_set_new(metadata, "uid", json_string(object->uid));
    json_object_set_new(metadata, "resourceVersion", json_string(version));
    if (object->has_map) {
        json_t *map = json_object();
        for (size_t i = 0; i < object->annotation_count; i++) {
            json_object_set_new(map, object->annotations[i].key,
                                json_string(object->annotations[i].value));
        }
        json_object_set_new(metadata, "annotations", map);
    }
    if (object->deleting) {
        json_object_set_new(metadata, "deletionTimestamp",
                            json_string("2026-01-02T03:04:05Z"));
    }
    json_object_set_new(root, "kind",
                        json_string(metadata_only    ? "PartialObjectMetadata"
                                    : object->is_pod ? "Pod"
                                                     : "Node"));
    json_object_set_new(root, "metadata", metadata);
    if (object->is_pod && !metadata_only) {
        json_t *spec = json_object();
        if (object->node[0]) {
            json_object_set_new(spec, "nodeName", json_string(object->node));
        }
        json_object_set_new(root, "spec", spec);
        json_object_set_new(root, "status",
                            json_pack("{s:s}", "phase", phases[object->phase]));
    }
    return root;
}

void object_take_annotations(struct object *object, const json_t *json)
{
    json_t *map = json_object_get(json_object_get(json, "metadata"), "annotations");
    const char *key;
    json_t *value;

    while (object->annotation_count > 0) {
        object_set(object, object->annotations[0].key, NULL);
    }
    json_object_foreach(map, key, value)
    {
        object_set(object, key, json_string_value(value));
    }
    object->has_map = object->annotation_count > 0;
}

const char *object_line(struct object *object)
{
    if (!object->line) {
        json_t *json = object_to_json(object, !object->is_pod);
        object->line = json_dumps(json, JSON_COMPACT);
        json_decref(json);
    }
    return object->line;
}

/* ---- patches ---- */

/* One step of a JSON pointer, unescaped. Returns what follows it. */
static const char *next_step(const char *path, char *step, size_t size)
{
    size_t length = 0;

    for (path++; *path && *path != '/'; path++) {
        char c = *path;
        if (c == '~' && path[1]) {
            path++;
            c = *path == '1' ? '/' : '~';
        }
        if (length + 1 < size) {
            step[length++] = c;
        }
    }
    step[length] = '\0';
    return path;
}

/* The object that holds the member a path ends in; NULL if there is none. */
static json_t *parent_of(json_t *root, const char *path, char *member, size_t size)
{
    json_t *at = root;

    if (!path || path[0] != '/') {
        return NULL;
    }
    for (path = next_step(path, member, size); *path && at;
         path = next_step(path, member, size)) {
        at = json_object_get(at, member);
    }
    return json_is_object(at) ? at : NULL;
}

static bool apply_one(json_t *object, const json_t *operation)
{
    const char *verb = json_string_value(json_object_get(operation, "op"));
    const char *path = json_string_value(json_object_get(operation, "path"));
    json_t *value = json_object_get(operation, "value");
    char member[400];
    json_t *parent = parent_of(object, path, member, sizeof(member));

    if (!verb || !parent) {
        return false;
    }
    json_t *now = json_object_get(parent, member);
    if (strcmp(verb, "test") == 0) {
        return !now || json_is_null(now) ? json_is_null(value) : json_equal(now, value);
    }
    if (strcmp(verb, "remove") == 0) {
        (void)json_object_del(parent, member);
        return true;
    }
    if (value && (strcmp(verb, "add") == 0 || strcmp(verb, "replace") == 0)) {
        return json_object_set(parent, member, value) == 0;
    }
    return false;
}

bool object_patch(json_t *object, const json_t *patch)
{
    size_t at;
    json_t *operation;

    if (!json_is_array(patch)) {
        return false;
    }
    json_array_foreach(patch, at, operation)
    {
        if (!apply_one(object, operation)) {
            return false;
        }
    }
    return true;
}

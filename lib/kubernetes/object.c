/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects, lists and watch events as JSON. No state, no lock.
 */
#include "object.h"

#include <stdlib.h>
#include <string.h>

json_t *hami_internal_object_parse(const char *text, size_t length)
{
    /* A NUL in a text must not make a whole list unreadable; it cuts that text short for
     * us. */
    json_t *value = hami_internal_object_read(text, length);
    if (value != NULL) {
        return value;
    }
    char *pruned = hami_internal_object_prune(text, length, &length);
    value = json_loadb(pruned != NULL ? pruned : text, length, JSON_ALLOW_NUL, NULL);
    free(pruned);
    if (value != NULL && !json_is_object(value)) {
        json_decref(value);
        return NULL;
    }
    return value;
}

static const json_t *annotations_of(const json_t *object)
{
    const json_t *map =
        json_object_get(json_object_get(object, "metadata"), "annotations");
    return json_is_object(map) ? map : NULL;
}

const char *hami_internal_object_metadata(const json_t *object, const char *member)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(object, "metadata"), member));
    return text != NULL && text[0] != '\0' ? text : NULL;
}

const char *hami_internal_object_annotation(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(annotations_of(object), key));
}

bool hami_internal_object_has_annotations(const json_t *object)
{
    return annotations_of(object) != NULL;
}

int hami_internal_object_annotations(const json_t *object, struct hami_annotation **ret,
                                     size_t *ret_count)
{
    /* jansson's iterators take a value that is not const, and change nothing. */
    json_t *map = (json_t *)annotations_of(object);
    size_t most = json_object_size(map);
    *ret = NULL;
    *ret_count = 0;
    if (most == 0) {
        return 0;
    }
    struct hami_annotation *list = calloc(most, sizeof(*list));
    if (list == NULL) {
        return HAMI_E_NOMEM;
    }
    size_t count = 0;
    for (void *at = json_object_iter(map); at != NULL;
         at = json_object_iter_next(map, at)) {
        const char *value = json_string_value(json_object_iter_value(at));
        if (value != NULL) {
            list[count].key = json_object_iter_key(at);
            list[count++].value = value;
        }
    }
    *ret = list;
    *ret_count = count;
    return 0;
}

static enum hami_internal_event_kind event_kind(const char *type)
{
    static const struct {
        const char *type;
        enum hami_internal_event_kind kind;
    } kinds[] = {
        {"ADDED", HAMI_INTERNAL_EVENT_CHANGED},
        {"MODIFIED", HAMI_INTERNAL_EVENT_CHANGED},
        {"DELETED", HAMI_INTERNAL_EVENT_DELETED},
        {"BOOKMARK", HAMI_INTERNAL_EVENT_BOOKMARK},
        {"ERROR", HAMI_INTERNAL_EVENT_ERROR},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].type, type) == 0) {
            return kinds[i].kind;
        }
    }
    return HAMI_INTERNAL_EVENT_UNKNOWN;
}

static void read_error(struct hami_internal_event *event)
{
    json_int_t code = json_integer_value(json_object_get(event->object, "code"));
    const char *text = json_string_value(json_object_get(event->object, "message"));
    event->error_code = code >= 100 && code <= 599 ? (int)code : 0;
    event->error_text = text != NULL ? text : "no reason given";
}

int hami_internal_event_parse(const char *line, size_t length,
                              struct hami_internal_event *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->error_text = "";
    ret->root = hami_internal_object_parse(line, length);
    const char *type = json_string_value(json_object_get(ret->root, "type"));
    ret->object = json_object_get(ret->root, "object");
    if (type == NULL || !json_is_object(ret->object)) {
        hami_internal_event_done(ret);
        return HAMI_E_PROTO;
    }
    ret->kind = event_kind(type);
    if (ret->kind == HAMI_INTERNAL_EVENT_ERROR) {
        read_error(ret);
        return 0;
    }
    ret->version = hami_internal_object_metadata(ret->object, "resourceVersion");
    if (ret->kind == HAMI_INTERNAL_EVENT_BOOKMARK) {
        const char *end =
            hami_internal_object_annotation(ret->object, "k8s.io/initial-events-end");
        ret->initial_end = end != NULL && strcmp(end, "true") == 0;
    }
    return 0;
}

void hami_internal_event_done(struct hami_internal_event *event)
{
    json_decref(event->root);
    memset(event, 0, sizeof(*event));
}

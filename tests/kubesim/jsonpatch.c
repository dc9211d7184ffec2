/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Patch as the API server applies it: see jsonpatch.h. Pure, no lock.
 *
 * Where Kubernetes leaves RFC 6902: `test` with null is true for a member that is
 * absent (its parent must exist); `replace` of an absent member creates it; texts and
 * numbers compare by their spelling (rawjson.h), and those that an earlier operation of
 * the same patch has put there by the spelling that they had in it.
 */
#include "jsonpatch.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rawjson.h"

/* What an operation has put into the document; referenced, so that no other value can
 * have its address. */
struct written {
    json_t *value;
    struct sim_raw raw;
};

/* A patch at work. */
struct work {
    json_t *document;
    struct written *written;
    size_t written_count;
};

/* Where an operation points: a container and the last token of the pointer. */
struct place {
    json_t *container;
    char *key; /* unescaped, owned */
};

/* Unescape LENGTH bytes of a pointer's token: ~1 is "/", ~0 is "~". New. */
static char *unescape(const char *token, size_t length)
{
    char *out = malloc(length + 1);
    size_t used = 0;
    if (out == NULL) {
        abort();
    }
    for (size_t i = 0; i < length; i++) {
        if (token[i] == '~' && i + 1 < length &&
            (token[i + 1] == '0' || token[i + 1] == '1')) {
            out[used++] = token[++i] == '0' ? '~' : '/';
        } else {
            out[used++] = token[i];
        }
    }
    out[used] = '\0';
    return out;
}

/* An index of an array, LIMIT excluded; -1 when it is none. Negative ones count from
 * the end, as the server's library has it. */
static long array_index(const char *key, size_t limit)
{
    char *end;
    long value = strtol(key, &end, 10);
    if (key[0] == '\0' || *end != '\0') {
        return -1;
    }
    if (value < 0) {
        value += (long)limit;
    }
    return value >= 0 && value < (long)limit ? value : -1;
}

static json_t *child(json_t *container, const char *key)
{
    if (json_is_object(container)) {
        return json_object_get(container, key);
    }
    long index = array_index(key, json_array_size(container));
    return index >= 0 ? json_array_get(container, (size_t)index) : NULL;
}

static bool is_container(const json_t *value)
{
    return json_is_object(value) || json_is_array(value);
}

/* Walk to the parent of what POINTER names. False when a part of the way is missing. */
static bool find_place(json_t *document, const char *pointer, struct place *ret)
{
    if (pointer == NULL || pointer[0] != '/') {
        return false;
    }
    json_t *at = document;
    const char *token = pointer + 1;
    for (;;) {
        const char *end = strchr(token, '/');
        char *key = unescape(token, end != NULL ? (size_t)(end - token) : strlen(token));
        if (end == NULL) {
            *ret = (struct place){at, key};
            return true;
        }
        at = child(at, key);
        free(key);
        if (!is_container(at)) {
            return false;
        }
        token = end + 1;
    }
}

static bool place_add(const struct place *place, json_t *value)
{
    if (json_is_object(place->container)) {
        return json_object_set(place->container, place->key, value) == 0;
    }
    if (strcmp(place->key, "-") == 0) {
        return json_array_append(place->container, value) == 0;
    }
    long index = array_index(place->key, json_array_size(place->container) + 1);
    return index >= 0 && json_array_insert(place->container, (size_t)index, value) == 0;
}

static bool place_remove(const struct place *place)
{
    if (json_is_object(place->container)) {
        return json_object_del(place->container, place->key) == 0;
    }
    long index = array_index(place->key, json_array_size(place->container));
    return index >= 0 && json_array_remove(place->container, (size_t)index) == 0;
}

static bool place_replace(const struct place *place, json_t *value)
{
    if (json_is_object(place->container)) {
        return json_object_set(place->container, place->key, value) == 0;
    }
    long index = array_index(place->key, json_array_size(place->container));
    return index >= 0 && json_array_set(place->container, (size_t)index, value) == 0;
}

/* Is a value of the document spelled like that? */
static bool is_spelled(const struct work *work, json_t *present, struct sim_raw raw)
{
    for (size_t i = 0; i < work->written_count; i++) {
        if (work->written[i].value == present && !is_container(present)) {
            return sim_raw_same(work->written[i].raw, raw);
        }
    }
    return sim_raw_equal(raw, present);
}

static bool place_test(const struct work *work, const struct place *place,
                       const json_t *value, struct sim_raw raw)
{
    if (json_is_array(place->container) &&
        array_index(place->key, json_array_size(place->container)) < 0) {
        return false;
    }
    json_t *present = child(place->container, place->key);
    bool present_null = present == NULL || json_is_null(present);
    bool value_null = value == NULL || json_is_null(value);
    if (present_null || value_null) {
        return present_null && value_null;
    }
    return is_spelled(work, present, raw);
}

/* The value at `from`, new reference; taken away when MOVE. NULL when there is none. */
static json_t *take_from(json_t *document, const char *from, bool move)
{
    struct place place;
    json_t *value = NULL;
    if (!find_place(document, from, &place)) {
        return NULL;
    }
    json_t *present = child(place.container, place.key);
    if (present != NULL) {
        value = move ? json_incref(present) : json_deep_copy(present);
        if (move) {
            (void)place_remove(&place);
        }
    }
    free(place.key);
    return value;
}

/* Operations on the document as a whole: only these two make sense there. */
static bool apply_root(struct work *work, const char *op, json_t *value,
                       struct sim_raw raw)
{
    if (strcmp(op, "test") == 0) {
        return value != NULL && sim_raw_equal(raw, work->document);
    }
    if (strcmp(op, "replace") == 0 && is_container(value)) {
        json_decref(work->document);
        work->document = json_deep_copy(value);
        return true;
    }
    return false;
}

static bool apply_at(const struct work *work, const struct place *place, const char *op,
                     json_t *value, struct sim_raw raw)
{
    if (strcmp(op, "test") == 0) {
        return place_test(work, place, value, raw);
    }
    if (strcmp(op, "remove") == 0) {
        return place_remove(place);
    }
    if (value == NULL) {
        return false;
    }
    if (strcmp(op, "replace") == 0) {
        return place_replace(place, value);
    }
    return place_add(place, value);
}

static bool is_known(const char *op)
{
    static const char *const known[] = {"add",  "remove", "replace",
                                        "move", "copy",   "test"};
    for (size_t i = 0; op != NULL && i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(op, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool apply_one(struct work *work, const json_t *operation, struct sim_raw text)
{
    const char *op = json_string_value(json_object_get(operation, "op"));
    const char *path = json_string_value(json_object_get(operation, "path"));
    if (!is_known(op) || path == NULL) {
        return false;
    }
    struct sim_raw raw = sim_raw_member(text, "value");
    json_t *value = json_object_get(operation, "value");
    if (path[0] == '\0') {
        return apply_root(work, op, value, raw);
    }
    bool moves = strcmp(op, "move") == 0;
    if (moves || strcmp(op, "copy") == 0) {
        const char *from = json_string_value(json_object_get(operation, "from"));
        value = take_from(work->document, from, moves);
    } else if (value != NULL) {
        value = json_deep_copy(value);
        work->written[work->written_count++] = (struct written){json_incref(value), raw};
    }
    struct place place;
    bool applied = find_place(work->document, path, &place);
    if (applied) {
        applied = apply_at(work, &place, op, value, raw);
        free(place.key);
    }
    json_decref(value);
    return applied;
}

static bool apply_all(struct work *work, const json_t *patch, const char *text)
{
    struct sim_raw key;
    struct sim_raw operation;
    const char *at = sim_raw_of(text).bytes;
    size_t index = 0;
    bool applied = true;
    while (applied && sim_raw_next(&at, &key, &operation)) {
        applied = apply_one(work, json_array_get(patch, index++), operation);
    }
    return applied;
}

enum sim_patch_result sim_jsonpatch_apply(json_t *document, const json_t *patch,
                                          const char *text, json_t **ret)
{
    size_t index;
    json_t *operation;
    size_t count = json_array_size(patch);
    if (!json_is_array(patch)) {
        return SIM_PATCH_MALFORMED;
    }
    json_array_foreach(patch, index, operation)
    {
        if (!json_is_object(operation)) {
            return SIM_PATCH_MALFORMED;
        }
    }
    if (count > SIM_PATCH_OPERATIONS) {
        return SIM_PATCH_TOO_LONG;
    }
    struct work work = {.document = json_deep_copy(document),
                        .written = calloc(count + 1, sizeof(*work.written))};
    if (work.written == NULL) {
        abort();
    }
    bool applied = apply_all(&work, patch, text);
    for (size_t i = 0; i < work.written_count; i++) {
        json_decref(work.written[i].value);
    }
    free(work.written);
    if (!applied) {
        json_decref(work.document);
        return SIM_PATCH_FAILED;
    }
    *ret = work.document;
    return SIM_PATCH_OK;
}

static void merge_into(json_t *target, json_t *patch)
{
    const char *key;
    json_t *value;
    json_object_foreach(patch, key, value)
    {
        if (json_is_null(value)) {
            json_object_del(target, key);
        } else if (json_is_object(value)) {
            if (!json_is_object(json_object_get(target, key))) {
                json_object_set_new(target, key, json_object());
            }
            merge_into(json_object_get(target, key), value);
        } else {
            json_object_set_new(target, key, json_deep_copy(value));
        }
    }
}

json_t *sim_mergepatch_apply(json_t *document, json_t *patch)
{
    json_t *work = json_deep_copy(document);
    merge_into(work, patch);
    return work;
}

json_t *sim_json_pointer(json_t *document, const char *pointer)
{
    struct place place;
    if (pointer[0] == '\0') {
        return document;
    }
    if (!find_place(document, pointer, &place)) {
        return NULL;
    }
    json_t *value = child(place.container, place.key);
    free(place.key);
    return value;
}

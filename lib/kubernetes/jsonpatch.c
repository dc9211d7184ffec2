/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds guarded JSON Patches. No state, no lock; texts are checked to be UTF-8 by
 * jansson.
 *
 * An object without annotations has no map to add to, and a `test` below the missing map
 * is refused: the second form tests that the map is missing and adds it whole.
 */
#include "jsonpatch.h"

#include <stdlib.h>
#include <string.h>

#include "jsonpatch_text.h"

#define ANNOTATIONS "/metadata/annotations"

int hami_internal_jsonpatch_pointer(const char *key, char *buffer, size_t size)
{
    size_t length = strlen(ANNOTATIONS "/");
    if (size <= length) {
        return HAMI_E_LIMIT;
    }
    memcpy(buffer, ANNOTATIONS "/", length);
    for (; *key != '\0'; key++) {
        bool escaped = *key == '/' || *key == '~';
        if (size - length <= (escaped ? 2u : 1u)) {
            return HAMI_E_LIMIT;
        }
        if (escaped) {
            buffer[length++] = '~';
            buffer[length++] = *key == '/' ? '1' : '0';
        } else {
            buffer[length++] = *key;
        }
    }
    buffer[length] = '\0';
    return 0;
}

/* A text as JSON; NULL is null. *ret NULL with PROTO: jansson refuses what is not UTF-8.
 */
static int text_value(const char *text, json_t **ret)
{
    *ret = text != NULL ? json_string(text) : json_null();
    if (*ret != NULL) {
        return 0;
    }
    json_t *probe = json_string("");
    json_decref(probe);
    return probe != NULL ? HAMI_E_PROTO : HAMI_E_NOMEM;
}

int hami_internal_jsonpatch_add(json_t *operations, const char *verb, const char *path,
                                json_t *value)
{
    json_t *operation = json_pack("{s:s, s:s}", "op", verb, "path", path);
    if (operation == NULL) {
        json_decref(value);
        return HAMI_E_NOMEM;
    }
    if (value != NULL && json_object_set_new(operation, "value", value) < 0) {
        json_decref(operation);
        return HAMI_E_NOMEM;
    }
    return json_array_append_new(operations, operation) < 0 ? HAMI_E_NOMEM : 0;
}

int hami_internal_jsonpatch_test(json_t *operations, const char *path, const char *expect)
{
    json_t *value;
    int code = text_value(expect, &value);
    return code < 0 ? code : hami_internal_jsonpatch_add(operations, "test", path, value);
}

static int change(json_t *operations, const struct hami_transport_edit *edit)
{
    char path[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
    int code = hami_internal_jsonpatch_pointer(edit->key, path, sizeof(path));
    if (code < 0) {
        return code;
    }
    if (edit->value == NULL) {
        return edit->expect == NULL
                   ? 0
                   : hami_internal_jsonpatch_add(operations, "remove", path, NULL);
    }
    json_t *value;
    code = text_value(edit->value, &value);
    if (code < 0) {
        return code;
    }
    return hami_internal_jsonpatch_add(
        operations, edit->expect == NULL ? "add" : "replace", path, value);
}

static int test_keys(json_t *operations, const struct hami_transport_edit *edits,
                     size_t count)
{
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        char path[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
        if (edits[i].action == HAMI_EDIT_READ) {
            continue;
        }
        code = hami_internal_jsonpatch_pointer(edits[i].key, path, sizeof(path));
        if (code == 0) {
            code = hami_internal_jsonpatch_test(operations, path, edits[i].expect);
        }
    }
    return code;
}

static int change_keys(json_t *operations, const struct hami_transport_edit *edits,
                       size_t count)
{
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        if (edits[i].action == HAMI_EDIT_PUT) {
            code = change(operations, &edits[i]);
        }
    }
    return code;
}

static int patch_keys(json_t *operations, const struct hami_transport_edit *edits,
                      size_t count, enum hami_internal_jsonpatch_form form)
{
    int code = 0;
    if (form == HAMI_INTERNAL_JSONPATCH_BY_KEY) {
        code = test_keys(operations, edits, count);
    } else if (json_array_size(operations) == 0) {
        return HAMI_E_PROTO;
    }
    return code < 0 ? code : change_keys(operations, edits, count);
}

static int patch_new_map(json_t *operations, const struct hami_transport_edit *edits,
                         size_t count)
{
    int code = hami_internal_jsonpatch_test(operations, ANNOTATIONS, NULL);
    json_t *map = json_object();
    if (map == NULL) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < count && code == 0; i++) {
        json_t *value;
        if (edits[i].action != HAMI_EDIT_PUT || edits[i].value == NULL) {
            continue;
        }
        code = text_value(edits[i].value, &value);
        if (code == 0 && json_object_set_new(map, edits[i].key, value) < 0) {
            code = HAMI_E_NOMEM;
        }
    }
    if (code < 0 || json_object_size(map) == 0) {
        json_decref(map);
        return code;
    }
    return hami_internal_jsonpatch_add(operations, "add", ANNOTATIONS, map);
}

/*
 * A server compares the text of a `test` with its own text of the object, byte by byte,
 * escapes included (seen on 1.37). So texts are escaped as Go's encoder does it, which
 * differs from jansson's: <, >, &, U+2028, U+2029, and the digits of control characters.
 * All of these stand within texts only.
 */
static size_t escape(const char *from, char *to)
{
    static const struct {
        const char *bytes;
        const char *escaped;
    } rows[] = {{"<", "\\u003c"},
                {">", "\\u003e"},
                {"&", "\\u0026"},
                {"\xe2\x80\xa8", "\\u2028"},
                {"\xe2\x80\xa9", "\\u2029"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].bytes);
        if (strncmp(from, rows[i].bytes, length) == 0) {
            memcpy(to, rows[i].escaped, 6);
            return length;
        }
    }
    return 0;
}

/* Both bytes of an escape; the hexadecimal digits of \u, if there are any, in lower case.
 */
static size_t copy_escape(const char *from, char *to)
{
    size_t length = from[1] == 'u' ? 6 : 2;
    for (size_t i = 0; i < length; i++) {
        to[i] = i > 1 && from[i] >= 'A' && from[i] <= 'F' ? (char)(from[i] + 'a' - 'A')
                                                          : from[i];
    }
    return length;
}

int hami_internal_jsonpatch_dump(const json_t *operations, char **ret)
{
    char *plain = json_dumps(operations, JSON_COMPACT);
    char *text = plain != NULL ? malloc(6 * strlen(plain) + 1) : NULL;
    char *to = text;
    if (text == NULL) {
        free(plain);
        return HAMI_E_NOMEM;
    }
    for (const char *from = plain; *from != '\0';) {
        bool is_plain = *from != '<' && *from != '>' && *from != '&' && *from != '\xe2' &&
                        *from != '\\';
        size_t taken = is_plain ? 0 : escape(from, to);
        if (is_plain) {
            *to++ = *from++;
        } else if (taken > 0) {
            from += taken;
            to += 6;
        } else if (*from == '\\') {
            size_t length = copy_escape(from, to);
            from += length;
            to += length;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    free(plain);
    *ret = text;
    return 0;
}

bool hami_internal_jsonpatch_is_odd(const struct hami_transport_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action != HAMI_EDIT_READ && edits[i].expect != NULL &&
            strpbrk(edits[i].expect, "\b\f") != NULL) {
            return true;
        }
    }
    return false;
}

bool hami_internal_jsonpatch_fits_new_map(const struct hami_transport_edit *edits,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action != HAMI_EDIT_READ && edits[i].expect != NULL) {
            return false;
        }
    }
    return true;
}

int hami_internal_jsonpatch_add_edits(json_t *operations,
                                      const struct hami_transport_edit *edits,
                                      size_t count, const char *version,
                                      enum hami_internal_jsonpatch_form form)
{
    int code = 0;
    if (version != NULL) {
        code = hami_internal_jsonpatch_test(operations, "/metadata/resourceVersion",
                                            version);
    }
    if (code == 0) {
        code = form == HAMI_INTERNAL_JSONPATCH_NEW_MAP
                   ? patch_new_map(operations, edits, count)
                   : patch_keys(operations, edits, count, form);
    }
    return code;
}

int hami_internal_jsonpatch_edits(const struct hami_transport_edit *edits, size_t count,
                                  const char *version,
                                  enum hami_internal_jsonpatch_form form, char **ret)
{
    if (form == HAMI_INTERNAL_JSONPATCH_BY_KEY ||
        (form == HAMI_INTERNAL_JSONPATCH_BY_VERSION && version != NULL)) {
        return hami_internal_jsonpatch_text(edits, count, version,
                                            form == HAMI_INTERNAL_JSONPATCH_BY_KEY, ret);
    }
    json_t *operations = json_array();
    int code =
        operations != NULL
            ? hami_internal_jsonpatch_add_edits(operations, edits, count, version, form)
            : HAMI_E_NOMEM;
    if (code == 0) {
        code = hami_internal_jsonpatch_dump(operations, ret);
    }
    json_decref(operations);
    return code;
}

int hami_internal_jsonpatch_unbound_pod(const char *uid, const char *version,
                                        const char *key, const char *value,
                                        enum hami_internal_jsonpatch_form form,
                                        char **ret)
{
    /* The version guards the annotation, too: a second copy of the patch, however late,
     * must not put its text over a newer one. */
    struct hami_transport_edit edit = {HAMI_EDIT_PUT, key, NULL, value};
    json_t *operations = json_array();
    int code = operations != NULL ? 0 : HAMI_E_NOMEM;
    if (code == 0) {
        code = hami_internal_jsonpatch_test(operations, "/metadata/uid", uid);
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_test(operations, "/spec/nodeName", NULL);
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_test(operations, "/metadata/resourceVersion",
                                            version);
    }
    if (code == 0) {
        code = form == HAMI_INTERNAL_JSONPATCH_BY_KEY
                   ? change(operations, &edit)
                   : patch_new_map(operations, &edit, 1);
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_dump(operations, ret);
    }
    json_decref(operations);
    return code;
}

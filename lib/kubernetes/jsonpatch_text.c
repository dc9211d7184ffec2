/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patches as text at once. The buffer is made as large as the patch can get at most, each
 * byte of a text escaped; so nothing here looks for its end. No state, no lock.
 */
#include "jsonpatch_text.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define ESCAPED_MAX 6    /* bytes that one byte of a text takes at most: \u003c */
#define OPERATION_MAX 48 /* of an operation, without its path and value */
#define VERSION_PATH "/metadata/resourceVersion"

#define LITERAL(to, text)                                                                \
    (memcpy((to), (text), sizeof(text) - 1), (to) + sizeof(text) - 1)

/* ---- texts ---- */

static char *put_code(char *to, unsigned code)
{
    static const char digits[] = "0123456789abcdef";
    to = LITERAL(to, "\\u");
    for (int shift = 12; shift >= 0; shift -= 4) {
        *to++ = digits[code >> shift & 0xf];
    }
    return to;
}

/* One byte below 128 that can't stand for itself: as Go's encoder and jansson write it.
 */
static char *put_special(char *to, unsigned char byte)
{
    static const char from[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *found = strchr(from, byte);
    if (found == NULL) {
        return put_code(to, byte);
    }
    *to++ = '\\';
    *to++ = letters[found - from];
    return to;
}

/* Above 127; NULL if it is no UTF-8. */
static char *put_wide(char *to, const unsigned char *text, size_t *ret_length)
{
    size_t left = strnlen((const char *)text, 4);
    size_t length = utf8_length((const char *)text, left);
    *ret_length = length;
    if (length == 3 && text[0] == 0xe2 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8) {
        return put_code(to, 0x2000u | (text[2] & 0x3fu));
    }
    memcpy(to, text, length);
    return length > 0 ? to + length : NULL;
}

static bool stands_for_itself(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\' && byte != '<' &&
           byte != '>' && byte != '&';
}

/* With its quotes, or null; NULL if it is no UTF-8. */
static char *put_text(char *to, const char *text)
{
    const unsigned char *from = (const unsigned char *)text;
    if (text == NULL) {
        return LITERAL(to, "null");
    }
    *to++ = '"';
    while (*from != '\0' && to != NULL) {
        size_t length = 1;
        if (stands_for_itself(*from)) {
            *to++ = (char)*from;
        } else if (*from < 0x80) {
            to = put_special(to, *from);
        } else {
            to = put_wide(to, from, &length);
        }
        from += length;
    }
    if (to != NULL) {
        *to++ = '"';
    }
    return to;
}

/* ---- operations ---- */

/* HAS_VALUE false: the operation ends with its path. NULL if a text is no UTF-8. */
static char *put_operation(char *to, const char *verb, const char *path,
                           const char *value, bool has_value)
{
    if (to[-1] != '[') {
        *to++ = ',';
    }
    to = LITERAL(to, "{\"op\":\"");
    to = stpcpy(to, verb);
    to = LITERAL(to, "\",\"path\":");
    to = put_text(to, path);
    if (to != NULL && has_value) {
        to = LITERAL(to, ",\"value\":");
        to = put_text(to, value);
    }
    return to != NULL ? LITERAL(to, "}") : NULL;
}

/* One round over the edits: their tests, or their changes. *TO is moved on. */
static int put_edits(char **to, const struct hami_transport_edit *edits, size_t count,
                     bool is_test)
{
    char path[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
    for (size_t i = 0; i < count; i++) {
        const struct hami_transport_edit *edit = &edits[i];
        bool is_nothing = !is_test && edit->value == NULL && edit->expect == NULL;
        if (edit->action == HAMI_EDIT_READ || is_nothing ||
            (!is_test && edit->action != HAMI_EDIT_PUT)) {
            continue;
        }
        int code = hami_internal_jsonpatch_pointer(edit->key, path, sizeof(path));
        if (code < 0) {
            return code;
        }
        const char *verb = is_test                ? "test"
                           : edit->value == NULL  ? "remove"
                           : edit->expect == NULL ? "add"
                                                  : "replace";
        *to = put_operation(*to, verb, path, is_test ? edit->expect : edit->value,
                            is_test || edit->value != NULL);
        if (*to == NULL) {
            return HAMI_E_PROTO;
        }
    }
    return 0;
}

static size_t bytes_of(const char *text)
{
    return text != NULL ? ESCAPED_MAX * strlen(text) + 2 : 4;
}

static size_t bytes_at_most(const struct hami_transport_edit *edits, size_t count,
                            const char *version)
{
    size_t bytes = 3 + OPERATION_MAX + sizeof(VERSION_PATH) + bytes_of(version);
    for (size_t i = 0; i < count; i++) {
        bytes += 2 * (OPERATION_MAX + ESCAPED_MAX * HAMI_INTERNAL_JSONPATCH_POINTER_MAX) +
                 bytes_of(edits[i].expect) + bytes_of(edits[i].value);
    }
    return bytes;
}

int hami_internal_jsonpatch_text(const struct hami_transport_edit *edits, size_t count,
                                 const char *version, bool guarded, char **ret)
{
    char *text = malloc(bytes_at_most(edits, count, version));
    if (text == NULL) {
        return HAMI_E_NOMEM;
    }
    char *to = LITERAL(text, "[");
    int code = 0;
    if (version != NULL) {
        to = put_operation(to, "test", VERSION_PATH, version, true);
        code = to == NULL ? HAMI_E_PROTO : 0;
    }
    if (code == 0 && guarded) {
        code = put_edits(&to, edits, count, true);
    }
    if (code == 0) {
        code = put_edits(&to, edits, count, false);
    }
    if (code < 0) {
        free(text);
        return code;
    }
    memcpy(to, "]", 2);
    *ret = text;
    return 0;
}

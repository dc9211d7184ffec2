/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an object's JSON into jansson's values, several times as fast as jansson's own
 * reader, which takes a text byte by byte through four functions. For what API servers
 * write: what is rare there (fractions, pairs of \u, nesting beyond reason) and all that
 * is wrong is not read here, and left to jansson, whose word is final. So whatever is
 * read here must be what jansson would read; a test holds the two against each other.
 *
 * managedFields are passed over. No state, no lock.
 */
#include "object.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

#define DEPTH_MAX 64
#define KEY_BYTES 512
#define DIGITS_MAX 18

struct reader {
    const char *at;
    const char *end;
    char
        *room; /* for a text with escapes; as long as all that is read; NULL = none yet */
    size_t room_size;
    unsigned depth;
};

static json_t *read_value(struct reader *reader);

/* The next byte that is no space; NUL at the end. */
static char peek(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\t' || *reader->at == '\r')) {
        reader->at++;
    }
    return reader->at < reader->end ? *reader->at : '\0';
}

static bool take(struct reader *reader, char byte)
{
    bool is_there = peek(reader) == byte && reader->at < reader->end;
    reader->at += is_there;
    return is_there;
}

/* ---- texts ---- */

/* Moves on to the first byte that ends a text or is escaped. False: no such text. */
static bool skip_plain(struct reader *reader)
{
    const char *at = reader->at;
    while (at < reader->end && *at != '"' && *at != '\\') {
        size_t length = (unsigned char)*at < 0x80
                            ? (unsigned char)*at >= 0x20
                            : utf8_length(at, (size_t)(reader->end - at));
        if (length == 0) {
            return false;
        }
        at += length;
    }
    reader->at = at;
    return at < reader->end;
}

static int digit_of(char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The four digits of \u as UTF-8; NULL for NUL and for half of a pair. */
static char *put_code(struct reader *reader, char *to)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = reader->at < reader->end ? digit_of(*reader->at++) : -1;
        if (digit < 0) {
            return NULL;
        }
        code = code << 4 | (unsigned)digit;
    }
    if (code == 0 || (code >= 0xd800 && code <= 0xdfff)) {
        return NULL;
    }
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* What a backslash stands before; NULL: nothing that is read here. */
static char *put_escaped(struct reader *reader, char *to)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char bytes[] = "\"\\/\b\f\n\r\t";
    reader->at++;
    if (reader->at == reader->end || *reader->at == '\0') {
        return NULL;
    }
    char letter = *reader->at++;
    if (letter == 'u') {
        return put_code(reader, to);
    }
    const char *found = strchr(letters, letter);
    if (found == NULL) {
        return NULL;
    }
    *to++ = bytes[found - letters];
    return to;
}

/* A text with escapes, of which the bytes from BEGIN on are plain. */
static bool read_escaped(struct reader *reader, const char *begin, const char **ret,
                         size_t *ret_length)
{
    if (reader->room == NULL) {
        reader->room = malloc(reader->room_size);
    }
    char *to = reader->room;
    while (to != NULL) {
        memcpy(to, begin, (size_t)(reader->at - begin));
        to += reader->at - begin;
        if (*reader->at == '"') {
            reader->at++;
            *ret = reader->room;
            *ret_length = (size_t)(to - reader->room);
            return true;
        }
        to = put_escaped(reader, to);
        begin = reader->at;
        if (!skip_plain(reader)) {
            return false;
        }
    }
    return false;
}

/* Behind the first quote. The text stands in what is read, or in the reader's room, until
 * the next one is read. */
static bool read_text(struct reader *reader, const char **ret, size_t *ret_length)
{
    const char *begin = reader->at;
    if (!skip_plain(reader)) {
        return false;
    }
    if (*reader->at != '"') {
        return read_escaped(reader, begin, ret, ret_length);
    }
    *ret = begin;
    *ret_length = (size_t)(reader->at++ - begin);
    return true;
}

/* ---- values ---- */

static json_t *read_number(struct reader *reader)
{
    bool is_negative = *reader->at == '-';
    const char *begin = reader->at += is_negative;
    json_int_t number = 0;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           reader->at - begin < DIGITS_MAX) {
        number = 10 * number + (*reader->at++ - '0');
    }
    bool has_zero_first = reader->at - begin > 1 && *begin == '0';
    char next = reader->at < reader->end ? *reader->at : '\0';
    if (reader->at == begin || has_zero_first || next == '.' || (next | 0x20) == 'e' ||
        (next >= '0' && next <= '9')) {
        return NULL;
    }
    return json_integer(is_negative ? -number : number);
}

static json_t *read_word(struct reader *reader)
{
    static const char *const words[] = {"true", "false", "null"};
    json_t *const values[] = {json_true(), json_false(), json_null()};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(reader->end - reader->at) >= length &&
            memcmp(reader->at, words[i], length) == 0) {
            reader->at += length;
            return values[i];
        }
    }
    return NULL;
}

static bool read_item(struct reader *reader, json_t *array)
{
    json_t *value = read_value(reader);
    return value != NULL && json_array_append_new(array, value) == 0;
}

/* Behind the bracket. */
static json_t *read_array(struct reader *reader)
{
    json_t *array = json_array();
    bool is_good = array != NULL;
    if (is_good && take(reader, ']')) {
        return array;
    }
    do {
        is_good = is_good && read_item(reader, array);
    } while (is_good && take(reader, ','));
    if (is_good && take(reader, ']')) {
        return array;
    }
    json_decref(array);
    return NULL;
}

static bool read_member(struct reader *reader, json_t *object)
{
    const char *text;
    char key[KEY_BYTES];
    size_t length;
    if (!take(reader, '"') || !read_text(reader, &text, &length) ||
        length >= sizeof(key)) {
        return false;
    }
    memcpy(key, text, length);
    key[length] = '\0';
    if (!take(reader, ':')) {
        return false;
    }
    if (strcmp(key, "managedFields") == 0 && peek(reader) == '[') {
        reader->at = hami_internal_object_skip_list(reader->at + 1, reader->end);
        return reader->at != NULL;
    }
    json_t *value = read_value(reader);
    return value != NULL && json_object_set_new_nocheck(object, key, value) == 0;
}

/* Behind the brace. */
static json_t *read_object(struct reader *reader)
{
    json_t *object = json_object();
    bool is_good = object != NULL;
    if (is_good && take(reader, '}')) {
        return object;
    }
    do {
        is_good = is_good && read_member(reader, object);
    } while (is_good && take(reader, ','));
    if (is_good && take(reader, '}')) {
        return object;
    }
    json_decref(object);
    return NULL;
}

static json_t *read_nested(struct reader *reader, bool is_object)
{
    if (reader->depth == DEPTH_MAX) {
        return NULL;
    }
    reader->depth++;
    reader->at++;
    json_t *value = is_object ? read_object(reader) : read_array(reader);
    reader->depth--;
    return value;
}

/* NULL: nothing that is read here. The reader is of no further use then. */
static json_t *read_value(struct reader *reader)
{
    const char *text;
    size_t length;
    char first = peek(reader);
    if (first == '{' || first == '[') {
        return read_nested(reader, first == '{');
    }
    if (first == '"') {
        reader->at++;
        return read_text(reader, &text, &length) ? json_stringn_nocheck(text, length)
                                                 : NULL;
    }
    if (first == '-' || (first >= '0' && first <= '9')) {
        return read_number(reader);
    }
    return read_word(reader);
}

json_t *hami_internal_object_read(const char *text, size_t length)
{
    struct reader reader = {
        .at = text, .end = text + length, .room_size = length, .depth = 0};
    json_t *object = peek(&reader) == '{' ? read_value(&reader) : NULL;
    if (object != NULL && (peek(&reader) != '\0' || reader.at < reader.end)) {
        json_decref(object);
        object = NULL;
    }
    free(reader.room);
    return object;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See json.h. A cursor runs over the text once; `depth` bounds the recursion of skipped
 * values. */
#include "json.h"

#include <string.h>

#define DEPTH_MAX 16
#define STRING_MAX 1024

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && strchr(" \t\r\n", *cursor->at) && *cursor->at) {
        cursor->at++;
    }
}

static bool take(struct cursor *cursor, char wanted)
{
    skip_blanks(cursor);
    if (cursor->at < cursor->end && *cursor->at == wanted) {
        cursor->at++;
        return true;
    }
    return false;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* After "\u". Gives the code unit, or -1. */
static int read_unicode(struct cursor *cursor)
{
    int unit = 0;

    if (cursor->end - cursor->at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        int digit = hex_value(*cursor->at++);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* After the backslash. Gives the character, 256 for one beyond ASCII, or -1. */
static int read_escape(struct cursor *cursor)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";

    if (cursor->at == cursor->end) {
        return -1;
    }
    char c = *cursor->at++;
    if (c == 'u') {
        int unit = read_unicode(cursor);
        return unit > 127 ? 256 : unit == 0 ? 256 : unit;
    }
    const char *found = c ? strchr(names, c) : NULL;
    return found ? values[found - names] : -1;
}

/*
 * After the opening quote. Copies into buffer (STRING_MAX bytes); *whole says whether all
 * of it fitted and was plain. Bytes above 127 are copied as they are.
 */
static int read_string(struct cursor *cursor, char *buffer, size_t *length, bool *whole)
{
    *length = 0;
    *whole = true;
    while (cursor->at < cursor->end) {
        int c = (unsigned char)*cursor->at++;
        if (c == '"') {
            buffer[*length] = '\0';
            return 0;
        }
        if (c < 0x20) {
            return -1;
        }
        if (c == '\\') {
            c = read_escape(cursor);
            if (c < 0) {
                return -1;
            }
        }
        if (c == 256 || *length + 1 >= STRING_MAX) {
            *whole = false;
        } else {
            buffer[(*length)++] = (char)c;
        }
    }
    return -1;
}

static int skip_digits(struct cursor *cursor)
{
    const char *start = cursor->at;

    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        cursor->at++;
    }
    return cursor->at > start ? 0 : -1;
}

static bool is_at(const struct cursor *cursor, const char *characters)
{
    return cursor->at < cursor->end && *cursor->at && strchr(characters, *cursor->at);
}

static int read_number(struct cursor *cursor, struct hami_internal_json_member *ret)
{
    const char *start = cursor->at;

    if (is_at(cursor, "-")) {
        cursor->at++;
    }
    const char *digits = cursor->at;
    if (skip_digits(cursor) < 0 || (*digits == '0' && cursor->at > digits + 1)) {
        return -1;
    }
    ret->is_number = start == digits;
    ret->number = 0;
    for (const char *c = digits; c < cursor->at && ret->is_number; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        ret->is_number = ret->number <= (UINT64_MAX - digit) / 10;
        ret->number = ret->number * 10 + digit;
    }
    if (is_at(cursor, ".")) {
        cursor->at++;
        ret->is_number = false;
        if (skip_digits(cursor) < 0) {
            return -1;
        }
    }
    if (is_at(cursor, "eE")) {
        cursor->at++;
        ret->is_number = false;
        if (is_at(cursor, "+-")) {
            cursor->at++;
        }
        if (skip_digits(cursor) < 0) {
            return -1;
        }
    }
    return 0;
}

static int read_word(struct cursor *cursor)
{
    static const char *const words[] = {"true", "false", "null"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(cursor->end - cursor->at) >= length &&
            memcmp(cursor->at, words[i], length) == 0) {
            cursor->at += length;
            return 0;
        }
    }
    return -1;
}

static int skip_value(struct cursor *cursor, unsigned depth);

static int skip_container(struct cursor *cursor, char close, unsigned depth)
{
    char buffer[STRING_MAX];
    size_t length;
    bool whole;

    if (depth == 0) {
        return -1;
    }
    if (take(cursor, close)) {
        return 0;
    }
    do {
        if (close == '}' &&
            (!take(cursor, '"') || read_string(cursor, buffer, &length, &whole) < 0 ||
             !take(cursor, ':'))) {
            return -1;
        }
        if (skip_value(cursor, depth - 1) < 0) {
            return -1;
        }
    } while (take(cursor, ','));
    return take(cursor, close) ? 0 : -1;
}

static int skip_value(struct cursor *cursor, unsigned depth)
{
    struct hami_internal_json_member ignored;
    char buffer[STRING_MAX];
    size_t length;
    bool whole;

    if (take(cursor, '"')) {
        return read_string(cursor, buffer, &length, &whole);
    }
    if (take(cursor, '{')) {
        return skip_container(cursor, '}', depth);
    }
    if (take(cursor, '[')) {
        return skip_container(cursor, ']', depth);
    }
    return is_at(cursor, "-0123456789") ? read_number(cursor, &ignored)
                                        : read_word(cursor);
}

static int read_member(struct cursor *cursor, char *buffer,
                       struct hami_internal_json_member *member)
{
    member->text = NULL;
    member->length = 0;
    member->is_number = false;
    if (take(cursor, '"')) {
        bool whole;
        if (read_string(cursor, buffer, &member->length, &whole) < 0) {
            return -1;
        }
        /* A NUL can't be in it: the reader takes that for a character beyond. */
        member->text = whole ? buffer : NULL;
        return 0;
    }
    skip_blanks(cursor);
    return is_at(cursor, "-0123456789") ? read_number(cursor, member)
                                        : skip_value(cursor, DEPTH_MAX - 1);
}

int hami_internal_json_object(
    const char *text, size_t length,
    int (*member)(void *data, const struct hami_internal_json_member *member), void *data)
{
    struct cursor cursor = {text, text + length};
    char name[STRING_MAX], value[STRING_MAX];

    if (!take(&cursor, '{')) {
        return -1;
    }
    if (!take(&cursor, '}')) {
        do {
            struct hami_internal_json_member one = {.name = name};
            size_t name_length;
            bool whole;
            if (!take(&cursor, '"') ||
                read_string(&cursor, name, &name_length, &whole) < 0 ||
                !take(&cursor, ':') || read_member(&cursor, value, &one) < 0) {
                return -1;
            }
            /* A part of a name is another name: it must not pass for a known one. */
            name[!whole ? 0 : name_length < 64 ? name_length : 63] = '\0';
            if (member(data, &one) < 0) {
                return -1;
            }
        } while (take(&cursor, ','));
        if (!take(&cursor, '}')) {
            return -1;
        }
    }
    skip_blanks(&cursor);
    return cursor.at == cursor.end ? 0 : -1;
}

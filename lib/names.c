/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. Locale plays no part: only ASCII counts. */
#include "names.h"

#include <string.h>

#include <hami/nodelock.h>

/* What a character may be part of. */
enum { LOWER = 1, UPPER = 2, DASH = 4, DOT = 8, OF_UID = 16, OF_GROUP = 32 };
static const unsigned char classes[256] = {
    ['0' ... '9'] = LOWER | OF_UID | OF_GROUP,
    ['a' ... 'z'] = LOWER | OF_UID | OF_GROUP,
    ['A' ... 'Z'] = UPPER | OF_UID | OF_GROUP,
    ['-'] = DASH | OF_UID | OF_GROUP,
    ['.'] = DOT | OF_UID | OF_GROUP,
    ['_'] = OF_UID | OF_GROUP,
    [':'] = OF_UID | OF_GROUP,
    ['/'] = OF_GROUP,
};

static bool is_of(char c, unsigned char which)
{
    return (classes[(unsigned char)c] & which) != 0;
}

static bool is_alphanumeric(char c)
{
    return is_of(c, LOWER | UPPER);
}

static bool is_label_of(const char *text, size_t length_max)
{
    size_t length = 0;

    while (length <= length_max && is_of(text[length], LOWER | DASH)) {
        length++;
    }
    return length > 0 && length <= length_max && text[length] == '\0' && text[0] != '-' &&
           text[length - 1] != '-';
}

/* Labels of a subdomain may be longer than 63 characters: Kubernetes does not look at
 * that. Ends at `end`, which is no part of a name. */
static bool is_subdomain_until(const char *text, char end)
{
    char before = '.';
    size_t length = 0;

    for (; length <= HAMI_NODELOCK_NODE_MAX; length++) {
        char c = text[length];
        /* A dash stands between others, and so does a dot, which begins a label. */
        if (!is_of(c, LOWER) &&
            (before == '.' || !(c == '-' || (c == '.' && before != '-')))) {
            break;
        }
        before = c;
    }
    return length > 0 && length <= HAMI_NODELOCK_NODE_MAX && text[length] == end &&
           is_of(before, LOWER);
}

bool hami_internal_names_is_subdomain(const char *text)
{
    return text && is_subdomain_until(text, '\0');
}

bool hami_internal_names_is_label(const char *text)
{
    return text && is_label_of(text, 63);
}

static bool is_made_of(const char *text, unsigned char which, size_t length_max)
{
    size_t length = 0;

    while (text && length <= length_max && is_of(text[length], which)) {
        length++;
    }
    return length > 0 && length <= length_max && text[length] == '\0';
}

bool hami_internal_names_is_uid(const char *text)
{
    return is_made_of(text, OF_UID, HAMI_NODELOCK_UID_MAX);
}

bool hami_internal_names_is_group(const char *text)
{
    return is_made_of(text, OF_GROUP, HAMI_NODELOCK_GROUP_MAX);
}

bool hami_internal_names_is_key(const char *text)
{
    if (!text || strnlen(text, HAMI_NODELOCK_KEY_MAX + 1) > HAMI_NODELOCK_KEY_MAX) {
        return false;
    }
    const char *slash = strchr(text, '/');
    const char *name = slash ? slash + 1 : text;
    size_t length = strlen(name);
    if ((slash && !is_subdomain_until(text, '/')) || length == 0 || length > 63 ||
        !is_alphanumeric(name[0]) || !is_alphanumeric(name[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_alphanumeric(name[i]) && !strchr("._-", name[i])) {
            return false;
        }
    }
    return true;
}

/* A decimal from 1 to INT64_MAX, written in one way only. */
static bool is_count(const char *text, size_t length)
{
    uint64_t number = 0;

    if (length == 0 || length > 19 || text[0] == '0') {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        number = number * 10 + (uint64_t)(text[i] - '0'); /* 19 digits always fit */
    }
    return number <= INT64_MAX;
}

static bool is_call(const char *text, size_t length)
{
    char resource[HAMI_NODELOCK_KEY_MAX + 1];
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : sizeof(resource);

    if (name >= sizeof(resource)) {
        return false;
    }
    memcpy(resource, text, name);
    resource[name] = '\0';
    return hami_internal_names_is_key(resource) &&
           is_count(equals + 1, length - name - 1);
}

static bool is_before(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order < 0 || (order == 0 && a_length < b_length);
}

bool hami_internal_names_is_calls(const char *text)
{
    const char *before = NULL;
    size_t before_length = 0, count = 0;

    if (!text || strnlen(text, HAMI_NODELOCK_CALLS_MAX + 1) > HAMI_NODELOCK_CALLS_MAX) {
        return false;
    }
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (++count > HAMI_NODELOCK_CALL_COUNT_MAX || !is_call(at, length) ||
            (before && !is_before(before, before_length, at, length))) {
            return false;
        }
        before = at;
        before_length = length;
        at += length;
        if (*at == '\0') {
            return true;
        }
    }
}

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

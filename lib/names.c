/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See names.h. Locale plays no part: only ASCII counts. */
#include "names.h"

#include <string.h>

#include <hami/nodelock.h>

static bool is_lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alphanumeric(char c)
{
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

static bool is_label_of(const char *text, size_t length)
{
    if (length == 0 || length > 63 || !is_lower_or_digit(text[0]) ||
        !is_lower_or_digit(text[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_lower_or_digit(text[i]) && text[i] != '-') {
            return false;
        }
    }
    return true;
}

/* Labels of a subdomain may be longer than 63 characters: Kubernetes does not look at
 * that. */
static bool is_subdomain_of(const char *text, size_t length)
{
    if (length == 0 || length > HAMI_NODELOCK_NODE_MAX) {
        return false;
    }
    char before = '.';
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool edge = before == '.' || i + 1 == length || text[i + 1] == '.';
        if (c == '.' ? before == '.' || i + 1 == length
                     : !is_lower_or_digit(c) && (edge || c != '-')) {
            return false;
        }
        before = c;
    }
    return true;
}

bool hami_internal_names_is_subdomain(const char *text)
{
    return text && is_subdomain_of(text, strnlen(text, HAMI_NODELOCK_NODE_MAX + 1));
}

bool hami_internal_names_is_label(const char *text)
{
    return text && is_label_of(text, strnlen(text, 64));
}

static bool is_made_of(const char *text, const char *others, size_t length_max)
{
    if (!text || !*text || strnlen(text, length_max + 1) > length_max) {
        return false;
    }
    for (const char *c = text; *c; c++) {
        if (!is_alphanumeric(*c) && !strchr(others, *c)) {
            return false;
        }
    }
    return true;
}

bool hami_internal_names_is_uid(const char *text)
{
    return is_made_of(text, "._:-", HAMI_NODELOCK_UID_MAX);
}

bool hami_internal_names_is_group(const char *text)
{
    return is_made_of(text, "._:/-", HAMI_NODELOCK_GROUP_MAX);
}

bool hami_internal_names_is_key(const char *text)
{
    if (!text || strnlen(text, HAMI_NODELOCK_KEY_MAX + 1) > HAMI_NODELOCK_KEY_MAX) {
        return false;
    }
    const char *slash = strchr(text, '/');
    const char *name = slash ? slash + 1 : text;
    size_t length = strlen(name);
    if ((slash && !is_subdomain_of(text, (size_t)(slash - text))) || length == 0 ||
        length > 63 || !is_alphanumeric(name[0]) || !is_alphanumeric(name[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_alphanumeric(name[i]) && !strchr("._-", name[i])) {
            return false;
        }
    }
    return true;
}

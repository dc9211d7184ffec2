/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks names and builds paths. No state, no lock, no locale.
 */
#include "paths.h"

#include <stdio.h>
#include <string.h>

#define LABEL_MAX 63
#define SUBDOMAIN_MAX 253

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool hami_internal_paths_is_label(const char *text)
{
    size_t length = text != NULL ? strnlen(text, LABEL_MAX + 1) : 0;
    return length > 0 && length <= LABEL_MAX && strchr(text, '.') == NULL &&
           hami_internal_paths_is_subdomain(text);
}

bool hami_internal_paths_is_subdomain(const char *text)
{
    size_t length = text != NULL ? strnlen(text, SUBDOMAIN_MAX + 1) : 0;
    if (length == 0 || length > SUBDOMAIN_MAX) {
        return false;
    }
    char before = '.';
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool edge = before == '.' || i + 1 == length || text[i + 1] == '.';
        if (!is_alphanumeric(c) && (edge || (c != '-' && c != '.'))) {
            return false;
        }
        before = c;
    }
    return true;
}

bool hami_internal_paths_node_path(const char *node, char *buffer, size_t size)
{
    if (!hami_internal_paths_is_subdomain(node)) {
        return false;
    }
    int length = snprintf(buffer, size, "/api/v1/nodes/%s", node);
    return length > 0 && (size_t)length < size;
}

bool hami_internal_paths_pod_path(const char *namespace_name, const char *name,
                                  const char *rest, char *buffer, size_t size)
{
    if (!hami_internal_paths_is_label(namespace_name) ||
        !hami_internal_paths_is_subdomain(name)) {
        return false;
    }
    int length = snprintf(buffer, size, "/api/v1/namespaces/%s/pods/%s%s", namespace_name,
                          name, rest);
    return length > 0 && (size_t)length < size;
}

bool hami_internal_paths_lease_path(const char *namespace_name, const char *name,
                                    char *buffer, size_t size)
{
    if (!hami_internal_paths_is_label(namespace_name) ||
        (name != NULL && !hami_internal_paths_is_subdomain(name))) {
        return false;
    }
    int length =
        snprintf(buffer, size, "/apis/coordination.k8s.io/v1/namespaces/%s/leases%s%s",
                 namespace_name, name != NULL ? "/" : "", name != NULL ? name : "");
    return length > 0 && (size_t)length < size;
}

bool hami_internal_paths_escape(const char *text, char *buffer, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t length = 0;
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain =
            is_alphanumeric(*text) || (c >= 'A' && c <= 'Z') || strchr("-._~", c) != NULL;
        if (size - length <= (plain ? 1u : 3u)) {
            return false;
        }
        if (plain) {
            buffer[length++] = *text;
        } else {
            buffer[length++] = '%';
            buffer[length++] = digits[c >> 4];
            buffer[length++] = digits[c & 15];
        }
    }
    if (size == 0) {
        return false;
    }
    buffer[length] = '\0';
    return true;
}

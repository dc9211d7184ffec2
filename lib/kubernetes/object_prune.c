/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves managedFields out of an object's text before it is parsed: half of a pod's
 * metadata, more of a node's, which nobody here looks at. No state, no lock.
 *
 * The member is found by its text. That can't stand within a text of the object: there
 * its quotes would have a backslash before them. Spaces, which no API server writes, only
 * keep it from being found.
 */
#include "object.h"

#include <stdlib.h>
#include <string.h>

#define MEMBER "\"managedFields\":["

/* The byte behind a text that begins here, or END. */
static const char *skip_text(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\' ? 1 : 0;
    }
    return at < end ? at + 1 : end;
}

const char *hami_internal_object_skip_list(const char *at, const char *end)
{
    for (size_t depth = 1; at < end;) {
        if (*at == '"') {
            at = skip_text(at, end);
            continue;
        }
        depth += *at == '[' || *at == '{';
        depth -= *at == ']' || *at == '}';
        at++;
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

/*
 * Where the next one is: its first byte, and the one behind it; one of the commas that
 * part it from its neighbours belongs to it. False if there is none, or it is cut off.
 */
static bool find_member(const char *from, const char *end, const char **ret_begin,
                        const char **ret_behind)
{
    const char *found = memmem(from, (size_t)(end - from), MEMBER, sizeof(MEMBER) - 1);
    if (found == NULL || found == from || (found[-1] != ',' && found[-1] != '{')) {
        return false;
    }
    const char *behind = hami_internal_object_skip_list(found + sizeof(MEMBER) - 1, end);
    if (behind == NULL) {
        return false;
    }
    *ret_begin = found[-1] == ',' ? found - 1 : found;
    *ret_behind =
        found[-1] == '{' && behind < end && *behind == ',' ? behind + 1 : behind;
    return true;
}

char *hami_internal_object_prune(const char *text, size_t length, size_t *ret_length)
{
    const char *end = text + length;
    const char *begin;
    const char *behind;
    if (!find_member(text, end, &begin, &behind)) {
        return NULL;
    }
    char *pruned = malloc(length);
    char *to = pruned;
    if (pruned == NULL) {
        return NULL;
    }
    do {
        memcpy(to, text, (size_t)(begin - text));
        to += begin - text;
        text = behind;
    } while (find_member(text, end, &begin, &behind));
    memcpy(to, text, (size_t)(end - text));
    *ret_length = (size_t)(to - pruned) + (size_t)(end - text);
    return pruned;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one JSON object without building anything: each member of the outermost object is
 * told once. Pure, strict (RFC 8259), no allocation. For the lease annotation only; the
 * Kubernetes library has jansson.
 */
#ifndef HAMI_LIB_JSON_H
#define HAMI_LIB_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One member. A text with escapes is told unescaped where all of it is ASCII, else as
 * text NULL. */
struct hami_internal_json_member {
    const char *name; /* ended with NUL, cut to 63 characters; "" if not representable */
    const char
        *text; /* a string's content, not ended; NULL = no string, or not representable */
    size_t length;
    bool is_number; /* a whole number from 0 to UINT64_MAX */
    uint64_t number;
};

/*
 * @member   called for each member in order; a negative answer ends the reading
 * Returns 0; -1 if the text is not one object, is nested deeper than 16, or `member` said
 * so
 */
int hami_internal_json_object(
    const char *text, size_t length,
    int (*member)(void *data, const struct hami_internal_json_member *member),
    void *data);

#endif

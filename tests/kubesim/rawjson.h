/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as it was spelled. The API server's `test` of a JSON Patch compares texts and
 * numbers by their bytes: those of the request with those of its own encoding of the
 * object, which writes <, >, & and some others as escapes. Objects and arrays are
 * compared by what they hold. Pure. Every text here is one that jansson has taken as
 * JSON.
 */
#ifndef KUBESIM_RAWJSON_H
#define KUBESIM_RAWJSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A piece of a text; without its white space on either side. */
struct sim_raw {
    const char *bytes; /* NULL: there is none */
    size_t length;
};

/* The one value of a text. */
struct sim_raw sim_raw_of(const char *text);

/*
 * Goes through an object or an array.
 * @at       begins as the bytes of the container; moved on
 * @key      receives the member's name with its quotes; no bytes in an array
 * Returns   false at the end
 */
bool sim_raw_next(const char **at, struct sim_raw *key, struct sim_raw *value);

/* A member of an object, the last of that name. */
struct sim_raw sim_raw_member(struct sim_raw object, const char *name);

/* Are two texts or numbers spelled alike? */
bool sim_raw_same(struct sim_raw one, struct sim_raw other);

/* Is it how the server would write VALUE? */
bool sim_raw_equal(struct sim_raw raw, json_t *value);

#endif

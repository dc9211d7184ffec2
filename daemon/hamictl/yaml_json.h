/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as JSON: for configurations of other programs, of which a few members are looked
 * at. Scalars that look like true, false, null or a number become such; quoted ones stay
 * texts.
 */
#ifndef HAMICTL_YAML_JSON_H
#define HAMICTL_YAML_JSON_H

#include <stddef.h>

#include <jansson.h>

/*
 * Reads all documents of a text.
 * @error   size bytes: line and problem
 * Returns  new: an array with a value for each document; NULL where it is no YAML, nested
 * deeper than 64, or more than 100000 values (aliases count each time)
 */
json_t *yaml_json_read(const char *text, size_t length, char *error, size_t size);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded JSON Patches (RFC 6902) on the annotations of one object, as text. Pure.
 *
 * Two invariants: every test stands before the first change, and no change stands without
 * a test. A server applies a `replace` or `remove` of an absent path without complaint,
 * so the test alone guards.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_JSONPATCH_H
#define HAMI_INTERNAL_KUBERNETES_JSONPATCH_H

#include <hami/transport.h>

#include <jansson.h>

#define HAMI_INTERNAL_JSONPATCH_TYPE "application/json-patch+json"

/* Bytes that hold the pointer of every key that is allowed: prefix, each character
 * escaped, NUL. */
#define HAMI_INTERNAL_JSONPATCH_POINTER_MAX (24 + 2 * HAMI_NODELOCK_KEY_MAX + 1)

/* What is patched: the annotations one by one, or the whole map where the object has
 * none. */
enum hami_internal_jsonpatch_form {
    HAMI_INTERNAL_JSONPATCH_BY_KEY = 0,
    HAMI_INTERNAL_JSONPATCH_NEW_MAP,
    HAMI_INTERNAL_JSONPATCH_BY_VERSION /* by key, but the version's test is the only one
                                        */
};

/* Writes "/metadata/annotations/KEY", KEY escaped. Returns 0, or LIMIT (longer than
 * buffer). */
int hami_internal_jsonpatch_pointer(const char *key, char *buffer, size_t size);

/* Adds `test` of a text (NULL = absent). Returns 0, or NOMEM, PROTO (not UTF-8). */
int hami_internal_jsonpatch_test(json_t *operations, const char *path,
                                 const char *expect);

/* Adds a test or a change of any value. Consumes value (NULL = none). Returns 0, or
 * NOMEM.
 */
int hami_internal_jsonpatch_add(json_t *operations, const char *verb, const char *path,
                                json_t *value);

/* Writes a patch as text, escaped as the server escapes. @ret new; free(). Returns 0, or
 * NOMEM. */
int hami_internal_jsonpatch_dump(const json_t *operations, char **ret);

/* True if a patch of this form may be tried where the map is missing: nothing is expected
 * to be there. */
bool hami_internal_jsonpatch_fits_new_map(const struct hami_transport_edit *edits,
                                          size_t count);

/* True if a text is expected that some servers would not find equal to itself. */
bool hami_internal_jsonpatch_is_odd(const struct hami_transport_edit *edits,
                                    size_t count);

/*
 * Writes the patch of a call's edits.
 * @version  resourceVersion that must stand, or NULL; required by BY_VERSION
 * @ret      new; free()
 * Returns   0, or NOMEM, PROTO (a text is not UTF-8), LIMIT (a key is too long)
 */
int hami_internal_jsonpatch_edits(const struct hami_transport_edit *edits, size_t count,
                                  const char *version,
                                  enum hami_internal_jsonpatch_form form, char **ret);

/* Adds the same to a patch that has tests only so far. */
int hami_internal_jsonpatch_add_edits(json_t *operations,
                                      const struct hami_transport_edit *edits,
                                      size_t count, const char *version,
                                      enum hami_internal_jsonpatch_form form);

/*
 * Writes the patch that puts one annotation onto a pod if it still has this uid and this
 * version and is not bound. Otherwise as above.
 */
int hami_internal_jsonpatch_unbound_pod(const char *uid, const char *version,
                                        const char *key, const char *value,
                                        enum hami_internal_jsonpatch_form form,
                                        char **ret);

#endif

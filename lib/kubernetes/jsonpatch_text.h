/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the patch of a call's edits without making a tree of it first: it goes out with
 * each take and hand-over. Byte for byte what jsonpatch.c makes by way of the tree. Pure.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_JSONPATCH_TEXT_H
#define HAMI_INTERNAL_KUBERNETES_JSONPATCH_TEXT_H

#include "jsonpatch.h"

/*
 * @version  resourceVersion that must stand, or NULL
 * @guarded  each key's value is tested; false: the version's test alone guards
 * @ret      new; free()
 * Returns   0, or NOMEM, PROTO (a text is not UTF-8), LIMIT (a key is too long)
 */
int hami_internal_jsonpatch_text(const struct hami_transport_edit *edits, size_t count,
                                 const char *version, bool guarded, char **ret);

#endif

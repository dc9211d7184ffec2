/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a name may look like. Pure. */
#ifndef HAMI_LIB_NAMES_H
#define HAMI_LIB_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* RFC 1123 subdomain: labels of [a-z0-9-], joined by dots, up to 253 characters in all.
 */
bool hami_internal_names_is_subdomain(const char *text);
/* RFC 1123 label: [a-z0-9]([a-z0-9-]*[a-z0-9])?, up to 63 characters. */
bool hami_internal_names_is_label(const char *text);
/* An owner's uid: 1 to HAMI_NODELOCK_UID_MAX of [A-Za-z0-9._:-]: never needs escaping in
 * JSON. */
bool hami_internal_names_is_uid(const char *text);
/* A group: 1 to HAMI_NODELOCK_GROUP_MAX of [A-Za-z0-9._:/-]. */
bool hami_internal_names_is_group(const char *text);
/* An annotation key: optional DNS prefix and '/', then up to 63 of [A-Za-z0-9._-]. */
bool hami_internal_names_is_key(const char *text);

/* "RESOURCE=COUNT,..." as docs/protocol.md, section 11, has it: in the order of their
 * bytes, each once, within the bounds of hami_nodelock_request.calls. */
bool hami_internal_names_is_calls(const char *text);

#endif

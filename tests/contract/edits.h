/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms for a file of tests that make one call at a time from a list of edits; the
 * answer to the last one is the file's own. */
#ifndef CONTRACT_EDITS_H
#define CONTRACT_EDITS_H

#include "contract.h"

#define READ(k)                                                                          \
    {                                                                                    \
        HAMI_EDIT_READ, k, NULL, NULL                                                    \
    }
#define TEST(k, e)                                                                       \
    {                                                                                    \
        HAMI_EDIT_TEST, k, e, NULL                                                       \
    }
#define PUT(k, e, v)                                                                     \
    {                                                                                    \
        HAMI_EDIT_PUT, k, e, v                                                           \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct contract_answer answer;

static inline int call(const char *node, const struct hami_transport_edit *edits,
                       size_t count)
{
    return contract_call(node, edits, count, NULL, &answer);
}

#endif

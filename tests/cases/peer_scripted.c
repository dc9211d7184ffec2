/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The store of scripted.h as a peer sees it: values and versions, nothing of the
 * library's manager. */
#include "peer.h"

#include <stdio.h>
#include <string.h>

#include "scripted.h"

struct answer {
    int code;
    struct peer_node *node;
};

static void keep(void *data, const struct hami_transport_result *result)
{
    struct answer *answer = data;

    answer->code = result->code;
    if (answer->node && result->code == 0) {
        const char *value = result->values[0];
        answer->node->has_value = value != NULL;
        (void)snprintf(answer->node->value, PEER_VALUE_MAX, "%s", value ? value : "");
        (void)snprintf(answer->node->version, sizeof(answer->node->version), "%s",
                       result->version);
    }
}

static bool read_scripted(void *data, const char *node, struct peer_node *ret)
{
    struct hami_transport_edit edit = {HAMI_EDIT_READ, PEER_KEY, NULL, NULL};
    struct answer answer = {HAMI_E_PROTO, ret};

    (void)data;
    memset(ret, 0, sizeof(*ret));
    (void)hami_transport_call(hami_memory_transport(scripted_store), node, &edit, 1, NULL,
                              1000, keep, &answer);
    return answer.code == 0;
}

static bool write_scripted(void *data, const char *node, const char *version,
                           const char *value, bool whole)
{
    struct peer_node now;

    (void)whole;
    if (!read_scripted(data, node, &now)) {
        return false;
    }
    struct hami_transport_edit edit = {HAMI_EDIT_PUT, PEER_KEY,
                                       now.has_value ? now.value : NULL, value};
    struct answer answer = {HAMI_E_PROTO, NULL};
    (void)hami_transport_call(hami_memory_transport(scripted_store), node, &edit, 1,
                              version, 1000, keep, &answer);
    return answer.code == 0;
}

const struct peer_store peer_scripted_store = {read_scripted, write_scripted, NULL};

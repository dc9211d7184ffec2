/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport that keeps values on Node objects. Reads and writes a node's annotations:
 * GET, or one guarded JSON Patch, metadata-only answers.
 *
 * Happy path: one request, 200, values from the answer. A definite 422 may mean two other
 * things than "an expectation failed": the node has no annotations map (where nothing is
 * expected to be there), or the server writes an expected text in another way than we do
 * (jsonpatch.h). Then one read tells, and either the patch is sent once more in the form
 * that fits, or the values seen go with HELD. Anything that is not definite ends the call
 * at once; resolving doubt is the manager's.
 */
#include "annotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "support.h"

static const char *version_of(const json_t *node)
{
    return hami_internal_object_metadata(node, "resourceVersion");
}

/* ---- reading ---- */

static void node_read(struct hami_internal_annotation_operation *operation,
                      const struct hami_kubernetes_answer *answer)
{
    int code = hami_internal_annotation_judge_read(answer);
    json_t *node =
        code == 0 ? hami_internal_annotation_object_of(operation, answer) : NULL;
    if (node != NULL) {
        hami_internal_annotation_finish(operation, 0, node, version_of(node), answer);
    } else {
        hami_internal_annotation_fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
    }
    json_decref(node);
}

/* ---- writing ---- */

static void node_written(struct hami_internal_annotation_operation *operation,
                         const struct hami_kubernetes_answer *answer);

static int send_patch(struct hami_internal_annotation_operation *operation,
                      const char *version)
{
    char *body = NULL;
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(operation->call, &count);
    int code =
        hami_internal_jsonpatch_edits(edits, count, version, operation->form, &body);
    if (code == 0) {
        code = hami_internal_annotation_send(
            operation, body, HAMI_INTERNAL_OBJECT_METADATA_ONLY, false, node_written);
    }
    free(body);
    return code;
}

/*
 * A patch was refused and this is the node: another form may do. Returns 0 if that was
 * sent, HELD if there is none, or a code of sending.
 */
static int send_other_form(struct hami_internal_annotation_operation *operation,
                           const json_t *node)
{
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(operation->call, &count);
    const char *wanted = hami_call_version(operation->call);
    const char *version = version_of(node);
    if (version == NULL || (wanted != NULL && strcmp(wanted, version) != 0) ||
        !hami_internal_annotation_is_as_expected(edits, count, node)) {
        return HAMI_E_HELD;
    }
    if (!hami_internal_object_has_annotations(node)) {
        operation->form = HAMI_INTERNAL_JSONPATCH_NEW_MAP;
        return send_patch(operation, wanted);
    }
    if (hami_internal_jsonpatch_is_odd(edits, count)) {
        operation->form = HAMI_INTERNAL_JSONPATCH_BY_VERSION;
        return send_patch(operation, version);
    }
    return HAMI_E_HELD;
}

static void node_looked_at(struct hami_internal_annotation_operation *operation,
                           const struct hami_kubernetes_answer *answer)
{
    int code = hami_internal_annotation_judge_read(answer);
    json_t *node =
        code == 0 ? hami_internal_annotation_object_of(operation, answer) : NULL;
    if (node == NULL) {
        /* Nothing of ours was applied, and that much is sure. */
        hami_internal_annotation_fail(
            operation,
            code == HAMI_E_NODE || code == HAMI_E_ACCESS ? code : HAMI_E_TRANSPORT,
            answer);
        return;
    }
    code = send_other_form(operation, node);
    if (code == HAMI_E_HELD) {
        hami_internal_annotation_finish(operation, HAMI_E_HELD, node, version_of(node),
                                        answer);
    } else if (code < 0) {
        hami_internal_annotation_fail(operation, code, answer);
    }
    json_decref(node);
}

static bool may_need_other_form(struct hami_internal_annotation_operation *operation,
                                const struct hami_kubernetes_answer *answer)
{
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(operation->call, &count);
    return answer->status == 422 && operation->form == HAMI_INTERNAL_JSONPATCH_BY_KEY &&
           (hami_internal_jsonpatch_fits_new_map(edits, count) ||
            hami_internal_jsonpatch_is_odd(edits, count));
}

static void node_written(struct hami_internal_annotation_operation *operation,
                         const struct hami_kubernetes_answer *answer)
{
    int code = hami_internal_annotation_judge_write(answer);
    if (code == HAMI_E_HELD && may_need_other_form(operation, answer)) {
        code = hami_internal_annotation_send(
            operation, NULL, HAMI_INTERNAL_OBJECT_METADATA_ONLY, false, node_looked_at);
        if (code < 0) {
            hami_internal_annotation_fail(operation, code, answer);
        }
        return;
    }
    json_t *node =
        code == 0 ? hami_internal_annotation_object_of(operation, answer) : NULL;
    if (node != NULL) {
        hami_internal_annotation_finish(operation, 0, node, version_of(node), answer);
    } else {
        hami_internal_annotation_fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
    }
    json_decref(node);
}

/* ---- entry ---- */

static int submit(struct hami_transport *transport, hami_call *call)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    struct hami_internal_annotation_operation *operation =
        hami_internal_annotation_begin(owner, call);
    if (operation == NULL) {
        return HAMI_E_NOMEM;
    }
    if (!hami_internal_paths_node_path(hami_call_node(call), operation->path,
                                       sizeof(operation->path))) {
        hami_internal_annotation_refuse(operation, HAMI_E_NODE,
                                        "No node can have this name");
        return 0;
    }
    int code = hami_call_is_write(call)
                   ? send_patch(operation, hami_call_version(call))
                   : hami_internal_annotation_send(operation, NULL,
                                                   HAMI_INTERNAL_OBJECT_METADATA_ONLY,
                                                   false, node_read);
    if (code == HAMI_E_PROTO || code == HAMI_E_LIMIT) {
        hami_internal_annotation_refuse(operation, HAMI_E_PROTO,
                                        HAMI_INTERNAL_ANNOTATION_UNWRITABLE);
        return 0;
    }
    if (code < 0) {
        hami_internal_annotation_end(operation);
    }
    return code;
}

/* ---- watching ---- */

static void list_begins(void *data)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_table_begin_round(&news->names);
}

static void node_changed(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    const char *node = hami_internal_object_metadata(object, "name");
    if (hami_internal_paths_is_subdomain(node)) {
        hami_internal_table_put(&news->names, node, NULL, 0);
        hami_internal_annotation_tell_record(news->owner, node, object,
                                             version_of(object));
    }
}

static void tell_gone(void *data, const char *node)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_annotation_tell_gone(news->owner, node);
}

static void node_gone(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    const char *node = hami_internal_object_metadata(object, "name");
    if (hami_internal_paths_is_subdomain(node)) {
        hami_internal_table_remove(&news->names, node);
        tell_gone(news, node);
    }
}

static void list_complete(void *data)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_table_sweep(&news->names, tell_gone, news);
}

/* ---- public ---- */

int hami_kubernetes_transport_new(hami_kubernetes *client,
                                  const struct hami_kubernetes_transport_config *config,
                                  struct hami_transport **ret, struct hami_error *reterr)
{
    struct hami_kubernetes_transport_config own = HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_internal_annotation *owner;
    if (client == NULL || ret == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL, "client or ret is NULL");
    }
    int code = 0;
    if (config != NULL) {
        code = hami_internal_support_copy_sized(&own, sizeof(own), config);
    }
    if (code < 0) {
        return hami_internal_support_fail(reterr, code, "config.size is not understood");
    }
    code = hami_internal_annotation_new(client, sizeof(*owner), &own,
                                        HAMI_KUBERNETES_NO_WATCH, &owner, reterr);
    if (code < 0) {
        return code;
    }
    owner->transport.name = "node annotation";
    owner->transport.flags = HAMI_TRANSPORT_ONE_PERMIT;
    owner->transport.submit = submit;
    owner->source_count = 1;
    snprintf(owner->sources[0].path, sizeof(owner->sources[0].path), "/api/v1/nodes");
    owner->sources[0].sink = (struct hami_internal_watch_sink){
        list_begins, node_changed, node_gone, list_complete, NULL, NULL};
    *ret = &owner->transport;
    return 0;
}

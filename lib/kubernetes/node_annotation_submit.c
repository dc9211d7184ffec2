/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes a node's annotations: GET, or one guarded JSON Patch, metadata-only
 * answers.
 *
 * Happy path: one request, 200, values from the answer. A definite 422 may mean two other
 * things than "an expectation failed": the node has no annotations map (where nothing is
 * expected to be there), or the server writes an expected text in another way than we do
 * (jsonpatch.h). Then one read tells, and either the patch is sent once more in the form
 * that fits, or the values seen go with HELD. Anything that is not definite ends the call
 * at once; resolving doubt is the manager's.
 */
#include "node_annotation.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "status.h"

static void finish(struct hami_internal_annotation_operation *operation,
                   const struct hami_transport_result *result)
{
    hami_call *call = operation->call;
    hami_internal_annotation_end(operation);
    hami_call_done(call, result);
}

static void fail(struct hami_internal_annotation_operation *operation, int code,
                 const struct hami_kubernetes_answer *answer)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    char text[320];
    result.code = code;
    result.server_time_us = answer->server_time_us;
    result.status = answer->status;
    result.text = hami_internal_annotation_text(answer, text, sizeof(text));
    finish(operation, &result);
}

/* The node in an answer; NULL unless it is this one. New. */
static json_t *node_of(const struct hami_internal_annotation_operation *operation,
                       const struct hami_kubernetes_answer *answer)
{
    json_t *node = hami_internal_object_parse(answer->body, answer->body_length);
    const char *name = hami_internal_object_metadata(node, "name");
    if (name == NULL || strcmp(name, hami_call_node(operation->call)) != 0) {
        json_decref(node);
        return NULL;
    }
    return node;
}

/* Ends the call with what the node's object says. */
static void finish_with(struct hami_internal_annotation_operation *operation, int code,
                        const json_t *node, const struct hami_kubernetes_answer *answer)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(operation->call, &count);
    const char **values = calloc(count, sizeof(*values));
    result.code = code;
    if (values == NULL) {
        /* Without values there is no success to tell; the write itself may well stand. */
        if (code == 0) {
            result.code = operation->writes > 0 ? HAMI_E_IN_DOUBT : HAMI_E_NOMEM;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            values[i] = hami_internal_object_annotation(node, edits[i].key);
        }
        result.values = values;
        result.value_count = count;
        result.version = hami_internal_object_metadata(node, "resourceVersion");
    }
    result.server_time_us = answer->server_time_us;
    result.status = answer->status;
    finish(operation, &result);
    free(values);
}

/* A 404 counts as "no such node" only as the API server's own word. */
static int judge_missing(int code, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_status status;
    if (code == HAMI_E_NODE &&
        !hami_internal_status_read(answer->body, answer->body_length, &status)) {
        return HAMI_E_PROTO;
    }
    return code;
}

/* Codes of a client's answer as those of a transport. */
static int judge_write(const struct hami_kubernetes_answer *answer)
{
    int code = judge_missing(hami_internal_status_of_write(answer), answer);
    if (code == HAMI_E_TIMEDOUT || code == HAMI_E_CLOSED) {
        return HAMI_E_TRANSPORT;
    }
    return code == HAMI_E_LIMIT ? HAMI_E_IN_DOUBT : code;
}

static int judge_read(const struct hami_kubernetes_answer *answer)
{
    int code = judge_missing(hami_internal_status_of_read(answer), answer);
    if (code == HAMI_E_TIMEDOUT || code == HAMI_E_CLOSED || code == HAMI_E_CANCELED) {
        return HAMI_E_TRANSPORT;
    }
    return code == HAMI_E_LIMIT || code == HAMI_E_HELD ? HAMI_E_PROTO : code;
}

/* ---- reading ---- */

static void node_read(struct hami_internal_annotation_operation *operation,
                      const struct hami_kubernetes_answer *answer)
{
    int code = judge_read(answer);
    json_t *node = code == 0 ? node_of(operation, answer) : NULL;
    if (node != NULL) {
        finish_with(operation, 0, node, answer);
    } else {
        fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
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

static bool is_as_expected(const struct hami_transport_edit *edits, size_t count,
                           const json_t *node)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = hami_internal_object_annotation(node, edits[i].key);
        if (edits[i].action != HAMI_EDIT_READ &&
            (value == NULL || edits[i].expect == NULL
                 ? value != edits[i].expect
                 : strcmp(value, edits[i].expect) != 0)) {
            return false;
        }
    }
    return true;
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
    const char *version = hami_internal_object_metadata(node, "resourceVersion");
    if (version == NULL || (wanted != NULL && strcmp(wanted, version) != 0) ||
        !is_as_expected(edits, count, node)) {
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
    int code = judge_read(answer);
    json_t *node = code == 0 ? node_of(operation, answer) : NULL;
    if (node == NULL) {
        /* Nothing of ours was applied, and that much is sure. */
        fail(operation,
             code == HAMI_E_NODE || code == HAMI_E_ACCESS ? code : HAMI_E_TRANSPORT,
             answer);
        return;
    }
    code = send_other_form(operation, node);
    if (code == HAMI_E_HELD) {
        finish_with(operation, HAMI_E_HELD, node, answer);
    } else if (code < 0) {
        fail(operation, code, answer);
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
    int code = judge_write(answer);
    if (code == HAMI_E_HELD && may_need_other_form(operation, answer)) {
        code = hami_internal_annotation_send(
            operation, NULL, HAMI_INTERNAL_OBJECT_METADATA_ONLY, false, node_looked_at);
        if (code < 0) {
            fail(operation, code, answer);
        }
        return;
    }
    json_t *node = code == 0 ? node_of(operation, answer) : NULL;
    if (node != NULL) {
        finish_with(operation, 0, node, answer);
    } else {
        fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
    }
    json_decref(node);
}

/* ---- entry ---- */

int hami_internal_annotation_submit(struct hami_transport *transport, hami_call *call)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    struct hami_internal_annotation_operation *operation =
        hami_internal_annotation_begin(owner, call);
    if (operation == NULL) {
        return HAMI_E_NOMEM;
    }
    if (!hami_internal_paths_node_path(hami_call_node(call), operation->path,
                                       sizeof(operation->path))) {
        struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
        result.code = HAMI_E_NODE;
        result.text = "No node can have this name";
        finish(operation, &result);
        return 0;
    }
    int code = hami_call_is_write(call)
                   ? send_patch(operation, hami_call_version(call))
                   : hami_internal_annotation_send(operation, NULL,
                                                   HAMI_INTERNAL_OBJECT_METADATA_ONLY,
                                                   false, node_read);
    if (code == HAMI_E_PROTO || code == HAMI_E_LIMIT) {
        struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
        result.code = HAMI_E_PROTO;
        result.text = "A value is not UTF-8, or a key too long: it can't be written as "
                      "an annotation";
        finish(operation, &result);
        return 0;
    }
    if (code < 0) {
        hami_internal_annotation_end(operation);
    }
    return code;
}

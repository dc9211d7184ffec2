/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inspects the pod that owns a lock, and revokes its pending Bindings.
 *
 * A revocation is one patch of the pod that tests uid, empty nodeName and the version of
 * a read before; it gives the pod a version that no Binding on its way carries. Without
 * the version a second copy that lands late would put its text over a newer revocation's,
 * and whoever compares would find the one that was there before. Happy path: read, patch,
 * 200, done. Refused or unanswered: one more read tells why. Gone: done. Bound, or
 * another uid: HELD, and sure, since a late copy of the patch is refused as well. Our
 * text is there: done. None of these: the patch is sent again, a few times at most.
 */
#include "annotation.h"

#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "object.h"
#include "pod.h"
#include "pod_cache.h"
#include "status.h"

#define WRITES_MAX 4u

static void finish(struct hami_internal_annotation_operation *operation, int code,
                   const struct hami_owner_facts *facts, const char *text)
{
    hami_call *call = operation->call;
    hami_internal_annotation_end(operation);
    hami_call_done_owner(call, code, facts, text);
}

static void fail(struct hami_internal_annotation_operation *operation, int code,
                 const struct hami_kubernetes_answer *answer)
{
    char text[320];
    finish(operation, operation->in_doubt ? HAMI_E_IN_DOUBT : code, NULL,
           hami_internal_annotation_text(answer, text, sizeof(text)));
}

static void finish_absent(struct hami_internal_annotation_operation *operation)
{
    struct hami_owner_facts facts;
    hami_internal_pod_facts_absent(&facts);
    finish(operation, 0, &facts, NULL);
}

/*
 * The pod in an answer to a GET or a PATCH. New; NULL with 0 where it does not exist,
 * else NULL with a code that hami_call_done_owner() knows.
 */
static int pod_of(int code, const struct hami_kubernetes_answer *answer, json_t **ret)
{
    struct hami_internal_status status;
    *ret = NULL;
    switch (code) {
    case 0:
        *ret = hami_internal_object_parse(answer->body, answer->body_length);
        if (hami_internal_object_metadata(*ret, "uid") == NULL) {
            json_decref(*ret);
            *ret = NULL;
            return HAMI_E_PROTO;
        }
        return 0;
    case HAMI_E_NODE:
        /* Only the API server's own word counts: a proxy's 404 says nothing about the
         * pod. */
        return hami_internal_status_read(answer->body, answer->body_length, &status)
                   ? 0
                   : HAMI_E_PROTO;
    case HAMI_E_TIMEDOUT:
    case HAMI_E_CLOSED:
    case HAMI_E_CANCELED:
        return HAMI_E_TRANSPORT;
    case HAMI_E_LIMIT:
        return HAMI_E_PROTO;
    default:
        return code;
    }
}

/* ---- inspect ---- */

static void pod_read(struct hami_internal_annotation_operation *operation,
                     const struct hami_kubernetes_answer *answer)
{
    struct hami_owner_facts facts;
    json_t *pod;
    int code = pod_of(hami_internal_status_of_read(answer), answer, &pod);
    if (code < 0) {
        fail(operation, code == HAMI_E_HELD ? HAMI_E_PROTO : code, answer);
    } else if (pod == NULL) {
        finish_absent(operation);
    } else {
        hami_internal_pod_facts(pod, HAMI_FACTS_READ, &facts);
        finish(operation, 0, &facts, NULL);
    }
    json_decref(pod);
}

static bool answer_from_watch(struct hami_internal_annotation *owner, hami_call *call)
{
    struct hami_owner_facts facts;
    char texts[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    if (hami_call_wants_read(call) ||
        !hami_internal_annotation_recall(owner, hami_call_owner(call), &facts, texts,
                                         sizeof(texts))) {
        return false;
    }
    hami_call_done_owner(call, 0, &facts, NULL);
    return true;
}

/* Begins a call about the owner's pod. Returns 0, or NOMEM; *ret NULL with 0: the call
 * was completed, since no pod can have this name, so there is none. */
static int begin_on_pod(struct hami_internal_annotation *owner, hami_call *call,
                        struct hami_internal_annotation_operation **ret)
{
    const struct hami_owner *pod = hami_call_owner(call);
    *ret = hami_internal_annotation_begin(owner, call);
    if (*ret == NULL) {
        return HAMI_E_NOMEM;
    }
    if (!hami_internal_paths_pod_path(pod->namespace_name, pod->name, "", (*ret)->path,
                                      sizeof((*ret)->path))) {
        finish_absent(*ret);
        *ret = NULL;
    }
    return 0;
}

int hami_internal_annotation_inspect(struct hami_transport *transport, hami_call *call)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    struct hami_internal_annotation_operation *operation = NULL;
    if (answer_from_watch(owner, call)) {
        return 0;
    }
    int code = begin_on_pod(owner, call, &operation);
    if (operation == NULL) {
        return code;
    }
    code = hami_internal_annotation_send(operation, NULL, NULL, false, pod_read);
    if (code < 0) {
        hami_internal_annotation_end(operation);
    }
    return code;
}

/* ---- revoke ---- */

static void revocation_answered(struct hami_internal_annotation_operation *operation,
                                const struct hami_kubernetes_answer *answer);

static int send_revocation(struct hami_internal_annotation_operation *operation,
                           const char *version)
{
    const char *text = hami_call_revocation(operation->call);
    char *body = NULL;
    int code = hami_internal_jsonpatch_unbound_pod(hami_call_owner(operation->call)->uid,
                                                   version, HAMI_HANDSHAKE_REVOKED_KEY,
                                                   text, operation->form, &body);
    if (code == 0) {
        code = hami_internal_annotation_send(operation, body, NULL, true,
                                             revocation_answered);
    }
    free(body);
    return code;
}

static void finish_revoked(struct hami_internal_annotation_operation *operation, int code,
                           const struct hami_owner_facts *facts)
{
    hami_internal_annotation_unlearn(operation->owner, hami_call_owner(operation->call));
    finish(operation, code, facts, NULL);
}

/* A read before the first patch, or after one that was refused or not answered. */
static void judge_pod(struct hami_internal_annotation_operation *operation,
                      const json_t *pod, const struct hami_kubernetes_answer *answer)
{
    struct hami_owner_facts facts;
    const char *text = hami_call_revocation(operation->call);
    hami_internal_pod_facts(pod, HAMI_FACTS_READ, &facts);
    if (strcmp(facts.uid, hami_call_owner(operation->call)->uid) != 0 ||
        facts.node != NULL) {
        finish_revoked(operation, HAMI_E_HELD, &facts);
        return;
    }
    if (facts.revoked != NULL && strcmp(facts.revoked, text) == 0) {
        finish_revoked(operation, 0, &facts);
        return;
    }
    operation->form = hami_internal_object_has_annotations(pod)
                          ? HAMI_INTERNAL_JSONPATCH_BY_KEY
                          : HAMI_INTERNAL_JSONPATCH_NEW_MAP;
    int code = operation->writes < WRITES_MAX && facts.version != NULL
                   ? send_revocation(operation, facts.version)
                   : HAMI_E_TRANSPORT;
    if (code < 0) {
        fail(operation, code, answer);
    }
}

static void pod_looked_at(struct hami_internal_annotation_operation *operation,
                          const struct hami_kubernetes_answer *answer)
{
    json_t *pod;
    int code = pod_of(hami_internal_status_of_read(answer), answer, &pod);
    if (code < 0) {
        fail(operation,
             code == HAMI_E_ACCESS || code == HAMI_E_NOMEM ? code : HAMI_E_TRANSPORT,
             answer);
    } else if (pod == NULL) {
        finish_absent(operation);
    } else {
        judge_pod(operation, pod, answer);
    }
    json_decref(pod);
}

static void revocation_answered(struct hami_internal_annotation_operation *operation,
                                const struct hami_kubernetes_answer *answer)
{
    struct hami_owner_facts facts;
    json_t *pod;
    int code = hami_internal_status_of_write(answer);
    if (code == HAMI_E_LIMIT) {
        code = HAMI_E_IN_DOUBT;
    }
    code = pod_of(code, answer, &pod);
    operation->in_doubt = operation->in_doubt || code == HAMI_E_IN_DOUBT;
    if (code == 0 && pod == NULL) {
        finish_absent(operation);
    } else if (code == 0) {
        hami_internal_pod_facts(pod, HAMI_FACTS_READ, &facts);
        finish_revoked(operation, 0, &facts);
    } else if (code == HAMI_E_HELD || code == HAMI_E_IN_DOUBT) {
        if (hami_internal_annotation_send(operation, NULL, NULL, false, pod_looked_at) <
            0) {
            fail(operation, HAMI_E_TRANSPORT, answer);
        }
    } else {
        fail(operation, code, answer);
    }
    json_decref(pod);
}

int hami_internal_annotation_revoke(struct hami_transport *transport, hami_call *call)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    const struct hami_owner *pod = hami_call_owner(call);
    struct hami_internal_annotation_operation *operation = NULL;
    int code = begin_on_pod(owner, call, &operation);
    if (operation == NULL) {
        return code;
    }
    code = HAMI_E_PROTO;
    if (pod->uid != NULL && pod->uid[0] != '\0') {
        code = hami_internal_annotation_send(operation, NULL, NULL, true, pod_looked_at);
    }
    if (code == HAMI_E_PROTO) {
        finish(operation, HAMI_E_PROTO, NULL, "A revocation needs the owner's uid");
        return 0;
    }
    if (code < 0) {
        hami_internal_annotation_end(operation);
    }
    return code;
}

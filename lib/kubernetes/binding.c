/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds a lease's owner to the lease's node.
 *
 * The Binding carries the pod's uid and the resourceVersion read before the lock was
 * written, so that a revocation (which gives the pod a new version) makes every older
 * Binding fail, and the fence and phase as annotations, which the API server writes onto
 * the pod together with nodeName.
 *
 * Happy path: POST, 201, bound. Refused (409, 404) or not answered: one read of the pod
 * decides, see hami_internal_binding_judge(). Refused, and nothing stands against it but
 * the version: sent again by the version just read, three times at most. Not answered,
 * and the pod still open: IN_DOUBT, since it may land later. Part of the time is kept
 * back for that read.
 *
 * No lock: one binding belongs to the client's thread once its first request was started.
 */
#include "binding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hami/handshake.h>
#include <hami/kubernetes.h>

#include <jansson.h>

#include "paths.h"
#include "pod.h"
#include "status.h"
#include "support.h"
#include "wait.h"

#define SENDS_MAX 3u
#define READ_RESERVE_NS (UINT64_C(1000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)

struct binding {
    hami_kubernetes *client;
    struct hami_lease_view lease; /* texts borrowed from the lease until the callback */
    uint64_t deadline_ns;
    hami_done_fn callback;
    void *data;
    char path[HAMI_INTERNAL_PATHS_MAX];
    char *version;
    unsigned sends;
    bool in_doubt; /* a Binding may have been delivered that nobody answered for */
    int refusal;   /* HTTP status of the last refusal; 0 = there was no answer */
    struct hami_error error; /* about it, for people */
};

static void read_owner(struct binding *binding);

/* ---- pure ---- */

static bool is_same_text(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

enum hami_internal_binding_verdict
hami_internal_binding_judge(const struct hami_lease_view *lease,
                            const struct hami_owner_facts *pod, const char **ret_text)
{
    const char *text = NULL;
    if (!pod->exists) {
        text = "The pod is gone";
    } else if (!is_same_text(pod->uid, lease->owner.uid)) {
        text = "The pod was replaced by another of its name";
    } else if (pod->node != NULL && strcmp(pod->node, lease->node) == 0) {
        *ret_text = "The pod is bound here";
        return HAMI_INTERNAL_BINDING_BOUND;
    } else if (pod->node != NULL) {
        text = "The pod is bound to another node";
    } else if (pod->deleting) {
        text = "The pod is being deleted";
    } else if (pod->finished) {
        text = "The pod has finished";
    } else if (!is_same_text(pod->revoked, lease->owner_revoked)) {
        text = "The Binding was revoked";
    } else if (pod->assigned_node != NULL &&
               strcmp(pod->assigned_node, lease->node) != 0) {
        text = "The pod was assigned to another node";
    }
    *ret_text = text != NULL ? text : "The pod is not bound";
    return text != NULL ? HAMI_INTERNAL_BINDING_LOST : HAMI_INTERNAL_BINDING_OPEN;
}

int hami_internal_binding_format(const struct hami_lease_view *lease, const char *version,
                                 int64_t time_s, char **ret)
{
    char seconds[24];
    char fence[24];
    json_error_t error;
    snprintf(seconds, sizeof(seconds), "%" PRId64, time_s);
    snprintf(fence, sizeof(fence), "%" PRIu64, lease->fence);
    json_t *binding = json_pack_ex(
        &error, 0,
        "{s:s, s:s, s:{s:s, s:s, s:s, s:s*, s:{s:s, s:s, s:s}}, s:{s:s, s:s, s:s}}", //
        "apiVersion", "v1", "kind", "Binding",                                       //
        "metadata", "name", lease->owner.name, "namespace", lease->owner.namespace_name,
        "uid", lease->owner.uid, "resourceVersion", version,                            //
        "annotations", HAMI_HANDSHAKE_PHASE_KEY, "allocating", HAMI_HANDSHAKE_TIME_KEY, //
        seconds, HAMI_HANDSHAKE_FENCE_KEY, fence,                                       //
        "target", "apiVersion", "v1", "kind", "Node", "name", lease->node);
    if (binding == NULL) {
        return json_error_code(&error) == json_error_invalid_utf8 ? HAMI_E_PROTO
                                                                  : HAMI_E_NOMEM;
    }
    *ret = json_dumps(binding, JSON_COMPACT);
    json_decref(binding);
    return *ret != NULL ? 0 : HAMI_E_NOMEM;
}

/* ---- ending ---- */

static void finish(struct binding *binding, int code)
{
    struct hami_error error = binding->error;
    hami_done_fn callback = binding->callback;
    void *data = binding->data;
    error.size = sizeof(error);
    error.code = code;
    if (code == 0) {
        error.text[0] = '\0';
    }
    free(binding->version);
    free(binding);
    callback(data, code, &error);
}

static void explain(struct binding *binding, const char *what, const char *detail)
{
    snprintf(binding->error.text, sizeof(binding->error.text), "%s%s%s", what,
             detail[0] != '\0' ? ": " : "", detail);
}

/* A request that was surely not carried out ends the matter, unless an earlier one is in
 * doubt. */
static void finish_unsent(struct binding *binding, int code)
{
    if (binding->in_doubt) {
        code = HAMI_E_IN_DOUBT;
    } else if (code == HAMI_E_LIMIT) {
        code = HAMI_E_TRANSPORT;
    }
    finish(binding, code);
}

/* ---- sending ---- */

static void binding_answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct binding *binding = data;
    char text[384];
    int code = hami_internal_status_of_write(answer);
    if (code == 0) {
        finish(binding, 0);
        return;
    }
    binding->refusal = answer->code == 0 && answer->status < 500 ? answer->status : 0;
    binding->error.status = answer->status;
    explain(binding, "The Binding was not carried out",
            hami_internal_status_text(answer, text, sizeof(text)));
    if (code == HAMI_E_IN_DOUBT || code == HAMI_E_LIMIT) {
        binding->in_doubt = true;
        read_owner(binding);
    } else if (code == HAMI_E_HELD || code == HAMI_E_NODE) {
        read_owner(binding);
    } else {
        finish_unsent(binding, answer->code == HAMI_E_TIMEDOUT ? HAMI_E_TIMEDOUT : code);
    }
}

/* The part of the time that is left for sending; the rest is for reading the pod
 * afterwards. */
static uint64_t send_deadline(uint64_t deadline_ns)
{
    uint64_t now = hami_kubernetes_now();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    return deadline_ns - (left / 4 < READ_RESERVE_NS ? left / 4 : READ_RESERVE_NS);
}

static int send_binding(struct binding *binding)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char *body = NULL;
    int code = hami_internal_binding_format(&binding->lease, binding->version,
                                            (int64_t)time(NULL), &body);
    if (code < 0) {
        return code;
    }
    request.method = HAMI_KUBERNETES_POST;
    request.path = binding->path;
    request.body = body;
    request.body_length = strlen(body);
    request.deadline_ns = send_deadline(binding->deadline_ns);
    binding->sends++;
    code = hami_internal_http_request_start(binding->client, &request, binding_answered,
                                            binding, NULL);
    free(body);
    return code;
}

static void send_again(struct binding *binding, const char *version)
{
    char *copy = version != NULL ? strdup(version) : NULL;
    if (copy == NULL) {
        finish_unsent(binding, version != NULL ? HAMI_E_NOMEM : HAMI_E_PROTO);
        return;
    }
    free(binding->version);
    binding->version = copy;
    int code = send_binding(binding);
    if (code < 0) {
        explain(binding, "The Binding was not sent", hami_strerror(code));
        finish_unsent(binding, code);
    }
}

/* ---- reading the pod ---- */

/* The pod is open: is there any use in another Binding? */
static void go_on(struct binding *binding, const struct hami_owner_facts *pod)
{
    if (binding->sends == 0 || (binding->refusal == 409 && binding->sends < SENDS_MAX)) {
        send_again(binding, pod->version);
    } else if (binding->in_doubt) {
        finish(binding, HAMI_E_IN_DOUBT);
    } else {
        finish(binding, binding->refusal == 404 ? HAMI_E_NODE : HAMI_E_PROTO);
    }
}

static void owner_read(void *data, const struct hami_internal_pod_answer *answer)
{
    struct binding *binding = data;
    struct hami_owner_facts facts;
    const char *why;
    if (answer->code < 0) {
        explain(binding, "The pod could not be read", answer->text);
        /* Refused or not: who does not know where the pod is must not free its lock. */
        binding->in_doubt = binding->in_doubt || binding->sends > 0;
        finish_unsent(binding, answer->code);
        return;
    }
    if (answer->pod != NULL) {
        hami_internal_pod_facts(answer->pod, HAMI_FACTS_READ, &facts);
    } else {
        hami_internal_pod_facts_absent(&facts);
    }
    switch (hami_internal_binding_judge(&binding->lease, &facts, &why)) {
    case HAMI_INTERNAL_BINDING_BOUND:
        finish(binding, 0);
        break;
    case HAMI_INTERNAL_BINDING_LOST:
        explain(binding, why, "");
        finish(binding, HAMI_E_LOST);
        break;
    case HAMI_INTERNAL_BINDING_OPEN:
        go_on(binding, &facts);
        break;
    }
}

static int start_read(struct binding *binding)
{
    return hami_internal_pod_read(binding->client, binding->lease.owner.namespace_name,
                                  binding->lease.owner.name, binding->deadline_ns,
                                  owner_read, binding, NULL);
}

static void read_owner(struct binding *binding)
{
    if (start_read(binding) < 0) {
        finish(binding, HAMI_E_IN_DOUBT);
    }
}

/* ---- public ---- */

static int new_binding(hami_kubernetes *client, const hami_lease *lease,
                       uint64_t deadline_ns, struct binding **ret)
{
    struct binding *binding = calloc(1, sizeof(*binding));
    if (binding == NULL) {
        return HAMI_E_NOMEM;
    }
    binding->client = client;
    /* To a request 0 means "as configured"; here it is a moment long past. */
    binding->deadline_ns = deadline_ns > 0 ? deadline_ns : 1;
    binding->lease.size = sizeof(binding->lease);
    int code = hami_lease_facts(lease, &binding->lease);
    const struct hami_owner *owner = &binding->lease.owner;
    if (code == 0 &&
        (!hami_internal_paths_pod_path(owner->namespace_name, owner->name, "/binding",
                                       binding->path, sizeof(binding->path)) ||
         !hami_internal_paths_is_subdomain(binding->lease.node))) {
        code = HAMI_E_INVAL;
    }
    if (code == 0 && binding->lease.owner_version != NULL) {
        binding->version = strdup(binding->lease.owner_version);
        code = binding->version != NULL ? 0 : HAMI_E_NOMEM;
    }
    if (code < 0) {
        free(binding);
        return code;
    }
    *ret = binding;
    return 0;
}

int hami_kubernetes_bind_start(hami_kubernetes *client, const hami_lease *lease,
                               uint64_t deadline_ns, hami_done_fn callback, void *data)
{
    struct binding *binding = NULL;
    if (client == NULL || lease == NULL || callback == NULL) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(client)) {
        return HAMI_E_FORKED;
    }
    int code = new_binding(client, lease, deadline_ns, &binding);
    if (code < 0) {
        return code;
    }
    binding->callback = callback;
    binding->data = data;
    /* Without a version a Binding can't be revoked: read one first. */
    code = binding->version != NULL ? send_binding(binding) : start_read(binding);
    if (code < 0) {
        free(binding->version);
        free(binding);
    }
    return code;
}

struct waiting {
    struct hami_internal_wait wait;
    int code;
    struct hami_error error;
};

static void bound(void *data, int code, const struct hami_error *error)
{
    struct waiting *waiting = data;
    waiting->code = code;
    waiting->error = *error;
    hami_internal_wait_end(&waiting->wait);
}

int hami_kubernetes_bind(hami_kubernetes *client, const hami_lease *lease,
                         uint64_t deadline_ns, struct hami_error *reterr)
{
    struct waiting waiting = {HAMI_INTERNAL_WAIT_INIT, 0, HAMI_ERROR_INIT};
    if (client != NULL && hami_internal_http_is_own_thread(client)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "a blocking call on the client's own thread");
    }
    int code = hami_kubernetes_bind_start(client, lease, deadline_ns, bound, &waiting);
    if (code < 0) {
        code = code == HAMI_E_LIMIT ? HAMI_E_TRANSPORT : code;
        return hami_internal_support_fail(reterr, code, "%s", hami_strerror(code));
    }
    hami_internal_wait_for(&waiting.wait);
    if (waiting.code < 0) {
        hami_internal_support_fail(reterr, waiting.code, "%s", waiting.error.text);
        if (reterr != NULL) {
            reterr->status = waiting.error.status;
        }
    }
    return waiting.code;
}

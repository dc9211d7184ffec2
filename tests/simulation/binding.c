/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See binding.h. A refusal or a missing answer is followed by a read of the pod; a
 * Binding refused for its version is sent again only while the pod's revocation is the
 * one that was there before the lock was taken.
 */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "network.h"

#define SENDS_MAX 3

struct binding {
    struct acquire *acquire;
    struct request *request;
    uint64_t deadline_ns;
    char version[24], revoked[256];
    unsigned sends;
    bool in_doubt, refused;
};

static void end(struct binding *binding, int code)
{
    struct acquire *acquire = binding->acquire;

    acquire->binding = NULL;
    free(binding);
    binder_bound(acquire, code);
}

static void ended(void *data, int code, const struct hami_error *error)
{
    (void)error;
    binder_bound(data, code);
}

static void ask(struct binding *binding, enum verb verb, request_fn done,
                uint64_t deadline_ns)
{
    struct acquire *acquire = binding->acquire;
    struct world *world = acquire->world;
    struct request *request = request_new(world, verb, acquire->pod->name, done, binding);

    request->replica = acquire->replica;
    request->writer = WRITER_OURS;
    request->who = world->replicas[acquire->replica].who;
    request->acquire = acquire;
    binding->request = request;
    (void)snprintf(request->uid, sizeof(request->uid), "%s", acquire->uid);
    (void)snprintf(request->node, sizeof(request->node), "%s", acquire->node->name);
    if (world->plan.broken != BROKEN_BINDING) {
        (void)snprintf(request->version, sizeof(request->version), "%s",
                       binding->version);
    }
    request->fence = hami_lease_fence(acquire->lease);
    request_send(request, deadline_ns);
}

static void send_binding(struct binding *binding);

static void pod_read(struct request *request)
{
    struct binding *binding = request->data;
    const struct object *pod = request->object;
    bool unknown = request->outcome != OUTCOME_ANSWER ||
                   (request->status != 200 && request->status != 404);

    if (unknown) {
        /* Who does not know where the pod is must not free its lock. */
        end(binding, binding->sends > 0 ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT);
        return;
    }
    const char *stands = object_get(pod, KEY_REVOKED);
    const char *assigned = object_get(pod, KEY_ASSIGNED);
    if (pod && strcmp(pod->uid, binding->acquire->uid) == 0 &&
        strcmp(pod->node, binding->acquire->node->name) == 0) {
        end(binding, 0);
    } else if (!pod || strcmp(pod->uid, binding->acquire->uid) != 0 || pod->node[0] ||
               pod->deleting || pod->phase >= POD_SUCCEEDED ||
               strcmp(stands ? stands : "", binding->revoked) != 0 ||
               (assigned && strcmp(assigned, binding->acquire->node->name) != 0)) {
        end(binding, HAMI_E_LOST);
    } else if (binding->sends == 0 || (binding->refused && binding->sends < SENDS_MAX)) {
        (void)snprintf(binding->version, sizeof(binding->version), "%llu",
                       (unsigned long long)pod->version);
        send_binding(binding);
    } else {
        end(binding, binding->in_doubt ? HAMI_E_IN_DOUBT : HAMI_E_PROTO);
    }
}

static void answered(struct request *request)
{
    struct binding *binding = request->data;
    bool answer = request->outcome == OUTCOME_ANSWER && request->status < 500;

    binding->refused = answer && request->status == 409;
    if (answer && request->status == 201) {
        end(binding, 0);
    } else if (request->outcome == OUTCOME_NOT_SENT ||
               (answer && request->status == 429)) {
        end(binding, binding->in_doubt ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT);
    } else {
        binding->in_doubt = binding->in_doubt || !answer || request->resent;
        ask(binding, VERB_GET_POD, pod_read, binding->deadline_ns);
    }
}

static void send_binding(struct binding *binding)
{
    uint64_t now = world_now(binding->acquire->world);
    uint64_t left = binding->deadline_ns > now ? binding->deadline_ns - now : 0;

    binding->sends++;
    ask(binding, VERB_BIND, answered, binding->deadline_ns - left / 4);
}

void binding_start(struct acquire *acquire)
{
    struct world *world = acquire->world;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    uint64_t deadline =
        world_now(world) + engine_span(&world->engine, RANDOM_WORK, 800 * MS, 5 * SECOND);

    if (world->plan.kubernetes) {
        int code = client_bind(world->replicas[acquire->replica].transport,
                               acquire->lease, deadline, ended, acquire);
        if (code < 0) {
            binder_bound(acquire, code);
        }
        return;
    }
    struct binding *binding = calloc(1, sizeof(*binding));
    acquire->binding = binding;
    binding->acquire = acquire;
    binding->deadline_ns = deadline;
    if (hami_lease_facts(acquire->lease, &view) < 0) {
        end(binding, HAMI_E_CLOSED);
        return;
    }
    (void)snprintf(binding->revoked, sizeof(binding->revoked), "%s",
                   view.owner_revoked ? view.owner_revoked : "");
    (void)snprintf(binding->version, sizeof(binding->version), "%s",
                   view.owner_version ? view.owner_version : "");
    if (view.owner_version) {
        send_binding(binding);
    } else {
        ask(binding, VERB_GET_POD, pod_read, deadline);
    }
}

void binding_forget(struct acquire *acquire)
{
    if (acquire->binding) {
        request_forget(acquire->binding->request);
        free(acquire->binding);
        acquire->binding = NULL;
    }
}

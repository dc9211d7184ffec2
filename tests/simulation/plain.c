/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain transport, see backend.h: edits go to the server as they are. A revocation
 * that was refused or not answered is followed by a read, as the Kubernetes transport
 * does it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "backend.h"
#include "plain_watch.h"
#include "store.h"

#define WRITES_MAX 4

/* One call on its way. */
struct operation {
    struct operation *next, *previous;
    struct plain *plain;
    hami_call *call;
    struct request *request;
    unsigned writes;
    bool in_doubt, aborted;
};

struct plain {
    struct hami_transport transport; /* first */
    struct world *world;
    int replica;
    struct operation *operations;
    struct plain_watch *watch;
};

static struct plain *of(struct hami_transport *transport)
{
    return (struct plain *)transport;
}

static struct replica *replica_of(const struct plain *plain)
{
    return &plain->world->replicas[plain->replica];
}

static struct operation *begin(struct plain *plain, hami_call *call)
{
    struct operation *operation = calloc(1, sizeof(*operation));

    operation->plain = plain;
    operation->call = call;
    operation->next = plain->operations;
    if (operation->next) {
        operation->next->previous = operation;
    }
    plain->operations = operation;
    hami_call_set_data(call, operation);
    return operation;
}

/* Takes the operation off; the call is the caller's to complete. */
static hami_call *finish(struct operation *operation)
{
    hami_call *call = operation->call;

    if (operation->next) {
        operation->next->previous = operation->previous;
    }
    if (operation->previous) {
        operation->previous->next = operation->next;
    } else {
        operation->plain->operations = operation->next;
    }
    free(operation);
    return call;
}

/* Makes the operation's next request; the caller fills it and sends it. */
static struct request *prepare(struct operation *operation, enum verb verb,
                               const char *name, request_fn done)
{
    struct plain *plain = operation->plain;
    struct request *request = request_new(plain->world, verb, name, done, operation);

    request->replica = plain->replica;
    request->writer = WRITER_OURS;
    request->who = replica_of(plain)->who;
    operation->request = request;
    return request;
}

/* There is no use in a further request. */
static bool is_over(const struct operation *operation)
{
    return operation->aborted || replica_of(operation->plain)->dead ||
           world_now(operation->plain->world) >= hami_call_deadline(operation->call);
}

/* ---- nodes ---- */

static int code_of(const struct request *request, bool is_write)
{
    int doubt = is_write ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT;

    if (request->outcome == OUTCOME_NOT_SENT) {
        return HAMI_E_TRANSPORT;
    }
    if (request->outcome == OUTCOME_NO_ANSWER || request->status >= 500) {
        return doubt;
    }
    if (request->status >= 300 && request->resent && is_write) {
        return doubt;
    }
    switch (request->status) {
    case 200:
    case 201:
        return 0;
    case 404:
        return HAMI_E_NODE;
    case 429:
        return HAMI_E_TRANSPORT;
    default:
        return HAMI_E_HELD;
    }
}

static void node_done(struct request *request)
{
    struct operation *operation = request->data;
    hami_call *call = finish(operation);
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    const char *values[REQUEST_EDITS_MAX];
    char version[24];
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);

    result.code = code_of(request, hami_call_is_write(call));
    if (request->object && result.code == 0) {
        for (size_t i = 0; i < count; i++) {
            values[i] = object_get(request->object, edits[i].key);
        }
        (void)snprintf(version, sizeof(version), "%" PRIu64, request->object->version);
        result.values = values;
        result.value_count = count;
        result.version = version;
    }
    hami_call_done(call, &result);
}

/* For whom a request is made: the pod that is named, else who is first in the queue. */
static struct acquire *meant(const struct plain *plain, const char *node_name,
                             const char *pod_name)
{
    const struct pod *pod = store_pod(plain->world, pod_name);
    const struct node *node = store_node(plain->world, node_name);

    if (pod && pod->latest && !pod->latest->over &&
        pod->latest->replica == plain->replica) {
        return pod->latest;
    }
    return node ? node->first[plain->replica] : NULL;
}

static bool is_broken_test(const struct world *world, const char *key)
{
    return world->plan.broken == BROKEN_LOCK_TEST ||
           (world->plan.broken == BROKEN_LEASE_TEST && strcmp(key, KEY_LEASE) == 0);
}

/* A lock that stands already, which is put into the cover too, is no take. */
static bool is_copied(const struct hami_transport_edit *edits, size_t count,
                      const char *value)
{
    for (size_t i = 0; i < count && value; i++) {
        if (edits[i].action == HAMI_EDIT_TEST && edits[i].expect &&
            strcmp(edits[i].expect, value) == 0) {
            return true;
        }
    }
    return false;
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    struct plain *plain = of(transport);
    const char *name = NULL;
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);

    if (replica_of(plain)->dead) {
        return HAMI_E_TRANSPORT;
    }
    struct operation *operation = begin(plain, call);
    struct request *request =
        prepare(operation, VERB_EDIT_NODE, hami_call_node(call), node_done);
    for (size_t i = 0; i < count; i++) {
        request_edit(request, edits[i].action, edits[i].key, edits[i].expect,
                     edits[i].value);
        request->edits[i].untested = is_broken_test(plain->world, edits[i].key);
        const struct slot *slot = store_slot(plain->world, edits[i].key);
        if (slot && strcmp(slot->lock, edits[i].key) == 0) {
            bool copied = is_copied(edits, count, edits[i].value);
            struct pod *taker = copied ? NULL : store_named(plain->world, edits[i].value);
            const struct pod *pod = store_named(plain->world, edits[i].expect);
            request->taker = taker ? taker : request->taker;
            name = taker ? taker->name : pod ? pod->name : name;
        }
    }
    if (hami_call_version(call)) {
        (void)snprintf(request->version, sizeof(request->version), "%s",
                       hami_call_version(call));
    }
    request->acquire = meant(plain, hami_call_node(call), name);
    request_send(request, hami_call_deadline(call));
    return 0;
}

static void abort_call(struct hami_transport *transport, hami_call *call)
{
    (void)transport;
    for (struct operation *at = of(transport)->operations; at; at = at->next) {
        if (at->call == call) {
            at->aborted = true;
            request_cancel(at->request);
            return;
        }
    }
}

/* ---- owners ---- */

static void end_owner(struct operation *operation, int code, const struct object *object,
                      enum hami_facts_source source)
{
    hami_call *call = finish(operation);
    struct hami_owner_facts facts;
    char version[24];

    backend_facts(object, source, version, sizeof(version), &facts);
    hami_call_done_owner(call, code, code == 0 || code == HAMI_E_HELD ? &facts : NULL,
                         NULL);
}

static void pod_read(struct request *request)
{
    struct operation *operation = request->data;
    int code = code_of(request, false);

    end_owner(operation, code == HAMI_E_NODE ? 0 : code, request->object,
              HAMI_FACTS_READ);
}

static int inspect(struct hami_transport *transport, hami_call *call)
{
    struct plain *plain = of(transport);
    const struct hami_owner *owner = hami_call_owner(call);
    const struct pod *pod = store_pod(plain->world, owner->name);

    if (replica_of(plain)->dead) {
        return HAMI_E_TRANSPORT;
    }
    struct object *known = pod && !hami_call_wants_read(call)
                               ? plain_watch_pod(plain->watch, pod->index)
                               : NULL;
    struct operation *operation = begin(plain, call);
    if (known) {
        end_owner(operation, 0, known, HAMI_FACTS_WATCH);
        return 0;
    }
    (void)prepare(operation, VERB_GET_POD, owner->name, pod_read);
    operation->request->acquire = meant(plain, hami_call_node(call), owner->name);
    request_send(operation->request, hami_call_deadline(call));
    return 0;
}

static void send_revocation(struct operation *operation, uint64_t version);

static void pod_looked_at(struct request *request)
{
    struct operation *operation = request->data;
    const struct hami_owner *owner = hami_call_owner(operation->call);
    const char *text = hami_call_revocation(operation->call);
    const char *stands = object_get(request->object, KEY_REVOKED);
    int code = code_of(request, false);

    if (code == HAMI_E_NODE) {
        end_owner(operation, 0, NULL, HAMI_FACTS_READ);
    } else if (code < 0) {
        end_owner(operation, operation->in_doubt ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT,
                  NULL, HAMI_FACTS_READ);
    } else if (strcmp(request->object->uid, owner->uid) != 0 ||
               request->object->node[0]) {
        end_owner(operation, HAMI_E_HELD, request->object, HAMI_FACTS_READ);
    } else if (stands && strcmp(stands, text) == 0) {
        end_owner(operation, 0, request->object, HAMI_FACTS_READ);
    } else if (operation->writes < WRITES_MAX && !is_over(operation)) {
        send_revocation(operation, request->object->version);
    } else {
        end_owner(operation, operation->in_doubt ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT,
                  NULL, HAMI_FACTS_READ);
    }
}

static void look_at_pod(struct operation *operation)
{
    (void)prepare(operation, VERB_GET_POD, hami_call_owner(operation->call)->name,
                  pod_looked_at);
    operation->request->acquire = meant(operation->plain, hami_call_node(operation->call),
                                        hami_call_owner(operation->call)->name);
    request_send(operation->request, hami_call_deadline(operation->call));
}

static void revoked(struct request *request)
{
    struct operation *operation = request->data;
    int code = code_of(request, true);

    operation->in_doubt = operation->in_doubt || code == HAMI_E_IN_DOUBT;
    if (code == HAMI_E_NODE) {
        end_owner(operation, 0, NULL, HAMI_FACTS_READ);
    } else if (code == 0) {
        end_owner(operation, 0, request->object, HAMI_FACTS_READ);
    } else if (is_over(operation)) {
        end_owner(operation, code == HAMI_E_HELD ? HAMI_E_TRANSPORT : code, NULL,
                  HAMI_FACTS_READ);
    } else {
        look_at_pod(operation);
    }
}

static void send_revocation(struct operation *operation, uint64_t version)
{
    struct plain *plain = operation->plain;
    const struct hami_owner *owner = hami_call_owner(operation->call);
    bool broken = plain->world->plan.broken == BROKEN_REVOCATION;
    uint64_t now = world_now(plain->world);
    uint64_t deadline = hami_call_deadline(operation->call);

    /* Part of the time is kept for a look afterwards. */
    deadline -= deadline > now ? (deadline - now) / 4 : 0;
    (void)prepare(operation, broken ? VERB_GET_POD : VERB_REVOKE, owner->name, revoked);
    operation->writes++;
    operation->request->text = strdup(hami_call_revocation(operation->call));
    (void)snprintf(operation->request->version, sizeof(operation->request->version),
                   "%" PRIu64, version);
    (void)snprintf(operation->request->uid, sizeof(operation->request->uid), "%s",
                   owner->uid);
    operation->request->acquire =
        meant(plain, hami_call_node(operation->call), owner->name);
    request_send(operation->request, deadline);
}

static int revoke(struct hami_transport *transport, hami_call *call)
{
    struct plain *plain = of(transport);

    if (replica_of(plain)->dead) {
        return HAMI_E_TRANSPORT;
    }
    look_at_pod(begin(plain, call));
    return 0;
}

void backend_facts(const struct object *object, enum hami_facts_source source,
                   char *buffer, size_t size, struct hami_owner_facts *ret)
{
    *ret = (struct hami_owner_facts)HAMI_OWNER_FACTS_INIT;
    ret->source = source;
    ret->known = true;
    if (!object) {
        return;
    }
    const char *fence = object_get(object, KEY_FENCE),
               *done = object_get(object, KEY_DONE);
    const char *devices = object_get(object, KEY_DEVICES);
    (void)snprintf(buffer, size, "%" PRIu64, object->version);
    ret->exists = true;
    ret->uid = object->uid;
    ret->version = buffer;
    ret->deleting = object->deleting;
    ret->node = object->node[0] ? object->node : NULL;
    ret->finished = object->phase >= POD_SUCCEEDED;
    ret->started = object->phase == POD_RUNNING;
    ret->devices_left = devices && devices[strspn(devices, ";:, ")] != '\0';
    ret->bind_phase = hami_bind_phase_parse(object_get(object, KEY_PHASE));
    ret->assigned_node = object_get(object, KEY_ASSIGNED);
    ret->revoked = object_get(object, KEY_REVOKED);
    ret->fence = fence ? strtoull(fence, NULL, 10) : 0;
    ret->done = done ? strtoull(done, NULL, 10) : 0;
}

/* ---- life ---- */

static int watch(struct hami_transport *transport, hami_nodelock *lock)
{
    plain_watch_begin(of(transport)->watch, lock);
    return 0;
}

static void unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    (void)lock;
    plain_watch_end(of(transport)->watch);
}

struct hami_transport *plain_new(struct world *world, int replica)
{
    struct plain *plain = calloc(1, sizeof(*plain));

    plain->world = world;
    plain->replica = replica;
    plain->watch = plain_watch_new(world, replica);
    plain->transport = (struct hami_transport){
        .size = sizeof(plain->transport),
        .name = "plain",
        .flags = world->plan.permits > 1 ? 0 : HAMI_TRANSPORT_ONE_PERMIT,
        .submit = submit,
        .abort = abort_call,
        .inspect = inspect,
        .revoke = revoke,
        .watch = watch,
        .unwatch = unwatch};
    return &plain->transport;
}

void plain_free(struct hami_transport *transport)
{
    struct plain *plain = of(transport);

    plain_watch_free(plain->watch);
    free(plain);
}

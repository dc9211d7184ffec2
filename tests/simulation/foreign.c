/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See foreign.h. One attempt at a time for a pod; its requests meet faults like others.
 */
#include "foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "binder.h"
#include "network.h"
#include "store.h"

#define CALL_TIME (3 * SECOND)
#define TRIES_MAX 5

struct attempt {
    struct world *world;
    struct pod *pod;
    struct node *node;
    struct object *seen; /* the node as read last */
    unsigned tries;
    bool releasing;
};

static void read_node(struct attempt *attempt);

static void end(struct attempt *attempt)
{
    struct world *world = attempt->world;
    struct pod *pod = attempt->pod;

    object_unref(attempt->seen);
    free(attempt);
    pod->active--;
    binder_retry(world, pod, 0);
}

static struct request *ask(struct attempt *attempt, enum verb verb, const char *name,
                           request_fn done)
{
    struct request *request = request_new(attempt->world, verb, name, done, attempt);

    request->writer = WRITER_FOREIGN;
    request->who = "hami";
    return request;
}

static void send(struct attempt *attempt, struct request *request)
{
    request_send(request, world_now(attempt->world) + CALL_TIME);
}

static bool is_ok(const struct request *request)
{
    return request->outcome == OUTCOME_ANSWER && request->status < 300;
}

static bool is_own(const struct attempt *attempt)
{
    const char *lock = object_get(attempt->seen, KEY_LOCK);
    const char *name = lock ? strrchr(lock, ',') : NULL;

    return name && strcmp(name + 1, attempt->pod->name) == 0;
}

/* ---- release ---- */

static void released(struct request *request)
{
    struct attempt *attempt = request->data;

    if (is_ok(request) || ++attempt->tries > TRIES_MAX) {
        end(attempt);
    } else {
        read_node(attempt);
    }
}

static void patch_lock(struct attempt *attempt, const char *value, request_fn done)
{
    struct request *request = ask(attempt, VERB_EDIT_NODE, attempt->node->name, done);

    request_edit(request, HAMI_EDIT_PUT, KEY_LOCK, NULL, value);
    request->edits[0].untested = true;
    (void)snprintf(request->version, sizeof(request->version), "%" PRIu64,
                   attempt->seen->version);
    send(attempt, request);
}

static void release(struct attempt *attempt)
{
    attempt->releasing = true;
    attempt->tries = 0;
    read_node(attempt);
}

/* ---- binding ---- */

static void bound(struct request *request)
{
    struct attempt *attempt = request->data;

    if (is_ok(request)) {
        end(attempt);
    } else {
        release(attempt);
    }
}

static void send_binding(struct attempt *attempt)
{
    struct request *request = ask(attempt, VERB_BIND, attempt->pod->name, bound);

    (void)snprintf(request->node, sizeof(request->node), "%s", attempt->node->name);
    send(attempt, request);
}

/* ---- lock ---- */

static void locked(struct request *request)
{
    struct attempt *attempt = request->data;

    if (is_ok(request)) {
        send_binding(attempt);
    } else if (++attempt->tries > TRIES_MAX) {
        end(attempt);
    } else {
        read_node(attempt);
    }
}

static void take(struct attempt *attempt)
{
    char value[96];
    time_t now = (time_t)(1767323045 + world_now(attempt->world) / SECOND);
    struct tm parts;

    (void)gmtime_r(&now, &parts);
    size_t length = strftime(value, sizeof(value), "%Y-%m-%dT%H:%M:%SZ", &parts);
    (void)snprintf(value + length, sizeof(value) - length, "," NAMESPACE ",%s",
                   attempt->pod->name);
    patch_lock(attempt, value, locked);
}

static void owner_read(struct request *request)
{
    struct attempt *attempt = request->data;

    if (request->outcome == OUTCOME_ANSWER && request->status == 404) {
        take(attempt); /* a dangling lock */
    } else {
        end(attempt);
    }
}

static void node_read(struct request *request)
{
    struct attempt *attempt = request->data;

    if (!is_ok(request)) {
        bool again = attempt->releasing && ++attempt->tries <= TRIES_MAX;
        if (again) {
            read_node(attempt);
        } else {
            end(attempt);
        }
        return;
    }
    object_unref(attempt->seen);
    attempt->seen = object_ref(request->object);
    const char *lock = object_get(attempt->seen, KEY_LOCK);
    const char *name = lock ? strrchr(lock, ',') : NULL;
    if (attempt->releasing) {
        if (is_own(attempt)) {
            patch_lock(attempt, NULL, released);
        } else {
            end(attempt);
        }
    } else if (!lock || !*lock) {
        take(attempt);
    } else if (is_own(attempt)) {
        send_binding(attempt);
    } else if (name) {
        send(attempt, ask(attempt, VERB_GET_POD, name + 1, owner_read));
    } else {
        end(attempt);
    }
}

static void read_node(struct attempt *attempt)
{
    send(attempt, ask(attempt, VERB_GET_NODE, attempt->node->name, node_read));
}

void foreign_bind(struct world *world, struct pod *pod)
{
    struct attempt *attempt = calloc(1, sizeof(*attempt));

    attempt->world = world;
    attempt->pod = pod;
    attempt->node = pod->node;
    pod->active++;
    read_node(attempt);
}

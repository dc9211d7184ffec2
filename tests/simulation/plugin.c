/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device plugin's part of an Allocate, see kubelet.h: read the node, find the pod,
 * write its success, remove the lock. The success and the removal are tried again until
 * they are known to be done; an Allocate that can't read gives up after two seconds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "kubelet_internal.h"
#include "store.h"

#define READ_TIME (2 * SECOND)
#define CALL_TIME (1 * SECOND)

static void end(struct kubelet *kubelet, bool good)
{
    object_unref(kubelet->seen);
    kubelet->seen = NULL;
    kubelet_allocated(kubelet, good);
}

static struct request *ask(struct kubelet *kubelet, enum verb verb, const char *name,
                           request_fn done)
{
    struct request *request = request_new(kubelet->world, verb, name, done, kubelet);

    request->writer =
        kubelet->node->style == PLUGIN_OURS ? WRITER_NODE_SIDE : WRITER_FOREIGN;
    request->who = "plugin";
    if (kubelet->pod->latest && !kubelet->pod->latest->over) {
        request->acquire = kubelet->pod->latest;
    }
    return request;
}

static void send(struct kubelet *kubelet, struct request *request)
{
    request_send(request, world_now(kubelet->world) + CALL_TIME);
}

static bool is_ok(const struct request *request)
{
    return request->outcome == OUTCOME_ANSWER && request->status < 300;
}

/* It is known that it was refused. */
static bool is_refused(const struct request *request)
{
    return request->outcome == OUTCOME_ANSWER && request->status < 500 &&
           request->status != 429 && request->status >= 300;
}

/* ---- the lock ---- */

static const char *lock_in(const struct kubelet *kubelet, const struct slot *slot)
{
    return object_get(kubelet->seen, slot->lock);
}

/* The one that HAMi's plugins know. */
static const char *lock_of(const struct kubelet *kubelet)
{
    return lock_in(kubelet, &kubelet->world->slots[0]);
}

/* The lock names the served pod by its name. */
static bool is_named(const struct kubelet *kubelet, const struct slot *slot)
{
    const char *lock = lock_in(kubelet, slot);
    const char *name = lock ? strrchr(lock, ',') : NULL;

    return name && strcmp(name + 1, kubelet->served->name) == 0;
}

/* A member of the lease, if the lease belongs to the lock; "" else. */
static const char *lease_member(const struct kubelet *kubelet, const struct slot *slot,
                                const char *name, char buffer[40])
{
    const char *text = object_get(kubelet->seen, slot->lease);
    json_t *lease = text ? json_loads(text, 0, NULL) : NULL;
    const char *value = json_string_value(json_object_get(lease, "lock"));
    const char *lock = lock_in(kubelet, slot);
    bool own = value && lock && strcmp(value, lock) == 0;
    const char *member = own ? json_string_value(json_object_get(lease, name)) : NULL;

    (void)snprintf(buffer, 40, "%s", member ? member : "");
    json_decref(lease);
    return buffer;
}

static bool is_ours(const struct kubelet *kubelet, const struct slot *slot)
{
    char uid[40];

    (void)lease_member(kubelet, slot, "uid", uid);
    return uid[0] ? strcmp(uid, kubelet->served_uid) == 0 : is_named(kubelet, slot);
}

/* The first of the served pod's records; NULL = it has none. */
static const struct slot *own_slot(const struct kubelet *kubelet)
{
    const struct world *world = kubelet->world;

    for (size_t i = 0; i < world->slot_count; i++) {
        if (is_ours(kubelet, &world->slots[i])) {
            return &world->slots[i];
        }
    }
    return NULL;
}

/* ---- the release ---- */

static void look_again(struct kubelet *kubelet);

static void removed(struct request *request)
{
    struct kubelet *kubelet = request->data;

    if (is_ok(request)) {
        end(kubelet, true);
    } else {
        look_again(kubelet);
    }
}

static void edit_out(const struct kubelet *kubelet, const struct slot *slot,
                     struct request *request)
{
    const char *lease = object_get(kubelet->seen, slot->lease);
    char fence[40], memory[80];

    (void)lease_member(kubelet, slot, "fence", fence);
    (void)snprintf(memory, sizeof(memory), "{\"version\":1,\"fence\":\"%s\"}", fence);
    request_edit(request, HAMI_EDIT_PUT, slot->lock, lock_in(kubelet, slot), NULL);
    if (fence[0]) {
        request_edit(request, HAMI_EDIT_PUT, slot->lease, lease, memory);
    } else {
        request_edit(request, HAMI_EDIT_TEST, slot->lease, lease, NULL);
    }
}

/* All records of the pod in one write. */
static void remove_ours(struct kubelet *kubelet)
{
    struct request *request = ask(kubelet, VERB_EDIT_NODE, kubelet->node->name, removed);
    const struct world *world = kubelet->world;

    for (size_t i = 0; i < world->slot_count; i++) {
        if (lock_in(kubelet, &world->slots[i]) && is_ours(kubelet, &world->slots[i])) {
            edit_out(kubelet, &world->slots[i], request);
        }
    }
    for (size_t i = 0; i < request->edit_count; i++) {
        request->edits[i].untested = world->plan.broken == BROKEN_PLUGIN;
    }
    send(kubelet, request);
}

/* A merge patch with the version that was read. */
static void remove_as_hami(struct kubelet *kubelet)
{
    struct request *request = ask(kubelet, VERB_EDIT_NODE, kubelet->node->name, removed);

    request_edit(request, HAMI_EDIT_PUT, KEY_LOCK, NULL, NULL);
    request->edits[0].untested = true;
    (void)snprintf(request->version, sizeof(request->version), "%" PRIu64,
                   kubelet->seen->version);
    send(kubelet, request);
}

static void seen_again(struct request *request)
{
    struct kubelet *kubelet = request->data;
    bool blind = kubelet->node->style == PLUGIN_HAMI_27 && kubelet->tries > 0;

    if (is_refused(request)) {
        end(kubelet, true); /* the node is gone, and the lock with it */
        return;
    }
    if (!is_ok(request)) {
        look_again(kubelet);
        return;
    }
    object_unref(kubelet->seen);
    kubelet->seen = object_ref(request->object);
    bool still =
        kubelet->node->style == PLUGIN_OURS
            ? own_slot(kubelet) != NULL
            : lock_of(kubelet) && (blind || is_named(kubelet, &kubelet->world->slots[0]));
    kubelet->tries++;
    if (!still) {
        end(kubelet, true);
    } else if (kubelet->node->style == PLUGIN_OURS) {
        remove_ours(kubelet);
    } else {
        remove_as_hami(kubelet);
    }
}

static void look_again(struct kubelet *kubelet)
{
    send(kubelet, ask(kubelet, VERB_GET_NODE, kubelet->node->name, seen_again));
}

/* ---- a lock that the scheduler side frees ---- */

#define LEFT_TIME (2 * SECOND)

static bool is_left(const struct kubelet *kubelet)
{
    const struct slot *slot = own_slot(kubelet);
    char free[40];

    return kubelet->node->style == PLUGIN_OURS && kubelet->world->slot_count == 1 &&
           slot && strcmp(lease_member(kubelet, slot, "free", free), "scheduler") == 0;
}

static void ignore(struct request *request)
{
    (void)request;
}

static void looked(struct request *request)
{
    const struct kubelet *kubelet = request->data;
    struct kubelet look = {
        .world = kubelet->world, .node = kubelet->node, .seen = request->object};
    const struct slot *slot = &look.world->slots[0];
    char uid[40];

    if (!is_ok(request) || !look.seen ||
        strcmp(lease_member(&look, slot, "uid", uid), kubelet->left_uid) != 0) {
        return;
    }
    struct request *removal =
        request_new(look.world, VERB_EDIT_NODE, look.node->name, ignore, NULL);
    removal->writer = WRITER_NODE_SIDE;
    removal->who = "agent";
    edit_out(&look, slot, removal);
    request_send(removal, world_now(look.world) + CALL_TIME);
}

static void look_due(struct world *world, void *subject, uint64_t number)
{
    struct kubelet *kubelet = subject;

    if (world->over || number != kubelet->left_number) {
        return; /* another pod was served since */
    }
    struct request *request =
        request_new(world, VERB_GET_NODE, kubelet->node->name, looked, kubelet);
    request->writer = WRITER_NODE_SIDE;
    request->who = "agent";
    request_send(request, world_now(world) + CALL_TIME);
}

/* An agent that dies meanwhile does it when it is back. */
static void leave_lock(struct kubelet *kubelet)
{
    bool dies = !kubelet->world->calm &&
                engine_chance(&kubelet->world->engine, RANDOM_WORK, 50000);
    uint64_t later = dies ? 10 * LEFT_TIME : LEFT_TIME;

    (void)snprintf(kubelet->left_uid, sizeof(kubelet->left_uid), "%s",
                   kubelet->served_uid);
    engine_add(&kubelet->world->engine, world_now(kubelet->world) + later, -1, look_due,
               kubelet, ++kubelet->left_number);
    end(kubelet, true);
}

/* ---- the pod ---- */

static void write_success(struct kubelet *kubelet);

static void written(struct request *request)
{
    struct kubelet *kubelet = request->data;

    if (!is_ok(request) && !is_refused(request)) {
        write_success(kubelet);
        return;
    }
    bool forgets = kubelet->node->style != PLUGIN_OURS && !kubelet->world->calm &&
                   engine_chance(&kubelet->world->engine, RANDOM_WORK, 10000);
    if (is_refused(request)) {
        end(kubelet, false); /* the pod is gone */
    } else if (forgets) {
        end(kubelet, true); /* a plugin that does not release */
    } else if (is_left(kubelet)) {
        leave_lock(kubelet);
    } else {
        look_again(kubelet);
    }
}

static void write_success(struct kubelet *kubelet)
{
    struct request *request = ask(kubelet, VERB_SERVE, kubelet->served->name, written);
    const struct slot *slot = own_slot(kubelet);
    char fence[40];

    (void)snprintf(request->uid, sizeof(request->uid), "%s", kubelet->served_uid);
    if (kubelet->node->style == PLUGIN_OURS && slot) {
        (void)lease_member(kubelet, slot, "fence", fence);
        request->fence = strtoull(fence, NULL, 10);
    }
    send(kubelet, request);
}

static void serve(struct kubelet *kubelet, struct pod *pod)
{
    kubelet->served = pod;
    (void)snprintf(kubelet->served_uid, sizeof(kubelet->served_uid), "%s",
                   pod->object->uid);
    checker_allocated(kubelet->world, kubelet->node, kubelet->caller, pod->object);
    write_success(kubelet);
}

/* ---- whose Allocate is it ---- */

static bool has_device(const struct object *object)
{
    const char *text = object_get(object, KEY_DEVICES);

    return text && text[strspn(text, ";:, ")] != '\0';
}

/* One pod can be the caller, and the lock names none but it: that one. Else NULL. */
static struct pod *only_candidate(struct kubelet *kubelet)
{
    struct pod *found = NULL;

    for (size_t i = 0; i < kubelet->bound_count; i++) {
        struct pod *pod = kubelet->bound[i];
        const struct object *object = pod->object;
        if (!object || strcmp(object->node, kubelet->node->name) != 0 ||
            object->phase != POD_PENDING) {
            continue;
        }
        /* Served, but the kubelet does not list it: it may ask again. */
        bool again = !has_device(object) && strcmp(pod->admitted, object->uid) != 0;
        if (has_device(object) || again) {
            if (found) {
                return NULL;
            }
            found = pod;
        }
    }
    if (!found) {
        return NULL;
    }
    kubelet->served = found;
    (void)snprintf(kubelet->served_uid, sizeof(kubelet->served_uid), "%s",
                   found->object->uid);
    return !lock_of(kubelet) || own_slot(kubelet) ? found : NULL;
}

/*
 * Where several pods may have their devices handed out at a time, a plugin has to be told
 * who calls. Then it only looks whether that pod has all its locks, or was served
 * before.
 */
static struct pod *told_caller(struct kubelet *kubelet)
{
    const struct world *world = kubelet->world;
    struct pod *pod = kubelet->pod;
    unsigned held = 0;

    if (!pod->object || strcmp(pod->object->uid, kubelet->caller->uid) != 0 ||
        pod->object->phase != POD_PENDING) {
        return NULL;
    }
    kubelet->served = pod;
    (void)snprintf(kubelet->served_uid, sizeof(kubelet->served_uid), "%s",
                   pod->object->uid);
    for (size_t i = 0; i < world->slot_count; i++) {
        held |= is_ours(kubelet, &world->slots[i]) ? 1u << world->slots[i].key : 0;
    }
    return held == pod->keys || !has_device(pod->object) ? pod : NULL;
}

static struct pod *named_pod(struct kubelet *kubelet)
{
    const char *lock = lock_of(kubelet);
    const char *name = lock ? strrchr(lock, ',') : NULL;
    struct pod *pod = name ? store_pod(kubelet->world, name + 1) : NULL;

    return pod && pod->object ? pod : NULL;
}

static void read_node(struct kubelet *kubelet);

static void node_read(struct request *request)
{
    struct kubelet *kubelet = request->data;

    if (!is_ok(request)) {
        if (is_refused(request) || world_now(kubelet->world) >= kubelet->end_ns) {
            end(kubelet, false);
        } else {
            read_node(kubelet);
        }
        return;
    }
    object_unref(kubelet->seen);
    kubelet->seen = object_ref(request->object);
    struct pod *pod = kubelet->world->slot_count > 1        ? told_caller(kubelet)
                      : kubelet->node->style == PLUGIN_OURS ? only_candidate(kubelet)
                                                            : named_pod(kubelet);
    if (pod) {
        serve(kubelet, pod);
    } else {
        end(kubelet, false);
    }
}

static void read_node(struct kubelet *kubelet)
{
    send(kubelet, ask(kubelet, VERB_GET_NODE, kubelet->node->name, node_read));
}

void plugin_allocate(struct kubelet *kubelet)
{
    kubelet->tries = 0;
    kubelet->end_ns = world_now(kubelet->world) + READ_TIME;
    read_node(kubelet);
}

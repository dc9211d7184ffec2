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

#include "asks.h"
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

/* All records of the pod in one write. */
static void remove_ours(struct kubelet *kubelet)
{
    struct request *request = ask(kubelet, VERB_EDIT_NODE, kubelet->node->name, removed);
    const struct world *world = kubelet->world;

    if (world->plan.beside) {
        plugin_edit_out(kubelet, plugin_own_slot(kubelet), request);
    }
    for (size_t i = 0; i < world->slot_count && !world->plan.beside; i++) {
        const struct slot *slot = &world->slots[i];
        if (object_get(kubelet->seen, slot->lock) && plugin_is_ours(kubelet, slot)) {
            plugin_edit_out(kubelet, slot, request);
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
    bool still = kubelet->node->style == PLUGIN_OURS
                     ? plugin_own_slot(kubelet) != NULL
                     : plugin_lock(kubelet) &&
                           (blind || plugin_is_named(kubelet, &kubelet->world->slots[0]));
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
    const struct world *world = kubelet->world;
    const struct slot *slot = plugin_own_slot(kubelet);
    char free[40];

    return kubelet->node->style == PLUGIN_OURS &&
           (world->slot_count == 1 || world->plan.beside) && slot &&
           strcmp(plugin_member(kubelet, slot, "free", free), "scheduler") == 0;
}

/* A lock that was left, until it is looked for. */
struct left {
    struct kubelet *kubelet;
    char uid[40];
};

static void ignore(struct request *request)
{
    (void)request;
}

static void looked(struct request *request)
{
    struct left *left = request->data;
    struct kubelet look = {.world = left->kubelet->world,
                           .node = left->kubelet->node,
                           .seen = request->object};
    const struct slot *slot =
        is_ok(request) && look.seen ? plugin_slot_of(&look, left->uid) : NULL;

    free(left);
    if (!slot) {
        return;
    }
    struct request *removal =
        request_new(look.world, VERB_EDIT_NODE, look.node->name, ignore, NULL);
    removal->writer = WRITER_NODE_SIDE;
    removal->who = "agent";
    plugin_edit_out(&look, slot, removal);
    request_send(removal, world_now(look.world) + CALL_TIME);
}

static void look_due(struct world *world, void *subject, uint64_t number)
{
    struct left *left = subject;
    struct kubelet *kubelet = left->kubelet;

    /* Where one is served after the other, another one since says that it was freed. */
    if (world->over || (number != kubelet->left_number && !world->plan.beside)) {
        free(left);
        return;
    }
    struct request *request =
        request_new(world, VERB_GET_NODE, kubelet->node->name, looked, left);
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
    struct left *left = calloc(1, sizeof(*left));

    left->kubelet = kubelet;
    (void)snprintf(left->uid, sizeof(left->uid), "%s", kubelet->served_uid);
    engine_add(&kubelet->world->engine, world_now(kubelet->world) + later, -1, look_due,
               left, ++kubelet->left_number);
    end(kubelet, true);
}

/* ---- the pod ---- */

static bool has_device(const struct object *object)
{
    const char *text = object_get(object, KEY_DEVICES);

    return text && text[strspn(text, ";:, ")] != '\0';
}

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
    } else if (has_device(request->object)) {
        end(kubelet, true); /* its other containers come later */
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
    const struct slot *slot = plugin_own_slot(kubelet);
    char fence[40];

    request->container = kubelet->served_container;
    (void)snprintf(request->uid, sizeof(request->uid), "%s", kubelet->served_uid);
    if (kubelet->node->style == PLUGIN_OURS && slot) {
        (void)plugin_member(kubelet, slot, "fence", fence);
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

/* A container of the pod that this call can be for: one that has devices left, or was
 * served and is not on the kubelet's books. CALLS_MAX = none. */
static unsigned find_container(const struct kubelet *kubelet, const struct pod *pod)
{
    const char *devices = object_get(pod->object, KEY_DEVICES);
    uint8_t call = kubelet->pod->calls[kubelet->container];
    unsigned again = CALLS_MAX;

    for (unsigned i = 0; i < pod->call_count; i++) {
        if (pod->calls[i] == call && asks_is_left(devices, i)) {
            return i;
        }
        if (pod->calls[i] == call && !kubelet_has_booked(pod, i)) {
            again = i;
        }
    }
    return again;
}

/* One pod can be the caller, and the lock names none but it: that one. Else NULL. */
static struct pod *only_candidate(struct kubelet *kubelet)
{
    struct pod *found = NULL;

    for (size_t i = 0; i < kubelet->bound_count; i++) {
        struct pod *pod = kubelet->bound[i];
        const struct object *object = pod->object;
        if (!object || strcmp(object->node, kubelet->node->name) != 0 ||
            object->phase != POD_PENDING || find_container(kubelet, pod) == CALLS_MAX) {
            continue;
        }
        if (found) {
            return NULL;
        }
        found = pod;
    }
    if (!found) {
        return NULL;
    }
    kubelet->served = found;
    kubelet->served_container = find_container(kubelet, found);
    (void)snprintf(kubelet->served_uid, sizeof(kubelet->served_uid), "%s",
                   found->object->uid);
    return plugin_lock_allows(kubelet) || plugin_own_slot(kubelet) ? found : NULL;
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
    kubelet->served_container = kubelet->container;
    (void)snprintf(kubelet->served_uid, sizeof(kubelet->served_uid), "%s",
                   pod->object->uid);
    for (size_t i = 0; i < world->slot_count; i++) {
        held |= plugin_is_ours(kubelet, &world->slots[i]) ? 1u << world->slots[i].key : 0;
    }
    return held == pod->keys || !has_device(pod->object) ? pod : NULL;
}

static struct pod *named_pod(struct kubelet *kubelet)
{
    const char *lock = plugin_lock(kubelet);
    const char *name = lock ? strrchr(lock, ',') : NULL;
    struct pod *pod = name ? store_pod(kubelet->world, name + 1) : NULL;
    const char *devices = pod ? object_get(pod->object, KEY_DEVICES) : NULL;
    unsigned container = 0;

    while (pod && container + 1 < pod->call_count && !asks_is_left(devices, container)) {
        container++;
    }
    kubelet->served_container = container;
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
    const struct world *world = kubelet->world;
    struct pod *pod = world->slot_count > 1 && !world->plan.beside ? told_caller(kubelet)
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

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See checker.h: windows. A pod is in its window from its Binding to the success that the
 * plugin writes (or Running, or its end). More pods of one node and key in their windows
 * than the key has permits, or pods that are not distinct (checker_beside.c), or more of
 * those than may be, are a double hold; a Binding that lands without the pod's lock
 * is a lost lock.
 *
 * Excused is only a pod that our rules can't protect: one whose lock was taken away by
 * somebody who does not follow them (checker_locks.c), or with its node; and a Binding of
 * the HAMi scheduler, which goes by the name alone, for a pod that was made anew or whose
 * lock had passed its age.
 */
#include "checker_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "trace.h"

void checker_start(struct world *world)
{
    world->checker = calloc(1, sizeof(*world->checker));
    world->checker->nodes = calloc(world->plan.nodes, sizeof(*world->checker->nodes));
}

void checker_done(struct world *world)
{
    free(world->checker->nodes);
    free(world->checker->pods);
    free(world->checker);
    world->checker = NULL;
}

void checker_violation(struct world *world, uint64_t *counter, const struct node *node,
                       const char *format, ...)
{
    struct result *result = &world->result;
    va_list arguments;

    ++*counter;
    if (result->first_step != 0) {
        return;
    }
    result->first_step = world->step ? world->step : 1;
    va_start(arguments, format);
    (void)vsnprintf(result->first, sizeof(result->first), format, arguments);
    va_end(arguments);
    trace_line(world, node, "VIOLATION: %s", result->first);
    trace_print(world, node);
}

/* ---- reading values ---- */

const char *checker_member(const char *lease, const char *name, char *buffer, size_t size)
{
    char pattern[48];

    (void)snprintf(pattern, sizeof(pattern), "\"%s\":\"", name);
    const char *at = lease ? strstr(lease, pattern) : NULL;
    buffer[0] = '\0';
    if (at) {
        at += strlen(pattern);
        size_t length = strcspn(at, "\"");
        (void)snprintf(buffer, size, "%.*s", (int)length, at);
    }
    return buffer;
}

uint64_t checker_fence(const char *lease)
{
    char text[32];

    return strtoull(checker_member(lease, "fence", text, sizeof(text)), NULL, 10);
}

bool checker_is_own_lease(const char *lock, const char *lease)
{
    char text[400];

    return lock && lease &&
           strcmp(checker_member(lease, "lock", text, sizeof(text)), lock) == 0;
}

const char *checker_owner(struct world *world, const struct object *node,
                          const struct slot *slot)
{
    struct checker *checker = world->checker;
    const char *lock = object_get(node, slot->lock),
               *lease = object_get(node, slot->lease);

    checker->owner[0] = '\0';
    if (!lock || !*lock || checker_is_cover(world, node, slot)) {
        return checker->owner;
    }
    if (checker_is_own_lease(lock, lease)) {
        return checker_member(lease, "uid", checker->owner, sizeof(checker->owner));
    }
    const struct pod *pod = store_named(world, lock);
    if (pod && pod->object) {
        (void)snprintf(checker->owner, sizeof(checker->owner), "%s", pod->object->uid);
    }
    return checker->owner;
}

bool checker_has_locks(struct world *world, const struct object *node,
                       const struct pod *pod, const char *uid)
{
    unsigned found = 0;

    for (size_t i = 0; i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        if (strcmp(checker_owner(world, node, slot), uid) == 0) {
            found |= 1u << slot->key;
        }
    }
    return (pod->keys & ~found) == 0;
}

struct seen_pod *checker_see(struct world *world, uint32_t index)
{
    struct checker *checker = world->checker;

    if (index >= checker->pod_count) {
        size_t count = 2 * (size_t)index + 64;
        checker->pods = realloc(checker->pods, count * sizeof(*checker->pods));
        for (size_t i = checker->pod_count; i < count; i++) {
            checker->pods[i] = (struct seen_pod){.node = -1};
        }
        checker->pod_count = count;
    }
    return &checker->pods[index];
}

/* ---- windows ---- */

static void leave(struct world *world, uint32_t index)
{
    struct seen_pod *pod = checker_see(world, index);

    if (pod->node < 0) {
        return;
    }
    struct seen_node *node = &world->checker->nodes[pod->node];
    for (size_t i = 0; i < node->window_count; i++) {
        if (node->window[i] == index) {
            node->window[i] = node->window[--node->window_count];
            break;
        }
    }
    pod->node = -1;
}

/* More than a key's permits wait for their Allocates. */
static void check_doubles(struct world *world, const struct node *node,
                          const struct pod *pod, const char *uid)
{
    const struct seen_node *seen = &world->checker->nodes[node->index];

    for (uint32_t key = 0; key < world->plan.keys; key++) {
        uint32_t others = 0, beside = 0, other = 0;
        for (size_t i = 0; i < seen->window_count; i++) {
            uint32_t index = seen->window[i];
            bool counts = !checker_see(world, index)->excused &&
                          (world->pods[index]->keys & pod->keys) >> key & 1;
            bool distinct =
                counts && checker_are_distinct(world, world->pods[index], pod);
            beside += distinct;
            others += counts && !distinct;
            other = counts && (!distinct || beside >= world->plan.beside) ? index : other;
        }
        world->result.bound_beside += key == 0 && beside > 0;
        if (others >= world->plan.permits ||
            (beside > 0 && beside >= world->plan.beside)) {
            checker_violation(world, &world->result.double_holds, node,
                              "%s (%s) was bound to %s while pod-%u waits for Allocate",
                              pod->name, uid, node->name, other);
            return;
        }
    }
}

static void note_in_flight(struct world *world, const struct seen_node *place)
{
    uint64_t count = 0;

    for (size_t i = 0; i < place->window_count; i++) {
        count += !checker_see(world, place->window[i])->excused;
    }
    if (count > world->result.in_flight_max) {
        world->result.in_flight_max = count;
    }
}

static void enter(struct world *world, const struct pod *pod, const struct object *after,
                  enum writer writer)
{
    struct node *node = store_node(world, after->node);
    struct seen_pod *seen = checker_see(world, pod->index);

    if (!node) {
        return;
    }
    struct seen_node *place = &world->checker->nodes[node->index];
    bool named = checker_has_locks(world, node->object, pod, after->uid);
    bool by_name = writer == WRITER_FOREIGN && (seen->anew || seen->aged);
    if (!node->object || (!named && by_name)) {
        seen->excused = true;
    } else if (!seen->excused && !seen->lost && !named) {
        checker_violation(world, &world->result.lost_locks, node,
                          "%s (%s) was bound to %s without its lock", pod->name,
                          after->uid, node->name);
        seen->lost = true;
    }
    if (!seen->excused) {
        check_doubles(world, node, pod, after->uid);
    }
    seen->node = (int)node->index;
    if (place->window_count == CHECKER_WINDOW_MAX) {
        abort();
    }
    place->window[place->window_count++] = pod->index;
    note_in_flight(world, place);
}

static bool has_device(const struct object *object)
{
    const char *text = object_get(object, KEY_DEVICES);

    return text && text[strspn(text, ";:, ")] != '\0';
}

static bool is_waiting(const struct object *pod)
{
    const char *phase = object_get(pod, KEY_PHASE);
    bool served = phase && strcmp(phase, "success") == 0 && !has_device(pod);

    return pod->node[0] && pod->phase == POD_PENDING && !served;
}

/* `<node>,<fence>,..`, as it is written onto a pod that is not bound. */
static void note_revocation(struct world *world, struct seen_pod *seen,
                            const struct object *before, const struct object *after)
{
    const char *was = object_get(before, KEY_REVOKED),
               *text = object_get(after, KEY_REVOKED);
    char name[32];

    if (!text || (was && strcmp(was, text) == 0)) {
        return;
    }
    size_t length = strcspn(text, ",");
    (void)snprintf(name, sizeof(name), "%.*s", (int)length, text);
    const struct node *node = store_node(world, name);
    if (node && text[length] == ',' && !after->node[0]) {
        size_t at = seen->revoked_count++ % CHECKER_REVOCATIONS_MAX;
        seen->revoked[at].node = (int)node->index;
        seen->revoked[at].fence = strtoull(text + length + 1, NULL, 10);
    }
}

void checker_pod(struct world *world, struct pod *pod, const struct object *before,
                 const struct object *after, enum writer writer)
{
    struct seen_pod *seen = checker_see(world, pod->index);

    if (after && strcmp(seen->uid, after->uid) != 0) {
        leave(world, pod->index);
        seen->anew = seen->uid[0] != '\0';
        seen->made_ns = world_now(world);
        (void)snprintf(seen->uid, sizeof(seen->uid), "%s", after->uid);
        seen->excused = seen->lost = seen->aged = seen->beside = false;
        seen->revoked_count = 0;
    }
    if (after) {
        note_revocation(world, seen, before, after);
    }
    bool waits = after && is_waiting(after);
    if (waits && seen->node < 0) {
        enter(world, pod, after, writer);
    } else if (!waits) {
        leave(world, pod->index);
    }
}

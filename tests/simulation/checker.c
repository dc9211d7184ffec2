/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See checker.h. A pod is in its window from its Binding to the success that the plugin
 * writes (or Running, or its end). Two pods of one node in their windows are a double
 * hold; a lock that one of ours takes away from a pod in its window, or a Binding that
 * lands without the pod's lock, is a lost lock. A pod whose lock was taken away by
 * somebody else (a plugin that does not look, a node that was deleted) is excused.
 */
#include "checker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "trace.h"

#define WINDOW_MAX 64

struct seen_pod {
    char uid[40];
    int node; /* in its window there; -1 = in none */
    bool excused;
    uint64_t again; /* fence of its last lock that replaced one of its own; 0 = none */
    struct {
        uint32_t incarnation;
        char uid[40];
        uint64_t fence;
    } granted[REPLICAS_MAX]; /* its last grant there */
};

struct seen_node {
    uint32_t window[WINDOW_MAX]; /* pods */
    size_t window_count;
    uint64_t fence; /* largest granted */
};

struct checker {
    struct seen_node *nodes;
    struct seen_pod *pods;
    size_t pod_count;
    char owner[40];
};

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

static const char *member(const char *lease, const char *name, char *buffer, size_t size)
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

static uint64_t fence_of(const char *lease)
{
    char text[32];

    return strtoull(member(lease, "fence", text, sizeof(text)), NULL, 10);
}

static bool is_own_lease(const char *lock, const char *lease)
{
    char text[400];

    return lock && lease && strcmp(member(lease, "lock", text, sizeof(text)), lock) == 0;
}

const char *checker_owner(struct world *world, const struct object *node)
{
    struct checker *checker = world->checker;
    const char *lock = object_get(node, KEY_LOCK), *lease = object_get(node, KEY_LEASE);

    checker->owner[0] = '\0';
    if (!lock || !*lock) {
        return checker->owner;
    }
    if (is_own_lease(lock, lease)) {
        return member(lease, "uid", checker->owner, sizeof(checker->owner));
    }
    const char *name = strrchr(lock, ',');
    const struct pod *pod = name ? store_pod(world, name + 1) : NULL;
    if (pod && pod->object) {
        (void)snprintf(checker->owner, sizeof(checker->owner), "%s", pod->object->uid);
    }
    return checker->owner;
}

static struct seen_pod *see(struct world *world, uint32_t index)
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
    struct seen_pod *pod = see(world, index);

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

static void enter(struct world *world, const struct pod *pod, const struct object *after,
                  enum writer writer)
{
    struct node *node = store_node(world, after->node);
    struct seen_pod *seen = see(world, pod->index);

    if (!node) {
        return;
    }
    struct seen_node *place = &world->checker->nodes[node->index];
    bool named = strcmp(checker_owner(world, node->object), after->uid) == 0;
    if (!node->object || (writer == WRITER_FOREIGN && !named)) {
        seen->excused = true;
    } else if (!seen->excused && !named) {
        checker_violation(world, &world->result.lost_locks, node,
                          "%s (%s) was bound to %s without its lock", pod->name,
                          after->uid, node->name);
        seen->excused = true;
    }
    for (size_t i = 0; i < place->window_count; i++) {
        const struct seen_pod *other = see(world, place->window[i]);
        if (!other->excused && !see(world, pod->index)->excused) {
            checker_violation(world, &world->result.double_holds, node,
                              "%s (%s) was bound to %s while pod-%u waits for Allocate",
                              pod->name, after->uid, node->name, place->window[i]);
        }
    }
    see(world, pod->index)->node = (int)node->index;
    if (place->window_count == WINDOW_MAX) {
        abort();
    }
    place->window[place->window_count++] = pod->index;
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

void checker_pod(struct world *world, struct pod *pod, const struct object *before,
                 const struct object *after, enum writer writer)
{
    struct seen_pod *seen = see(world, pod->index);

    (void)before;
    if (after && strcmp(seen->uid, after->uid) != 0) {
        leave(world, pod->index);
        (void)snprintf(seen->uid, sizeof(seen->uid), "%s", after->uid);
        seen->excused = false;
    }
    bool waits = after && is_waiting(after);
    if (waits && seen->node < 0) {
        enter(world, pod, after, writer);
    } else if (!waits) {
        leave(world, pod->index);
    }
}

/* ---- locks ---- */

static void check_fence(struct world *world, struct node *node,
                        const struct object *before, const struct object *after,
                        enum writer writer)
{
    struct seen_node *seen = &world->checker->nodes[node->index];
    const char *lease = object_get(after, KEY_LEASE),
               *was = object_get(before, KEY_LEASE);
    const char *lock = object_get(after, KEY_LOCK);
    uint64_t fence = fence_of(lease);

    bool ours = writer == WRITER_OURS || writer == WRITER_NODE_SIDE;

    if (!ours || !lease || (was && strcmp(was, lease) == 0)) {
        return;
    }
    bool grant = is_own_lease(lock, lease);
    if (fence < seen->fence || (grant && fence == seen->fence)) {
        checker_violation(world, &world->result.fence_violations, node,
                          "fence %" PRIu64 " of %s after %" PRIu64, fence, node->name,
                          seen->fence);
    }
    if (fence > seen->fence) {
        seen->fence = fence;
    }
}

static struct seen_pod *named(struct world *world, const struct object *node)
{
    const char *lock = object_get(node, KEY_LOCK);
    const char *name = lock ? strrchr(lock, ',') : NULL;
    const struct pod *pod = name ? store_pod(world, name + 1) : NULL;

    return pod ? see(world, pod->index) : NULL;
}

static void note_reentry(struct world *world, const char *owner_before,
                         const struct object *after)
{
    struct seen_pod *seen = named(world, after);

    if (seen) {
        bool own = strcmp(owner_before, checker_owner(world, after)) == 0;
        seen->again = own ? fence_of(object_get(after, KEY_LEASE)) : 0;
    }
}

void checker_node(struct world *world, struct node *node, const struct object *before,
                  const struct object *after, enum writer writer)
{
    char owner[40];

    (void)snprintf(owner, sizeof(owner), "%s", checker_owner(world, before));
    check_fence(world, node, before, after, writer);
    note_reentry(world, owner, after);
    if (owner[0] == '\0' || strcmp(owner, checker_owner(world, after)) == 0) {
        return;
    }
    struct seen_pod *seen = named(world, before);
    if (!seen || strcmp(seen->uid, owner) != 0) {
        return;
    }
    if (writer == WRITER_FOREIGN || writer == WRITER_WORLD) {
        seen->excused = true;
    } else if (seen->node == (int)node->index && !seen->excused) {
        checker_violation(world, &world->result.lost_locks, node,
                          "the lock of %s on %s was taken before its Allocate", owner,
                          node->name);
        seen->excused = true;
    }
}

/* ---- order, devices ---- */

/* A lock that is its own already is given to a pod out of turn, whoever waits: another
 * share of the grant that it has from this process, or one that replaced its own. */
static bool is_reentry(struct world *world, const struct acquire *acquire)
{
    struct seen_pod *seen = see(world, acquire->pod->index);
    uint64_t fence = hami_lease_fence(acquire->lease);
    int at = acquire->replica;
    bool same = seen->granted[at].incarnation == acquire->incarnation &&
                seen->granted[at].fence == fence &&
                strcmp(seen->granted[at].uid, acquire->uid) == 0;

    seen->granted[at].incarnation = acquire->incarnation;
    seen->granted[at].fence = fence;
    (void)snprintf(seen->granted[at].uid, sizeof(seen->granted[at].uid), "%s",
                   acquire->uid);
    return same || seen->again == fence;
}

void checker_granted(struct world *world, const struct acquire *acquire)
{
    const struct node *node = acquire->node;
    bool own = is_reentry(world, acquire);

    world->result.queue_sum += node->waiting;
    world->result.queue_count++;
    for (const struct acquire *at = own ? NULL : node->first[acquire->replica]; at;
         at = at->next) {
        if (at == acquire || at->leaving || at->priority != acquire->priority ||
            !at->place_sure || at->place >= acquire->place ||
            at->since_ns > acquire->sent_ns) {
            /* Also: who comes back when the take is on its way is late. */
            continue;
        }
        checker_violation(world, &world->result.fifo_violations, node,
                          "%s (place %" PRIu64 ") was granted %s before %s (place "
                          "%" PRIu64 ") in replica %d",
                          acquire->pod->name, acquire->place, node->name, at->pod->name,
                          at->place, acquire->replica);
    }
}

void checker_allocated(struct world *world, const struct node *node,
                       const struct object *caller, const struct object *served)
{
    const struct pod *pod = store_pod(world, caller->name);
    const struct seen_pod *one = see(world, pod->index);
    /* A pod that was deleted by force may have an Allocate under way; nobody can know. */
    bool gone = !pod->object || strcmp(pod->object->uid, caller->uid) != 0;
    bool excused = gone || one->excused;

    one = see(world, store_pod(world, served->name)->index);
    excused = excused || one->excused;
    if (strcmp(caller->uid, served->uid) != 0 && !excused) {
        checker_violation(world, &world->result.wrong_devices, node,
                          "%s (%s) got the devices of %s (%s)", caller->name, caller->uid,
                          served->name, served->uid);
    }
}

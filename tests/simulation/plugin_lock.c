/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's locks as a plugin looks at them, see kubelet_internal.h: whose they are, which
 * one lets a pod be served, and how one is freed. Side by side a pod's lock is in a
 * permit, and the first record is the cover: a copy of the permit's that was taken last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubelet_internal.h"
#include "store.h"

static const char *lock_in(const struct kubelet *kubelet, const struct slot *slot)
{
    const char *lock = object_get(kubelet->seen, slot->lock);

    return lock && *lock ? lock : NULL;
}

const char *plugin_lock(const struct kubelet *kubelet)
{
    return object_get(kubelet->seen, kubelet->world->slots[0].lock);
}

bool plugin_is_named(const struct kubelet *kubelet, const struct slot *slot)
{
    const char *lock = lock_in(kubelet, slot);
    const char *name = lock ? strrchr(lock, ',') : NULL;

    return name && strcmp(name + 1, kubelet->served->name) == 0;
}

const char *plugin_member(const struct kubelet *kubelet, const struct slot *slot,
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

bool plugin_is_ours(const struct kubelet *kubelet, const struct slot *slot)
{
    char uid[40];

    (void)plugin_member(kubelet, slot, "uid", uid);
    return uid[0] ? strcmp(uid, kubelet->served_uid) == 0
                  : plugin_is_named(kubelet, slot);
}

static uint64_t fence_in(const struct kubelet *kubelet, const struct slot *slot)
{
    char fence[40];

    return strtoull(plugin_member(kubelet, slot, "fence", fence), NULL, 10);
}

static bool has_calls(const struct kubelet *kubelet, const struct slot *slot)
{
    char calls[40];

    return plugin_member(kubelet, slot, "calls", calls)[0] != '\0';
}

/* A permit goes before the cover that is its copy. */
const struct slot *plugin_slot_of(const struct kubelet *kubelet, const char *uid)
{
    const struct world *world = kubelet->world;
    const struct slot *found = NULL;
    char other[40];

    for (size_t i = world->slot_count; i > 0; i--) {
        const struct slot *slot = &world->slots[i - 1];
        if (strcmp(plugin_member(kubelet, slot, "uid", other), uid) == 0 &&
            (!found || fence_in(kubelet, slot) > fence_in(kubelet, found))) {
            found = slot;
        }
    }
    return found;
}

const struct slot *plugin_own_slot(const struct kubelet *kubelet)
{
    const struct world *world = kubelet->world;

    if (world->plan.beside) {
        const struct slot *found = plugin_slot_of(kubelet, kubelet->served_uid);
        bool by_name = !found && plugin_is_ours(kubelet, &world->slots[0]);
        return by_name ? &world->slots[0] : found;
    }
    for (size_t i = 0; i < world->slot_count; i++) {
        if (plugin_is_ours(kubelet, &world->slots[i])) {
            return &world->slots[i];
        }
    }
    return NULL;
}

bool plugin_lock_allows(const struct kubelet *kubelet)
{
    return !lock_in(kubelet, &kubelet->world->slots[0]);
}

/* ---- freeing one ---- */

static void memory_of(uint64_t fence, char buffer[80])
{
    (void)snprintf(buffer, 80, "{\"version\":1,\"fence\":\"%" PRIu64 "\"}", fence);
}

static void remove_pair(const struct kubelet *kubelet, const struct slot *slot,
                        uint64_t fence, struct request *request)
{
    const char *lease = object_get(kubelet->seen, slot->lease);
    char memory[80];

    memory_of(fence, memory);
    request_edit(request, HAMI_EDIT_PUT, slot->lock,
                 object_get(kubelet->seen, slot->lock), NULL);
    request_edit(request, fence ? HAMI_EDIT_PUT : HAMI_EDIT_TEST, slot->lease, lease,
                 fence ? memory : NULL);
}

static void put_pair(const struct kubelet *kubelet, const struct slot *slot,
                     const struct slot *copied, struct request *request)
{
    const char *lock = object_get(kubelet->seen, copied->lock),
               *lease = object_get(kubelet->seen, copied->lease);

    request_edit(request, HAMI_EDIT_PUT, slot->lock,
                 object_get(kubelet->seen, slot->lock), lock);
    request_edit(request, HAMI_EDIT_PUT, slot->lease,
                 object_get(kubelet->seen, slot->lease), lease);
    request_edit(request, HAMI_EDIT_TEST, copied->lock, lock, NULL);
    request_edit(request, HAMI_EDIT_TEST, copied->lease, lease, NULL);
}

/* Of the other permits that are held the one that was taken last. */
static const struct slot *last_taken(const struct kubelet *kubelet,
                                     const struct slot *but)
{
    const struct world *world = kubelet->world;
    const struct slot *found = NULL;

    for (size_t i = 1; i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        if (slot != but && lock_in(kubelet, slot) &&
            (!found || fence_in(kubelet, slot) > fence_in(kubelet, found))) {
            found = slot;
        }
    }
    return found;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void edit_cover(const struct kubelet *kubelet, const struct slot *slot,
                       struct request *request)
{
    const struct slot *cover = &kubelet->world->slots[0];
    const char *lock = object_get(kubelet->seen, cover->lock),
               *lease = object_get(kubelet->seen, cover->lease);
    bool own = is_same(lock, object_get(kubelet->seen, slot->lock)) &&
               is_same(lease, object_get(kubelet->seen, slot->lease));
    const struct slot *other = last_taken(kubelet, slot);
    uint64_t fence = fence_in(kubelet, slot), known = fence_in(kubelet, cover);

    if (own && other) {
        put_pair(kubelet, cover, other, request);
    } else if (!other && (own || has_calls(kubelet, cover))) {
        remove_pair(kubelet, cover, known > fence ? known : fence, request);
    } else {
        request_edit(request, HAMI_EDIT_TEST, cover->lock, lock, NULL);
        request_edit(request, HAMI_EDIT_TEST, cover->lease, lease, NULL);
    }
}

void plugin_edit_out(const struct kubelet *kubelet, const struct slot *slot,
                     struct request *request)
{
    if (kubelet->world->plan.beside && slot != &kubelet->world->slots[0]) {
        edit_cover(kubelet, slot, request);
    }
    remove_pair(kubelet, slot, fence_in(kubelet, slot), request);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See cover.h: who may have which record. Invariants:
 *  - each take changes the cover, and tests it; so what is known of the permits is enough
 *    for a take if it is not older than the pair that is known of the cover. What a watch
 *    tells comes to the permits before the cover, a read to all at once, and what we wrote
 *    ourselves has tested the cover;
 *  - a cover that is a copy is in nobody's way who comes beside. An exclusive waiter has
 *    it when it has all permits;
 *  - a waiter that must wait claims its calls, an exclusive one all records: so whoever
 *    comes later and needs one of them waits behind it.
 */
#include "cover.h"

#include <string.h>

#include "beside.h"
#include "node.h"
#include "protocol.h"
#include "serve.h"

void hami_internal_cover_learn_mark(struct hami_internal_node *node, const char *mark)
{
    const struct hami_nodelock_config *config = &node->lock->config;
    bool beside = mark && strcmp(mark, HAMI_INTERNAL_SIDE_BY_SIDE) == 0;
    bool frees = beside || (mark && strcmp(mark, HAMI_INTERNAL_FREE_BY_SCHEDULER) == 0);

    node->leaves_freeing =
        frees && (config->flags & HAMI_NODELOCK_FREE_BY_SCHEDULER) != 0;
    node->takes_beside = beside && config->side_by_side > 0;
}

/* ---- waiters ---- */

static const struct hami_internal_call_set *calls_of(const struct hami_wait *wait)
{
    const struct hami_internal_extra *extra = wait_extra(wait);

    return extra ? extra->set : NULL;
}

bool hami_internal_cover_is_used(const struct hami_internal_node *node,
                                 const struct hami_internal_key *key)
{
    return key->beside && (node->has_permits || node->takes_beside ||
                           (node->cover && slot_is_copy(node->cover)));
}

bool hami_internal_cover_comes_beside(const struct hami_wait *wait)
{
    return wait->node->takes_beside && wait->key_count == 1 && wait->key->beside &&
           calls_of(wait);
}

bool hami_internal_cover_excludes(const struct hami_wait *wait,
                                  const struct hami_wait *other)
{
    return !hami_internal_cover_comes_beside(wait) ||
           !hami_internal_cover_comes_beside(other) ||
           hami_internal_beside_meets(calls_of(wait), calls_of(other));
}

/* ---- claims ---- */

static void claim(struct hami_internal_round *round,
                  const struct hami_internal_slot *slot)
{
    round->claimed |= hami_internal_look_bit(round, slot);
}

static bool is_claimed(const struct hami_internal_round *round,
                       const struct hami_internal_slot *slot)
{
    return (round->claimed & hami_internal_look_bit(round, slot)) != 0;
}

/* Nobody who comes later has any of them. */
static void claim_all(struct hami_internal_round *round)
{
    claim(round, round->node->cover);
    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        claim(round, round->node->permits[i]);
    }
}

static enum hami_internal_look block_all(struct hami_internal_round *round)
{
    claim_all(round);
    return LOOK_BLOCKED;
}

/* Somebody waits who came before. */
static bool has_claims(const struct hami_internal_round *round)
{
    bool claimed = is_claimed(round, round->node->cover) ||
                   (round->claims && round->claims->count > 0);

    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX && !claimed; i++) {
        claimed = is_claimed(round, round->node->permits[i]);
    }
    return claimed;
}

static void claim_calls(struct hami_internal_round *round, const struct hami_wait *wait)
{
    if (round->claims) {
        hami_internal_beside_claim(round->claims, calls_of(wait));
    }
}

bool hami_internal_cover_must_wait(struct hami_internal_round *round,
                                   const struct hami_wait *wait)
{
    if (wait->own || wait->try_only || !round->node->has_permits ||
        !hami_internal_cover_comes_beside(wait) ||
        !(is_claimed(round, round->node->cover) ||
          hami_internal_beside_is_claimed(round->claims, calls_of(wait)))) {
        return false;
    }
    claim_calls(round, wait);
    return true;
}

/* ---- records ---- */

static bool is_held(const struct hami_internal_slot *slot)
{
    return slot->grant || slot->record.kind != HAMI_LOCK_FREE;
}

/* One whose lease says none stands for all calls, and so does one that a holder here does
 * not know to be lost yet. */
static bool meets(const struct hami_wait *wait, const struct hami_internal_slot *slot)
{
    struct hami_internal_call_set set;

    if (!slot->record.calls[0] || (slot->grant && slot->grant->gone)) {
        return true;
    }
    hami_internal_beside_read(slot->record.calls, &set);
    return hami_internal_beside_meets(calls_of(wait), &set);
}

bool hami_internal_cover_is_known(const struct hami_internal_node *node)
{
    bool known = node->has_permits && node->cover->known;

    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX && known; i++) {
        known = node->permits[i]->known &&
                node->permits[i]->version_number >= node->cover->pair_version;
    }
    return known;
}

bool hami_internal_cover_is_bare(const struct hami_internal_node *node)
{
    bool bare = node->has_permits && slot_is_copy(node->cover) && !node->cover->grant &&
                hami_internal_cover_is_known(node);

    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX && bare; i++) {
        bare = !is_held(node->permits[i]);
    }
    return bare;
}

/* The cover, without what it is a copy of. */
static enum hami_internal_look look_at_cover(struct hami_internal_round *round,
                                             const struct hami_wait *wait)
{
    struct hami_internal_slot *cover = round->node->cover;

    if (round->now_ns < cover->yield_until_ns) {
        hami_internal_serve_consider(round->node, cover->yield_until_ns);
        return LOOK_BLOCKED;
    }
    if (slot_is_copy(cover) && !cover->grant) {
        return LOOK_AVAILABLE;
    }
    return hami_internal_look_at_slot(round, wait, cover);
}

/* Held records, to be asked about in turn: who was asked last comes last. */
struct held {
    struct hami_internal_slot *slots[HAMI_INTERNAL_BESIDE_MAX];
    size_t count;
};

static void add_held(struct held *held, struct hami_internal_slot *slot)
{
    size_t at = held->count++;

    for (; at > 0 && held->slots[at - 1]->asked_ns > slot->asked_ns; at--) {
        held->slots[at] = held->slots[at - 1];
    }
    held->slots[at] = slot;
}

/* They are in the way: what is to be learned of them, or made of them, is begun. */
static enum hami_internal_look look_at_held(struct hami_internal_round *round,
                                            const struct hami_wait *wait,
                                            const struct held *held)
{
    for (size_t i = 0; i < held->count; i++) {
        if (hami_internal_look_at_slot(round, wait, held->slots[i]) == LOOK_WORKING) {
            return LOOK_WORKING;
        }
    }
    return LOOK_BLOCKED;
}

/* ---- who comes beside ---- */

/* The permits, as one waiter finds them. */
struct view {
    struct held busy, in_way; /* in_way: of the busy ones those with calls of its own */
    struct hami_internal_slot *own, *meeting, *spare, *empty; /* that it could take */
};

static void view_permit(struct hami_internal_round *round, const struct hami_wait *wait,
                        struct hami_internal_slot *slot, struct view *view)
{
    const struct hami_owner owner = wait_owner(wait);
    bool held = is_held(slot), met = held && meets(wait, slot);

    if (hami_internal_look_glance(round, wait, slot) != LOOK_AVAILABLE) {
        if (held) {
            add_held(&view->busy, slot);
        }
        if (met) {
            add_held(&view->in_way, slot);
        }
    } else if (held && hami_internal_node_is_own(slot, &owner)) {
        view->own = slot;
    } else if (!is_claimed(round, slot)) {
        struct hami_internal_slot **place = met    ? &view->meeting
                                            : held ? &view->spare
                                                   : &view->empty;
        *place = *place ? *place : slot;
    }
}

/* Another replica has the first try after many takes in a row: see internal.h. */
static bool is_left_to_others(struct hami_internal_round *round, const struct view *view)
{
    struct hami_internal_node *node = round->node;
    uint64_t rival_ns = node->cover->rival_ns;

    if (node->beside_row >= HAMI_INTERNAL_BESIDE_ROW_MAX && rival_ns != 0 &&
        round->now_ns < rival_ns + HAMI_INTERNAL_RIVAL_NS) {
        if (view->busy.count == 0) {
            node->beside_row = 0;
            node->cover->yield_until_ns = round->now_ns + HAMI_INTERNAL_YIELD_NS;
            hami_internal_serve_consider(node, node->cover->yield_until_ns);
        }
        return true;
    }
    if (view->busy.count == 0) {
        node->beside_row = 0;
    }
    return false;
}

/* Its own permit, or one that is done, or an empty one. */
static struct hami_internal_slot *pick(const struct hami_internal_round *round,
                                       const struct view *view)
{
    bool full = view->busy.count >= round->node->lock->config.side_by_side;

    if (view->own || full) {
        return view->own;
    }
    return view->meeting ? view->meeting : view->spare ? view->spare : view->empty;
}

static enum hami_internal_look choose_permit(struct hami_internal_round *round,
                                             const struct hami_wait *wait,
                                             struct hami_internal_slot **ret)
{
    struct view view = {.own = NULL};

    if (is_claimed(round, round->node->cover)) {
        claim_calls(round, wait);
        return LOOK_BLOCKED;
    }
    enum hami_internal_look look = look_at_cover(round, wait);
    if (look != LOOK_AVAILABLE) {
        return look == LOOK_WORKING ? look : block_all(round);
    }
    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        view_permit(round, wait, round->node->permits[i], &view);
    }
    claim_calls(round, wait);
    if (!view.own && is_left_to_others(round, &view)) {
        look = look_at_held(round, wait, &view.busy);
        return look == LOOK_WORKING ? look : block_all(round);
    }
    if (view.in_way.count > 0) {
        return look_at_held(round, wait, &view.in_way);
    }
    *ret = pick(round, &view);
    if (!*ret) {
        /* As many as may be are beside each other: nobody else can come. */
        look = look_at_held(round, wait, &view.busy);
        return look == LOOK_WORKING ? look : block_all(round);
    }
    claim(round, *ret);
    return LOOK_AVAILABLE;
}

/* ---- who does not ---- */

static enum hami_internal_look choose_cover(struct hami_internal_round *round,
                                            const struct hami_wait *wait,
                                            struct hami_internal_slot **ret)
{
    struct held busy = {.count = 0};

    if (has_claims(round)) {
        return block_all(round);
    }
    enum hami_internal_look look = look_at_cover(round, wait);
    if (look == LOOK_WORKING) {
        return look;
    }
    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        struct hami_internal_slot *slot = round->node->permits[i];
        if (is_held(slot) &&
            hami_internal_look_glance(round, wait, slot) != LOOK_AVAILABLE) {
            add_held(&busy, slot);
        }
    }
    if (busy.count > 0) {
        look = look_at_held(round, wait, &busy);
    }
    if (look == LOOK_WORKING) {
        return look;
    }
    claim_all(round);
    *ret = round->node->cover;
    return look;
}

enum hami_internal_look hami_internal_cover_choose(struct hami_internal_round *round,
                                                   const struct hami_wait *wait,
                                                   struct hami_internal_slot **ret)
{
    struct hami_internal_node *node = round->node;

    if (!node->has_permits) {
        round->after->need_permits = true;
        return LOOK_WORKING;
    }
    if (!hami_internal_cover_is_known(node)) {
        node->want_read = true;
        return LOOK_WORKING;
    }
    return hami_internal_cover_comes_beside(wait) ? choose_permit(round, wait, ret)
                                                  : choose_cover(round, wait, ret);
}

/* ---- for people ---- */

static bool is_in_way(const struct hami_wait *wait, const struct hami_internal_slot *slot)
{
    if (slot == wait->node->cover) {
        return is_held(slot) && !(slot_is_copy(slot) && !slot->grant);
    }
    return is_held(slot) &&
           (!hami_internal_cover_comes_beside(wait) || meets(wait, slot));
}

struct hami_internal_slot *
hami_internal_cover_in_way(const struct hami_wait *wait,
                           const struct hami_internal_slot *slot)
{
    const struct hami_internal_node *node = wait->node;
    size_t at = slot ? slot->permit : 0;

    if (!slot && is_in_way(wait, node->cover)) {
        return node->cover;
    }
    for (; node->has_permits && at < HAMI_INTERNAL_BESIDE_MAX; at++) {
        if (is_in_way(wait, node->permits[at])) {
            return node->permits[at];
        }
    }
    return NULL;
}

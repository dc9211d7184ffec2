/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See protocol.h. The order of the tests in judge_owner() is the order of the truth table
 * in docs/protocol.md: proofs that are final come first.
 */
#include "protocol.h"

#include <string.h>

static const char *const reason_texts[] = {
    [REASON_NONE] = "not judged yet",
    [REASON_FREE] = "free",
    [REASON_OWN] = "the owner's own lock",
    [REASON_GONE] = "its pod is gone",
    [REASON_OTHER_UID] = "its pod was replaced by another of the same name",
    [REASON_FINISHED] = "its pod has finished",
    [REASON_BOUND_ELSEWHERE] = "its pod is bound to another node",
    [REASON_DELETED_UNBOUND] = "its pod is being deleted and was never bound",
    [REASON_STARTED] = "its pod runs: its devices are handed out",
    [REASON_DONE] = "the node side served its pod under this lock",
    [REASON_REVOKED] =
        "its pod stayed unbound past its limit, and its binding is revoked",
    [REASON_AGE] = "it is past its age and its owner can't be judged otherwise",
    [REASON_NOT_ASKED] = "its pod has not been looked at yet",
    [REASON_NOT_KNOWN] = "its pod could not be read",
    [REASON_BINDING] = "its pod is being bound",
    [REASON_ALLOCATING] = "its pod is bound here and waits for its devices (Allocate)",
    [REASON_OVERDUE] =
        ("its pod is bound here and waits for its devices (Allocate) past the lock's "
         "age: look at the device plugin and the kubelet of this node"),
    [REASON_AGEING] = "its owner can't be judged and it is not past its age",
};

const char *hami_internal_protocol_reason_text(enum hami_internal_reason reason)
{
    return reason_texts[reason];
}

const char *hami_internal_protocol_reason_word(enum hami_internal_reason reason)
{
    static const char *const words[] = {
        [REASON_GONE] = "gone",
        [REASON_OTHER_UID] = "replaced",
        [REASON_FINISHED] = "finished",
        [REASON_BOUND_ELSEWHERE] = "bound_elsewhere",
        [REASON_DELETED_UNBOUND] = "deleted",
        [REASON_STARTED] = "started",
        [REASON_DONE] = "done",
        [REASON_REVOKED] = "revoked",
        [REASON_AGE] = "age",
    };
    const char *word =
        (size_t)reason < sizeof(words) / sizeof(words[0]) ? words[reason] : NULL;

    return word ? word : "";
}

static bool is_text(const char *text)
{
    return text && *text;
}

static bool is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static uint64_t later(uint64_t from_ns, uint64_t span_ns)
{
    return span_ns > UINT64_MAX - from_ns ? UINT64_MAX : from_ns + span_ns;
}

/* Nothing but time can decide. */
static void judge_age(const struct hami_internal_judge_input *input,
                      struct hami_internal_judgement *ret)
{
    uint64_t end = later(input->first_seen_ns, input->expire_ns);

    ret->verdict = input->now_ns >= end ? VERDICT_TAKE : VERDICT_WAIT;
    ret->reason = input->now_ns >= end ? REASON_AGE : REASON_AGEING;
    ret->next_ns = end;
}

/* The owner is not bound: its limit has to pass, and its Bindings have to be made to
 * fail. */
static void judge_unbound(const struct hami_internal_judge_input *input,
                          struct hami_internal_judgement *ret)
{
    const struct hami_lock_record *record = input->record;
    uint64_t limit = record->has_lease
                         ? (record->hold_ms ? record->hold_ms * UINT64_C(1000000)
                                            : input->hold_limit_ns)
                         : input->expire_ns;
    uint64_t end = later(input->first_seen_ns, limit);

    if (input->now_ns < end) {
        ret->verdict = VERDICT_WAIT;
        ret->reason = record->has_lease ? REASON_BINDING : REASON_AGEING;
        ret->next_ns = end;
    } else if (input->can_revoke && !input->revoked) {
        ret->verdict = VERDICT_REVOKE;
        ret->reason = REASON_BINDING;
    } else {
        ret->verdict = VERDICT_TAKE;
        ret->reason = record->has_lease ? REASON_REVOKED : REASON_AGE;
    }
}

/* The pod of the owner's name is bound here and its containers have not started. */
static void judge_allocating(const struct hami_internal_judge_input *input,
                             struct hami_internal_judgement *ret)
{
    uint64_t end = later(input->first_seen_ns, input->expire_ns);

    ret->next_ns = end;
    if (input->now_ns < end) {
        ret->verdict = VERDICT_WAIT;
        ret->reason = REASON_ALLOCATING;
    } else if (input->expire_bound) {
        ret->verdict = VERDICT_TAKE;
        ret->reason = REASON_AGE;
    } else {
        ret->verdict = VERDICT_WAIT;
        ret->reason = REASON_OVERDUE;
        ret->next_ns = UINT64_MAX;
    }
}

static bool is_served(const struct hami_owner_facts *facts, uint64_t fence)
{
    return fence != 0 && facts->done == fence &&
           facts->bind_phase == HAMI_BIND_PHASE_SUCCESS && !facts->devices_left;
}

static void judge_owner(const struct hami_internal_judge_input *input,
                        struct hami_internal_judgement *ret)
{
    const struct hami_lock_record *record = input->record;
    const struct hami_owner_facts *facts = input->facts;
    bool here = is_same(facts->node, input->node);
    bool other_uid =
        record->has_lease && is_text(record->uid) && !is_same(facts->uid, record->uid);

    ret->verdict = VERDICT_TAKE;
    if (!facts->exists) {
        ret->reason = REASON_GONE;
    } else if (other_uid && !(here && !facts->started && !facts->finished)) {
        /* Bound here and not started: a binder that goes by names bound it under this
         * lock. */
        ret->reason = REASON_OTHER_UID;
    } else if (facts->finished) {
        ret->reason = REASON_FINISHED;
    } else if (is_text(facts->node) && !here) {
        ret->reason = REASON_BOUND_ELSEWHERE;
    } else if (!is_text(facts->node) && facts->deleting) {
        ret->reason = REASON_DELETED_UNBOUND;
    } else if (!is_text(facts->node)) {
        judge_unbound(input, ret);
    } else if (facts->started) {
        ret->reason = REASON_STARTED;
    } else if (!other_uid && is_served(facts, record->fence)) {
        ret->reason = REASON_DONE;
    } else {
        judge_allocating(input, ret);
    }
}

void hami_internal_protocol_judge(const struct hami_internal_judge_input *input,
                                  struct hami_internal_judgement *ret)
{
    ret->next_ns = UINT64_MAX;
    if (input->record->kind == HAMI_LOCK_FREE) {
        ret->verdict = VERDICT_TAKE;
        ret->reason = REASON_FREE;
    } else if (input->record->kind != HAMI_LOCK_OWNED || !input->can_inspect) {
        judge_age(input, ret);
    } else if (!input->facts) {
        ret->verdict = VERDICT_ASK;
        ret->reason = REASON_NOT_ASKED;
    } else if (!input->facts->known) {
        ret->verdict = VERDICT_WAIT;
        ret->reason = REASON_NOT_KNOWN;
    } else {
        judge_owner(input, ret);
    }
}

bool hami_internal_protocol_is_own(const struct hami_lock_record *record,
                                   const char *namespace_name, const char *name,
                                   const char *uid)
{
    if (record->kind != HAMI_LOCK_OWNED) {
        return false;
    }
    if (record->has_lease && is_text(record->uid)) {
        return strcmp(record->uid, uid) == 0;
    }
    return strcmp(record->namespace_name, namespace_name) == 0 &&
           strcmp(record->name, name) == 0;
}

enum hami_internal_standing hami_internal_protocol_compare(const char *lock,
                                                           const char *lease,
                                                           const char *our_lock,
                                                           const char *our_lease)
{
    if (!is_text(lock)) {
        return STANDING_ABSENT;
    }
    return is_same(lock, our_lock) && is_same(lease, our_lease) ? STANDING_OURS
                                                                : STANDING_OTHER;
}

enum hami_internal_release
hami_internal_protocol_release(const struct hami_owner_facts *facts, const char *uid,
                               const char *node, uint64_t fence, bool revoked)
{
    bool ours = is_same(facts->uid, uid);
    bool bound = is_text(facts->node);
    bool here = is_same(facts->node, node);

    if (!facts->exists || facts->finished || (bound && !here)) {
        return RELEASE_REMOVE;
    }
    if (here) {
        return facts->started || (ours && is_served(facts, fence)) ? RELEASE_REMOVE
                                                                   : RELEASE_HAND_OFF;
    }
    return revoked || !ours || facts->deleting ? RELEASE_REMOVE : RELEASE_REVOKE;
}

const char *hami_internal_protocol_unfit(const struct hami_owner_facts *facts,
                                         const char *uid, const char *node)
{
    if (!facts->exists) {
        return "the pod does not exist";
    }
    if (!is_same(facts->uid, uid)) {
        return "the pod was replaced by another of the same name (other uid)";
    }
    if (facts->finished) {
        return "the pod has finished";
    }
    if (is_text(facts->node)) {
        return is_same(facts->node, node) ? "the pod is bound to this node already"
                                          : "the pod is bound to another node";
    }
    if (facts->deleting) {
        return "the pod is being deleted";
    }
    if (is_text(facts->assigned_node) && !is_same(facts->assigned_node, node)) {
        return "the pod is assigned to another node by now (hami.io/vgpu-node)";
    }
    return NULL;
}

bool hami_internal_protocol_is_done(const struct hami_lock_record *record,
                                    const struct hami_owner_facts *facts,
                                    const char *node)
{
    return record->kind == HAMI_LOCK_OWNED && record->has_lease &&
           record->free_by_scheduler && facts->known && facts->exists &&
           is_same(facts->uid, record->uid) && is_same(facts->node, node) &&
           is_served(facts, record->fence);
}

bool hami_internal_protocol_is_final(const struct hami_owner_facts *facts,
                                     const char *uid, const char *node, uint64_t fence)
{
    if (!facts->known || !facts->exists || !is_same(facts->uid, uid)) {
        return false;
    }
    bool bound = is_text(facts->node);
    return facts->finished || facts->started || (bound && !is_same(facts->node, node)) ||
           (facts->deleting && !bound) || is_served(facts, fence);
}

uint64_t hami_internal_protocol_version_number(const char *version)
{
    uint64_t number = 0;

    if (!is_text(version) || version[0] == '0') {
        return 0;
    }
    for (const char *c = version; *c; c++) {
        if (*c < '0' || *c > '9' || number > (UINT64_MAX / 2 - 9) / 10) {
            return 0;
        }
        number = number * 10 + (uint64_t)(*c - '0');
    }
    return number;
}

uint64_t hami_internal_protocol_next_fence(uint64_t last, uint64_t seen,
                                           uint64_t version_number,
                                           uint64_t server_time_us)
{
    uint64_t above = last > seen ? last : seen;
    uint64_t store = version_number ? version_number : server_time_us;

    if (above == UINT64_MAX) {
        above = 0; /* nobody counts up to there: the store's own says more */
    }
    return (above > store ? above : store) + 1;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided about a lock: fences, takeover, releases, as tables. No manager is
 * made.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol.h"
#include "scripted.h"
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- fences ---- */

START_TEST(a_fence_is_above_everything_known)
{
    ck_assert_uint_eq(hami_internal_protocol_next_fence(0, 0, 0, 0), 1);
    ck_assert_uint_eq(hami_internal_protocol_next_fence(5, 9, 7, 100), 10);
    ck_assert_uint_eq(hami_internal_protocol_next_fence(5, 3, 70, 100), 71);
    ck_assert_uint_eq(hami_internal_protocol_next_fence(5, 3, 0, 100), 101);
    ck_assert_uint_eq(hami_internal_protocol_next_fence(500, 3, 0, 100), 501);
    ck_assert_uint_eq(hami_internal_protocol_next_fence(UINT64_MAX, 3, 7, 100), 8);
    ck_assert_uint_eq(hami_internal_protocol_next_fence(5, UINT64_MAX, 0, 0), 1);
    ck_assert_uint_eq(hami_internal_protocol_version_number("123"), 123);
    ck_assert_uint_eq(hami_internal_protocol_version_number(NULL), 0);
    ck_assert_uint_eq(hami_internal_protocol_version_number(""), 0);
    ck_assert_uint_eq(hami_internal_protocol_version_number("0"), 0);
    ck_assert_uint_eq(hami_internal_protocol_version_number("01"), 0);
    ck_assert_uint_eq(hami_internal_protocol_version_number("12a"), 0);
    ck_assert_uint_eq(hami_internal_protocol_version_number("99999999999999999999"), 0);
}
END_TEST

/* ---- takeover ---- */

#define S UINT64_C(1000000000)

static const struct {
    const char *what;
    bool lease; /* the record has a lease of its own: uid u, fence 7, hold 15 s */
    struct hami_owner_facts facts;
    bool revoked;
    uint64_t age_s;
    enum hami_internal_verdict verdict;
    enum hami_internal_reason reason;
} judged[] = {
    {"gone", true, {.known = true}, false, 0, VERDICT_TAKE, REASON_GONE},
    {"not known", true, {.known = false}, false, 900, VERDICT_WAIT, REASON_NOT_KNOWN},
    {"other uid, unbound",
     true,
     {.known = true, .exists = true, .uid = "v"},
     false,
     0,
     VERDICT_TAKE,
     REASON_OTHER_UID},
    {"other uid, bound here",
     true,
     {.known = true, .exists = true, .uid = "v", .node = "n"},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"other uid, runs here",
     true,
     {.known = true, .exists = true, .uid = "v", .node = "n", .started = true},
     false,
     0,
     VERDICT_TAKE,
     REASON_OTHER_UID},
    {"other uid, bound here, with our done",
     true,
     {.known = true,
      .exists = true,
      .uid = "v",
      .node = "n",
      .done = 7,
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"finished",
     true,
     {.known = true, .exists = true, .uid = "u", .finished = true},
     false,
     0,
     VERDICT_TAKE,
     REASON_FINISHED},
    {"elsewhere",
     true,
     {.known = true, .exists = true, .uid = "u", .node = "m"},
     false,
     0,
     VERDICT_TAKE,
     REASON_BOUND_ELSEWHERE},
    {"deleting, unbound",
     true,
     {.known = true, .exists = true, .uid = "u", .deleting = true},
     false,
     0,
     VERDICT_TAKE,
     REASON_DELETED_UNBOUND},
    {"deleting, bound",
     true,
     {.known = true, .exists = true, .uid = "u", .node = "n", .deleting = true},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"unbound, within its limit",
     true,
     {.known = true, .exists = true, .uid = "u"},
     false,
     14,
     VERDICT_WAIT,
     REASON_BINDING},
    {"unbound, past its limit",
     true,
     {.known = true, .exists = true, .uid = "u"},
     false,
     15,
     VERDICT_REVOKE,
     REASON_BINDING},
    {"unbound, revoked",
     true,
     {.known = true, .exists = true, .uid = "u"},
     true,
     15,
     VERDICT_TAKE,
     REASON_REVOKED},
    {"unbound, revoked too early",
     true,
     {.known = true, .exists = true, .uid = "u"},
     true,
     3,
     VERDICT_WAIT,
     REASON_BINDING},
    {"unbound without a lease",
     false,
     {.known = true, .exists = true, .uid = "u"},
     false,
     299,
     VERDICT_WAIT,
     REASON_AGEING},
    {"unbound without a lease, aged",
     false,
     {.known = true, .exists = true, .uid = "u"},
     false,
     300,
     VERDICT_REVOKE,
     REASON_BINDING},
    {"unbound without a lease, revoked",
     false,
     {.known = true, .exists = true, .uid = "u"},
     true,
     300,
     VERDICT_TAKE,
     REASON_AGE},
    {"started",
     true,
     {.known = true, .exists = true, .uid = "u", .node = "n", .started = true},
     false,
     0,
     VERDICT_TAKE,
     REASON_STARTED},
    {"done",
     true,
     {.known = true,
      .exists = true,
      .uid = "u",
      .node = "n",
      .done = 7,
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     0,
     VERDICT_TAKE,
     REASON_DONE},
    {"done with devices left",
     true,
     {.known = true,
      .exists = true,
      .uid = "u",
      .node = "n",
      .done = 7,
      .devices_left = true,
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"done under another fence",
     true,
     {.known = true,
      .exists = true,
      .uid = "u",
      .node = "n",
      .done = 8,
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"done beside no lease",
     false,
     {.known = true,
      .exists = true,
      .uid = "u",
      .node = "n",
      .done = 7,
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"success without done",
     true,
     {.known = true,
      .exists = true,
      .uid = "u",
      .node = "n",
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     0,
     VERDICT_WAIT,
     REASON_ALLOCATING},
    {"allocating, overdue",
     true,
     {.known = true, .exists = true, .uid = "u", .node = "n"},
     false,
     301,
     VERDICT_WAIT,
     REASON_OVERDUE},
};

static struct hami_internal_judge_input judge_input(struct hami_lock_record *record,
                                                    bool lease)
{
    *record = (struct hami_lock_record){.size = sizeof(*record),
                                        .kind = HAMI_LOCK_OWNED,
                                        .namespace_name = "ns",
                                        .name = "pod"};
    if (lease) {
        record->has_lease = true;
        (void)snprintf(record->uid, sizeof(record->uid), "u");
        record->fence = record->last_fence = 7;
        record->hold_ms = 15000;
    }
    return (struct hami_internal_judge_input){.record = record,
                                              .node = "n",
                                              .can_inspect = true,
                                              .can_revoke = true,
                                              .first_seen_ns = 100 * S,
                                              .now_ns = 100 * S,
                                              .expire_ns = 300 * S,
                                              .hold_limit_ns = 15 * S};
}

START_TEST(the_truth_table_of_takeover)
{
    struct hami_lock_record record;
    struct hami_internal_judge_input input = judge_input(&record, judged[_i].lease);
    struct hami_internal_judgement judgement;

    input.facts = &judged[_i].facts;
    input.revoked = judged[_i].revoked;
    input.now_ns += judged[_i].age_s * S;
    hami_internal_protocol_judge(&input, &judgement);
    ck_assert_msg(judgement.verdict == judged[_i].verdict &&
                      judgement.reason == judged[_i].reason,
                  "%s: verdict %d, %s", judged[_i].what, (int)judgement.verdict,
                  hami_internal_protocol_reason_text(judgement.reason));
    ck_assert(judgement.verdict != VERDICT_WAIT || judgement.next_ns > input.now_ns);
}
END_TEST

START_TEST(what_can_not_be_judged_is_aged)
{
    struct hami_lock_record record;
    struct hami_internal_judge_input input = judge_input(&record, false);
    struct hami_internal_judgement judgement;
    const enum hami_lock_kind kinds[] = {HAMI_LOCK_LEGACY, HAMI_LOCK_UNOWNED,
                                         HAMI_LOCK_MALFORMED};

    for (size_t i = 0; i < COUNT(kinds); i++) {
        record.kind = kinds[i];
        input.now_ns = 399 * S;
        hami_internal_protocol_judge(&input, &judgement);
        ck_assert_int_eq(judgement.verdict, VERDICT_WAIT);
        ck_assert_uint_eq(judgement.next_ns, 400 * S);
        input.now_ns = 400 * S;
        hami_internal_protocol_judge(&input, &judgement);
        ck_assert_int_eq(judgement.verdict, VERDICT_TAKE);
    }
    record.kind = HAMI_LOCK_FREE;
    hami_internal_protocol_judge(&input, &judgement);
    ck_assert_int_eq(judgement.reason, REASON_FREE);
    record.kind = HAMI_LOCK_OWNED;
    hami_internal_protocol_judge(&input, &judgement);
    ck_assert_int_eq(judgement.verdict, VERDICT_ASK);
    input.can_inspect = false;
    hami_internal_protocol_judge(&input, &judgement);
    ck_assert_int_eq(judgement.reason, REASON_AGE);
    input.expire_ns = UINT64_MAX;
    hami_internal_protocol_judge(&input, &judgement);
    ck_assert_int_eq(judgement.verdict, VERDICT_WAIT);
}
END_TEST

START_TEST(every_input_has_a_verdict_and_no_bound_waiting_owner_is_ever_taken_by_age)
{
    struct hami_lock_record record;
    struct hami_internal_judgement judgement;
    const char *nodes[] = {NULL, "n", "m"}, *uids[] = {"u", "v"};

    for (unsigned bits = 0; bits < 2 * 3 * 2048; bits++) {
        unsigned rest = bits / 6;
        struct hami_owner_facts facts = {.known = true,
                                         .exists = rest & 1,
                                         .deleting = rest & 2,
                                         .finished = rest & 4,
                                         .started = rest & 8,
                                         .devices_left = rest & 16,
                                         .bind_phase =
                                             (enum hami_bind_phase)(rest >> 5 & 3),
                                         .done = rest & 128 ? 7 : 0,
                                         .uid = uids[bits % 2],
                                         .node = nodes[bits / 2 % 3]};
        struct hami_internal_judge_input input = judge_input(&record, rest & 256);
        input.facts = &facts;
        input.revoked = rest & 512;
        input.now_ns += rest & 1024 ? 1000 * S : 0;
        hami_internal_protocol_judge(&input, &judgement);
        ck_assert_str_ne(hami_internal_protocol_reason_text(judgement.reason), "");
        bool waiting = facts.exists && facts.node && !strcmp(facts.node, "n") &&
                       !facts.started && !facts.finished &&
                       !(facts.done == 7 && !facts.devices_left &&
                         facts.bind_phase == HAMI_BIND_PHASE_SUCCESS);
        ck_assert(!waiting || judgement.verdict == VERDICT_WAIT);
        bool unbound = facts.exists && !facts.node && !facts.finished &&
                       !facts.deleting && (!record.has_lease || !strcmp(facts.uid, "u"));
        ck_assert(!unbound || input.revoked || judgement.verdict != VERDICT_TAKE);
    }
}
END_TEST

START_TEST(identities_are_compared_whole_case_1_06_case_3_17)
{
    struct hami_lock_record record;

    (void)judge_input(&record, true);
    ck_assert(hami_internal_protocol_is_own(&record, "x", "y", "u"));
    ck_assert(!hami_internal_protocol_is_own(&record, "ns", "pod", "u2"));
    (void)judge_input(&record, false);
    ck_assert(hami_internal_protocol_is_own(&record, "ns", "pod", "u"));
    ck_assert(!hami_internal_protocol_is_own(&record, "ns", "po", "u"));
    ck_assert(!hami_internal_protocol_is_own(&record, "n", "pod", "u"));
    record.kind = HAMI_LOCK_LEGACY;
    ck_assert(!hami_internal_protocol_is_own(&record, "ns", "pod", "u"));
    ck_assert_int_eq(hami_internal_protocol_compare("l", "x", "l", "x"), STANDING_OURS);
    ck_assert_int_eq(hami_internal_protocol_compare("l", "y", "l", "x"), STANDING_OTHER);
    ck_assert_int_eq(hami_internal_protocol_compare("l", NULL, "l", "x"), STANDING_OTHER);
    ck_assert_int_eq(hami_internal_protocol_compare(NULL, "x", "l", "x"),
                     STANDING_ABSENT);
    ck_assert_int_eq(hami_internal_protocol_compare("", "x", "l", "x"), STANDING_ABSENT);
}
END_TEST

static const struct {
    const char *what;
    struct hami_owner_facts facts;
    bool revoked;
    enum hami_internal_release release;
} releases[] = {
    {"gone", {.exists = false}, false, RELEASE_REMOVE},
    {"unbound", {.exists = true, .uid = "u"}, false, RELEASE_REVOKE},
    {"unbound, revoked", {.exists = true, .uid = "u"}, true, RELEASE_REMOVE},
    {"unbound, deleting",
     {.exists = true, .uid = "u", .deleting = true},
     false,
     RELEASE_REMOVE},
    {"elsewhere", {.exists = true, .uid = "u", .node = "m"}, false, RELEASE_REMOVE},
    {"here", {.exists = true, .uid = "u", .node = "n"}, false, RELEASE_HAND_OFF},
    {"here, started",
     {.exists = true, .uid = "u", .node = "n", .started = true},
     false,
     RELEASE_REMOVE},
    {"here, served",
     {.exists = true,
      .uid = "u",
      .node = "n",
      .done = 7,
      .bind_phase = HAMI_BIND_PHASE_SUCCESS},
     false,
     RELEASE_REMOVE},
    {"here, finished",
     {.exists = true, .uid = "u", .node = "n", .finished = true},
     false,
     RELEASE_REMOVE},
    {"another uid", {.exists = true, .uid = "v"}, false, RELEASE_REMOVE},
    {"another uid here",
     {.exists = true, .uid = "v", .node = "n"},
     false,
     RELEASE_HAND_OFF},
};

START_TEST(the_table_of_releases)
{
    ck_assert_msg(hami_internal_protocol_release(&releases[_i].facts, "u", "n", 7,
                                                 releases[_i].revoked) ==
                      releases[_i].release,
                  "%s", releases[_i].what);
}
END_TEST

START_TEST(only_final_facts_of_a_watch_are_proofs)
{
    struct hami_owner_facts facts = {
        .known = true, .exists = true, .uid = "u", .node = "n"};

    ck_assert(!hami_internal_protocol_is_final(&facts, "u", "n", 7));
    facts.started = true;
    ck_assert(hami_internal_protocol_is_final(&facts, "u", "n", 7));
    ck_assert(!hami_internal_protocol_is_final(&facts, "v", "n", 7));
    facts.exists = false;
    ck_assert(!hami_internal_protocol_is_final(&facts, "u", "n", 7));
    facts =
        (struct hami_owner_facts){.known = true, .exists = true, .uid = "u", .node = "m"};
    ck_assert(hami_internal_protocol_is_final(&facts, "u", "n", 7));
    facts = (struct hami_owner_facts){
        .known = true, .exists = true, .uid = "u", .deleting = true};
    ck_assert(hami_internal_protocol_is_final(&facts, "u", "n", 7));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decide");
    TCase *pure = tcase_create("decide");

    tcase_add_test(pure, a_fence_is_above_everything_known);
    tcase_add_loop_test(pure, the_truth_table_of_takeover, 0, COUNT(judged));
    tcase_add_test(pure, what_can_not_be_judged_is_aged);
    tcase_add_test(
        pure, every_input_has_a_verdict_and_no_bound_waiting_owner_is_ever_taken_by_age);
    tcase_add_test(pure, identities_are_compared_whole_case_1_06_case_3_17);
    tcase_add_loop_test(pure, the_table_of_releases, 0, COUNT(releases));
    tcase_add_test(pure, only_final_facts_of_a_watch_are_proofs);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* How a call ends: once, in time, and with the code that tells what may have happened. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

#define LOCK HAMI_NODELOCK_KEY
#define A "2026-01-02T03:04:05Z,default,a"
#define B "2026-01-02T03:04:06Z,default,b"

static struct contract_answer answer;

static const struct hami_transport_edit read_lock[] = {
    {HAMI_EDIT_READ, LOCK, NULL, NULL}};
static const struct hami_transport_edit take_a[] = {{HAMI_EDIT_PUT, LOCK, NULL, A}};
static const struct hami_transport_edit take_b[] = {{HAMI_EDIT_PUT, LOCK, NULL, B}};

/* A node that has a value already: the first one of all may take a transport two
 * requests, and a fault is to meet the one that writes. */
static const char *node_with_a_value(void)
{
    const char *node = contract_node();
    contract_put(node, "example.com/other", "1");
    return node;
}

START_TEST(each_call_is_completed_once)
{
    const char *node = contract_node();
    unsigned before = contract_completions();
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    ck_assert_int_eq(contract_call(node, take_a, 1, NULL, &answer), 0);
    ck_assert_uint_eq(answer.received, 1);
    ck_assert_int_eq(contract_call(node, take_b, 1, NULL, &answer), HAMI_E_HELD);
    ck_assert_uint_eq(contract_completions() - before, 3);
    ck_assert_uint_eq(contract_stray_completions(), 0);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(aborting_a_call_that_is_over_does_no_harm)
{
    const char *node = contract_node();
    ck_assert_int_eq(contract_call(node, take_a, 1, NULL, &answer), 0);
    hami_call *over = contract_shim_wait(&contract_now.shim, 1);
    contract_now.transport->abort(contract_now.transport, over);
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    contract_assert_value(&answer, 0, A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_call_with_next_to_no_time_ends_once_and_tells_no_lie)
{
    const char *node = contract_node();
    unsigned before = contract_completions();
    int code =
        contract_call_on(contract_now.transport, node, take_a, 1, NULL, 1, &answer);
    ck_assert_msg(code == 0 || code == HAMI_E_IN_DOUBT || code == HAMI_E_TRANSPORT, "%s",
                  hami_errname(code));
    ck_assert_uint_le(contract_completions() - before, 1);
    if (code == 0) {
        contract_assert_stored(node, LOCK, A);
    }
    /* What it left behind is there or not, and a call that has time finds out. */
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    if (code == HAMI_E_TRANSPORT) {
        contract_assert_value(&answer, 0, NULL);
    }
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_store_that_cannot_be_reached_is_told_as_surely_not_applied)
{
    struct hami_transport *nowhere =
        contract_now.backend->transport_nowhere(&contract_now);
    struct contract_shim shim;
    contract_shim_init(&shim, nowhere);
    int code =
        contract_call_on(&shim.transport, "some-node", take_a, 1, NULL, 10000, &answer);
    ck_assert_msg(code == HAMI_E_TRANSPORT, "%s", hami_errname(code));
    code = contract_call_on(&shim.transport, "some-node", read_lock, 1, NULL, 10000,
                            &answer);
    ck_assert_msg(code == HAMI_E_TRANSPORT, "%s", hami_errname(code));
    contract_now.backend->transport_free(&contract_now, nowhere);
    contract_shim_done(&shim);
    contract_answer_done(&answer);
}
END_TEST

/* ---- with faults ---- */

START_TEST(a_lost_answer_is_in_doubt_and_never_a_refusal)
{
    const char *node = node_with_a_value();
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    contract_now.backend->arm(&contract_now, CONTRACT_LOSE_ANSWER);
    int code = contract_call(node, take_a, 1, NULL, &answer);
    ck_assert_msg(code == HAMI_E_IN_DOUBT, "%s", hami_errname(code));
    contract_assert_stored(node, LOCK, A);
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    contract_assert_value(&answer, 0, A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_lost_request_is_not_called_surely_not_applied)
{
    const char *node = node_with_a_value();
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    contract_now.backend->arm(&contract_now, CONTRACT_LOSE_REQUEST);
    int code = contract_call(node, take_a, 1, NULL, &answer);
    /* 0 where the transport (or its HTTP library) sent it again. */
    ck_assert_msg(code == HAMI_E_IN_DOUBT || code == 0, "%s", hami_errname(code));
    contract_assert_stored(node, LOCK, code == 0 ? A : NULL);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(after_a_lost_connection_the_next_call_is_served)
{
    const char *node = node_with_a_value();
    contract_now.backend->arm(&contract_now, CONTRACT_LOSE_ANSWER);
    (void)contract_call(node, take_a, 1, NULL, &answer);
    ck_assert_int_eq(contract_call(node, take_b, 1, NULL, &answer), HAMI_E_HELD);
    const struct hami_transport_edit over[] = {{HAMI_EDIT_PUT, LOCK, A, B}};
    ck_assert_int_eq(contract_call(node, over, 1, NULL, &answer), 0);
    contract_assert_stored(node, LOCK, B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_call_without_an_answer_ends_by_its_deadline_in_doubt)
{
    const char *node = node_with_a_value();
    ck_assert_int_eq(contract_call(node, read_lock, 1, NULL, &answer), 0);
    contract_now.backend->arm(&contract_now, CONTRACT_HANG);
    unsigned before = contract_completions();
    int code =
        contract_call_on(contract_now.transport, node, take_a, 1, NULL, 1000, &answer);
    ck_assert_msg(code == HAMI_E_IN_DOUBT, "%s", hami_errname(code));
    ck_assert_msg(contract_completions() - before == 1,
                  "the transport left the call to its caller's patience");
    ck_assert_uint_lt(answer.elapsed_ns, UINT64_C(1900000000));
    contract_assert_stored(node, LOCK, A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(submit_does_not_wait_for_the_answer)
{
    const char *node = node_with_a_value();
    contract_now.backend->arm(&contract_now, CONTRACT_HANG);
    int code =
        contract_call_on(contract_now.transport, node, take_a, 1, NULL, 1500, &answer);
    ck_assert_int_eq(code, HAMI_E_IN_DOUBT);
    ck_assert_uint_lt(contract_now.shim.longest_submit_ns, UINT64_C(1000000000));
    contract_answer_done(&answer);
}
END_TEST

START_TEST(other_nodes_are_served_while_a_call_hangs)
{
    const char *stuck = node_with_a_value();
    const char *node = node_with_a_value();
    contract_now.backend->arm(&contract_now, CONTRACT_HANG);
    ck_assert_int_eq(
        contract_call_on(contract_now.transport, stuck, take_a, 1, NULL, 300, &answer),
        HAMI_E_IN_DOUBT);
    ck_assert_int_eq(contract_call(node, take_a, 1, NULL, &answer), 0);
    contract_answer_done(&answer);
}
END_TEST

struct background {
    const char *node;
    int code;
    struct contract_answer answer;
};

static void *call_in_background(void *data)
{
    struct background *call = data;
    call->code = contract_call_on(contract_now.transport, call->node, take_a, 1, NULL,
                                  60000, &call->answer);
    return NULL;
}

START_TEST(abort_ends_a_call_early_and_in_doubt)
{
    struct background call = {.node = node_with_a_value()};
    pthread_t thread;
    contract_now.backend->arm(&contract_now, CONTRACT_HANG);
    ck_assert_int_eq(pthread_create(&thread, NULL, call_in_background, &call), 0);
    hami_call *hanging = contract_shim_wait(&contract_now.shim, 1);
    /* Only once it has arrived is it sure to have been sent. */
    bool arrived = contract_wait_stored(call.node, LOCK, A);
    if (hanging) {
        contract_now.transport->abort(contract_now.transport, hanging);
    }
    pthread_join(thread, NULL);
    ck_assert(hanging && arrived);
    ck_assert_msg(call.code == HAMI_E_IN_DOUBT, "%s", hami_errname(call.code));
    ck_assert_uint_eq(call.answer.received, 1);
    ck_assert_uint_lt(call.answer.elapsed_ns, UINT64_C(30000000000));
    contract_answer_done(&call.answer);
}
END_TEST

void contract_add_answers(Suite *suite, const struct contract_backend *backend)
{
    TCase *tests = contract_case(suite, "answers");
    tcase_add_test(tests, each_call_is_completed_once);
    tcase_add_test(tests, a_call_with_next_to_no_time_ends_once_and_tells_no_lie);
    if (backend->has_abort) {
        tcase_add_test(tests, aborting_a_call_that_is_over_does_no_harm);
    }
    if (backend->transport_nowhere) {
        tcase_add_test(tests,
                       a_store_that_cannot_be_reached_is_told_as_surely_not_applied);
    }
    if (!(backend->capabilities & CONTRACT_FAULTS)) {
        return;
    }
    TCase *faults = contract_case(suite, "faults");
    tcase_add_test(faults, a_lost_answer_is_in_doubt_and_never_a_refusal);
    tcase_add_test(faults, a_lost_request_is_not_called_surely_not_applied);
    tcase_add_test(faults, after_a_lost_connection_the_next_call_is_served);
    tcase_add_test(faults, a_call_without_an_answer_ends_by_its_deadline_in_doubt);
    tcase_add_test(faults, submit_does_not_wait_for_the_answer);
    tcase_add_test(faults, other_nodes_are_served_while_a_call_hangs);
    if (backend->has_abort) {
        tcase_add_test(faults, abort_ends_a_call_early_and_in_doubt);
    }
}

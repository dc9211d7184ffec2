/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of what happened lately: its bounds, and what is cut.
 */
#include "history.h"

#include <string.h>

#include <hami/kubernetes.h>

#include "suite.h"

static const struct bind_request about = {
    .namespace_name = "ns", .name = "a", .uid = "u-1", .node = "n1"};

static void count(void *data)
{
    ++*(unsigned *)data;
}

START_TEST(test_happenings_are_numbered_from_one_and_told_of)
{
    unsigned told = 0;
    struct history *history = history_new(count, &told);
    ck_assert_uint_eq(history_last(history), 0);
    ck_assert_ptr_null(history_at(history, 0));
    ck_assert_ptr_null(history_at(history, 1));
    history_add(history, HAPPENING_GRANTED, &about, hami_kubernetes_now() - 5000, NULL);
    history_add(history, HAPPENING_REFUSED, &about, 0, "why");
    ck_assert_uint_eq(told, 2);
    ck_assert_uint_eq(history_last(history), 2);
    const struct happening *first = history_at(history, 1);
    ck_assert_str_eq(happening_name(first->kind), "granted");
    ck_assert_str_eq(first->about.node, "n1");
    ck_assert_str_eq(first->text, "");
    ck_assert_uint_ge(first->span_ns, 5000);
    const struct happening *second = history_at(history, 2);
    ck_assert_str_eq(happening_name(second->kind), "refused");
    ck_assert_str_eq(second->text, "why");
    ck_assert_uint_eq(second->span_ns, 0);
    (void)history_free(history);
}
END_TEST

START_TEST(test_the_oldest_gives_way_to_the_latest)
{
    struct history *history = history_new(NULL, NULL);
    for (int i = 0; i < HISTORY_MAX + 3; i++) {
        history_add(history, HAPPENING_BOUND, &about, 0, NULL);
    }
    ck_assert_uint_eq(history_last(history), HISTORY_MAX + 3);
    ck_assert_ptr_null(history_at(history, 3));
    ck_assert_uint_eq(history_at(history, 4)->sequence, 4);
    ck_assert_ptr_null(history_at(history, HISTORY_MAX + 4));
    (void)history_free(history);
}
END_TEST

START_TEST(test_names_and_reasons_that_do_not_fit_are_cut_and_missing_ones_are_empty)
{
    char name[400];
    struct history *history = history_new(NULL, NULL);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    struct hami_owner owner = {.namespace_name = name, .name = name};
    history_add_owner(history, HAPPENING_LOST, &owner, name, name);
    const struct happening *one = history_at(history, 1);
    ck_assert_uint_eq(strlen(one->about.namespace_name), 63);
    ck_assert_uint_eq(strlen(one->about.name), 253);
    ck_assert_uint_eq(strlen(one->about.node), HAMI_NODELOCK_NODE_MAX);
    ck_assert_str_eq(one->about.uid, "");
    ck_assert_uint_eq(strlen(one->text), HISTORY_TEXT_MAX - 1);
    memcpy(name + HISTORY_TEXT_MAX - 2, "\xe2\x82\xac", 3);
    history_add(history, HAPPENING_LOST, &one->about, 0, name);
    ck_assert_uint_eq(strlen(history_at(history, 2)->text), HISTORY_TEXT_MAX - 2);
    (void)history_free(history);
}
END_TEST

START_TEST(test_nobody_has_to_keep_a_history)
{
    history_add(NULL, HAPPENING_BOUND, &about, 0, NULL);
    ck_assert_ptr_null(history_free(NULL));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_happenings_are_numbered_from_one_and_told_of);
    tcase_add_test(all, test_the_oldest_gives_way_to_the_latest);
    tcase_add_test(
        all, test_names_and_reasons_that_do_not_fit_are_cut_and_missing_ones_are_empty);
    tcase_add_test(all, test_nobody_has_to_keep_a_history);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}

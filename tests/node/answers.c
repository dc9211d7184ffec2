/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The table of answers, and its comparison with the kubelet's books. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/answers.h"

#define GPU "nvidia.com/gpu"

static struct answers answers;
static unsigned swaps;

static void set_up(void)
{
    ck_assert_int_eq(answers_init(&answers), 0);
    swaps = 0;
}

static void tear_down(void)
{
    answers_done(&answers);
}

/* IDS: words parted by blanks. */
static void add(const char *pod, const char *container, const char *ids, uint64_t now)
{
    const struct hami_owner owner = {"ns", pod, "uid"};
    const char *words[8];
    char *text = strdup(ids), *rest = NULL;
    size_t count = 0;

    for (char *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        words[count++] = word;
    }
    ck_assert(
        answers_add(&answers, answer_new(GPU, &owner, container, words, count), now));
    free(text);
}

static const char *pod_of(const char *id)
{
    const struct answer *answer = answers_find(&answers, GPU, id);

    return answer != NULL ? answer->pod : "";
}

static void note_swap(void *data, const struct answer *answer,
                      const struct books_row *row)
{
    (void)data;
    ck_assert_str_ne(answer->pod, "");
    ck_assert_str_ne(row->holding.pod, "");
    swaps++;
}

/* Books with one row. */
static size_t compare(const char *pod, const char *container, const char *id,
                      uint64_t started)
{
    char *ids[] = {(char *)id};
    const struct books_row row = {{"ns", pod, container, GPU}, ids, 1};
    const struct books_page page = {&row, 1, started};

    return answers_compare(&answers, &page, note_swap, NULL);
}

START_TEST(id_belongs_to_its_newest_answer)
{
    add("a", "c", "1 2", 10);
    add("b", "c", "2 3", 20);
    ck_assert_str_eq(pod_of("1"), "a");
    ck_assert_str_eq(pod_of("2"), "b");
    ck_assert_str_eq(pod_of("3"), "b");
    ck_assert_str_eq(pod_of("4"), "");
    ck_assert_ptr_null(answers_find(&answers, "other/gpu", "1"));
    ck_assert_uint_eq(answers.open, 2);
    add("c", "c", "1", 30); /* nothing is left of a's */
    ck_assert_uint_eq(answers.open, 2);
    ck_assert_str_eq(answers.oldest->pod, "b");
    ck_assert_uint_eq(answers.ids, 3);
}
END_TEST

START_TEST(id_named_twice_counts_once)
{
    add("a", "c", "1 1 1", 10);
    ck_assert_uint_eq(answers.ids, 1);
    add("b", "c", "1", 20);
    ck_assert_uint_eq(answers.ids, 1);
    ck_assert_ptr_eq(answers.oldest, answers.newest);
}
END_TEST

START_TEST(books_confirm_an_answer_once)
{
    add("a", "c", "1", 10);
    ck_assert_uint_eq(compare("a", "c", "1", 20), 1);
    ck_assert_uint_eq(compare("a", "c", "1", 30), 0);
    ck_assert_uint_eq(answers.open, 0);
    ck_assert_uint_eq(swaps, 0);
}
END_TEST

static const struct {
    const char *pod;
    const char *container;
} others[] = {{"b", "c"}, {"a", "d"}, {"", "c"}};

START_TEST(books_that_name_another_are_a_swap_told_once)
{
    add("a", "c", "1", 10);
    ck_assert_uint_eq(compare("a", "c", "1", 20), 1);
    (void)compare(others[_i].pod[0] != '\0' ? others[_i].pod : "ab", others[_i].container,
                  "1", 30);
    (void)compare("b", "c", "1", 40);
    ck_assert_uint_eq(swaps, 1);
    ck_assert_int_eq(answers.newest->state, ANSWER_SWAPPED);
}
END_TEST

START_TEST(page_from_before_an_answer_says_nothing_of_it)
{
    add("a", "c", "1", 10);
    add("b", "c", "1", 30);
    (void)compare("a", "c", "1", 20); /* the books were read when it was still a's */
    ck_assert_uint_eq(swaps, 0);
    ck_assert_uint_eq(answers.open, 1);
}
END_TEST

START_TEST(answers_that_never_turn_up_are_given_up)
{
    add("a", "c", "1", 10);
    add("b", "c", "2", 20);
    ck_assert_uint_eq(answers_give_up(&answers, 20), 1);
    ck_assert_uint_eq(answers_give_up(&answers, 20), 0);
    ck_assert_uint_eq(answers.open, 1);
    ck_assert_uint_eq(compare("a", "c", "1", 30), 1); /* late is not never */
}
END_TEST

START_TEST(oldest_answers_are_forgotten_beyond_the_bound)
{
    char id[24];

    for (unsigned i = 0; i < ANSWERS_IDS_MAX + 10; i++) {
        snprintf(id, sizeof(id), "%u", i);
        add("a", "c", id, i);
    }
    ck_assert_uint_eq(answers.ids, ANSWERS_IDS_MAX);
    ck_assert_str_eq(pod_of("9"), "");
    ck_assert_str_eq(pod_of("10"), "a");
}
END_TEST

static const struct {
    const char *title;
    const char *asked[3]; /* ids; NULL ends */
    const char *pods[2];  /* that have ids 1 and 2 by the books; NULL: nobody */
    enum answers_verdict verdict;
} starts[] = {
    {"both as answered", {"1", "2"}, {"a", "a"}, ANSWERS_CONFIRMED},
    {"one is not on the books", {"1", "2"}, {"a", NULL}, ANSWERS_UNKNOWN},
    {"one is another's", {"1", "2"}, {"a", "b"}, ANSWERS_SWAPPED},
    {"one was never answered", {"1", "3"}, {"a", "a"}, ANSWERS_UNKNOWN},
    {"no id at all", {NULL}, {"a", "a"}, ANSWERS_UNKNOWN},
    {"another's counts more than one unknown", {"3", "2"}, {"a", "b"}, ANSWERS_SWAPPED},
};

START_TEST(start_is_judged_by_each_of_its_devices)
{
    char *ids[2][1] = {{(char *)"1"}, {(char *)"2"}};
    struct books_row rows[2];
    struct books_page page = {rows, 0, 20};
    const struct answer *answer = NULL;
    const struct books_row *row = NULL;
    size_t count = 0;

    add("a", "c", "1 2", 10);
    for (size_t i = 0; i < 2; i++) {
        if (starts[_i].pods[i] != NULL) {
            rows[page.count++] =
                (struct books_row){{"ns", starts[_i].pods[i], "c", GPU}, ids[i], 1};
        }
    }
    while (starts[_i].asked[count] != NULL) {
        count++;
    }
    ck_assert_msg(answers_judge(&answers, &page, GPU, (char *const *)starts[_i].asked,
                                count, &answer, &row) == starts[_i].verdict,
                  "%s", starts[_i].title);
    ck_assert((answer != NULL) == (starts[_i].verdict == ANSWERS_SWAPPED));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answers");
    TCase *cases = tcase_create("answers");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, id_belongs_to_its_newest_answer);
    tcase_add_test(cases, id_named_twice_counts_once);
    tcase_add_test(cases, books_confirm_an_answer_once);
    tcase_add_loop_test(cases, books_that_name_another_are_a_swap_told_once, 0, 3);
    tcase_add_test(cases, page_from_before_an_answer_says_nothing_of_it);
    tcase_add_test(cases, answers_that_never_turn_up_are_given_up);
    tcase_add_test(cases, oldest_answers_are_forgotten_beyond_the_bound);
    tcase_add_loop_test(cases, start_is_judged_by_each_of_its_devices, 0,
                        (int)(sizeof(starts) / sizeof(starts[0])));
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod's string says about one of its containers.
 */
#include <check.h>
#include <stdlib.h>

#include "node/handed.h"

#define KEY "hami.io/vgpu-devices-to-allocate"
#define A "GPU-a,NVIDIA,1000,10:"

static const struct {
    const char *inits, *containers;
    const char *left; /* NULL: no annotation */
    const char *container;
    enum handed_word word;
} cases[] = {
    {"[]", "[{\"name\":\"a\"}]", A ";", "a", HANDED_NOT},
    {"[]", "[{\"name\":\"a\"}]", ";", "a", HANDED_OUT},
    {"[]", "[{\"name\":\"a\"}]", "", "a", HANDED_OUT},
    {"[]", "[{\"name\":\"a\"},{\"name\":\"b\"}]", ";" A ";", "a", HANDED_OUT},
    {"[]", "[{\"name\":\"a\"},{\"name\":\"b\"}]", ";" A ";", "b", HANDED_NOT},
    {"[{\"name\":\"i\"}]", "[{\"name\":\"a\"}]", A ";" A ";", "i", HANDED_NOT},
    {"[{\"name\":\"i\"}]", "[{\"name\":\"a\"}]", ";" A ";", "i", HANDED_OUT},
    {"[{\"name\":\"i\"}]", "[{\"name\":\"a\"}]", A ";" A ";", "a", HANDED_NOT},
    {"[{\"name\":\"i\"}]", "[{\"name\":\"a\"}]", ";;", "a", HANDED_OUT},
    /* An older HAMi's string has no entry for the init container: which one is it? */
    {"[{\"name\":\"i\"}]", "[{\"name\":\"a\"}]", A ";", "a", HANDED_UNKNOWN},
    {"[]", "[{\"name\":\"a\"}]", A ";", "z", HANDED_UNKNOWN},
    {"[]", "[{\"name\":\"a\"}]", NULL, "a", HANDED_UNKNOWN},
    {"[]", "[{\"name\":\"a\"}]", "GPU-a,NVIDIA,x,10:;", "a", HANDED_UNKNOWN},
    {"7", "{}", A ";", "a", HANDED_UNKNOWN},
};

START_TEST(a_container_whose_devices_are_left_was_not_handed_them)
{
    json_t *pod = json_pack(
        "{s:{s:{s:s?}}, s:{s:o, s:o}}", "metadata", "annotations", KEY, cases[_i].left,
        "spec", "initContainers", json_loads(cases[_i].inits, JSON_DECODE_ANY, NULL),
        "containers", json_loads(cases[_i].containers, JSON_DECODE_ANY, NULL));

    ck_assert_ptr_nonnull(pod);
    ck_assert_int_eq(handed_judge(pod, KEY, cases[_i].container), cases[_i].word);
    json_decref(pod);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handed");
    TCase *words = tcase_create("words");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(words, a_container_whose_devices_are_left_was_not_handed_them, 0,
                        sizeof(cases) / sizeof(cases[0]));
    suite_add_tcase(suite, words);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

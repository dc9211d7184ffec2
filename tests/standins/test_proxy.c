/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes and connections the stand-in proxy's rules mean. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proxy_faults.h"
#include "suite.h"

static void obey(struct proxy_faults *faults, const char *line)
{
    const char *problem = proxy_faults_obey(faults, line, 1000);
    ck_assert_msg(problem == NULL, "%s: %s", line, problem);
}

START_TEST(without_a_rule_nothing_is_cut)
{
    struct proxy_faults faults = {0};
    ck_assert(!proxy_faults_connected(&faults));
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 1 << 20), PROXY_CUT_NONE);
}
END_TEST

START_TEST(the_bytes_that_fill_the_measure_are_cut_whatever_connection_they_are_of)
{
    struct proxy_faults faults = {0};
    obey(&faults, "cut after bytes 100");
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 60), PROXY_CUT_NONE);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 39), PROXY_CUT_NONE);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 60, 500), PROXY_CUT_AFTER);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 99), PROXY_CUT_NONE);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 1), PROXY_CUT_AFTER);
    ck_assert_uint_eq(faults.cuts[PROXY_CUT_AFTER], 2);
}
END_TEST

START_TEST(each_nth_connection_is_cut_once_its_offset_has_passed)
{
    struct proxy_faults faults = {0};
    obey(&faults, "cut before connections 3 offset 50");
    ck_assert(!proxy_faults_connected(&faults));
    ck_assert(!proxy_faults_connected(&faults));
    ck_assert(proxy_faults_connected(&faults));
    ck_assert(!proxy_faults_connected(&faults));
    ck_assert_int_eq(proxy_faults_request(&faults, true, 0, 50), PROXY_CUT_NONE);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 50, 50), PROXY_CUT_NONE);
    ck_assert_int_eq(proxy_faults_request(&faults, true, 50, 1), PROXY_CUT_BEFORE);
}
END_TEST

START_TEST(a_rule_ends_after_its_times)
{
    struct proxy_faults faults = {0};
    obey(&faults, "cut before bytes 10 times 2");
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 10), PROXY_CUT_BEFORE);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 10), PROXY_CUT_BEFORE);
    ck_assert_int_eq(proxy_faults_request(&faults, false, 0, 10), PROXY_CUT_NONE);
    ck_assert_uint_eq(faults.cuts[PROXY_CUT_BEFORE], 2);
}
END_TEST

START_TEST(delays_and_stalls_are_of_the_way_that_was_named)
{
    struct proxy_faults faults = {0};
    obey(&faults, "delay answers 30");
    ck_assert_int_eq(proxy_faults_due(&faults, PROXY_ANSWERS, 7), 37);
    ck_assert_int_eq(proxy_faults_due(&faults, PROXY_REQUESTS, 7), 7);
    obey(&faults, "stall requests 500");
    ck_assert_int_eq(faults.stalled_until_ms[PROXY_REQUESTS], 1500);
    ck_assert_int_eq(faults.stalled_until_ms[PROXY_ANSWERS], 0);
    obey(&faults, "stall both 0");
    ck_assert_int_eq(faults.stalled_until_ms[PROXY_REQUESTS], INT64_MAX);
    ck_assert_int_eq(faults.stalled_until_ms[PROXY_ANSWERS], INT64_MAX);
    obey(&faults, "resume");
    ck_assert_int_eq(faults.stalled_until_ms[PROXY_ANSWERS], 0);
    ck_assert_int_eq(proxy_faults_due(&faults, PROXY_ANSWERS, 7), 37);
    obey(&faults, "clear");
    ck_assert_int_eq(proxy_faults_due(&faults, PROXY_ANSWERS, 7), 7);
}
END_TEST

START_TEST(what_is_no_command_changes_nothing)
{
    static const char *const lines[] = {"",
                                        "   ",
                                        "cut",
                                        "cut during bytes 5",
                                        "cut after bytes",
                                        "cut after bytes 0",
                                        "cut after bytes -5",
                                        "cut after bytes 5x",
                                        "cut after packets 5",
                                        "cut after bytes 5 times",
                                        "cut after bytes 5 times 0",
                                        "cut after bytes 5 offset 2",
                                        "cut after bytes 99999999999999999999",
                                        "delay 5",
                                        "delay upwards 5",
                                        "delay both five",
                                        "delay both 5 6",
                                        "stall",
                                        "resume now",
                                        "clear all",
                                        "reset",
                                        "cut after connections 1 offset 1 times 1 times",
                                        "a b c d e f g h i j",
                                        "averyveryverylongwordindeed"};
    struct proxy_faults faults = {0};
    obey(&faults, "cut before bytes 7");
    struct proxy_faults before = faults;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_msg(proxy_faults_obey(&faults, lines[i], 0) != NULL, "taken: '%s'",
                      lines[i]);
        ck_assert_msg(memcmp(&faults, &before, sizeof(faults)) == 0, "changed: '%s'",
                      lines[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proxy");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, without_a_rule_nothing_is_cut);
    tcase_add_test(
        rules, the_bytes_that_fill_the_measure_are_cut_whatever_connection_they_are_of);
    tcase_add_test(rules, each_nth_connection_is_cut_once_its_offset_has_passed);
    tcase_add_test(rules, a_rule_ends_after_its_times);
    tcase_add_test(rules, delays_and_stalls_are_of_the_way_that_was_named);
    tcase_add_test(rules, what_is_no_command_changes_nothing);
    suite_add_tcase(suite, rules);
    return run_suite(suite);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the end of a certificate is warned of.
 */
#include "certificates.h"

#include "suite.h"

#define DAY (24 * 3600)

START_TEST(test_a_year_is_warned_of_a_month_before_its_end)
{
    ck_assert_int_eq(certificate_judge(0, 365 * DAY, 334 * DAY), CERTIFICATE_GOOD);
    ck_assert_int_eq(certificate_judge(0, 365 * DAY, 336 * DAY), CERTIFICATE_ENDING);
    ck_assert_int_eq(certificate_judge(0, 365 * DAY, 365 * DAY), CERTIFICATE_OVER);
    ck_assert_int_eq(certificate_judge(0, 365 * DAY, 366 * DAY), CERTIFICATE_OVER);
}
END_TEST

START_TEST(test_a_day_is_warned_of_in_its_last_tenth)
{
    ck_assert_int_eq(certificate_judge(0, DAY, DAY * 8 / 10), CERTIFICATE_GOOD);
    ck_assert_int_eq(certificate_judge(0, DAY, DAY * 95 / 100), CERTIFICATE_ENDING);
}
END_TEST

START_TEST(test_ten_years_are_not_warned_of_for_a_whole_one)
{
    ck_assert_int_eq(certificate_judge(0, 3650 * DAY, 3600 * DAY), CERTIFICATE_GOOD);
    ck_assert_int_eq(certificate_judge(0, 3650 * DAY, 3621 * DAY), CERTIFICATE_ENDING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("certificates");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_a_year_is_warned_of_a_month_before_its_end);
    tcase_add_test(all, test_a_day_is_warned_of_in_its_last_tenth);
    tcase_add_test(all, test_ten_years_are_not_warned_of_for_a_whole_one);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulated pod's containers ask, and how a plugin empties their sections. */
#include "../suite.h"
#include "asks.h"

START_TEST(a_containers_devices_are_handed_out_by_themselves)
{
    struct pod asking = {.call_count = 2, .calls = {0, 5}}, *pod = &asking;
    char text[400], less[400], none[400];

    asks_devices(pod, text, sizeof(text));
    ck_assert_str_eq(text, "GPU-1,NVIDIA,1000,10:;"
                           "GPU-1,OTHER,1000,10:GPU-2,OTHER,1000,10:;");
    asks_without(text, 1, less, sizeof(less));
    ck_assert_str_eq(less, "GPU-1,NVIDIA,1000,10:;;");
    ck_assert(asks_is_left(less, 0) && !asks_is_left(less, 1));
    asks_without(less, 0, none, sizeof(none));
    ck_assert_str_eq(none, ";;");
    asks_without(none, 7, less, sizeof(less));
    ck_assert_str_eq(less, ";;;");
    asks_text(1u << 5 | 1u, text, sizeof(text));
    ck_assert_str_eq(text, "a.example/gpu=1,b.example/npu=2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("asked");
    TCase *tcase = tcase_create("asked");

    tcase_add_test(tcase, a_containers_devices_are_handed_out_by_themselves);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `hamid scheduler` makes of its command line and environment.
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct scheduler_options options;
static struct hamid_problems problems;
static const char *const error = problems.text;

static enum hamid_flags_result read_options(const char *expire, int argc,
                                            const char *const *argv)
{
    if (expire != NULL) {
        (void)setenv("HAMI_NODELOCK_EXPIRE", expire, 1);
    } else {
        (void)unsetenv("HAMI_NODELOCK_EXPIRE");
    }
    memset(&problems, 0, sizeof(problems));
    scheduler_options_done(&options);
    return scheduler_options_read(&options, argc, (char *const *)argv, &problems);
}

#define READ(expire, ...)                                                                \
    read_options(expire, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),  \
                 (const char *[]){__VA_ARGS__})

START_TEST(test_defaults)
{
    ck_assert_int_eq(read_options(NULL, 0, NULL), HAMID_FLAGS_OK);
    ck_assert_str_eq(options.listen, "127.0.0.1:8080");
    ck_assert_uint_eq(options.patience_ms, 30000);
    ck_assert_uint_eq(options.hold_limit_ms, 15000);
    ck_assert_uint_eq(options.lock_expire_ms, 300000);
    ck_assert_uint_eq(options.stall_limit_ms, 5000);
    ck_assert(!options.expire_bound_owners);
}
END_TEST

START_TEST(test_case_1_32_the_expiry_is_the_flag_then_the_variable_then_five_minutes)
{
    static const char *const bad[] = {"abc", "-1s", "0", "", "1ms"};
    ck_assert_int_eq(read_options("90s", 0, NULL), HAMID_FLAGS_OK);
    ck_assert_uint_eq(options.lock_expire_ms, 90000);
    ck_assert_str_eq(options.config.warning, "");
    ck_assert_int_eq(READ("90s", "--lock-expire=2m"), HAMID_FLAGS_OK);
    ck_assert_uint_eq(options.lock_expire_ms, 120000);
    ck_assert_int_eq(READ("90s", "--node-lock-timeout", "3m"), HAMID_FLAGS_OK);
    ck_assert_uint_eq(options.lock_expire_ms, 180000);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(read_options(bad[i], 0, NULL), HAMID_FLAGS_OK);
        ck_assert_uint_eq(options.lock_expire_ms, 300000);
        ck_assert_ptr_nonnull(strstr(options.config.warning, "HAMI_NODELOCK_EXPIRE"));
    }
    ck_assert_int_eq(READ("abc", "--lock-expire=2m"), HAMID_FLAGS_OK);
    ck_assert_str_eq(options.config.warning, "");
    ck_assert_int_eq(READ(NULL, "--lock-expire=0"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--lock-expire=-5m"), HAMID_FLAGS_WRONG);
}
END_TEST

START_TEST(test_the_store_of_the_locks_is_chosen_by_name)
{
    ck_assert_int_eq(read_options(NULL, 0, NULL), HAMID_FLAGS_OK);
    ck_assert(!options.keeps_leases);
    ck_assert_ptr_null(options.lease_namespace);
    ck_assert_int_eq(READ(NULL, "--lock-store=annotation"), HAMID_FLAGS_OK);
    ck_assert(!options.keeps_leases);
    ck_assert_int_eq(READ(NULL, "--lock-store=lease+mirror"), HAMID_FLAGS_OK);
    ck_assert(options.keeps_leases);
    ck_assert_str_eq(options.lease_namespace, "hami-nodelock");
    ck_assert_int_eq(READ(NULL, "--lock-store=lease+mirror", "--lease-namespace=locks"),
                     HAMID_FLAGS_OK);
    ck_assert_str_eq(options.lease_namespace, "locks");
    ck_assert_int_eq(READ(NULL, "--lock-store=lease"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "neither annotation nor lease+mirror"));
    ck_assert_int_eq(READ(NULL, "--lease-namespace=locks"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "means nothing without"));
}
END_TEST

START_TEST(test_side_by_side_is_off_and_wants_what_it_can_not_do_without)
{
    ck_assert_int_eq(read_options(NULL, 0, NULL), HAMID_FLAGS_OK);
    ck_assert_uint_eq(options.side_by_side, 0);
    ck_assert_int_eq(READ(NULL, "--side-by-side=4", "--scheduler-name=a"),
                     HAMID_FLAGS_OK);
    ck_assert_uint_eq(options.side_by_side, 4);
    ck_assert_int_eq(READ(NULL, "--side-by-side=0", "--lock-store=lease+mirror"),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--side-by-side=4"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--side-by-side: wants scheduler-name as well"));
    ck_assert_int_eq(
        READ(NULL, "--side-by-side=4", "--scheduler-name=a", "--lock-store=lease+mirror"),
        HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--side-by-side: wants lock-store annotation"));
    ck_assert_int_eq(READ(NULL, "--side-by-side=9", "--scheduler-name=a"),
                     HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "'9' is no whole number from 0 to 8"));
}
END_TEST

START_TEST(test_case_1_36_a_resource_without_a_choice_of_its_lock_is_refused)
{
    static const char *const known[] = {
        "nvidia.com/gpu",           "nvidia.com/gpumem",
        "hygon.com/dcunum",         "huawei.com/Ascend910B4-1",
        "iluvatar.ai/MR-V100-vgpu", "kunlunxin.com/vxpu",
        "metax-tech.com/sgpu",      "amd.com/gpu",
        "cambricon.com/vmlu",       "metax-tech.com/gpu",
        "mthreads.com/vgpu",        "enflame.com/gcu",
        "kunlunxin.com/xpu",        "aws.amazon.com/neuroncore"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        ck_assert_int_eq(READ(NULL, "--managed-resource", known[i]), HAMID_FLAGS_OK);
    }
    ck_assert_int_eq(READ(NULL, "--managed-resource=example.com/gpu"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--managed-resource: nothing says which lock "
                                        "'example.com/gpu' needs"));
    ck_assert_ptr_nonnull(strstr(error, "--lock example.com/gpu=hami.io/mutex.lock"));
    ck_assert_int_eq(READ(NULL, "--managed-resource=nvidia.com/mig-1g.5gb"),
                     HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--managed-resource=example.com/gpu",
                          "--lock=example.com/gpu=hami.io/mutex.lock"),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(
        READ(NULL, "--managed-resource=example.com/gpu", "--lock=example.com/*=exempt"),
        HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--lock=example.com/gpu=maybe ,"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--lock: "));
    ck_assert_int_eq(READ(NULL, "--lock=a.b/c=x.y/z", "--lock=a.b/c=exempt"),
                     HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "a.b/c is given twice"));
}
END_TEST

START_TEST(test_the_most_exact_choice_counts_before_hamis_own_rows)
{
    static const char *const resources[] = {"huawei.com/Ascend910A",
                                            "huawei.com/Ascend910B", "cpu"};
    struct lock_needs needs;
    const char *keys[HAMI_NODELOCK_KEYS_MAX];
    ck_assert_int_eq(READ(NULL, "--lock=huawei.com/*=a.b/all.lock",
                          "--lock=huawei.com/Ascend910A=a.b/one.lock"),
                     HAMID_FLAGS_OK);
    lock_table_judge(options.locks, resources, 3, &needs);
    ck_assert(needs.is_managed && !needs.is_exempt);
    ck_assert_uint_eq(needs.key_count, 2);
    ck_assert_str_eq(needs.keys[0], "a.b/one.lock");
    ck_assert_str_eq(needs.keys[1], "a.b/all.lock");
    ck_assert_uint_eq(lock_table_keys(options.locks, keys), 4);
    lock_table_judge(options.locks, &resources[2], 1, &needs);
    ck_assert_str_eq(needs.keys[0], "hami.io/mutex.lock");
    ck_assert_uint_eq(needs.key_count, 1);
}
END_TEST

START_TEST(test_hamis_own_command_line_is_understood)
{
    ck_assert_int_eq(
        READ(NULL, "--http_bind=127.0.0.1:9998", "--cert_file=/tls/tls.crt",
             "--key_file=/tls/tls.key", "--scheduler-name=hami-scheduler",
             "--metrics-bind-address=:9395", "--node-scheduler-policy=binpack",
             "--gpu-scheduler-policy=spread", "--device-config-file=/device.yaml",
             "--leader-elect=true", "--debug", "-v=4", "--kube-qps=50",
             "--node-lock-timeout=10m", "--node-lock-retry-timeout=28s"),
        HAMID_FLAGS_OK);
    ck_assert_str_eq(options.listen, "127.0.0.1:9998");
    ck_assert_uint_eq(options.lock_expire_ms, 600000);
    ck_assert_uint_eq(options.verbosity, 4);
    ck_assert_uint_eq(options.scheduler_names.count, 1);
    ck_assert_uint_eq(options.ignored.count, 8);
    ck_assert_str_eq(options.tls_cert_file, "/tls/tls.crt");
    ck_assert_str_eq(options.tls_key_file, "/tls/tls.key");
}
END_TEST

#define TLS "--tls-cert-file=/c", "--tls-key-file=/k"

START_TEST(test_beyond_the_loopback_callers_show_a_certificate_or_it_is_said)
{
    ck_assert_int_eq(READ(NULL, "--listen=0.0.0.0:8080", TLS), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--client-ca-file"));
    ck_assert_int_eq(READ(NULL, "--listen=0.0.0.0:8080", TLS, "--client-ca-file=/a"),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--listen=0.0.0.0:8080", TLS, "--allow-remote"),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, TLS), HAMID_FLAGS_OK);
}
END_TEST

START_TEST(test_metrics_beyond_the_loopback_want_tls_or_it_is_said)
{
    ck_assert_int_eq(READ(NULL, "--metrics-listen=:9000"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--metrics-allow-plain"));
    ck_assert_int_eq(READ(NULL, "--metrics-listen=:9000", TLS), HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--metrics-listen=:9000", "--metrics-allow-plain"),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--metrics-listen=:9000", "--allow-remote"),
                     HAMID_FLAGS_WRONG);
}
END_TEST

START_TEST(test_files_of_tls_are_given_together)
{
    ck_assert_int_eq(READ(NULL, "--tls-cert-file=/c"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "tls-key-file"));
    ck_assert_int_eq(READ(NULL, "--tls-key-file=/k"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--client-ca-file=/a"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, TLS, "--client-name=system:kube-scheduler"),
                     HAMID_FLAGS_WRONG);
    ck_assert_int_eq(
        READ(NULL, TLS, "--client-ca-file=/a", "--client-name=a", "--client-name=b"),
        HAMID_FLAGS_OK);
    ck_assert_uint_eq(options.client_names.count, 2);
}
END_TEST

START_TEST(test_an_address_beyond_the_loopback_wants_to_be_said)
{
    ck_assert_int_eq(READ(NULL, "--listen=0.0.0.0:8080"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--allow-remote"));
    ck_assert_int_eq(READ(NULL, "--listen=:8080"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--listen=8080"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--listen=0.0.0.0:8080", "--allow-remote"),
                     HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--listen=[::1]:8080"), HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--listen=127.0.0.2:0"), HAMID_FLAGS_OK);
}
END_TEST

START_TEST(test_the_page_is_on_a_listener_of_its_own_unless_none_is_wanted)
{
    ck_assert_int_eq(READ(NULL, "-v=0"), HAMID_FLAGS_OK);
    ck_assert_str_eq(options.metrics_listen, "127.0.0.1:9397");
    ck_assert_int_eq(READ(NULL, "--listen=127.0.0.1:0"), HAMID_FLAGS_OK);
    ck_assert_str_eq(options.metrics_listen, "127.0.0.1:0");
    ck_assert_int_eq(READ(NULL, "--metrics-listen=:9000", "--metrics-allow-plain"),
                     HAMID_FLAGS_OK);
    ck_assert_str_eq(options.metrics_listen, ":9000");
    ck_assert_int_eq(READ(NULL, "--metrics-listen=none"), HAMID_FLAGS_OK);
    ck_assert_ptr_null(options.metrics_listen);
}
END_TEST

START_TEST(test_the_kubeconfig_is_the_flag_then_the_variable_unless_it_is_empty)
{
    (void)setenv("KUBECONFIG", "/a:/b", 1);
    ck_assert_int_eq(read_options(NULL, 0, NULL), HAMID_FLAGS_OK);
    ck_assert_str_eq(options.login.kubeconfig, "/a:/b");
    ck_assert_int_eq(READ(NULL, "--kubeconfig=/c"), HAMID_FLAGS_OK);
    ck_assert_str_eq(options.login.kubeconfig, "/c");
    (void)setenv("KUBECONFIG", "", 1);
    ck_assert_int_eq(read_options(NULL, 0, NULL), HAMID_FLAGS_OK);
    ck_assert_ptr_null(options.login.kubeconfig);
    (void)unsetenv("KUBECONFIG");
}
END_TEST

START_TEST(test_values_that_make_no_sense_are_refused)
{
    ck_assert_int_eq(READ(NULL, "--filter-url=hami:443"), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--filter-url"));
    ck_assert_int_eq(READ(NULL, "--logging-format=xml"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--patience=0"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--hold-limit=11m"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "word"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--stall-limit=0"), HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--logging-format=json"), HAMID_FLAGS_OK);
    ck_assert(options.log_json);
}
END_TEST

START_TEST(test_help_names_each_flag_of_its_own)
{
    static const char *const names[] = {
        "--listen",         "--http_bind",        "--metrics-listen", "--filter-url",
        "--patience",       "--hold-limit",       "--lock-expire",    "--stall-limit",
        "--scheduler-name", "--managed-resource", "--kubeconfig"};
    char *help = scheduler_options_help();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ck_assert_msg(strstr(help, names[i]) != NULL, "%s", names[i]);
    }
    free(help);
}
END_TEST

START_TEST(test_names_that_nothing_can_have_are_told_before_anything_starts)
{
    ck_assert_int_eq(READ(NULL, "--scheduler-name="), HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "--scheduler-name: '' is no schedulerName"));
    ck_assert_int_eq(READ(NULL, "--scheduler-name=a", "--scheduler-name=b c"),
                     HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "'b c'"));
    ck_assert_int_eq(READ(NULL, "--host=http://hamid"), HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--host=hamid.svc", "--host=::1"), HAMID_FLAGS_OK);
    ck_assert_int_eq(READ(NULL, "--lock-store=lease+mirror", "--lease-namespace=Locks"),
                     HAMID_FLAGS_WRONG);
    ck_assert_ptr_nonnull(strstr(error, "'Locks' is no namespace's name"));
    ck_assert_int_eq(READ(NULL, "--lock-store=lease+mirror", "--lease-namespace=-a"),
                     HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--filter-url=http://127.0.0.1/x?y=z"),
                     HAMID_FLAGS_WRONG);
    ck_assert_int_eq(READ(NULL, "--listen=localhost:99999"), HAMID_FLAGS_WRONG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler options");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_defaults);
    tcase_add_test(
        all, test_case_1_32_the_expiry_is_the_flag_then_the_variable_then_five_minutes);
    tcase_add_test(all, test_the_store_of_the_locks_is_chosen_by_name);
    tcase_add_test(all, test_side_by_side_is_off_and_wants_what_it_can_not_do_without);
    tcase_add_test(all,
                   test_case_1_36_a_resource_without_a_choice_of_its_lock_is_refused);
    tcase_add_test(all, test_the_most_exact_choice_counts_before_hamis_own_rows);
    tcase_add_test(all, test_hamis_own_command_line_is_understood);
    tcase_add_test(all,
                   test_beyond_the_loopback_callers_show_a_certificate_or_it_is_said);
    tcase_add_test(all, test_metrics_beyond_the_loopback_want_tls_or_it_is_said);
    tcase_add_test(all, test_files_of_tls_are_given_together);
    tcase_add_test(all, test_an_address_beyond_the_loopback_wants_to_be_said);
    tcase_add_test(all, test_the_page_is_on_a_listener_of_its_own_unless_none_is_wanted);
    tcase_add_test(all,
                   test_the_kubeconfig_is_the_flag_then_the_variable_unless_it_is_empty);
    tcase_add_test(all, test_values_that_make_no_sense_are_refused);
    tcase_add_test(all, test_names_that_nothing_can_have_are_told_before_anything_starts);
    tcase_add_test(all, test_help_names_each_flag_of_its_own);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}

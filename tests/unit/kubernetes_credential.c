/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a credential plugin may answer, and the times in it.
 */
#include <string.h>

#include "exec.h"
#include "kubernetes_support.h"
#include "suite.h"

#define V1 "client.authentication.k8s.io/v1"

static const struct {
    const char *text;
    int64_t seconds; /* -1 = none */
} times[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"2026-01-02T03:04:05Z", 1767323045},
    {"2026-01-02T03:04:05.123Z", 1767323045},
    {"2026-01-02T04:34:05+01:30", 1767323045},
    {"2026-01-01T22:04:05-05:00", 1767323045},
    {"2026-01-02T03:04:05", -1},
    {"2026-13-02T03:04:05Z", -1},
    {"2026-01-02 03:04:05Z", -1},
    {"2026-01-02T03:04:05.Z", -1},
    {"2026-01-02T03:04:05Zx", -1},
    {"2026-1-02T03:04:05Z", -1},
    {"", -1},
    {"2026-01-02T25:04:05Z", -1},
    {"2026-01-02T03:04:05+1:30", -1},
};

START_TEST(times_are_read_as_rfc_3339_has_them)
{
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        int64_t seconds = -1;
        bool is_time = hami_internal_exec_time(times[i].text, &seconds);

        ck_assert_msg(is_time == (times[i].seconds >= 0), "%s", times[i].text);
        ck_assert_msg(seconds == times[i].seconds, "%s: %lld", times[i].text,
                      (long long)seconds);
    }
}
END_TEST

#define CREDENTIAL(status)                                                               \
    "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\"," status "}"

static const struct {
    const char *text;
    const char *told; /* NULL = right */
} answers[] = {
    {CREDENTIAL("\"status\":{\"token\":\" t \"}"), NULL},
    {CREDENTIAL("\"status\":{\"token\":\"t\",\"other\":[1],\"clientKeyData\":null}"),
     NULL},
    {CREDENTIAL("\"status\":{\"clientCertificateData\":\"a\",\"clientKeyData\":\"b\"}"),
     NULL},
    {CREDENTIAL("\"status\":{\"clientCertificateData\":\"a\"}"), "only"},
    {CREDENTIAL("\"status\":{\"clientKeyData\":\"a\"}"), "only"},
    {CREDENTIAL("\"status\":{}"), "neither a token"},
    {CREDENTIAL("\"status\":{\"token\":5}"), "token that is no text"},
    {CREDENTIAL("\"status\":{\"token\":\"\"}"), "neither a token"},
    {CREDENTIAL("\"status\":{\"token\":\"t\",\"expirationTimestamp\":\"soon\"}"),
     "is no time"},
    {CREDENTIAL("\"status\":[]"), "has no status"},
    {CREDENTIAL("\"spec\":{}"), "has no status"},
    {CREDENTIAL("\"status\":{\"token\":\"a\",\"token\":\"b\"}"), "is not JSON"},
    {"{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"t\"}}", "apiVersion"},
    {"{\"apiVersion\":\"" V1 "\",\"kind\":\"Pod\"}", "is no ExecCredential"},
    {"[]", "is no ExecCredential"},
    {"", "is not JSON"},
};

START_TEST(an_answer_is_looked_at_to_the_letter)
{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct hami_internal_exec_credential credential;
        struct hami_error error = HAMI_ERROR_INIT;
        int code = hami_internal_exec_credential_parse(
            answers[i].text, strlen(answers[i].text), V1, &credential, &error);

        ck_assert_msg(code == (answers[i].told == NULL ? 0 : HAMI_E_INVAL), "%s",
                      answers[i].text);
        if (code == 0) {
            ck_assert(credential.token == NULL || strcmp(credential.token, "t") == 0);
            hami_internal_exec_credential_done(&credential);
        } else {
            ck_assert_msg(strstr(error.text, answers[i].told) != NULL, "%s: %s",
                          answers[i].text, error.text);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes credential");
    TCase *cases = tcase_create("cases");

    tcase_add_test(cases, times_are_read_as_rfc_3339_has_them);
    tcase_add_test(cases, an_answer_is_looked_at_to_the_letter);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that may stand in a path, and those that may not.
 */
#include <check.h>
#include <string.h>

#include "paths.h"
#include "suite.h"

START_TEST(names_are_checked_as_kubernetes_checks_them)
{
    static const struct {
        const char *name;
        bool label;
        bool subdomain;
    } rows[] = {
        {"a", true, true},      {"n1", true, true},        {"a-b", true, true},
        {"a.b", false, true},   {"a.b-c.d9", false, true}, {"", false, false},
        {"-a", false, false},   {"a-", false, false},      {".a", false, false},
        {"a.", false, false},   {"a..b", false, false},    {"a.-b", false, false},
        {"a-.b", false, false}, {"A", false, false},       {"a_b", false, false},
        {"a/b", false, false},  {"../x", false, false},    {"a%2fb", false, false},
        {"a b", false, false},  {"a?b", false, false},     {"\xc3\xa4", false, false},
        {NULL, false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(hami_internal_paths_is_label(rows[i].name) == rows[i].label,
                      "row %zu as a label", i);
        ck_assert_msg(hami_internal_paths_is_subdomain(rows[i].name) == rows[i].subdomain,
                      "row %zu as a subdomain", i);
    }
}
END_TEST

START_TEST(names_have_their_greatest_length)
{
    char name[256];
    memset(name, 'a', sizeof(name));
    name[63] = '\0';
    ck_assert(hami_internal_paths_is_label(name));
    name[63] = 'a';
    name[64] = '\0';
    ck_assert(!hami_internal_paths_is_label(name));
    name[64] = 'a';
    name[253] = '\0';
    ck_assert(hami_internal_paths_is_subdomain(name));
    name[253] = 'a';
    name[254] = '\0';
    ck_assert(!hami_internal_paths_is_subdomain(name));
}
END_TEST

START_TEST(paths_are_built_of_good_names_only)
{
    char name[254];
    char buffer[HAMI_INTERNAL_PATHS_MAX];
    ck_assert(hami_internal_paths_node_path("n1", buffer, sizeof(buffer)));
    ck_assert_str_eq(buffer, "/api/v1/nodes/n1");
    ck_assert(
        hami_internal_paths_pod_path("ns", "a.b", "/binding", buffer, sizeof(buffer)));
    ck_assert_str_eq(buffer, "/api/v1/namespaces/ns/pods/a.b/binding");
    ck_assert(!hami_internal_paths_node_path("n1/status", buffer, sizeof(buffer)));
    ck_assert(!hami_internal_paths_pod_path("ns.x", "a", "", buffer, sizeof(buffer)));
    ck_assert(!hami_internal_paths_pod_path("ns", "..", "", buffer, sizeof(buffer)));
    ck_assert(!hami_internal_paths_pod_path("ns", NULL, "", buffer, sizeof(buffer)));
    memset(name, 'a', sizeof(name));
    name[253] = '\0';
    ck_assert(hami_internal_paths_node_path(name, buffer, sizeof(buffer)));
    ck_assert(
        hami_internal_paths_pod_path("ns", name, "/binding", buffer, sizeof(buffer)));
    ck_assert(!hami_internal_paths_node_path("n1", buffer, 16));
}
END_TEST

START_TEST(a_query_is_escaped)
{
    char buffer[64];
    ck_assert(hami_internal_paths_escape("spec.nodeName=,a b&\xc3\xa4~", buffer,
                                         sizeof(buffer)));
    ck_assert_str_eq(buffer, "spec.nodeName%3D%2Ca%20b%26%C3%A4~");
    ck_assert(hami_internal_paths_escape("", buffer, 1));
    ck_assert_str_eq(buffer, "");
    ck_assert(hami_internal_paths_escape("=", buffer, 4));
    ck_assert(!hami_internal_paths_escape("=", buffer, 3));
    ck_assert(!hami_internal_paths_escape("a", buffer, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_paths");
    TCase *cases = tcase_create("paths");
    tcase_add_test(cases, names_are_checked_as_kubernetes_checks_them);
    tcase_add_test(cases, names_have_their_greatest_length);
    tcase_add_test(cases, paths_are_built_of_good_names_only);
    tcase_add_test(cases, a_query_is_escaped);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}

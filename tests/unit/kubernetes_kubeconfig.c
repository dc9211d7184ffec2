/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig files: what is read from them, how several are merged, and what is refused
 * in which words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kubernetes_support.h"
#include "login.h"
#include "yaml_tree.h"
#include "suite.h"

static char directory[64];
static struct hami_internal_login login;
static struct hami_error error;

static void setup(void)
{
    make_directory(directory, sizeof(directory));
    memset(&login, 0, sizeof(login));
    memset(&error, 0, sizeof(error));
    error.size = sizeof(error);
}

static void teardown(void)
{
    hami_internal_login_done(&login);
    remove_directory(directory);
}

/* Reads one file of this text. */
static int read_text(const char *text, const char *context)
{
    char *path = write_file(directory, "config", text);
    int code = hami_internal_kubeconfig_login(path, context, &login, &error);

    free(path);
    return code;
}

#define CLUSTERS                                                                         \
    "clusters:\n- name: c\n  cluster:\n    server: https://example.test:6443\n"
#define CONTEXTS "contexts:\n- name: x\n  context: {cluster: c, user: u, namespace: ns}\n"
#define CURRENT "current-context: x\n"
#define USER(text) "users:\n- name: u\n  user:\n" text
#define TOKEN_USER USER("    token: secret-token\n")

/* ---- what is read --------------------------------------------------------------- */

START_TEST(a_context_leads_to_server_user_and_namespace)
{
    ck_assert_msg(read_text(CLUSTERS CONTEXTS CURRENT TOKEN_USER, NULL) == 0, "%s",
                  error.text);
    ck_assert_str_eq(login.server, "https://example.test:6443");
    ck_assert_str_eq(login.host, "example.test");
    ck_assert_str_eq(login.port, "6443");
    ck_assert_str_eq(login.prefix, "");
    ck_assert_str_eq(login.token, "secret-token");
    ck_assert_str_eq(login.namespace_name, "ns");
    ck_assert(!login.is_insecure);
    ck_assert(!login.is_plain);
    ck_assert_ptr_nonnull(strstr(login.source, "context x"));
    ck_assert_ptr_null(strstr(login.source, "secret"));
}
END_TEST

START_TEST(a_context_may_be_asked_for_by_name)
{
    ck_assert_msg(read_text(CLUSTERS TOKEN_USER
                            "contexts:\n"
                            "- {name: x, context: {cluster: none}}\n"
                            "- {name: y, context: {cluster: c, user: u}}\n"
                            "current-context: x\n",
                            "y") == 0,
                  "%s", error.text);
    ck_assert_str_eq(login.token, "secret-token");
    ck_assert_ptr_null(login.namespace_name);
}
END_TEST

START_TEST(a_context_without_a_user_logs_in_as_nobody)
{
    ck_assert_int_eq(read_text(CLUSTERS
                               "contexts: [{name: x, context: {cluster: c}}]\n" CURRENT,
                               NULL),
                     0);
    ck_assert_ptr_null(login.token);
}
END_TEST

START_TEST(json_is_yaml)
{
    ck_assert_msg(
        read_text("{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":"
                  "\"https://[::1]/prefix/\",\"insecure-skip-tls-verify\":true}}],"
                  "\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":\"c\"}}],"
                  "\"current-context\":\"x\"}",
                  NULL) == 0,
        "%s", error.text);
    ck_assert_str_eq(login.server, "https://[::1]:443/prefix");
    ck_assert_str_eq(login.host, "[::1]");
    ck_assert_str_eq(login.prefix, "/prefix");
    ck_assert(login.is_insecure);
}
END_TEST

START_TEST(an_alias_stands_for_its_anchor)
{
    ck_assert_msg(
        read_text("clusters:\n- name: &name c\n  cluster: {server: 'https://a.test'}\n"
                  "contexts:\n- name: x\n  context: {cluster: *name}\n" CURRENT,
                  NULL) == 0,
        "%s", error.text);
    ck_assert_str_eq(login.host, "a.test");
}
END_TEST

START_TEST(paths_are_relative_to_their_file_and_data_counts_first)
{
    char expected[128];

    ck_assert_msg(
        read_text("clusters:\n- name: c\n  cluster:\n    server: https://a.test\n"
                  "    certificate-authority: ca.crt\n    proxy-url: socks5://p:1\n"
                  "    tls-server-name: api.test\n" CONTEXTS CURRENT USER(
                      "    client-certificate: sub/me.crt\n    client-key: /abs/me.key\n"
                      "    tokenFile: ../token\n    token: first\n"),
                  NULL) == 0,
        "%s", error.text);
    (void)snprintf(expected, sizeof(expected), "%s/ca.crt", directory);
    ck_assert_str_eq(login.ca_file, expected);
    (void)snprintf(expected, sizeof(expected), "%s/sub/me.crt", directory);
    ck_assert_str_eq(login.certificate_file, expected);
    ck_assert_str_eq(login.key_file, "/abs/me.key");
    (void)snprintf(expected, sizeof(expected), "%s/../token", directory);
    ck_assert_str_eq(login.token_file, expected);
    ck_assert_str_eq(login.token, "first");
    ck_assert_str_eq(login.proxy_url, "socks5h://p:1");
    ck_assert_str_eq(login.tls_server_name, "api.test");
    hami_internal_login_done(&login);
    ck_assert_int_eq(
        read_text("clusters:\n- name: c\n  cluster:\n    server: https://a.test\n"
                  "    certificate-authority: ca.crt\n"
                  "    certificate-authority-data: UEVN\n" CONTEXTS CURRENT USER(
                      "    client-certificate-data: \"QUJD\\nREVG\"\n"
                      "    client-certificate: x\n    client-key-data: S0VZ\n"),
                  NULL),
        0);
    ck_assert_str_eq(login.ca_data, "PEM");
    ck_assert_ptr_null(login.ca_file);
    ck_assert_str_eq(login.certificate_data, "ABCDEF");
    ck_assert_ptr_null(login.certificate_file);
    ck_assert_str_eq(login.key_data, "KEY");
}
END_TEST

START_TEST(empty_values_say_nothing)
{
    ck_assert_msg(read_text(CLUSTERS
                            "    certificate-authority: ''\n    proxy-url:\n"
                            "    tls-server-name: ~\n" CONTEXTS CURRENT USER(
                                "    username: ''\n    exec: null\n    token: ''\n"),
                            NULL) == 0,
                  "%s", error.text);
    ck_assert_ptr_null(login.ca_file);
    ck_assert_ptr_null(login.proxy_url);
    ck_assert_ptr_null(login.tls_server_name);
    ck_assert_ptr_null(login.token);
}
END_TEST

/* ---- several files -------------------------------------------------------------- */

START_TEST(the_first_file_counts_and_entries_are_not_mixed)
{
    char *first = write_file(directory, "first",
                             "current-context: y\nusers:\n- name: u\n  user: {}\n");
    char *second = write_file(directory, "second", CLUSTERS CURRENT TOKEN_USER);
    char *third =
        write_file(directory, "third",
                   "clusters:\n- name: c\n  cluster: {server: 'https://other.test'}\n"
                   "contexts:\n- {name: y, context: {cluster: c, user: u}}\n");
    char paths[512];

    (void)snprintf(paths, sizeof(paths), "%s:/nonexistent/kubeconfig::%s:%s", first,
                   second, third);
    ck_assert_msg(hami_internal_kubeconfig_login(paths, NULL, &login, &error) == 0, "%s",
                  error.text);
    ck_assert_str_eq(login.host, "example.test");
    ck_assert_ptr_null(login.token);
    free(first);
    free(second);
    free(third);
}
END_TEST

START_TEST(a_list_of_files_none_of_which_exists_is_an_error_that_names_them)
{
    ck_assert_int_eq(hami_internal_kubeconfig_login("/nonexistent/a:/nonexistent/b", NULL,
                                                    &login, &error),
                     HAMI_E_ACCESS);
    ck_assert_ptr_nonnull(strstr(error.text, "/nonexistent/b"));
}
END_TEST

START_TEST(more_files_than_a_list_may_have_are_refused)
{
    char *path = write_file(directory, "config", CLUSTERS);
    char paths[4096] = "";

    for (int i = 0; i < 33; i++) {
        (void)snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths), "%s:", path);
    }
    ck_assert_int_eq(hami_internal_kubeconfig_login(paths, NULL, &login, &error),
                     HAMI_E_INVAL);
    free(path);
}
END_TEST

START_TEST(a_file_that_is_none_or_too_large_is_refused)
{
    char *large = malloc(1024 * 1024 + 2);
    char *path;

    memset(large, ' ', 1024 * 1024 + 1);
    large[1024 * 1024 + 1] = '\0';
    ck_assert_int_eq(read_text(large, NULL), HAMI_E_INVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "larger than"));
    free(large);
    ck_assert_int_eq(hami_internal_kubeconfig_login(directory, NULL, &login, &error),
                     HAMI_E_INVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "not a regular file"));
    path = write_file(directory, "fifo", "");
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(hami_internal_kubeconfig_login(path, NULL, &login, &error),
                     HAMI_E_INVAL);
    free(path);
}
END_TEST

START_TEST(a_file_that_may_not_be_read_is_named_with_the_reason)
{
    char *path = write_file(directory, "config", CLUSTERS);
    char under[128];

    (void)snprintf(under, sizeof(under), "%s/config/below", directory);
    ck_assert_int_eq(hami_internal_kubeconfig_login(under, NULL, &login, &error),
                     HAMI_E_ACCESS);
    ck_assert_ptr_nonnull(strstr(error.text, under));
    ck_assert_int_ne(error.system, 0);
    free(path);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------ */

static const struct {
    const char *text;
    int code;
    const char *says;
} refused[] = {
    /* the user: what we can't do, and what to do instead */
    {CLUSTERS CONTEXTS CURRENT USER("    exec: {command: aws}\n"), HAMI_E_NOTSUP,
     "config:12: user u: a credential plugin (exec) is run only where that is allowed"},
    {CLUSTERS CONTEXTS CURRENT USER("    auth-provider: {name: gcp}\n"), HAMI_E_NOTSUP,
     "auth-provider is not supported"},
    {CLUSTERS CONTEXTS CURRENT USER("    username: me\n    password: p\n"), HAMI_E_NOTSUP,
     "user and password are not supported"},
    {CLUSTERS CONTEXTS CURRENT USER("    password: p\n"), HAMI_E_NOTSUP, "not supported"},
    {CLUSTERS CONTEXTS CURRENT USER("    token: t\n    as: admin\n"), HAMI_E_NOTSUP,
     "impersonation"},
    {CLUSTERS CONTEXTS CURRENT USER("    as-groups: [a]\n"), HAMI_E_NOTSUP,
     "impersonation"},
    {CLUSTERS CONTEXTS CURRENT USER("    client-key-data: '!!!'\n"), HAMI_E_INVAL,
     "config:12: is not the base64"},
    {CLUSTERS CONTEXTS CURRENT USER("    client-key-data: [a]\n"), HAMI_E_INVAL,
     "a text is"},
    {CLUSTERS CONTEXTS CURRENT USER("    client-key-data: AAAA\n"), HAMI_E_INVAL,
     "PEM text"},
    {CLUSTERS CONTEXTS CURRENT USER("    token: {a: b}\n"), HAMI_E_INVAL,
     "config:12: a text is"},
    /* names that lead nowhere */
    {CLUSTERS CONTEXTS CURRENT, HAMI_E_INVAL, "there is no user named u"},
    {CONTEXTS CURRENT TOKEN_USER, HAMI_E_INVAL, "there is no cluster named c"},
    {CLUSTERS CURRENT TOKEN_USER, HAMI_E_INVAL, "there is no context named x"},
    {CLUSTERS CONTEXTS TOKEN_USER, HAMI_E_INVAL, "has no current-context"},
    {"", HAMI_E_INVAL, "has no current-context"},
    {CLUSTERS "contexts: [{name: x, context: {user: u}}]\n" CURRENT, HAMI_E_INVAL,
     "names no cluster"},
    {CLUSTERS "contexts: [{name: x}]\n" CURRENT, HAMI_E_INVAL, "names no cluster"},
    {"clusters: [{name: c, cluster: {}}]\n" CONTEXTS CURRENT TOKEN_USER, HAMI_E_INVAL,
     "has no server"},
    /* servers */
    {"clusters: [{name: c, cluster: {server: 'a.test:1'}}]\n" CONTEXTS CURRENT,
     HAMI_E_INVAL, "config:1: a server starts with https://"},
    {"clusters: [{name: c, cluster: {server: 'http://a.test'}}]\n" CONTEXTS CURRENT,
     HAMI_E_INVAL, "loopback only"},
    {"clusters: [{name: c, cluster: {server: 'https://u:p@a.test'}}]\n" CONTEXTS CURRENT,
     HAMI_E_INVAL, "has no user"},
    {"clusters: [{name: c, cluster: {server: 'https://a.test/?q'}}]\n" CONTEXTS CURRENT,
     HAMI_E_INVAL, "query"},
    {"clusters: [{name: c, cluster: {server: 'https://a b'}}]\n" CONTEXTS CURRENT,
     HAMI_E_INVAL, "is not a URL"},
    {CLUSTERS "    insecure-skip-tls-verify: maybe\n" CONTEXTS CURRENT, HAMI_E_INVAL,
     "true or false"},
    {CLUSTERS "    proxy-url: ftp://p\n" CONTEXTS CURRENT, HAMI_E_INVAL,
     "a proxy-url starts with"},
    {CLUSTERS "    tls-server-name: 'a b'\n" CONTEXTS CURRENT, HAMI_E_INVAL,
     "config:5: is not a host name"},
    /* forms */
    {"just text\n", HAMI_E_INVAL, "config:1: is no kubeconfig"},
    {"clusters: {}\n", HAMI_E_INVAL, "config:1: a list is expected"},
    {"users:\n- user: {}\n", HAMI_E_INVAL, "config:2: an entry without a name"},
    {"users:\n- text\n", HAMI_E_INVAL, "config:2: an entry without a name"},
    {"users:\n- name: u\n  user: text\n", HAMI_E_INVAL,
     "config:3: a mapping is expected"},
    {"users:\n- name: u\n- name: v\n- name: u\n", HAMI_E_INVAL,
     "config:4: two entries have this name"},
    {"a: b\nc: d\na: e\n", HAMI_E_INVAL, "config:3: has the same key twice"},
    {"a: &a {b: c}\nd:\n  <<: *a\n", HAMI_E_INVAL, "config:3: has a merge key"},
    {"a: *nobody\n", HAMI_E_INVAL, "config:1: has an alias without an anchor"},
    {"a: \"\\0\"\n", HAMI_E_INVAL, "config:1: has a NUL character"},
    {"[a]: b\n", HAMI_E_INVAL, "config:1: has a key that is no text"},
    {"a: b\n---\na: b\n", HAMI_E_INVAL, "more than one document"},
    {"a: [\n", HAMI_E_INVAL, "config:2: "},
    {"a:\n\t- b\n", HAMI_E_INVAL, "config:2: "},
};

START_TEST(what_is_wrong_is_refused_with_its_place)
{
    ck_assert_msg(read_text(refused[_i].text, NULL) == refused[_i].code, "%d: %s", _i,
                  error.text);
    ck_assert_msg(strstr(error.text, refused[_i].says) != NULL, "%d: %s", _i, error.text);
    ck_assert_int_eq(error.code, refused[_i].code);
}
END_TEST

/* ---- bounds --------------------------------------------------------------------- */

/* `first`, then `part` so many times, then `last`. */
static char *repeat(const char *first, const char *part, size_t count, const char *last)
{
    char *text = malloc(strlen(first) + strlen(part) * count + strlen(last) + 1);
    char *at = stpcpy(text, first);

    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, part);
    }
    (void)stpcpy(at, last);
    return text;
}

static int parse(char *text, struct hami_internal_yaml **ret)
{
    int code = hami_internal_yaml_parse(text, strlen(text), "bounds", ret, &error);

    free(text);
    return code;
}

START_TEST(nesting_nodes_and_aliases_are_bounded)
{
    struct hami_internal_yaml *yaml = NULL;

    ck_assert_int_eq(parse(repeat("", "[", 32, ""), &yaml), HAMI_E_INVAL);
    ck_assert_ptr_null(strstr(error.text, "deeply"));
    ck_assert_int_eq(parse(repeat("", "[", 33, ""), &yaml), HAMI_E_INVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "nested too deeply"));
    ck_assert_int_eq(parse(repeat("", "[", 200000, ""), &yaml), HAMI_E_INVAL);
    ck_assert_int_eq(parse(repeat("", "- a\n", 99998, ""), &yaml), 0);
    yaml = hami_internal_yaml_free(yaml);
    ck_assert_int_eq(parse(repeat("", "- a\n", 100001, ""), &yaml), HAMI_E_INVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "too many values"));
    ck_assert_int_eq(parse(repeat("- &a b\n", "- *a\n", 1000, ""), &yaml), 0);
    yaml = hami_internal_yaml_free(yaml);
    ck_assert_int_eq(parse(repeat("- &a b\n", "- *a\n", 1001, ""), &yaml), HAMI_E_INVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "too many aliases"));
}
END_TEST

START_TEST(a_mapping_has_a_bounded_number_of_keys)
{
    struct hami_internal_yaml *yaml = NULL;
    char *text = calloc(1, 65536);

    for (int i = 0; i < 4097; i++) {
        (void)snprintf(text + strlen(text), 32, "k%d: v\n", i);
    }
    ck_assert_int_eq(parse(text, &yaml), HAMI_E_INVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "too many keys"));
}
END_TEST

/* Aliases of aliases: what would be 10^9 values is ten references. */
START_TEST(aliases_are_references_and_may_even_lead_to_themselves)
{
    struct hami_internal_yaml *yaml = NULL;
    char text[4096] = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";

    for (int i = 1; i < 10; i++) {
        (void)snprintf(text + strlen(text), 128, "a%d: &a%d [*a%d,*a%d,*a%d]\n", i, i,
                       i - 1, i - 1, i - 1);
    }
    ck_assert_int_eq(parse(strdup(text), &yaml), 0);
    ck_assert_uint_lt(yaml->node_count, 64);
    yaml = hami_internal_yaml_free(yaml);
    ck_assert_int_eq(parse(strdup("&a {b: *a}\n"), &yaml), 0);
    ck_assert_ptr_eq(hami_internal_yaml_member(yaml->root, "b"), yaml->root);
    ck_assert_ptr_null(hami_internal_yaml_free(yaml));
}
END_TEST

START_TEST(base64_and_tokens_are_read_strictly)
{
    char *text = NULL;
    size_t length = 0;
    char token[64] = " \n abc.def \r\n";

    ck_assert_int_eq(hami_internal_base64_decode("aGFt\n aQ==\n", &text, &length), 0);
    ck_assert_uint_eq(length, 4);
    ck_assert_str_eq(text, "hami");
    free(text);
    ck_assert_int_eq(hami_internal_base64_decode("", &text, &length), HAMI_E_INVAL);
    ck_assert_int_eq(hami_internal_base64_decode("abc", &text, &length), HAMI_E_INVAL);
    ck_assert_int_eq(hami_internal_base64_decode("a$bc", &text, &length), HAMI_E_INVAL);
    ck_assert(hami_internal_token_trim(token));
    ck_assert_str_eq(token, "abc.def");
    (void)snprintf(token, sizeof(token), "a b");
    ck_assert(!hami_internal_token_trim(token));
    (void)snprintf(token, sizeof(token), "a\r\nX-Header: b");
    ck_assert(!hami_internal_token_trim(token));
    (void)snprintf(token, sizeof(token), " \n");
    ck_assert(!hami_internal_token_trim(token));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubeconfig");
    TCase *tcase = tcase_create("kubeconfig");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_context_leads_to_server_user_and_namespace);
    tcase_add_test(tcase, a_context_may_be_asked_for_by_name);
    tcase_add_test(tcase, a_context_without_a_user_logs_in_as_nobody);
    tcase_add_test(tcase, json_is_yaml);
    tcase_add_test(tcase, an_alias_stands_for_its_anchor);
    tcase_add_test(tcase, paths_are_relative_to_their_file_and_data_counts_first);
    tcase_add_test(tcase, empty_values_say_nothing);
    tcase_add_test(tcase, the_first_file_counts_and_entries_are_not_mixed);
    tcase_add_test(tcase,
                   a_list_of_files_none_of_which_exists_is_an_error_that_names_them);
    tcase_add_test(tcase, more_files_than_a_list_may_have_are_refused);
    tcase_add_test(tcase, a_file_that_is_none_or_too_large_is_refused);
    tcase_add_test(tcase, a_file_that_may_not_be_read_is_named_with_the_reason);
    tcase_add_loop_test(tcase, what_is_wrong_is_refused_with_its_place, 0,
                        sizeof(refused) / sizeof(refused[0]));
    tcase_add_test(tcase, nesting_nodes_and_aliases_are_bounded);
    tcase_add_test(tcase, a_mapping_has_a_bounded_number_of_keys);
    tcase_add_test(tcase, aliases_are_references_and_may_even_lead_to_themselves);
    tcase_add_test(tcase, base64_and_tokens_are_read_strictly);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

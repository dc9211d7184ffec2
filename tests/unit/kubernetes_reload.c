/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A login that is read again while its client lives: new credentials for the same server,
 * and the old ones where the new ones are wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes_support.h"
#include "suite.h"

static struct fixture fixture;
static struct hami_error error;

static void setup(void)
{
    fixture_open(&fixture, NULL);
    memset(&error, 0, sizeof(error));
    error.size = sizeof(error);
}

static void teardown(void)
{
    fixture_close(&fixture);
}

static int make(void)
{
    return hami_kubernetes_new(&fixture.config, &fixture.client, &error);
}

/* A kubeconfig with a token of its own choice. */
static void write_token(const char *server, const char *token)
{
    char text[8192];
    char *ca = write_file(fixture.directory, "ca.crt", kubesim_ca_pem(fixture.sim));

    (void)snprintf(text, sizeof(text),
                   "clusters: [{name: c, cluster: {server: \"%s\", "
                   "certificate-authority: %s}}]\n"
                   "users: [{name: u, user: {%s}}]\n"
                   "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                   "current-context: x\n",
                   server, ca, token);
    free(write_file(fixture.directory, "changing", text));
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/changing", fixture.directory);
    fixture.config.kubeconfig = fixture.path;
    free(ca);
}

START_TEST(a_kubeconfig_that_is_read_again_gives_its_new_token)
{
    char token[512];

    write_token(kubesim_url(fixture.sim), "token: wrong");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 401);
    (void)snprintf(token, sizeof(token), "token: %s",
                   kubesim_token(fixture.sim, "admin"));
    write_token(kubesim_url(fixture.sim), token);
    ck_assert_int_eq(status_of_get(fixture.client), 401);
    ck_assert_msg(hami_kubernetes_reload(fixture.client, &error) == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_msg(hami_kubernetes_reload(fixture.client, &error) == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(a_kubeconfig_that_is_read_again_may_change_to_a_client_certificate)
{
    char user[512];

    write_token(kubesim_url(fixture.sim), "token: wrong");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 401);
    (void)snprintf(
        user, sizeof(user), "client-certificate: %s, client-key: %s",
        kept_file(&fixture, "me.crt", kubesim_client_certificate_pem(fixture.sim)),
        kept_file(&fixture, "me.key", kubesim_client_key_pem(fixture.sim)));
    write_token(kubesim_url(fixture.sim), user);
    ck_assert_msg(hami_kubernetes_reload(fixture.client, &error) == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

static const struct {
    const char *server; /* NULL = the right one */
    const char *user;
    int code;
    const char *told;
} changes[] = {
    {"https://127.0.0.1:1", "token: x", HAMI_E_INVAL, "another server"},
    {NULL, "token: [x]", HAMI_E_INVAL, "changing:"},
    {NULL, "tokenFile: nowhere", HAMI_E_ACCESS, "nowhere"},
    {NULL, "as: somebody", HAMI_E_NOTSUP, "impersonation"},
    {NULL, "exec: {command: x}", HAMI_E_NOTSUP, "only where that is allowed"},
};

START_TEST(a_login_that_turned_wrong_leaves_the_old_one_in_use)
{
    char token[512];

    (void)snprintf(token, sizeof(token), "token: %s",
                   kubesim_token(fixture.sim, "admin"));
    write_token(kubesim_url(fixture.sim), token);
    ck_assert_msg(make() == 0, "%s", error.text);
    write_token(changes[_i].server != NULL ? changes[_i].server
                                           : kubesim_url(fixture.sim),
                changes[_i].user);
    ck_assert_int_eq(hami_kubernetes_reload(fixture.client, &error), changes[_i].code);
    ck_assert_msg(strstr(error.text, changes[_i].told) != NULL, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_int_eq(hami_kubernetes_reload(NULL, NULL), HAMI_E_INVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes reload");
    TCase *tcase = tcase_create("cases");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_kubeconfig_that_is_read_again_gives_its_new_token);
    tcase_add_test(tcase,
                   a_kubeconfig_that_is_read_again_may_change_to_a_client_certificate);
    tcase_add_loop_test(tcase, a_login_that_turned_wrong_leaves_the_old_one_in_use, 0,
                        sizeof(changes) / sizeof(changes[0]));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

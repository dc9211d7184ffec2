/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logging in for real: kubeconfig, an address, the cluster's own account, tokens that
 * rotate, proxies, and what is refused before the first connection.
 */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Goes to the server by address, with its CA and nothing else. */
static void use_address(void)
{
    fixture.config.kubeconfig = NULL;
    fixture.config.server = kubesim_url(fixture.sim);
    fixture.config.ca_file = kept_file(&fixture, "ca.crt", kubesim_ca_pem(fixture.sim));
}

/* ---- the ways in ---------------------------------------------------------------- */

START_TEST(a_kubeconfig_with_a_token_logs_in)
{
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_str_eq(hami_kubernetes_server(fixture.client), kubesim_url(fixture.sim));
    ck_assert(fixture_has_log(&fixture, "kubeconfig"));
}
END_TEST

START_TEST(a_kubeconfig_with_an_inline_client_certificate_logs_in)
{
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/kubeconfig-certificate",
                   fixture.directory);
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(an_address_with_a_token_logs_in)
{
    use_address();
    fixture.config.token = kubesim_token(fixture.sim, "admin");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(an_address_with_certificate_files_logs_in)
{
    use_address();
    fixture.config.certificate_file =
        kept_file(&fixture, "me.crt", kubesim_client_certificate_pem(fixture.sim));
    fixture.config.key_file =
        kept_file(&fixture, "me.key", kubesim_client_key_pem(fixture.sim));
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(without_credentials_the_server_says_unauthorized)
{
    use_address();
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 401);
}
END_TEST

START_TEST(the_home_directorys_kubeconfig_is_found)
{
    char home[128];
    char path[160];
    char *text = kubesim_kubeconfig(fixture.sim, NULL);

    (void)snprintf(home, sizeof(home), "%s/home", fixture.directory);
    (void)snprintf(path, sizeof(path), "%s/.kube", home);
    ck_assert_int_eq(mkdir(home, 0700), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    free(write_file(path, "config", text));
    fixture.config.kubeconfig = NULL;
    fixture.config.home_directory = home;
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    remove_directory(path);
    (void)rmdir(home);
    free(text);
}
END_TEST

/* Files of a service account, as a pod sees them. */
static void use_service_account(void)
{
    static char port[16];

    (void)snprintf(port, sizeof(port), "%u", kubesim_port(fixture.sim));
    (void)kept_file(&fixture, "ca.crt", kubesim_ca_pem(fixture.sim));
    (void)kept_file(&fixture, "token", kubesim_token(fixture.sim, "admin"));
    fixture.config.kubeconfig = NULL;
    fixture.config.home_directory = fixture.directory;
    fixture.config.service_host = "127.0.0.1";
    fixture.config.service_port = port;
    fixture.config.service_account_directory = fixture.directory;
}

START_TEST(a_pod_logs_in_with_its_service_account)
{
    use_service_account();
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert(fixture_has_log(&fixture, "service account"));
}
END_TEST

START_TEST(the_environment_fills_what_is_not_set)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct {
        size_t size;
    } old = {sizeof(old)};

    ck_assert_int_eq(setenv("KUBECONFIG", "/from/environment", 1), 0);
    ck_assert_int_eq(setenv("HOME", "/home/me", 1), 0);
    ck_assert_int_eq(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
    ck_assert_int_eq(setenv("KUBERNETES_SERVICE_PORT", "", 1), 0);
    config.home_directory = "/mine";
    ck_assert_int_eq(hami_kubernetes_config_from_environment(&config), 0);
    ck_assert_str_eq(config.kubeconfig, "/from/environment");
    ck_assert_str_eq(config.home_directory, "/mine");
    ck_assert_str_eq(config.service_host, "10.0.0.1");
    ck_assert_ptr_null(config.service_port);
    ck_assert_int_eq(hami_kubernetes_config_from_environment(NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_config_from_environment(
                         (struct hami_kubernetes_config *)(void *)&old),
                     0);
}
END_TEST

/* ---- TLS ------------------------------------------------------------------------ */

START_TEST(insecure_verifies_nothing_and_says_so_in_the_log)
{
    use_address();
    fixture.config.ca_file = NULL;
    fixture.config.token = kubesim_token(fixture.sim, "admin");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(ask(fixture.client, get_node()).code, HAMI_E_TRANSPORT);
    fixture.client = hami_kubernetes_free(fixture.client);
    fixture.config.flags = HAMI_KUBERNETES_INSECURE;
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert(fixture_has_log(&fixture, "Verifies no certificate"));
}
END_TEST

/* A kubeconfig for the server at host, with one more line in the cluster. */
static void use_kubeconfig(const char *host, const char *line)
{
    const char *pem = kubesim_ca_pem(fixture.sim);
    unsigned char data[8192];
    char text[16384];

    ck_assert_uint_lt(strlen(pem), 6000);
    (void)EVP_EncodeBlock(data, (const unsigned char *)pem, (int)strlen(pem));
    (void)snprintf(text, sizeof(text),
                   "clusters:\n- name: c\n  cluster:\n    server: https://%s:%u\n"
                   "    certificate-authority-data: %s\n    %s\n"
                   "users: [{name: u, user: {token: %s}}]\n"
                   "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                   "current-context: x\n",
                   host, kubesim_port(fixture.sim), (const char *)data, line,
                   kubesim_token(fixture.sim, "admin"));
    fixture.config.kubeconfig = kept_file(&fixture, "config", text);
}

START_TEST(the_servers_name_is_checked_by_tls_server_name_where_one_is_given)
{
    use_kubeconfig("127.0.0.1", "tls-server-name: kubernetes.default.svc");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 200);
    fixture.client = hami_kubernetes_free(fixture.client);
    use_kubeconfig("127.0.0.1", "tls-server-name: another.test");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(ask(fixture.client, get_node()).code, HAMI_E_TRANSPORT);
}
END_TEST

/* ---- proxies -------------------------------------------------------------------- */

START_TEST(proxies_of_the_environment_are_not_used)
{
    ck_assert_int_eq(setenv("HTTPS_PROXY", "http://127.0.0.1:1", 1), 0);
    ck_assert_int_eq(setenv("https_proxy", "http://127.0.0.1:1", 1), 0);
    ck_assert_int_eq(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(the_kubeconfigs_proxy_is_used_and_no_proxy_does_not_turn_it_off)
{
    static const struct scripted_step step = {
        .answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
        .end = SCRIPTED_CLOSE};
    struct scripted proxy;
    char line[64];
    char expected[64];
    struct told told;

    ck_assert_int_eq(setenv("NO_PROXY", "*", 1), 0);
    ck_assert_int_eq(setenv("no_proxy", "*", 1), 0);
    scripted_start(&proxy, &step, 1);
    (void)snprintf(line, sizeof(line), "proxy-url: http://me:word@127.0.0.1:%u",
                   proxy.port);
    use_kubeconfig("127.0.0.1", line);
    ck_assert_msg(make() == 0, "%s", error.text);
    told = ask(fixture.client, patch_node());
    ck_assert_int_eq(told.code, HAMI_E_TRANSPORT);
    ck_assert_ptr_null(strstr(told.text, "word"));
    (void)snprintf(expected, sizeof(expected), "CONNECT 127.0.0.1:%u ",
                   kubesim_port(fixture.sim));
    ck_assert_ptr_nonnull(strstr(proxy.requests[0], expected));
    ck_assert_ptr_null(strstr(proxy.requests[0], "Bearer"));
    scripted_stop(&proxy);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 0);
    ck_assert(!fixture_has_log(&fixture, "word"));
}
END_TEST

/* ---- tokens that rotate --------------------------------------------------------- */

START_TEST(a_token_that_was_replaced_is_read_again_after_a_401)
{
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;

    use_address();
    fixture.config.token_file = kept_file(&fixture, "token", "expired\n");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 401);
    (void)kept_file(&fixture, "token", kubesim_token(fixture.sim, "admin"));
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 200);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.retries, 1);
    ck_assert_uint_eq(stats.answers[4], 2);
}
END_TEST

START_TEST(a_401_with_the_same_token_is_the_answer)
{
    use_address();
    fixture.config.token_file = kept_file(&fixture, "token", "expired");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 401);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 1);
}
END_TEST

START_TEST(many_requests_with_an_expired_token_all_get_through_after_it_was_replaced)
{
    struct record record;

    record_init(&record);
    use_service_account();
    (void)kept_file(&fixture, "token", "expired");
    ck_assert_msg(make() == 0, "%s", error.text);
    (void)kept_file(&fixture, "token", kubesim_token(fixture.sim, "admin"));
    for (int i = 0; i < 50; i++) {
        struct hami_kubernetes_request request = patch_node();

        ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &request,
                                                       record_answer, &record),
                         0);
    }
    (void)record_wait(&record, 50);
    for (size_t i = 0; i < 50; i++) {
        ck_assert_int_eq(record.told[i].status, 200);
    }
    record_done(&record);
}
END_TEST

START_TEST(the_last_token_stays_in_use_while_its_file_is_gone)
{
    char path[128];

    use_service_account();
    ck_assert_msg(make() == 0, "%s", error.text);
    (void)snprintf(path, sizeof(path), "%s/token", fixture.directory);
    ck_assert_int_eq(unlink(path), 0);
    kubesim_arm(fixture.sim, &(struct kubesim_fault){
                                 .action = KUBESIM_STATUS, .status = 401, .count = 1});
    ck_assert_int_eq(status_of_get(fixture.client), 401);
    ck_assert(fixture_has_log(&fixture, "Kept the last token"));
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(a_token_beside_its_file_serves_until_the_file_can_be_read)
{
    use_address();
    fixture.config.token = kubesim_token(fixture.sim, "admin");
    fixture.config.token_file = "/nonexistent/token";
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

/* ---- what is refused at once ---------------------------------------------------- */

static void expect(int code, const char *text)
{
    int got = make();

    ck_assert_msg(got == code, "%d %s", got, error.text);
    ck_assert_msg(strstr(error.text, text) != NULL, "%s", error.text);
    ck_assert_ptr_null(fixture.client);
}

START_TEST(files_of_a_login_that_are_missing_are_named)
{
    use_address();
    fixture.config.ca_file = "/nonexistent/ca";
    expect(HAMI_E_ACCESS, "CA certificate /nonexistent/ca");
    use_address();
    fixture.config.token_file = "/nonexistent/token";
    expect(HAMI_E_ACCESS, "token file /nonexistent/token");
    fixture.config.token_file = NULL;
    fixture.config.certificate_file = "/nonexistent/crt";
    fixture.config.key_file = "/nonexistent/key";
    expect(HAMI_E_ACCESS, "client certificate /nonexistent/crt");
    fixture.config.certificate_file =
        kept_file(&fixture, "me.crt", kubesim_client_certificate_pem(fixture.sim));
    expect(HAMI_E_ACCESS, "client key /nonexistent/key");
}
END_TEST

START_TEST(files_of_a_login_that_hold_something_else_are_named)
{
    EVP_PKEY *other = EVP_EC_gen("P-256");
    char *pem = NULL;
    BIO *bio = BIO_new(BIO_s_mem());

    use_address();
    fixture.config.ca_file = kept_file(&fixture, "ca.crt", "nothing");
    expect(HAMI_E_INVAL, "holds no PEM certificate");
    use_address();
    fixture.config.token_file = kept_file(&fixture, "token", "two words");
    expect(HAMI_E_INVAL, "holds no token");
    fixture.config.token_file = NULL;
    fixture.config.token = "a\nb";
    expect(HAMI_E_INVAL, "token has characters");
    fixture.config.token = NULL;
    fixture.config.certificate_file =
        kept_file(&fixture, "me.crt", kubesim_client_certificate_pem(fixture.sim));
    expect(HAMI_E_INVAL, "one of the two is missing");
    fixture.config.key_file = fixture.config.certificate_file;
    expect(HAMI_E_INVAL, "holds no PEM private key");
    ck_assert_int_eq(PEM_write_bio_PrivateKey(bio, other, NULL, NULL, 0, NULL, NULL), 1);
    ck_assert_int_eq(BIO_write(bio, "", 1), 1);
    ck_assert_int_gt(BIO_get_mem_data(bio, &pem), 0);
    fixture.config.key_file = kept_file(&fixture, "other.key", pem);
    expect(HAMI_E_INVAL, "does not belong to the client certificate");
    (void)BIO_reset(bio);
    ck_assert_int_eq(PEM_write_bio_PrivateKey(bio, other, EVP_aes_128_cbc(),
                                              (const unsigned char *)"word", 4, NULL,
                                              NULL),
                     1);
    ck_assert_int_eq(BIO_write(bio, "", 1), 1);
    ck_assert_int_gt(BIO_get_mem_data(bio, &pem), 0);
    fixture.config.key_file = kept_file(&fixture, "secret.key", pem);
    expect(HAMI_E_INVAL, "without a passphrase");
    EVP_PKEY_free(other);
    BIO_free(bio);
}
END_TEST

START_TEST(settings_out_of_range_are_named)
{
    fixture.config.flags = 0x80;
    expect(HAMI_E_INVAL, "flags");
    fixture.config.flags = 0;
    fixture.config.in_flight_max = 1001;
    expect(HAMI_E_INVAL, "in_flight_max");
    fixture.config.in_flight_max = 0;
    fixture.config.user_agent = "a\r\nb";
    expect(HAMI_E_INVAL, "user_agent");
    fixture.config.user_agent = NULL;
    fixture.config.server = "example.test";
    expect(HAMI_E_INVAL, "server: a server starts with https://");
    fixture.config.server = "http://example.test";
    expect(HAMI_E_INVAL, "loopback only");
    fixture.config.server = "http://localhost.example.test";
    expect(HAMI_E_INVAL, "loopback only");
    fixture.config.server = NULL;
    fixture.config.kubeconfig = NULL;
    expect(HAMI_E_INVAL, "No API server is known");
    ck_assert_int_eq(hami_kubernetes_new(NULL, &fixture.client, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_new(&fixture.config, NULL, NULL), HAMI_E_INVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes login");
    TCase *tcase = tcase_create("login");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_kubeconfig_with_a_token_logs_in);
    tcase_add_test(tcase, a_kubeconfig_with_an_inline_client_certificate_logs_in);
    tcase_add_test(tcase, an_address_with_a_token_logs_in);
    tcase_add_test(tcase, an_address_with_certificate_files_logs_in);
    tcase_add_test(tcase, without_credentials_the_server_says_unauthorized);
    tcase_add_test(tcase, the_home_directorys_kubeconfig_is_found);
    tcase_add_test(tcase, a_pod_logs_in_with_its_service_account);
    tcase_add_test(tcase, the_environment_fills_what_is_not_set);
    tcase_add_test(tcase, insecure_verifies_nothing_and_says_so_in_the_log);
    tcase_add_test(tcase,
                   the_servers_name_is_checked_by_tls_server_name_where_one_is_given);
    tcase_add_test(tcase, proxies_of_the_environment_are_not_used);
    tcase_add_test(tcase,
                   the_kubeconfigs_proxy_is_used_and_no_proxy_does_not_turn_it_off);
    tcase_add_test(tcase, a_token_that_was_replaced_is_read_again_after_a_401);
    tcase_add_test(tcase, a_401_with_the_same_token_is_the_answer);
    tcase_add_test(
        tcase, many_requests_with_an_expired_token_all_get_through_after_it_was_replaced);
    tcase_add_test(tcase, the_last_token_stays_in_use_while_its_file_is_gone);
    tcase_add_test(tcase, a_token_beside_its_file_serves_until_the_file_can_be_read);
    tcase_add_test(tcase, files_of_a_login_that_are_missing_are_named);
    tcase_add_test(tcase, files_of_a_login_that_hold_something_else_are_named);
    tcase_add_test(tcase, settings_out_of_range_are_named);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}

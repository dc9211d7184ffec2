/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credential plugins: what a kubeconfig may say about one, how one is run and ended, what
 * it may answer, and when it is asked again. The plugins are small shell scripts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "exec.h"
#include "kubernetes_support.h"
#include "suite.h"

#define V1 "client.authentication.k8s.io/v1"
#define V1BETA1 "client.authentication.k8s.io/v1beta1"
#define SECRET "hunter2-very-secret"

static struct fixture fixture;
static struct hami_error error;

static void setup(void)
{
    fixture_open(&fixture, NULL);
    memset(&error, 0, sizeof(error));
    error.size = sizeof(error);
    fixture.config.flags = HAMI_KUBERNETES_ALLOW_EXEC;
}

static void teardown(void)
{
    fixture_close(&fixture);
}

static char *path_of(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", fixture.directory, name);
    return path;
}

/* A script "plugin" in the fixture's folder, which it knows as $D. */
static void write_plugin(const char *script)
{
    char text[4096];
    (void)snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
    free(write_file(fixture.directory, "plugin", text));
    ck_assert_int_eq(chmod(path_of("plugin"), 0700), 0);
}

/* The kubeconfig's user is that plugin. @more has further lines with their indentation */
static void write_kubeconfig(const char *command, const char *version, const char *more)
{
    char text[8192];
    char *ca = write_file(fixture.directory, "ca.crt", kubesim_ca_pem(fixture.sim));

    (void)snprintf(text, sizeof(text),
                   "clusters:\n- name: c\n  cluster:\n    server: %s\n"
                   "    certificate-authority: %s\n"
                   "users:\n- name: u\n  user:\n    exec:\n      apiVersion: %s\n"
                   "      command: %s\n      args: [one, \"two words\"]\n"
                   "      env:\n      - name: D\n        value: %s\n%s"
                   "contexts:\n- name: x\n  context: {cluster: c, user: u}\n"
                   "current-context: x\n",
                   kubesim_url(fixture.sim), ca, version, command, fixture.directory,
                   more);
    free(write_file(fixture.directory, "config", text));
    (void)snprintf(fixture.path, sizeof(fixture.path), "%s/config", fixture.directory);
    fixture.config.kubeconfig = fixture.path;
    free(ca);
}

#define NEVER "      interactiveMode: Never\n"

static void use_plugin(const char *script)
{
    write_plugin(script);
    write_kubeconfig("./plugin", V1, NEVER);
}

/* A shell command that answers with this status. */
static const char *answer(const char *status)
{
    static char text[2048];

    (void)snprintf(text, sizeof(text),
                   "echo run >>$D/runs\ncat <<'EOF'\n{\"apiVersion\":\"" V1
                   "\",\"kind\":\"ExecCredential\",\"status\":{%s}}\nEOF",
                   status);
    return text;
}

/* With a token that the server takes. */
static const char *right_answer(void)
{
    char status[256];
    (void)snprintf(status, sizeof(status), "\"token\":\"%s\"",
                   kubesim_token(fixture.sim, "admin"));
    return answer(status);
}

static int make(void)
{
    return hami_kubernetes_new(&fixture.config, &fixture.client, &error);
}

static int count_runs(void)
{
    FILE *file = fopen(path_of("runs"), "r");
    int lines = 0;

    for (int c = file != NULL ? fgetc(file) : EOF; c != EOF; c = fgetc(file)) {
        lines += c == '\n' ? 1 : 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return lines;
}

static void assert_no_secret_told(void)
{
    ck_assert_ptr_null(strstr(error.text, SECRET));
    ck_assert(!fixture_has_log(&fixture, SECRET));
}

/* ---- logging in ----------------------------------------------------------------- */

START_TEST(a_plugin_is_not_run_unless_that_is_allowed)
{
    use_plugin(answer("\"token\":\"x\""));
    fixture.config.flags = 0;
    ck_assert_int_eq(make(), HAMI_E_NOTSUP);
    ck_assert_ptr_nonnull(strstr(error.text, "is run only where that is allowed"));
    ck_assert_int_eq(count_runs(), 0);
}
END_TEST

START_TEST(a_plugins_token_logs_in)
{
    use_plugin(right_answer());
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_int_eq(count_runs(), 1);
}
END_TEST

/* PEM as a JSON text. */
static void escape(const char *pem, char *ret)
{
    for (; *pem != '\0'; pem++) {
        if (*pem == '\n') {
            *ret++ = '\\';
        }
        *ret++ = *pem == '\n' ? 'n' : *pem;
    }
    *ret = '\0';
}

static void answer_with_certificate(const char *key_pem)
{
    static char text[20000];
    static char certificate[8192];
    static char key[8192];

    escape(kubesim_client_certificate_pem(fixture.sim), certificate);
    escape(key_pem, key);
    (void)snprintf(text, sizeof(text),
                   "{\"apiVersion\":\"" V1BETA1 "\",\"kind\":\"ExecCredential\","
                   "\"status\":{\"clientCertificateData\":\"%s\","
                   "\"clientKeyData\":\"%s\"}}",
                   certificate, key);
    free(write_file(fixture.directory, "answer", text));
    write_plugin("cat $D/answer");
    write_kubeconfig("./plugin", V1BETA1, "");
}

START_TEST(a_plugins_client_certificate_logs_in)
{
    answer_with_certificate(kubesim_client_key_pem(fixture.sim));
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(a_certificate_without_its_own_key_is_refused)
{
    answer_with_certificate("-----BEGIN PRIVATE KEY-----\nAAAA\n");
    ck_assert_int_eq(make(), HAMI_E_ACCESS);
    ck_assert_ptr_nonnull(strstr(error.text, "holds no PEM private key"));
}
END_TEST

START_TEST(a_plugin_gets_its_arguments_its_variables_and_what_kubernetes_tells_it)
{
    char text[4096] = "";

    ck_assert_int_eq(setenv("FROM_THE_PROCESS", "yes", 1), 0);
    (void)snprintf(text, sizeof(text),
                   "printf '%%s|' \"$@\" \"$FROM_THE_PROCESS\" \"$KUBERNETES_EXEC_INFO\" "
                   "\"$(cat | wc -c)\" \"$(ls /proc/self/fd | wc -l)\" >$D/seen\n%s",
                   right_answer());
    write_plugin(text);
    write_kubeconfig("./plugin", V1,
                     "      interactiveMode: IfAvailable\n"
                     "      provideClusterInfo: true\n");
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert_int_eq(unsetenv("FROM_THE_PROCESS"), 0);
    FILE *file = fopen(path_of("seen"), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
    (void)fclose(file);
    ck_assert_msg(strncmp(text, "one|two words|yes|{", 19) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "\"kind\":\"ExecCredential\""));
    ck_assert_ptr_nonnull(strstr(text, "\"interactive\":false"));
    ck_assert_ptr_nonnull(strstr(text, kubesim_url(fixture.sim)));
    ck_assert_ptr_nonnull(strstr(text, "\"certificate-authority-data\":\"LS0t"));
    /* Nothing to read; its three descriptors, ls's own, and the shell's pipe. */
    ck_assert_msg(strstr(text, "|0|4|") != NULL || strstr(text, "|0|5|") != NULL, "%s",
                  text);
}
END_TEST

/* ---- plugins that go wrong ------------------------------------------------------ */

static const struct {
    const char *script;
    const char *told;
} wrong[] = {
    {"exit 1", "It ended with status 1"},
    {"echo '{\"token\":\"" SECRET "\"'", "is not JSON"},
    {"echo '" SECRET "'", "is not JSON"},
    {"true", "is not JSON"},
    {"kill -9 $$", "Signal 9 ended it"},
    {"head -c 300000 /dev/zero", "It wrote more than 262144 bytes"},
    {"while true; do echo " SECRET "; done", "It wrote more than 262144 bytes"},
    {"echo '{\"apiVersion\":\"" V1BETA1 "\",\"kind\":\"ExecCredential\",\"status\":"
     "{\"token\":\"" SECRET "\"}}'",
     "is not of apiVersion " V1},
    {"echo '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":"
     "{\"token\":\"" SECRET "\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"}}'",
     "has expired already"},
    {"printf %s '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":"
     "{\"token\":\"" SECRET "\\n\\nHost: evil\"}}'",
     "has a token with characters that no token has"},
};

START_TEST(what_a_plugin_does_wrong_is_told_without_its_words)
{
    use_plugin(wrong[_i].script);
    ck_assert_int_eq(make(), HAMI_E_ACCESS);
    ck_assert_msg(strstr(error.text, wrong[_i].told) != NULL, "%s", error.text);
    ck_assert_ptr_nonnull(strstr(error.text, "/plugin: "));
    assert_no_secret_told();
}
END_TEST

START_TEST(a_plugin_that_is_not_there_is_told_with_its_hint)
{
    write_kubeconfig("no-such-plugin-anywhere", V1,
                     NEVER "      installHint: get it from its maker\n");
    ck_assert_int_eq(make(), HAMI_E_ACCESS);
    ck_assert_ptr_nonnull(strstr(error.text, "No such file or directory"));
    ck_assert_ptr_nonnull(strstr(error.text, "get it from its maker"));
}
END_TEST

static const struct {
    const char *version;
    const char *more;
    int code;
    const char *told;
} settings[] = {
    {"client.authentication.k8s.io/v1alpha1", "", HAMI_E_INVAL, "apiVersion"},
    {V1, "", HAMI_E_INVAL, "has to say its interactiveMode"},
    {V1, "      interactiveMode: Always\n", HAMI_E_NOTSUP, "nobody is there"},
    {V1BETA1, "      interactiveMode: Always\n", HAMI_E_NOTSUP, "nobody is there"},
    {V1, "      interactiveMode: Sometimes\n", HAMI_E_INVAL, "Never, IfAvailable or"},
    {V1, NEVER "    token: x\n", HAMI_E_INVAL, "a token or certificate as well"},
    {V1, NEVER "      provideClusterInfo: maybe\n", HAMI_E_INVAL, "true or false"},
};

START_TEST(a_kubeconfig_that_asks_for_what_can_t_be_is_refused)
{
    write_plugin(answer("\"token\":\"x\""));
    write_kubeconfig("./plugin", settings[_i].version, settings[_i].more);
    ck_assert_int_eq(make(), settings[_i].code);
    ck_assert_msg(strstr(error.text, settings[_i].told) != NULL, "%s", error.text);
    ck_assert_int_eq(count_runs(), 0);
}
END_TEST

/* A process that is dead and not reaped yet runs no more. */
static bool is_running(long pid)
{
    char name[64];
    char text[256] = "";
    FILE *file;

    (void)snprintf(name, sizeof(name), "/proc/%ld/stat", pid);
    file = fopen(name, "r");
    if (file == NULL) {
        return false;
    }
    (void)fgets(text, sizeof(text), file);
    (void)fclose(file);
    return strstr(text, ") Z ") == NULL && strstr(text, ") X ") == NULL;
}

/* Does a process of that number, written to a file by the plugin, still run? */
static bool is_alive(const char *name)
{
    char text[32] = "";
    FILE *file = fopen(path_of(name), "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
    (void)fclose(file);
    return is_running(atol(text));
}

/* A signal takes its time. */
static bool is_gone_soon(const char *name)
{
    uint64_t until = hami_kubernetes_in_ms(5000);
    struct timespec pause = {.tv_nsec = 5000000};

    while (is_alive(name) && hami_kubernetes_now() < until) {
        (void)nanosleep(&pause, NULL);
    }
    return !is_alive(name);
}

START_TEST(a_slow_plugin_is_killed_with_what_it_started)
{
    uint64_t started = hami_kubernetes_now();

    use_plugin("sleep 300 &\necho $! >$D/child\necho $$ >$D/self\nwait");
    fixture.config.exec_timeout_ms = 300;
    ck_assert_int_eq(make(), HAMI_E_ACCESS);
    ck_assert_ptr_nonnull(strstr(error.text, "It took too long"));
    ck_assert(hami_kubernetes_now() - started < UINT64_C(5000000000));
    ck_assert(!is_alive("self"));
    ck_assert(is_gone_soon("child"));
}
END_TEST

START_TEST(children_that_a_plugin_leaves_hold_nothing_up_and_are_killed)
{
    char text[4096];
    uint64_t started = hami_kubernetes_now();

    (void)snprintf(text, sizeof(text), "sleep 300 &\necho $! >$D/child\n%s",
                   right_answer());
    use_plugin(text);
    ck_assert_msg(make() == 0, "%s", error.text);
    ck_assert(hami_kubernetes_now() - started < UINT64_C(5000000000));
    ck_assert(is_gone_soon("child"));
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

/* ---- asked again ---------------------------------------------------------------- */

/* Gives $D/token, which the test may change. */
static void use_token_file(const char *token)
{
    free(write_file(fixture.directory, "token", token));
    use_plugin("echo run >>$D/runs\n"
               "echo '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":"
               "{\"token\":\"'$(cat $D/token)'\"}}'");
}

START_TEST(a_401_runs_the_plugin_once_more_and_the_request_again)
{
    struct kubesim_match gets = {.verb = "get", .resource = "nodes"};

    use_token_file("stale");
    ck_assert_msg(make() == 0, "%s", error.text);
    free(write_file(fixture.directory, "token", kubesim_token(fixture.sim, "admin")));
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_int_eq(count_runs(), 2);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
    ck_assert_int_eq(count_runs(), 2);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &gets), 3);
}
END_TEST

START_TEST(a_server_that_goes_on_refusing_is_told_and_the_plugin_is_not_run_in_a_circle)
{
    use_token_file("stale");
    ck_assert_msg(make() == 0, "%s", error.text);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(status_of_get(fixture.client), 401);
    }
    ck_assert_int_eq(count_runs(), 2);
}
END_TEST

START_TEST(what_expires_is_replaced_before_it_does_while_requests_go_on)
{
    char status[256];
    char expires[32];
    time_t soon = time(NULL) + 5;
    struct tm parts;
    uint64_t until = hami_kubernetes_in_ms(10000);
    struct timespec pause = {.tv_nsec = 20000000};

    (void)strftime(expires, sizeof(expires), "%Y-%m-%dT%H:%M:%SZ",
                   gmtime_r(&soon, &parts));
    (void)snprintf(status, sizeof(status),
                   "\"token\":\"%s\",\"expirationTimestamp\":\"%s\"",
                   kubesim_token(fixture.sim, "admin"), expires);
    use_plugin(answer(status));
    ck_assert_msg(make() == 0, "%s", error.text);
    while (count_runs() < 2 && hami_kubernetes_now() < until) {
        ck_assert_int_eq(status_of_get(fixture.client), 200);
        (void)nanosleep(&pause, NULL);
    }
    ck_assert_int_ge(count_runs(), 2);
    ck_assert_int_le(time(NULL), soon);
}
END_TEST

START_TEST(a_login_that_is_read_again_runs_the_plugin_that_it_has_now)
{
    use_token_file("stale");
    ck_assert_msg(make() == 0, "%s", error.text);
    char text[4096];
    (void)snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", right_answer());
    free(write_file(fixture.directory, "other", text));
    ck_assert_int_eq(chmod(path_of("other"), 0700), 0);
    write_kubeconfig("./other", V1, NEVER);
    ck_assert_msg(hami_kubernetes_reload(fixture.client, &error) == 0, "%s", error.text);
    ck_assert_int_eq(status_of_get(fixture.client), 200);
}
END_TEST

START_TEST(a_plugin_that_hangs_later_holds_up_no_end)
{
    uint64_t started;

    use_plugin("if [ -e $D/runs ]; then echo $$ >$D/self; exec sleep 300; fi\n"
               "echo run >>$D/runs\n"
               "echo '{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":"
               "{\"token\":\"stale\"}}'");
    ck_assert_msg(make() == 0, "%s", error.text);
    struct hami_kubernetes_request request = get_node();
    request.deadline_ns = hami_kubernetes_in_ms(500);
    struct told told = ask(fixture.client, request);
    ck_assert_int_eq(told.code, HAMI_E_TIMEDOUT);
    ck_assert(is_alive("self"));
    started = hami_kubernetes_now();
    fixture.client = hami_kubernetes_free(fixture.client);
    ck_assert(hami_kubernetes_now() - started < UINT64_C(2000000000));
    ck_assert(!is_alive("self"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes exec");
    TCase *cases = tcase_create("cases");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, a_plugin_is_not_run_unless_that_is_allowed);
    tcase_add_test(cases, a_plugins_token_logs_in);
    tcase_add_test(cases, a_plugins_client_certificate_logs_in);
    tcase_add_test(cases, a_certificate_without_its_own_key_is_refused);
    tcase_add_test(
        cases, a_plugin_gets_its_arguments_its_variables_and_what_kubernetes_tells_it);
    tcase_add_loop_test(cases, what_a_plugin_does_wrong_is_told_without_its_words, 0,
                        sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(cases, a_plugin_that_is_not_there_is_told_with_its_hint);
    tcase_add_loop_test(cases, a_kubeconfig_that_asks_for_what_can_t_be_is_refused, 0,
                        sizeof(settings) / sizeof(settings[0]));
    tcase_add_test(cases, a_slow_plugin_is_killed_with_what_it_started);
    tcase_add_test(cases, children_that_a_plugin_leaves_hold_nothing_up_and_are_killed);
    tcase_add_test(cases, a_401_runs_the_plugin_once_more_and_the_request_again);
    tcase_add_test(
        cases,
        a_server_that_goes_on_refusing_is_told_and_the_plugin_is_not_run_in_a_circle);
    tcase_add_test(cases, what_expires_is_replaced_before_it_does_while_requests_go_on);
    tcase_add_test(cases, a_login_that_is_read_again_runs_the_plugin_that_it_has_now);
    tcase_add_test(cases, a_plugin_that_hangs_later_holds_up_no_end);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}

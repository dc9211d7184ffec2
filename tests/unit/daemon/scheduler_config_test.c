/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler and its configuration: a file that is checked before anything starts,
 * printed back, and read again while binds wait. And what an operator meets around it.
 */
#include "running.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "suite.h"

#define BURST 12
#define OUTPUT_MAX 16384

static struct running running;
static struct http_client clients[BURST + 2];
static char path[64];
static char log_text[65536];
static size_t log_length;

static void begin(void)
{
    (void)snprintf(path, sizeof(path), "/tmp/hamid-config-%d", getpid());
    log_length = 0;
    log_text[0] = '\0';
}

static void end(void)
{
    (void)unlink(path);
}

/* As an editor does: the new file appears whole. */
static void write_config(const char *text)
{
    char temporary[80];
    (void)snprintf(temporary, sizeof(temporary), "%s.new", path);
    FILE *file = fopen(temporary, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(temporary, path), 0);
}

/* Runs hamid to its end; what it wrote on both outputs. Returns its exit status. */
static int run_hamid(const char *arguments, char *output)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "'%s' %s 2>&1", getenv("HAMID"), arguments);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t length = fread(output, 1, OUTPUT_MAX - 1, pipe);
    output[length] = '\0';
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Reads on in the log until a line has the text. */
static void until_logged(const char *text)
{
    while (strstr(log_text, text) == NULL) {
        ck_assert_uint_lt(log_length, sizeof(log_text) - 1);
        ssize_t got = read(running.log_fd, log_text + log_length,
                           sizeof(log_text) - 1 - log_length);
        ck_assert_msg(got > 0, "hamid ended without %s", text);
        log_length += (size_t)got;
        log_text[log_length] = '\0';
    }
}

static void reload_until(const char *text)
{
    log_length = 0;
    log_text[0] = '\0';
    ck_assert_int_eq(kill(running.pid, SIGHUP), 0);
    until_logged("Reload is over");
    ck_assert_msg(strstr(log_text, text) != NULL, "%s", log_text);
}

START_TEST(test_case_1_36_without_a_choice_of_its_lock_for_a_resource_nothing_starts)
{
    static char output[OUTPUT_MAX];
    write_config("managed-resource:\n- nvidia.com/gpu\n- example.com/npu\n"
                 "address-file: /tmp/never-written\n");
    char arguments[256];
    (void)snprintf(arguments, sizeof(arguments), "scheduler --config %s", path);
    ck_assert_int_eq(run_hamid(arguments, output), 2);
    ck_assert_msg(strstr(output, ":1: managed-resource: nothing says which lock "
                                 "'example.com/npu' needs") != NULL,
                  "%s", output);
    ck_assert_int_ne(access("/tmp/never-written", F_OK), 0);
    (void)snprintf(arguments, sizeof(arguments),
                   "scheduler --config %s --lock example.com/npu=exempt --print-config",
                   path);
    ck_assert_int_eq(run_hamid(arguments, output), 0);
    ck_assert_ptr_nonnull(strstr(output, "- \"example.com/npu=exempt\"\n"));
}
END_TEST

START_TEST(test_case_1_36_each_pod_is_bound_under_its_own_lock_or_none)
{
    static const char *const flags[] = {"--managed-resource=nvidia.com/gpu",
                                        "--managed-resource=cambricon.com/vmlu",
                                        "--managed-resource=mthreads.com/vgpu", NULL};
    static const char *const resources[] = {"nvidia.com/gpu", "cambricon.com/vmlu",
                                            "mthreads.com/vgpu"};
    static const char *const names[] = {"gpu", "mlu", "free"};
    running_start(&running, flags);
    for (size_t i = 0; i < 3; i++) {
        struct kubesim_pod pod = {.namespace_name = "ns",
                                  .name = names[i],
                                  .resource = resources[i],
                                  .count = 1};
        ck_assert_int_eq(kubesim_create_pod(running.sim, &pod), 201);
        /* All on one node: each has what the others leave it. */
        running_bind(&running, &clients[i], names[i], "n1");
        ck_assert_str_eq(running_error(&clients[i]), "");
    }
    char *lock = running_lock(&running, "n1");
    char *other =
        kubesim_annotation(running.sim, "nodes", NULL, "n1", "cambricon.com/dsmlu.lock");
    ck_assert_ptr_nonnull(strstr(lock, ",ns,gpu"));
    ck_assert_ptr_nonnull(strstr(other, ",ns,mlu"));
    free(lock);
    free(other);
    char *phase =
        kubesim_annotation(running.sim, "pods", "ns", "free", "hami.io/bind-phase");
    ck_assert_str_eq(phase, "allocating");
    free(phase);
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

START_TEST(test_what_is_printed_can_be_fed_back)
{
    static char first[OUTPUT_MAX];
    static char second[OUTPUT_MAX];
    char arguments[256];
    (void)setenv("HAMI_NODELOCK_EXPIRE", "90s", 1);
    ck_assert_int_eq(run_hamid("scheduler --print-config --patience 10m -v 4 "
                               "--lock a.b/c=exempt --host x --http_bind 127.0.0.1:0",
                               first),
                     0);
    (void)unsetenv("HAMI_NODELOCK_EXPIRE");
    ck_assert_ptr_nonnull(strstr(first, "lock-expire: 1m30s  # environment: HAMI_"));
    ck_assert_ptr_nonnull(strstr(first, "patience: 10m0s  # flag\n"));
    ck_assert_ptr_nonnull(strstr(first, "stall-limit: 5s  # default\n"));
    write_config(first);
    (void)snprintf(arguments, sizeof(arguments), "scheduler --config %s --print-config",
                   path);
    ck_assert_int_eq(run_hamid(arguments, second), 0);
    ck_assert_ptr_nonnull(strstr(second, "lock-expire: 1m30s  # file, line "));
    /* The same but for where it is from. */
    char *a = strtok(first, "\n");
    for (const char *b = second; a != NULL; a = strtok(NULL, "\n")) {
        size_t length = strcspn(a, "#");
        ck_assert_msg(strncmp(a, b, length) == 0, "%s", a);
        b = strchr(b, '\n') + 1;
    }
}
END_TEST

START_TEST(test_a_burst_loses_no_bind_to_reloads_right_or_wrong)
{
    const char *const flags[] = {"--config", path, NULL};
    char name[16];
    write_config("patience: 60s\nstall-limit: 0s\nmanaged-resource: nvidia.com/gpu\n");
    running_start(&running, flags);
    running_pods(&running, "p", BURST);
    for (int i = 0; i < BURST; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
        (void)event_base_loop(running.base, EVLOOP_NONBLOCK);
        if (i == 0) {
            ck_assert_str_eq(running_error(&clients[0]), "");
        }
    }
    for (int i = 0; i < BURST; i++) {
        ck_assert_str_eq(running_error(&clients[i]), "");
        switch (i % 4) {
        case 0:
            write_config("patience: 120s\nstall-limit: 0s\nv: 2\n"
                         "managed-resource: nvidia.com/gpu\n");
            reload_until("configuration=\"new\"");
            break;
        case 1:
            write_config("patience: 120x\nmanaged-resouce: a/b\n");
            reload_until(":1: patience: '120x' is no duration");
            ck_assert_ptr_nonnull(
                strstr(log_text, ":2: managed-resouce: is no option of this role, did "
                                 "you mean managed-resource?"));
            ck_assert_ptr_nonnull(strstr(log_text, "Kept the old configuration"));
            break;
        case 2:
            write_config("patience: 60s\nstall-limit: 3s\nhold-limit: 3s\n"
                         "managed-resource: [nvidia.com/gpu, hygon.com/dcunum]\n");
            reload_until("\"A new value counts after a restart only\" "
                         "option=\"hold-limit\" value=\"3s\"");
            ck_assert_ptr_nonnull(strstr(log_text, "option=\"patience\" value=\"1m0s\""));
            break;
        default:
            reload_until("Reload is over");
        }
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_release(&running, "n1", name);
    }
    ck_assert_uint_eq(running_bindings(&running, NULL), BURST);
    running_close(clients, BURST);
    running_stop(&running);
}
END_TEST

START_TEST(test_a_reload_changes_the_lock_table_for_the_binds_after_it)
{
    const char *const flags[] = {"--config", path, NULL};
    write_config("managed-resource: nvidia.com/gpu\n");
    running_start(&running, flags);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_release(&running, "n1", "p0");
    write_config("managed-resource: nvidia.com/gpu\n"
                 "lock: {nvidia.com/gpu: example.com/gpu.lock}\n");
    reload_until("option=\"lock\" value=\"nvidia.com/gpu=example.com/gpu.lock\"");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    char *lock =
        kubesim_annotation(running.sim, "nodes", NULL, "n1", "example.com/gpu.lock");
    ck_assert_ptr_nonnull(strstr(lock, ",ns,p1"));
    free(lock);
    ck_assert_ptr_null(running_lock(&running, "n1"));
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(
    test_a_reload_takes_new_credentials_and_keeps_the_old_ones_where_they_are_wrong)
{
    char file[128];
    running_start(&running, NULL);
    reload_until("\"Reloaded\" what=\"login to the API server\"");
    (void)snprintf(file, sizeof(file), "%s/kubeconfig", running.directory);
    ck_assert_int_eq(truncate(file, 10), 0);
    reload_until("\"Kept the old one in use\" what=\"login to the API server\"");
    running_still_binds(&running);
    running_stop(&running);
}
END_TEST

/* A file in the folder of the running hamid; its path, valid until the next one. */
static const char *write_beside(const char *name, const char *text, unsigned mode)
{
    static char file[2][128];
    static unsigned next;
    char *beside = file[next++ % 2];
    (void)snprintf(beside, sizeof(file[0]), "%s/%s", running.directory, name);
    FILE *out = fopen(beside, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(chmod(beside, mode), 0);
    return beside;
}

START_TEST(test_a_credential_plugin_logs_hamid_in_where_it_is_allowed)
{
    char text[8192];
    char output[OUTPUT_MAX];
    char arguments[512];
    running_prepare(&running);
    (void)snprintf(
        text, sizeof(text),
        "#!/bin/sh\nprintf '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
        "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%%s\"}}' \"$T\"\n");
    (void)write_beside("plugin", text, 0700);
    const char *ca = write_beside("ca.crt", kubesim_ca_pem(running.sim), 0600);
    (void)snprintf(text, sizeof(text),
                   "clusters: [{name: c, cluster: {server: \"%s\", "
                   "certificate-authority: %s}}]\n"
                   "users: [{name: u, user: {exec: {apiVersion: "
                   "client.authentication.k8s.io/v1, command: ./plugin, "
                   "interactiveMode: Never, env: [{name: T, value: %s}]}}}]\n"
                   "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
                   "current-context: x\n",
                   kubesim_url(running.sim), ca, kubesim_token(running.sim, "admin"));
    const char *kubeconfig = write_beside("with-plugin", text, 0600);
    (void)snprintf(arguments, sizeof(arguments),
                   "scheduler --listen 127.0.0.1:0 --kubeconfig %s", kubeconfig);
    ck_assert_int_eq(run_hamid(arguments, output), 1);
    ck_assert_ptr_nonnull(strstr(output, "--allow-exec-credentials"));
    const char *const flags[] = {"--kubeconfig", kubeconfig, "--allow-exec-credentials",
                                 NULL};
    running_start_hamid(&running, flags);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_release(&running, "n1", "p0");
    reload_until("\"Reloaded\" what=\"login to the API server\"");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p1");
    running_close(clients, 2);
    (void)unlink(write_beside("plugin", "", 0600));
    (void)unlink(write_beside("ca.crt", "", 0600));
    (void)unlink(write_beside("with-plugin", "", 0600));
    running_stop(&running);
}
END_TEST

START_TEST(test_with_leases_a_new_lock_waits_for_a_restart)
{
    const char *const flags[] = {"--config", path, NULL};
    write_config("lock-store: lease+mirror\nlease-namespace: ns\n"
                 "managed-resource: nvidia.com/gpu\n");
    running_start(&running, flags);
    write_config("lock-store: lease+mirror\nlease-namespace: ns\n"
                 "managed-resource: nvidia.com/gpu\n"
                 "lock: [nvidia.com/gpu=example.com/gpu.lock]\n");
    reload_until(":4: lock: the lock 'example.com/gpu.lock' is new");
    ck_assert_ptr_nonnull(strstr(log_text, "Kept the old configuration"));
    running_still_binds(&running);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler configuration");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, begin, end);
    tcase_add_test(
        all, test_case_1_36_without_a_choice_of_its_lock_for_a_resource_nothing_starts);
    tcase_add_test(all, test_case_1_36_each_pod_is_bound_under_its_own_lock_or_none);
    tcase_add_test(all, test_what_is_printed_can_be_fed_back);
    tcase_add_test(all, test_a_burst_loses_no_bind_to_reloads_right_or_wrong);
    tcase_add_test(all, test_a_reload_changes_the_lock_table_for_the_binds_after_it);
    tcase_add_test(
        all,
        test_a_reload_takes_new_credentials_and_keeps_the_old_ones_where_they_are_wrong);
    tcase_add_test(all, test_a_credential_plugin_logs_hamid_in_where_it_is_allowed);
    tcase_add_test(all, test_with_leases_a_new_lock_waits_for_a_restart);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}

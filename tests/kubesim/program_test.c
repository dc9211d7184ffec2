/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program kubesim, as other processes use it: it tells when it is ready, its
 * kubeconfigs work, it ends cleanly and leaves a whole log. KUBESIM_PROGRAM names it.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scene.h"

static char folder[64];
static pid_t child;
static FILE *output;

/* Start it with ARGUMENTS behind the program's name; NULL-terminated. */
static void spawn(const char *const *arguments)
{
    const char *program = getenv("KUBESIM_PROGRAM");
    int ends[2];
    ck_assert_ptr_nonnull(program);
    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(program, (char *const *)arguments);
        _exit(127);
    }
    close(ends[1]);
    output = fdopen(ends[0], "r");
}

static void setup(void)
{
    strcpy(folder, "/tmp/kubesim-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    child = 0;
    output = NULL;
}

static void teardown(void)
{
    char path[512];
    DIR *directory = opendir(folder);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    if (output != NULL) {
        fclose(output);
    }
    for (struct dirent *entry;
         directory != NULL && (entry = readdir(directory)) != NULL;) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    closedir(directory);
    rmdir(folder);
}

/* Ends it by SIGTERM; returns its exit status. */
static int terminate(void)
{
    int status;
    kill(child, SIGTERM);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void open_peer(struct peer *client, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    ck_assert_msg(peer_open_kubeconfig(client, path), "%s", path);
}

START_TEST(it_is_ready_when_it_says_so_and_every_kubeconfig_works)
{
    static const char *const names[] = {"kubeconfig", "kubeconfig-alice",
                                        "kubeconfig-admin", "kubeconfig-certificate"};
    const char *const arguments[] = {
        "kubesim", "--directory", folder, "--nodes", "2",     "--node",
        "extra",   "--count",     "4",    "--user",  "alice", "--exit-with-parent",
        NULL};
    char line[256], path[128];
    struct peer client;
    spawn(arguments);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), output));
    snprintf(path, sizeof(path), "%s/ready", folder);
    json_t *ready = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(strstr(line, json_text_at(ready, "/url")));
    ck_assert_int_eq(json_integer_value(json_object_get(ready, "pid")), child);
    json_decref(ready);
    for (size_t i = 0; i < 4; i++) {
        struct stat status;
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        ck_assert_int_eq(stat(path, &status), 0);
        ck_assert_int_eq(status.st_mode & 0077, 0); /* it holds credentials */
        open_peer(&client, names[i]);
        struct reply reply = peer_send(&client, "GET", "/api/v1/nodes", NULL, NULL, NULL);
        ck_assert_int_eq(reply.code, 200);
        ck_assert_uint_eq(json_array_size(json_object_get(reply.json, "items")), 3);
        ck_assert_str_eq(
            reply_text(&reply, "/items/0/status/allocatable/nvidia.com~1gpu"), "4");
        reply_clear(&reply);
        peer_close(&client);
    }
    ck_assert_int_eq(terminate(), 0);
}
END_TEST

START_TEST(its_log_names_users_and_is_whole_after_sigterm)
{
    const char *const arguments[] = {"kubesim", "--directory", folder,  "--node",
                                     "n1",      "--user",      "alice", NULL};
    char line[65536], path[128];
    int found = 0, lines = 0;
    struct peer client;
    spawn(arguments);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), output));
    open_peer(&client, "kubeconfig");
    for (int i = 0; i < 50; i++) {
        struct reply reply =
            peer_send(&client, "GET", "/api/v1/nodes/n1", NULL, NULL, NULL);
        ck_assert_int_eq(reply.code, 200);
        reply_clear(&reply);
    }
    peer_close(&client);
    ck_assert_int_eq(terminate(), 0);
    snprintf(path, sizeof(path), "%s/audit.log", folder);
    FILE *log = fopen(path, "re");
    ck_assert_ptr_nonnull(log);
    for (; fgets(line, sizeof(line), log) != NULL; lines++) {
        json_t *event = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(event);
        found += strcmp(json_text_at(event, "/user/username"), "alice") == 0;
        json_decref(event);
    }
    fclose(log);
    ck_assert_int_eq(found, 50);
    ck_assert_int_eq(lines, 51);
}
END_TEST

START_TEST(it_refuses_options_that_it_does_not_know)
{
    static const char *const wrong[][5] = {
        {"kubesim", "--directory", "x", "--fly", NULL},
        {"kubesim", NULL},
        {"kubesim", "--directory", "x", "--port=-1", NULL},
        {"kubesim", "--directory", "x", "--nodes=many", NULL},
        {"kubesim", "--directory", "x", "rest", NULL}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int status;
        spawn(wrong[i]);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        child = 0;
        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 2);
        fclose(output);
        output = NULL;
    }
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_is_an_error)
{
    const char *const arguments[] = {"kubesim", "--directory", "/proc/none/such", NULL};
    int status;
    spawn(arguments);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    child = 0;
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}
END_TEST

int main(void)
{
    TCase *test_case = tcase_create("program");
    tcase_add_checked_fixture(test_case, setup, teardown);
    tcase_add_test(test_case, it_is_ready_when_it_says_so_and_every_kubeconfig_works);
    tcase_add_test(test_case, its_log_names_users_and_is_whole_after_sigterm);
    tcase_add_test(test_case, it_refuses_options_that_it_does_not_know);
    tcase_add_test(test_case, a_folder_that_cannot_be_made_is_an_error);
    return scene_run("kubesim-program", test_case);
}

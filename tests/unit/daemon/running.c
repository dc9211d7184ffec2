/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hamid scheduler as a process of its own, in front of a kubesim in this one.
 */
#include "running.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 10
#define ARGUMENTS_MAX 32

extern char **environ;

static int passed_fd = -1;

static void path_of(const struct running *running, const char *name, char *path,
                    size_t size)
{
    (void)snprintf(path, size, "%s/%s", running->directory, name);
}

/* Reads hamid's log until it says that it serves. */
static void wait_until_serving(struct running *running)
{
    char text[8192] = "";
    size_t length = 0;
    while (strstr(text, "\"Serving\"") == NULL) {
        struct pollfd one = {.fd = running->log_fd, .events = POLLIN};
        ck_assert_int_eq(poll(&one, 1, PATIENCE_S * 1000), 1);
        ssize_t got = read(running->log_fd, text + length, sizeof(text) - 1 - length);
        ck_assert_msg(got > 0, "hamid ended: %s", text);
        length += (size_t)got;
        text[length] = '\0';
    }
}

void running_pass_socket(int fd)
{
    passed_fd = fd;
}

/* The process must name itself in LISTEN_PID, which a shell can do before it becomes it.
 */
static void set_socket(posix_spawn_file_actions_t *actions, const char **program,
                       char *const *argv, char **ret)
{
    static char script[] = "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" \"$@\"";
    ret[0] = (char *)"sh";
    ret[1] = (char *)"-c";
    ret[2] = script;
    ret[3] = (char *)*program;
    for (size_t i = 1; i == 1 || argv[i - 1] != NULL; i++) {
        ret[3 + i] = argv[i];
    }
    *program = "/bin/sh";
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(actions, passed_fd, 3), 0);
    passed_fd = -1;
}

static void spawn(struct running *running, char *const *argv)
{
    const char *program = getenv("HAMID");
    char *wrapped[ARGUMENTS_MAX + 4];
    posix_spawn_file_actions_t actions;
    int ends[2];
    ck_assert_msg(program != NULL, "HAMID must name the program");
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    ck_assert_int_eq(posix_spawn_file_actions_adddup2(&actions, ends[1], 2), 0);
    if (passed_fd >= 0) {
        set_socket(&actions, &program, argv, wrapped);
        argv = wrapped;
    }
    ck_assert_int_eq(posix_spawn(&running->pid, program, &actions, NULL, argv, environ),
                     0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    running->log_fd = ends[0];
}

void running_start_hamid(struct running *running, const char *const *flags)
{
    char kubeconfig[128];
    char addresses[128];
    char *argv[ARGUMENTS_MAX];
    size_t count = 0;
    path_of(running, "kubeconfig", kubeconfig, sizeof(kubeconfig));
    path_of(running, "addresses", addresses, sizeof(addresses));
    const char *const own[] = {"hamid",          "scheduler",    "--listen",
                               "127.0.0.1:0",    "--kubeconfig", kubeconfig,
                               "--address-file", addresses,      "-v=0"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        argv[count++] = (char *)own[i];
    }
    for (; flags != NULL && *flags != NULL; flags++) {
        argv[count++] = (char *)*flags;
    }
    argv[count] = NULL;
    spawn(running, argv);
    wait_until_serving(running);
    FILE *file = fopen(addresses, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%63s", running->address), 1);
    (void)fclose(file);
    ck_assert(running_until(running, "/readyz", "200 OK"));
}

void running_prepare(struct running *running)
{
    struct kubesim_options options = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    memset(running, 0, sizeof(*running));
    (void)snprintf(running->directory, sizeof(running->directory),
                   "/tmp/hamid-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(running->directory));
    ck_assert_int_eq(kubesim_start(&options, &running->sim), 0);
    ck_assert_int_eq(kubesim_write_files(running->sim, running->directory), 0);
    ck_assert_int_eq(kubesim_create_node(running->sim, "n1", NULL, 0), 201);
    ck_assert_int_eq(kubesim_create_node(running->sim, "n2", NULL, 0), 201);
    ck_assert_int_eq(kubesim_request(running->sim, "POST", "/api/v1/namespaces",
                                     "application/json",
                                     "{\"metadata\":{\"name\":\"ns\"}}", NULL),
                     201);
    running->base = event_base_new();
}

void running_start(struct running *running, const char *const *flags)
{
    running_prepare(running);
    running_start_hamid(running, flags);
}

int running_end(struct running *running, int number)
{
    int status = 0;
    (void)kill(running->pid, number);
    ck_assert_int_eq(waitpid(running->pid, &status, 0), running->pid);
    running->pid = 0;
    (void)close(running->log_fd);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void running_stop(struct running *running)
{
    static const char *const files[] = {"kubeconfig", "kubeconfig-admin",
                                        "kubeconfig-certificate", "ready", "addresses"};
    char path[128];
    if (running->pid != 0) {
        ck_assert_int_eq(running_end(running, SIGTERM), 0);
    }
    running->sim = kubesim_free(running->sim);
    event_base_free(running->base);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        path_of(running, files[i], path, sizeof(path));
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(running->directory), 0);
}

/* ---- requests ------------------------------------------------------------------- */

void running_pods(struct running *running, const char *prefix, int count)
{
    char name[64];
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "%s%d", prefix, i);
        struct kubesim_pod pod = {.namespace_name = "ns",
                                  .name = name,
                                  .scheduler = "hami-scheduler",
                                  .resource = "nvidia.com/gpu",
                                  .count = 1};
        ck_assert_int_eq(kubesim_create_pod(running->sim, &pod), 201);
    }
}

void running_bind_uid(struct running *running, struct http_client *client,
                      const char *name, const char *uid, const char *node)
{
    char body[1024];
    char head[256];
    int length = snprintf(body, sizeof(body),
                          "{\"PodName\":\"%s\",\"PodNamespace\":\"ns\",\"PodUID\":\"%s\","
                          "\"Node\":\"%s\"}",
                          name, uid, node);
    (void)snprintf(
        head, sizeof(head),
        "POST /bind HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: %d\r\n\r\n",
        length);
    http_client_open(client, running->base, running->address);
    http_client_send(client, head);
    http_client_send(client, body);
}

void running_bind(struct running *running, struct http_client *client, const char *name,
                  const char *node)
{
    char *uid = kubesim_text(running->sim, "pods", "ns", name, "/metadata/uid");
    ck_assert_ptr_nonnull(uid);
    running_bind_uid(running, client, name, uid, node);
    free(uid);
}

const char *running_error(struct http_client *client)
{
    static char error[2048];
    ck_assert_msg(http_client_until_text(client, "\"}"), "no answer: %s", client->answer);
    const char *start = strstr(client->answer, "{\"Error\":\"");
    ck_assert_msg(strstr(client->answer, "HTTP/1.1 200 OK") != NULL, "%s",
                  client->answer);
    ck_assert_ptr_nonnull(start);
    (void)snprintf(error, sizeof(error), "%s", start + strlen("{\"Error\":\""));
    error[strlen(error) - 2] = '\0';
    return error;
}

void running_get(struct running *running, struct http_client *client, const char *path)
{
    char request[256];
    (void)snprintf(request, sizeof(request),
                   "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                   path);
    http_client_open(client, running->base, running->address);
    http_client_send(client, request);
    ck_assert(http_client_until_closed(client));
    http_client_close(client);
}

bool running_until(struct running *running, const char *path, const char *text)
{
    static struct http_client client;
    time_t started = time(NULL);
    do {
        running_get(running, &client, path);
        if (strstr(client.answer, text) != NULL) {
            return true;
        }
    } while (time(NULL) - started < PATIENCE_S);
    return false;
}

/* ---- the API server's side ------------------------------------------------------ */

char *running_lock(struct running *running, const char *node)
{
    return kubesim_annotation(running->sim, "nodes", NULL, node, LOCK_KEY);
}

void running_release(struct running *running, const char *node, const char *name)
{
    char owner[128];
    char *lock = running_lock(running, node);
    (void)snprintf(owner, sizeof(owner), ",ns,%s", name);
    ck_assert_msg(lock != NULL && strstr(lock, owner) != NULL, "%s is not of %s",
                  lock != NULL ? lock : "(none)", name);
    free(lock);
    ck_assert_int_eq(
        kubesim_set_annotation(running->sim, "nodes", NULL, node, LOCK_KEY, NULL), 200);
}

void running_still_binds(struct running *running)
{
    struct http_client client = {0};
    running_pods(running, "p", 1);
    running_bind(running, &client, "p0", "n1");
    ck_assert_str_eq(running_error(&client), "");
    running_release(running, "n1", "p0");
    running_close(&client, 1);
}

unsigned running_bindings(struct running *running, const char *name)
{
    struct kubesim_match match = {
        .verb = "create", .resource = "pods", .subresource = "binding", .name = name};
    return kubesim_count(running->sim, &match);
}

unsigned running_node_writes(struct running *running)
{
    struct kubesim_match match = {.verb = "patch", .resource = "nodes", .user = "admin"};
    return kubesim_count(running->sim, &match);
}

double running_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void running_close(struct http_client *clients, int count)
{
    for (int i = 0; i < count; i++) {
        http_client_close(&clients[i]);
    }
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's process and its callers, for tests. */
#include "agent_world.h"

#include <check.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_MS 30000
#define WORDS_MAX 32

extern char **environ;

const char *hamid_path;
const char *kubelet_path;

pid_t process_start(const char *path, const char *const *words)
{
    char *arguments[WORDS_MAX] = {(char *)path};
    posix_spawn_file_actions_t actions;
    size_t count = 1;
    pid_t pid;

    for (; *words != NULL && count < WORDS_MAX - 1; words++) {
        arguments[count++] = (char *)*words;
    }
    posix_spawn_file_actions_init(&actions);
    if (getenv("HAMI_TEST_VERBOSE") == NULL) {
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    }
    ck_assert_int_eq(posix_spawn(&pid, path, &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

int process_wait(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The service manager's end: how a test learns, without asking, that the agent is up. */
static void open_notify(struct agent_process *agent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    unlink(agent->notify);
    strcpy(address.sun_path, agent->notify);
    agent->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(agent->notify_fd, (struct sockaddr *)&address, sizeof(address)),
                     0);
    setenv("NOTIFY_SOCKET", agent->notify, 1);
}

void agent_wait_ready(struct agent_process *agent)
{
    struct pollfd readable = {.fd = agent->notify_fd, .events = POLLIN};
    char text[256];
    ssize_t length;

    ck_assert_msg(poll(&readable, 1, READY_MS) == 1, "the agent did not become ready");
    length = recv(agent->notify_fd, text, sizeof(text) - 1, 0);
    ck_assert_int_gt(length, 0);
    text[length] = '\0';
    ck_assert_msg(strncmp(text, "READY=1", 7) == 0, "%s", text);
}

void agent_launch(struct agent_process *agent, struct world *world,
                  const char *const *extra)
{
    const char *words[WORDS_MAX] = {"node",           "--node",      "n1",
                                    "--socket",       agent->socket, "--kubeconfig",
                                    world->kubeconfig};
    size_t count = 7;

    snprintf(agent->socket, sizeof(agent->socket), "%s/agent.sock", world->folder);
    snprintf(agent->notify, sizeof(agent->notify), "%s/notify.sock", world->folder);
    for (; extra != NULL && *extra != NULL && count < WORDS_MAX - 1; extra++) {
        words[count++] = *extra;
    }
    open_notify(agent);
    agent->pid = process_start(hamid_path, words);
}

void agent_start(struct agent_process *agent, struct world *world,
                 const char *const *extra)
{
    agent_launch(agent, world, extra);
    agent_wait_ready(agent);
}

int agent_end(struct agent_process *agent)
{
    ck_assert_int_eq(kill(agent->pid, SIGTERM), 0);
    close(agent->notify_fd);
    unlink(agent->notify);
    return process_wait(agent->pid);
}

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
    struct reply *reply = data;
    size_t length = strlen(reply->body);
    size_t room = sizeof(reply->body) - 1 - length;
    size_t taken = size * count < room ? size * count : room;

    memcpy(reply->body + length, bytes, taken);
    reply->body[length + taken] = '\0';
    return size * count;
}

struct reply agent_request(const struct agent_process *agent, const char *path,
                           const char *body)
{
    struct reply reply = {0};
    char url[256];
    CURL *handle = curl_easy_init();

    ck_assert_ptr_nonnull(handle);
    snprintf(url, sizeof(url), "http://agent%s", path);
    curl_easy_setopt(handle, CURLOPT_URL, url);
    curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, agent->socket);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 10000L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &reply);
    if (body != NULL) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
    }
    if (curl_easy_perform(handle) == CURLE_OK) {
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &reply.status);
    }
    curl_easy_cleanup(handle);
    return reply;
}

const char *reply_text(const struct reply *reply, const char *member, char *buffer,
                       size_t size)
{
    json_t *root = json_loads(reply->body, 0, NULL);
    const json_t *value = json_object_get(root, member);

    if (value == NULL) {
        value = json_object_get(json_object_get(root, "pod"), member);
    }
    snprintf(buffer, size, "%s", json_is_string(value) ? json_string_value(value) : "");
    json_decref(root);
    return buffer;
}

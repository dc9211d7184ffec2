/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See hamictl_run.h. */
#include "hamictl_run.h"

#include <jansson.h>
#include <pty.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

char hamictl_output[16384];

int hamictl_run(const struct running *running, const char *arguments, ...)
{
    char words[1024];
    char command[2048];
    va_list values;
    const char *program = getenv("HAMICTL");
    ck_assert_msg(program != NULL, "HAMICTL must name the program");
    va_start(values, arguments);
    (void)vsnprintf(words, sizeof(words), arguments, values);
    va_end(values);
    (void)snprintf(command, sizeof(command),
                   "exec </dev/null 2>&1; KUBECONFIG=%s/kubeconfig %s %s",
                   running->directory, program, words);
    FILE *out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    size_t length = fread(hamictl_output, 1, sizeof(hamictl_output) - 1, out);
    hamictl_output[length] = '\0';
    int status = pclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In the child: the terminal is all three streams. */
static void become_hamictl(const struct running *running, const char *arguments)
{
    char command[2048];
    (void)snprintf(command, sizeof(command), "KUBECONFIG=%s/kubeconfig TERM=xterm %s %s",
                   running->directory, getenv("HAMICTL"), arguments);
    (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

int hamictl_terminal(const struct running *running, const char *typed,
                     const char *arguments)
{
    int terminal = -1;
    int status = 0;
    size_t length = 0;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        become_hamictl(running, arguments);
    }
    (void)dprintf(terminal, "%s\n", typed);
    /* A terminal whose other side has gone ends with EIO. */
    for (ssize_t count = 1; count > 0;) {
        count =
            read(terminal, hamictl_output + length, sizeof(hamictl_output) - 1 - length);
        length += count > 0 ? (size_t)count : 0;
    }
    hamictl_output[length] = '\0';
    (void)close(terminal);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void hamictl_expect(const char *text)
{
    ck_assert_msg(strstr(hamictl_output, text) != NULL, "'%s' is not in: %s", text,
                  hamictl_output);
}

void hamictl_start_with_a_queue(struct running *running, struct http_client *clients)
{
    running_start(running, NULL);
    running_pods(running, "p", 2);
    running_bind(running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(running, &clients[1], "p1", "n1");
    ck_assert(running_until(running, "/metrics", "hamid_lock_waiters 1\n"));
}

const char *hamictl_token(const struct running *running)
{
    static char token[32];
    ck_assert_int_eq(hamictl_run(running, "locks --node n1 -o json"), 0);
    json_t *nodes = json_loads(hamictl_output, 0, NULL);
    const json_t *slot =
        json_array_get(json_object_get(json_array_get(nodes, 0), "slots"), 0);
    const char *text = json_string_value(json_object_get(slot, "token"));
    ck_assert_msg(text != NULL, "no token in: %s", hamictl_output);
    (void)snprintf(token, sizeof(token), "%s", text);
    json_decref(nodes);
    return token;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a credential plugin: started without a shell, in a process group of its own,
 * with no descriptor of ours but the pipe that it writes to. It ends by itself, at the
 * deadline, when told, or when it writes too much, and its group is killed in each case,
 * while the program itself is not reaped yet: so the group's number can't be another's.
 *
 * No lock; blocks. The caller keeps it off the client's thread.
 */
#include "exec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define LOOK_MS 20 /* how often to look at the program where the kernel can't tell */
#define REAP_LOOKS 100
#define FIRST_FREE_FD 3 /* all from here on are closed in the program */

struct run {
    const struct hami_internal_exec *exec;
    struct hami_error *reterr;
    uint64_t deadline_ns;
    int cancel_fd;
    pid_t pid;
    int pid_fd; /* -1 = there is none: looked at every LOOK_MS */
    int pipe;
    bool is_open; /* the pipe has not come to its end */
    bool is_over; /* the program has ended */
    struct hami_internal_text output;
};

/* ---- starting ------------------------------------------------------------------- */

#ifdef HAMI_HAS_CLOSEFROM
static int close_others(posix_spawn_file_actions_t *actions)
{
    return posix_spawn_file_actions_addclosefrom_np(actions, FIRST_FREE_FD);
}
#else
/* Where the C library knows no better: each that is open now. One that another thread
   opens meanwhile is closed by its own flag, as all of ours are. */
static int close_others(posix_spawn_file_actions_t *actions)
{
    DIR *open_ones = opendir("/proc/self/fd");
    int error = 0;
    struct dirent *one;

    if (open_ones == NULL) {
        return errno;
    }
    while (error == 0 && (one = readdir(open_ones)) != NULL) {
        int fd = atoi(one->d_name); /* 0 for the folder's own two names */
        if (fd >= FIRST_FREE_FD && fd != dirfd(open_ones)) {
            error = posix_spawn_file_actions_addclose(actions, fd);
        }
    }
    (void)closedir(open_ones);
    return error;
}
#endif

static int set_actions(posix_spawn_file_actions_t *actions, int output)
{
    int error =
        posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (error == 0) {
        error = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    }
    if (error == 0) {
        error = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null",
                                                 O_WRONLY, 0);
    }
    if (error == 0) {
        error = close_others(actions);
    }
    return error;
}

/* Signals as at the start of any program, whatever the process made of its own. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;
    int error;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP |
                                                     POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSIGDEF);
    if (error == 0) {
        error = posix_spawnattr_setpgroup(attributes, 0);
    }
    if (error == 0) {
        error = posix_spawnattr_setsigmask(attributes, &none);
    }
    return error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &all);
}

/* Returns 0, or an errno. */
static int spawn(struct run *run, const char *program, int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = set_actions(&actions, output);
        if (error == 0) {
            error = set_attributes(&attributes);
        }
        if (error == 0) {
            error = posix_spawn(&run->pid, program, &actions, &attributes,
                                run->exec->arguments, run->exec->variables);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static const char *variable(const struct hami_internal_exec *exec, const char *name)
{
    size_t length = strlen(name);

    for (char **at = exec->variables; *at != NULL; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            return *at + length + 1;
        }
    }
    return NULL;
}

/* A bare name is looked for in PATH, each time: the program may be replaced meanwhile. */
static int find_and_spawn(struct run *run, int output)
{
    const char *path = variable(run->exec, "PATH");
    const char *command = run->exec->command;
    int error = ENOENT;

    if (strchr(command, '/') != NULL) {
        return spawn(run, command, output);
    }
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        char program[4096];

        if (length > 0 && path[0] == '/' &&
            snprintf(program, sizeof(program), "%.*s/%s", (int)length, path, command) <
                (int)sizeof(program) &&
            access(program, X_OK) == 0) {
            return spawn(run, program, output);
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return error;
}

static int start(struct run *run)
{
    const struct hami_internal_exec *exec = run->exec;
    int ends[2];
    int error;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return hami_internal_support_fail(run->reterr, HAMI_E_ACCESS,
                                          "No pipe could be made for it: %s",
                                          strerrordesc_np(errno));
    }
    error = find_and_spawn(run, ends[1]);
    (void)close(ends[1]);
    if (error != 0) {
        (void)close(ends[0]);
        return hami_internal_support_fail(
            run->reterr, HAMI_E_ACCESS, "It could not be started: %s%s%.200s",
            strerrordesc_np(error), exec->install_hint != NULL ? "; " : "",
            exec->install_hint != NULL ? exec->install_hint : "");
    }
    run->pipe = ends[0];
    run->is_open = true;
    (void)fcntl(run->pipe, F_SETFL, O_NONBLOCK);
    run->pid_fd = (int)syscall(SYS_pidfd_open, run->pid, 0);
    return 0;
}

/* ---- running -------------------------------------------------------------------- */

/* Reads what is there. False once it is too much, or out of memory. */
static bool drain(struct run *run)
{
    char buffer[4096];
    ssize_t count;

    while (run->is_open) {
        count = read(run->pipe, buffer, sizeof(buffer));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return errno == EAGAIN;
        }
        run->is_open = count > 0;
        if (!hami_internal_text_add(&run->output, buffer, (size_t)count)) {
            explicit_bzero(buffer, sizeof(buffer));
            return false;
        }
    }
    explicit_bzero(buffer, sizeof(buffer));
    return true;
}

/* Without reaping it: its number, and its group's, stay its own. */
static void look_whether_over(struct run *run)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        run->is_over = true; /* somebody else reaped it */
    } else {
        run->is_over = info.si_pid == run->pid;
    }
}

/* Waits for something to happen. True if the run was cancelled. */
static bool wait_a_while(struct run *run, uint64_t left_ms)
{
    struct pollfd fds[3] = {
        {.fd = run->cancel_fd, .events = POLLIN},
        {.fd = run->pid_fd, .events = POLLIN},
        {.fd = run->is_open ? run->pipe : -1, .events = POLLIN},
    };
    uint64_t longest = run->pid_fd < 0 ? LOOK_MS : 60000;

    (void)poll(fds, 3, (int)(left_ms < longest ? left_ms : longest));
    return (fds[0].revents & POLLIN) != 0;
}

static int fail_output(const struct run *run)
{
    if (!run->output.over) {
        return hami_internal_support_fail(run->reterr, HAMI_E_NOMEM, "Out of memory");
    }
    return hami_internal_support_fail(run->reterr, HAMI_E_LIMIT,
                                      "It wrote more than %u bytes",
                                      HAMI_INTERNAL_EXEC_OUTPUT_MAX);
}

static int watch(struct run *run)
{
    while (!run->is_over) {
        uint64_t now = hami_kubernetes_now();

        if (now >= run->deadline_ns) {
            return hami_internal_support_fail(run->reterr, HAMI_E_TIMEDOUT,
                                              "It took too long");
        }
        if (wait_a_while(
                run, (run->deadline_ns - now) / HAMI_INTERNAL_NANOSECONDS_PER_MS + 1)) {
            return hami_internal_support_fail(run->reterr, HAMI_E_CANCELED,
                                              "It was not waited for");
        }
        /* Before reading: what it wrote before it ended is read then. */
        look_whether_over(run);
        if (!drain(run)) {
            return fail_output(run);
        }
    }
    return 0;
}

/* Reaps it, which a kill makes a matter of moments, unless it runs as somebody else.
 * Returns its wait status; 0 if somebody else reaped it. */
static int reap(const struct run *run)
{
    int status = 0;

    for (int i = 0; i < REAP_LOOKS; i++) {
        struct pollfd one = {.fd = run->pid_fd, .events = POLLIN};
        pid_t pid = waitpid(run->pid, &status, WNOHANG);

        if (pid == run->pid || (pid < 0 && errno != EINTR)) {
            return pid == run->pid ? status : 0;
        }
        (void)poll(&one, 1, LOOK_MS);
    }
    return 0;
}

/* Nothing of it is left behind. */
static int end(struct run *run)
{
    int status;

    (void)kill(-run->pid, SIGKILL);
    status = reap(run);
    (void)close(run->pipe);
    if (run->pid_fd >= 0) {
        (void)close(run->pid_fd);
    }
    return status;
}

static int judge(const struct run *run, int status)
{
    if (WIFSIGNALED(status)) {
        return hami_internal_support_fail(run->reterr, HAMI_E_ACCESS,
                                          "Signal %d ended it", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
        return hami_internal_support_fail(run->reterr, HAMI_E_ACCESS,
                                          "It ended with status %d", WEXITSTATUS(status));
    }
    return 0;
}

int hami_internal_exec_run(const struct hami_internal_exec *exec, uint64_t deadline_ns,
                           int cancel_fd, char **ret, size_t *ret_length,
                           struct hami_error *reterr)
{
    struct run run = {.exec = exec,
                      .reterr = reterr,
                      .deadline_ns = deadline_ns,
                      .cancel_fd = cancel_fd,
                      .output = {.limit = HAMI_INTERNAL_EXEC_OUTPUT_MAX}};
    int code = start(&run);
    int status;

    if (code != 0) {
        return code;
    }
    code = watch(&run);
    status = end(&run);
    if (code == 0) {
        code = judge(&run, status);
    }
    if (code != 0) {
        hami_internal_text_done(&run.output);
        return code;
    }
    *ret_length = run.output.length;
    *ret = run.output.text != NULL ? run.output.text : calloc(1, 1);
    return *ret != NULL
               ? 0
               : hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's process, and what stands around it. */
#include "plugin_world.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 32

extern char **environ;

const char *plugin_path;
static char plugin_log[128] =
    "/dev/null"; /* where processes write their standard error */

static const char usual_devices[] =
    "resource: nvidia.com/gpu\n"
    "annotations: {handshake: hami.io/node-handshake}\n"
    "pre-start: true\n"
    "other-vendors:\n"
    "  - {resource: huawei.com/npu, to-allocate: hami.io/npu-devices-to-allocate}\n"
    "environment:\n"
    "  VISIBLE: \"{uuids}\"\n"
    "  FOR: \"{namespace}/{pod}/{container} {fence}\"\n"
    "mounts: [{host: /opt/hami, container: /usr/local/hami, read-only: true}]\n"
    "devices:\n"
    "  - uuid: GPU-a\n"
    "    shares: 4\n"
    "    memory-mib: 16000\n"
    "    numa: 1\n"
    "    environment: {\"LIMIT_{index}\": \"{memory-mib}m/{cores}\"}\n"
    "    character-devices: [{host: /dev/zero, container: /dev/gpu-a, permissions: r}]\n"
    "  - uuid: GPU-b\n"
    "    shares: 4\n"
    "    memory-mib: 16000\n"
    "    health-file: %s\n"
    "    environment: {\"LIMIT_{index}\": \"{memory-mib}m/{cores}\"}\n"
    "  - uuid: GPU-c\n"
    "    shares: 4\n"
    "    memory-mib: 16000\n"
    "    numa: 1\n";

void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

void expect_word(const char *text, const char *word)
{
    ck_assert_msg(strstr(text, word) != NULL, "'%s' is not in '%s'", word, text);
}

pid_t plugin_spawn(const char *const *words)
{
    char *arguments[WORDS_MAX] = {(char *)plugin_path};
    posix_spawn_file_actions_t actions;
    size_t count = 1;
    pid_t pid;

    for (; *words != NULL && count < WORDS_MAX - 1; words++) {
        arguments[count++] = (char *)*words;
    }
    posix_spawn_file_actions_init(&actions);
    if (getenv("HAMI_TEST_VERBOSE") == NULL) {
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 2, plugin_log,
                                         O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    ck_assert_int_eq(posix_spawn(&pid, plugin_path, &actions, NULL, arguments, environ),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

int plugin_wait(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void plugin_start(struct plugin_world *all, const char *const *flags)
{
    const char *words[WORDS_MAX] = {"--node",
                                    "n1",
                                    "--devices",
                                    all->devices,
                                    "--plugin-folder",
                                    all->folder,
                                    "--kubeconfig",
                                    all->world.kubeconfig,
                                    "--pod-resources=",
                                    "-v",
                                    "4"};
    size_t count = 11;

    for (; flags != NULL && *flags != NULL && count < WORDS_MAX - 1; flags++) {
        words[count++] = *flags;
    }
    all->plugin = plugin_spawn(words);
}

int plugin_stop(struct plugin_world *all)
{
    ck_assert_int_eq(kill(all->plugin, SIGTERM), 0);
    return plugin_wait(all->plugin);
}

void plugin_kill(struct plugin_world *all)
{
    ck_assert_int_eq(kill(all->plugin, SIGKILL), 0);
    ck_assert_int_eq(plugin_wait(all->plugin), -1);
}

void plugin_world_prepare(struct plugin_world *all, const char *devices)
{
    char text[4096];

    (void)signal(SIGPIPE, SIG_IGN);
    memset(all, 0, sizeof(*all));
    world_start(&all->world);
    snprintf(all->folder, sizeof(all->folder), "%s/plugins", all->world.folder);
    snprintf(all->devices, sizeof(all->devices), "%s/devices.yaml", all->world.folder);
    snprintf(all->health, sizeof(all->health), "%s/health-b", all->world.folder);
    snprintf(plugin_log, sizeof(plugin_log), "%s/log", all->world.folder);
    ck_assert_int_eq(mkdir(all->folder, 0700), 0);
    write_file(all->health, "");
    snprintf(text, sizeof(text), usual_devices, all->health);
    write_file(all->devices, devices != NULL ? devices : text);
    kubelet_start(&all->kubelet, all->folder);
}

void plugin_world_start_with(struct plugin_world *all, const char *const *flags,
                             const char *devices)
{
    plugin_world_prepare(all, devices);
    plugin_start(all, flags);
    kubelet_until(&all->kubelet, &all->kubelet.lists, 1);
}

void plugin_world_start(struct plugin_world *all)
{
    plugin_world_start_with(all, NULL, NULL);
}

void plugin_world_stop(struct plugin_world *all)
{
    char path[256];

    ck_assert_int_eq(plugin_stop(all), 0);
    kubelet_kill(&all->kubelet);
    snprintf(path, sizeof(path), "%s/" HAMID_KUBELET_SOCKET_NAME, all->folder);
    (void)unlink(path);
    ck_assert_int_eq(rmdir(all->folder), 0); /* the plugin's socket went with it */
    (void)unlink(plugin_log);
    strcpy(plugin_log, "/dev/null");
    (void)unlink(all->devices);
    (void)unlink(all->health);
    world_stop(&all->world);
}

void expect_logged(const char *word)
{
    FILE *file = fopen(plugin_log, "r");
    static char text[65536];

    if (getenv("HAMI_TEST_VERBOSE") != NULL) {
        return; /* it went to whoever looks on */
    }
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    expect_word(text, word);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: a kubesim in a process of its own. It writes its files into a folder,
 * prints one line of JSON when it is ready, and ends on SIGTERM or SIGINT, or with the
 * process that started it.
 */
#include "kubesim.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LIMIT 1024

struct settings {
    struct kubesim_options options;
    const char *directory;
    const char *resource;
    unsigned count;
    unsigned nodes;
    const char *node_names[NAME_LIMIT];
    size_t node_name_count;
    const char *users[NAME_LIMIT + 1];
    size_t user_count;
    bool exit_with_parent;
};

enum option_code {
    OPTION_PORT = 1,
    OPTION_DIRECTORY,
    OPTION_NODE,
    OPTION_NODES,
    OPTION_RESOURCE,
    OPTION_COUNT,
    OPTION_USER,
    OPTION_HISTORY,
    OPTION_WITHOUT_WATCH_LIST,
    OPTION_WITHOUT_HTTP2,
    OPTION_EXIT_WITH_PARENT,
    OPTION_HELP,
};

static const struct option long_options[] = {
    {"port", required_argument, NULL, OPTION_PORT},
    {"directory", required_argument, NULL, OPTION_DIRECTORY},
    {"node", required_argument, NULL, OPTION_NODE},
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"resource", required_argument, NULL, OPTION_RESOURCE},
    {"count", required_argument, NULL, OPTION_COUNT},
    {"user", required_argument, NULL, OPTION_USER},
    {"history", required_argument, NULL, OPTION_HISTORY},
    {"without-watch-list", no_argument, NULL, OPTION_WITHOUT_WATCH_LIST},
    {"without-http2", no_argument, NULL, OPTION_WITHOUT_HTTP2},
    {"exit-with-parent", no_argument, NULL, OPTION_EXIT_WITH_PARENT},
    {"help", no_argument, NULL, OPTION_HELP},
    {0},
};

static void usage(FILE *stream)
{
    fputs("usage: kubesim --directory DIR [option..]\n"
          "A Kubernetes API server in memory, on 127.0.0.1.\n"
          "  --port N             port, 0 (the default) takes a free one\n"
          "  --directory DIR      write kubeconfig, kubeconfig-USER, ready, audit.log\n"
          "  --node NAME          create this node (may be repeated)\n"
          "  --nodes N            create nodes node-0 to node-(N-1)\n"
          "  --resource NAME      extended resource of the nodes (nvidia.com/gpu)\n"
          "  --count N            how many of it each node has (8)\n"
          "  --user NAME          a user, whose token is the name (may be repeated)\n"
          "  --history N          changes kept for watches\n"
          "  --without-watch-list refuse sendInitialEvents, as old servers do\n"
          "  --without-http2      HTTP/1.1 only\n"
          "  --exit-with-parent   end when the process that started it ends\n",
          stream);
}

static bool parse_number(const char *text, unsigned limit, unsigned *ret)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value > limit || text[0] == '-') {
        return false;
    }
    *ret = (unsigned)value;
    return true;
}

static bool add_name(const char **names, size_t *count, const char *name)
{
    if (*count == NAME_LIMIT) {
        return false;
    }
    names[(*count)++] = name;
    return true;
}

static bool take_option(struct settings *settings, int code, const char *value)
{
    unsigned number = 0;
    switch (code) {
    case OPTION_PORT:
        return parse_number(value, 65535, &settings->options.port);
    case OPTION_DIRECTORY:
        settings->directory = value;
        return true;
    case OPTION_NODE:
        return add_name(settings->node_names, &settings->node_name_count, value);
    case OPTION_NODES:
        return parse_number(value, 10000, &settings->nodes);
    case OPTION_RESOURCE:
        settings->resource = value;
        return true;
    case OPTION_COUNT:
        return parse_number(value, 1000000, &settings->count);
    case OPTION_USER:
        return add_name(settings->users, &settings->user_count, value);
    case OPTION_HISTORY:
        if (!parse_number(value, 10000000, &number) || number == 0) {
            return false;
        }
        settings->options.history = number;
        return true;
    case OPTION_WITHOUT_WATCH_LIST:
        settings->options.without_watch_list = true;
        return true;
    case OPTION_WITHOUT_HTTP2:
        settings->options.without_http2 = true;
        return true;
    case OPTION_EXIT_WITH_PARENT:
        settings->exit_with_parent = true;
        return true;
    default:
        return false;
    }
}

/* True: go on; else *ret_status is the exit status. */
static bool parse(int argc, char **argv, struct settings *settings, int *ret_status)
{
    int code;
    *ret_status = 2;
    while ((code = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (code == OPTION_HELP) {
            usage(stdout);
            *ret_status = 0;
            return false;
        }
        if (!take_option(settings, code, optarg)) {
            usage(stderr);
            return false;
        }
    }
    if (optind < argc || settings->directory == NULL) {
        usage(stderr);
        return false;
    }
    return true;
}

static bool create_nodes(struct kubesim *sim, const struct settings *settings)
{
    char name[32];
    bool good = true;
    for (size_t i = 0; good && i < settings->node_name_count; i++) {
        good = kubesim_create_node(sim, settings->node_names[i], settings->resource,
                                   settings->count) == 201;
    }
    for (unsigned i = 0; good && i < settings->nodes; i++) {
        snprintf(name, sizeof(name), "node-%u", i);
        good = kubesim_create_node(sim, name, settings->resource, settings->count) == 201;
    }
    return good;
}

static int start(const struct settings *settings, struct kubesim **ret)
{
    struct kubesim_options options = settings->options;
    char *audit = NULL;
    if (mkdir(settings->directory, 0700) < 0 && errno != EEXIST) {
        return -errno;
    }
    if (asprintf(&audit, "%s/audit.log", settings->directory) < 0) {
        return -ENOMEM;
    }
    options.audit_path = audit;
    options.users = settings->users;
    int result = kubesim_start(&options, ret);
    free(audit);
    if (result < 0) {
        return result;
    }
    if (!create_nodes(*ret, settings)) {
        result = -EINVAL;
    } else {
        result = kubesim_write_files(*ret, settings->directory);
    }
    if (result < 0) {
        *ret = kubesim_free(*ret);
    }
    return result;
}

/* Objects come and go by the thousand: what was given back is soon needed again. */
static void keep_memory(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 16 << 20);
#endif
}

int main(int argc, char **argv)
{
    static struct settings settings = {.resource = "nvidia.com/gpu", .count = 8};
    struct kubesim *sim = NULL;
    sigset_t ends;
    int status, number;
    if (!parse(argc, argv, &settings, &status)) {
        return status;
    }
    keep_memory();
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    if (settings.exit_with_parent) {
        pid_t parent = getppid();
        if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent) {
            return 1;
        }
    }
    int result = start(&settings, &sim);
    if (result < 0) {
        fprintf(stderr, "kubesim: %s\n", strerror(-result));
        return 1;
    }
    printf("{\"port\":%u,\"url\":\"%s\"}\n", kubesim_port(sim), kubesim_url(sim));
    fflush(stdout);
    sigwait(&ends, &number);
    (void)kubesim_free(sim);
    return 0;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl: what an operator looks at when a pod does not start, and how he lets a lock go
 * that nobody else will. Here: the command line; the commands have a file each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <hami/kubernetes.h>

#include "command.h"
#include "sources.h"

#define FLAGS_MAX 16

enum {
    LOCKS = 1 << 0,
    QUEUE = 1 << 1,
    EXPLAIN = 1 << 2,
    RELEASE = 1 << 3,
    WATCH = 1 << 4,
    DOCTOR = 1 << 5,
    ALL = 0x3f
};

struct command {
    unsigned bit;
    const char *word;
    const char *name;
    const char *usage;
    const char *brief; /* for the list of all commands */
    const char *summary;
    const char *closing;
    int (*run)(const struct options *options);
};

static const struct command commands[] = {
    {LOCKS, "locks", "hamictl locks", "[flags]",
     "who holds which node, since when, and how many wait",
     "Lists the nodes that are locked: by whom, since when, and how many pods wait.",
     "TOKEN stands for the lock exactly as it is now; 'hamictl release' wants it.\n"
     "Without --hamid the locks are read from the nodes' annotations; queues are known "
     "to\nhamid alone.\n\nExamples:\n"
     "  hamictl locks\n"
     "  hamictl locks --node gpu-0 -o json\n"
     "  kubectl -n kube-system port-forward deploy/kube-scheduler 8080 &\n"
     "  hamictl locks --hamid http://127.0.0.1:8080",
     command_locks},
    {QUEUE, "queue", "hamictl queue", "NODE [flags]",
     "who waits for a node, in the order in which they are served",
     "Lists the pods that wait for a node, in the order in which they are served, and "
     "who holds it.",
     "Queues are known to hamid alone: without --hamid only the holder is told.\n\n"
     "Examples:\n"
     "  hamictl queue gpu-0 --hamid http://127.0.0.1:8080\n"
     "  hamictl queue gpu-0 --hamid http://127.0.0.1:8080 -o json",
     command_queue},
    {EXPLAIN, "explain", "hamictl explain", "NAMESPACE/POD [flags]",
     "why a pod waits, and what would free its node",
     "Says why a pod waits: its place, who holds its node and for how long, where that "
     "pod stands, and what would free the lock.",
     "Examples:\n"
     "  hamictl explain default/train-0\n"
     "  hamictl explain default/train-0 --hamid http://127.0.0.1:8080    (with its place "
     "in the queue)",
     command_explain},
    {RELEASE, "release", "hamictl release", "NODE --expect TOKEN [flags]",
     "removes a lock by hand, if it is still the one that was looked at",
     "Removes a node's lock by hand. TOKEN, from 'hamictl locks', stands for lock and "
     "lease as they were when you looked: if they have changed, nothing is written and "
     "you are told what stands there now.",
     "What it does about the pod that the lock names:\n"
     "  not bound to a node    its binding is revoked first (hami.io/mutex.revoked), so\n"
     "                         that one which is on its way is refused\n"
     "  gone, finished, runs   the lock is removed\n"
     "  bound, and waits for   refused without --force: the device plugin may be about\n"
     "  its devices            to serve it, and would serve the next pod instead\n\n"
     "Examples:\n"
     "  hamictl locks --node gpu-0                               (shows the token)\n"
     "  hamictl release gpu-0 --expect 5d1f2c3a4b596877\n"
     "  hamictl release gpu-0 --key cambricon.com/dsmlu.lock --expect 5d1f2c3a4b596877 "
     "--yes",
     command_release},
    {WATCH, "watch", "hamictl watch", "[flags]", "shows locks as they come and go",
     "Shows locks as they come and go: a table that is drawn again on a terminal, else a "
     "line for each change.",
     "It asks hamid every --interval, or where none is named the API server, answered "
     "from its\ncache. Interrupt it to end it.\n\nExamples:\n"
     "  hamictl watch --hamid http://127.0.0.1:8080\n"
     "  hamictl watch --node gpu-0 --interval 1s | tee locks.txt\n"
     "  hamictl watch -o json --for 1m",
     command_watch},
    {DOCTOR, "doctor", "hamictl doctor", "[flags]",
     "finds what is set up wrongly, and says what to change",
     "Looks at what hamid depends on: kube-scheduler's extenders, the rights of hamid's "
     "account, TLS, admission policies, the API server's version and clock, other "
     "schedulers, and the locks that stand. Changes nothing.",
     "kube-scheduler's configuration is looked for in HAMi's ConfigMaps unless it is "
     "named.\n\nEnds with 0 where all is well, 3 where there are warnings only, 4 where "
     "there is an\nerror; with 1 where it could not look, 2 where the command line is "
     "wrong.\n\nExamples:\n"
     "  hamictl doctor\n"
     "  hamictl doctor --scheduler-config /etc/kubernetes/scheduler.yaml --patience "
     "600s\n"
     "  hamictl doctor --as system:serviceaccount:kube-system:hami-scheduler\n"
     "  hamictl doctor -o json | jq '.checks[].findings[] | select(.severity == "
     "\"error\")'",
     command_doctor},
};

static const struct {
    unsigned commands;
    const char *name, *aliases;
    enum hamid_flag_kind kind;
    size_t offset;
    const char *argument, *help;
} flag_table[] = {
#define TEXT HAMID_FLAG_TEXT
#define AT(member) offsetof(struct options, member)
    {ALL & ~RELEASE, "hamid", NULL, TEXT, AT(hamid), "URL",
     "Ask this hamid scheduler: the address of its --listen or --metrics-listen."},
    {ALL, "kubeconfig", NULL, TEXT, AT(kubeconfig), "FILE",
     "How to reach the API server. Default: KUBECONFIG, ~/.kube/config, or the pod's "
     "service account."},
    {ALL, "context", NULL, TEXT, AT(context), "NAME", "The kubeconfig's context."},
    {ALL, "allow-exec-credentials", NULL, HAMID_FLAG_BOOLEAN, AT(allows_exec), NULL,
     "Run the credential plugin (exec) that the kubeconfig names: whoever writes that "
     "file decides what runs."},
    {LOCKS | WATCH, "node", NULL, TEXT, AT(node), "NAME", "Show this node alone."},
    {ALL & ~(EXPLAIN | RELEASE), "output", "o", TEXT, AT(output), "table|json",
     "How it is printed."},
    {RELEASE, "expect", NULL, TEXT, AT(expect), "TOKEN",
     "Release this very lock, as 'hamictl locks' printed its token. Required."},
    {RELEASE, "key", NULL, TEXT, AT(key), "KEY",
     "The lock's annotation. Default: hami.io/mutex.lock."},
    {RELEASE, "force", NULL, HAMID_FLAG_BOOLEAN, AT(is_forced), NULL,
     "Release it though its pod is bound to the node and waits for its devices."},
    {RELEASE, "yes", "y", HAMID_FLAG_BOOLEAN, AT(is_confirmed), NULL, "Don't ask."},
    {WATCH, "interval", NULL, HAMID_FLAG_DURATION, AT(interval_ms), "DURATION",
     "How long to wait between two looks. Default: 1s with --hamid, else 5s."},
    {WATCH, "for", NULL, HAMID_FLAG_DURATION, AT(for_ms), "DURATION",
     "End after this time. Default: when it is interrupted."},
    {DOCTOR, "scheduler-config", NULL, HAMID_FLAG_LIST, AT(scheduler_configs), "FILE",
     "kube-scheduler's configuration. May be given again."},
    {DOCTOR, "scheduler-configmap", NULL, HAMID_FLAG_LIST, AT(scheduler_configmaps),
     "NAMESPACE/NAME",
     "A ConfigMap with kube-scheduler's configuration. May be given again. Default: "
     "those of HAMi's chart, wherever they are."},
    {DOCTOR, "extender", NULL, TEXT, AT(extender), "URL",
     "The urlPrefix by which kube-scheduler reaches hamid. Default: --hamid, else "
     "http://127.0.0.1:8080."},
    {DOCTOR, "as", NULL, TEXT, AT(as), "USER",
     "Whose rights are looked at. Default: the service account of the pod in which hamid "
     "runs, else your own."},
    {DOCTOR, "patience", NULL, HAMID_FLAG_DURATION, AT(patience_ms), "DURATION",
     "hamid's --patience. Default: what its pod says, else 30s."},
    {DOCTOR, "lock-expire", NULL, HAMID_FLAG_DURATION, AT(lock_expire_ms), "DURATION",
     "The age at which a lock is worth a warning. Default: 5m."},
#undef TEXT
#undef AT
};

static void fill_flags(const struct command *command, struct options *options,
                       struct hamid_flag *flags)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof(flag_table) / sizeof(flag_table[0]); i++) {
        if ((flag_table[i].commands & command->bit) == 0) {
            continue;
        }
        flags[count++] = (struct hamid_flag){
            .name = flag_table[i].name,
            .aliases = flag_table[i].aliases,
            .kind = flag_table[i].kind,
            .value = (char *)options + flag_table[i].offset,
            .argument = flag_table[i].argument,
            .help = flag_table[i].help,
        };
    }
    flags[count] = (struct hamid_flag){.name = NULL};
}

/* ---- what the commands share ---------------------------------------------------- */

int command_fail(const char *error)
{
    (void)fprintf(stderr, "hamictl: %s\n", error);
    return EXIT_FAILED;
}

const char *command_pod(const char *text, char *namespace_name)
{
    const char *slash = strchr(text, '/');
    (void)snprintf(namespace_name, 64, "default");
    if (slash != NULL) {
        size_t length = (size_t)(slash - text);
        if (length == 0 || length >= 64) {
            return NULL;
        }
        memcpy(namespace_name, text, length);
        namespace_name[length] = '\0';
        text = slash + 1;
    }
    return *text == '\0' || strchr(text, '/') != NULL ? NULL : text;
}

hami_kubernetes *command_login(const struct options *options, char *error)
{
    return source_login(options->kubeconfig, options->context,
                        options->allows_exec ? HAMI_KUBERNETES_ALLOW_EXEC : 0, error);
}

json_t *command_nodes(const struct options *options, char *error)
{
    if (options->hamid != NULL) {
        return source_from_hamid(options->hamid, error);
    }
    hami_kubernetes *client = command_login(options, error);
    if (client == NULL) {
        return NULL;
    }
    json_t *nodes = source_from_cluster(client, options->node, error);
    (void)hami_kubernetes_free(client);
    return nodes;
}

void command_print_json(json_t *json)
{
    (void)json_dumpf(json, stdout, JSON_INDENT(2));
    (void)fputc('\n', stdout);
    json_decref(json);
}

/* ---- the command line ----------------------------------------------------------- */

static void show_help(FILE *out)
{
    (void)fputs("usage: hamictl COMMAND [flags]\n\n"
                "Looks at HAMi's node locks. Commands:\n\n",
                out);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char usage[64];
        const char *flags = strstr(commands[i].usage, "[flags]");
        (void)snprintf(usage, sizeof(usage), "%s %.*s", commands[i].word,
                       (int)(flags - commands[i].usage), commands[i].usage);
        (void)fprintf(out, "  %-30s %s\n", usage, commands[i].brief);
    }
    (void)fputs("\n'hamictl COMMAND --help' has a command's flags and examples.\n", out);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct options options;
    struct hamid_flag flags[FLAGS_MAX];
    char error[HAMID_FLAG_ERROR_MAX];
    memset(&options, 0, sizeof(options));
    fill_flags(command, &options, flags);
    const struct hamid_command line = {.name = command->name,
                                       .usage = command->usage,
                                       .summary = command->summary,
                                       .closing = command->closing,
                                       .flags = flags};
    bool takes_words = (command->bit & (QUEUE | EXPLAIN | RELEASE)) != 0;
    enum hamid_flags_result result = hamid_flags_parse(
        &line, argc, argv, takes_words ? &options.arguments : NULL, error);
    if (result == HAMID_FLAGS_HELP) {
        char *help = hamid_flags_help(&line);
        (void)fputs(help != NULL ? help : "out of memory\n", stdout);
        free(help);
        return 0;
    }
    if (result == HAMID_FLAGS_WRONG) {
        (void)fprintf(stderr, "%s: %s\n", command->name, error);
        return EXIT_USAGE;
    }
    options.is_json = options.output != NULL && strcmp(options.output, "json") == 0;
    if (options.output != NULL && !options.is_json &&
        strcmp(options.output, "table") != 0) {
        (void)fprintf(stderr, "%s: --output: '%.64s' is neither table nor json\n",
                      command->name, options.output);
        return EXIT_USAGE;
    }
    return command->run(&options);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
        strcmp(word, "help") == 0) {
        show_help(stdout);
        return 0;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        (void)printf("hamictl %s\n", hami_version());
        return 0;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (strcmp(word, commands[i].word) == 0) {
            (void)curl_global_init(CURL_GLOBAL_DEFAULT);
            return run(&commands[i], argc - 2, argv + 2);
        }
    }
    show_help(stderr);
    return EXIT_USAGE;
}

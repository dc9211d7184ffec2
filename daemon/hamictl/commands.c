/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl's commands and flags: two tables, from which parsing, --help and the shells'
 * completions come.
 */
#include <stddef.h>

#include "command.h"

enum {
    LOCKS = 1 << 0,
    QUEUE = 1 << 1,
    EXPLAIN = 1 << 2,
    RELEASE = 1 << 3,
    WATCH = 1 << 4,
    DOCTOR = 1 << 5,
    COMPLETION = 1 << 6,
    ALL = 0x3f
};

static const struct command table[] = {
    {LOCKS, "locks", "hamictl locks", "[flags]",
     "who holds which node, since when, and how many wait",
     "Lists the nodes that are locked: by whom, since when, and how many pods wait.",
     "TOKEN stands for the lock exactly as it is now; 'hamictl release' wants it.\n"
     "Without --hamid the locks are read from the nodes' annotations; queues are known "
     "to\nhamid alone.\n\nExamples:\n"
     "  hamictl locks\n"
     "  hamictl locks --node gpu-0 -o json\n"
     "  kubectl -n kube-system port-forward deploy/kube-scheduler 9397 &\n"
     "  hamictl locks --hamid http://127.0.0.1:9397",
     command_locks},
    {QUEUE, "queue", "hamictl queue", "NODE [flags]",
     "who waits for a node, in the order in which they are served",
     "Lists the pods that wait for a node, in the order in which they are served, and "
     "who holds it.",
     "Queues are known to hamid alone: without --hamid only the holder is told.\n\n"
     "Examples:\n"
     "  hamictl queue gpu-0 --hamid http://127.0.0.1:9397\n"
     "  hamictl queue gpu-0 --hamid http://127.0.0.1:9397 -o json",
     command_queue},
    {EXPLAIN, "explain", "hamictl explain", "NAMESPACE/POD [flags]",
     "why a pod waits, and what would free its node",
     "Says why a pod waits: its place, who holds its node and for how long, where that "
     "pod stands, and what would free the lock.",
     "Examples:\n"
     "  hamictl explain default/train-0\n"
     "  hamictl explain default/train-0 --hamid http://127.0.0.1:9397    (with its place "
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
     "  hamictl watch --hamid http://127.0.0.1:9397\n"
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
    {COMPLETION, "completion", "hamictl completion", "bash|zsh|fish [flags]",
     "prints a shell's completion script",
     "Prints the script that completes hamictl's commands and flags in a shell.",
     "The package installs them; without it:\n"
     "  source <(hamictl completion bash)\n"
     "  hamictl completion zsh > \"${fpath[1]}/_hamictl\"\n"
     "  hamictl completion fish > ~/.config/fish/completions/hamictl.fish",
     command_completion},
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
    {ALL & ~RELEASE, "hamid", NULL, TEXT, AT(hamid.url), "URL",
     "Ask this hamid scheduler: the address of its --listen or --metrics-listen."},
    {ALL & ~RELEASE, "hamid-ca-file", NULL, TEXT, AT(hamid.ca_file), "FILE",
     "PEM file that verifies hamid's certificate, where it speaks HTTPS."},
    {ALL & ~RELEASE, "hamid-cert-file", NULL, TEXT, AT(hamid.certificate_file), "FILE",
     "PEM file with the certificate that is shown to hamid."},
    {ALL & ~RELEASE, "hamid-key-file", NULL, TEXT, AT(hamid.key_file), "FILE",
     "PEM file with its private key. Default: --hamid-cert-file."},
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
     "The lock's annotation. Default: hami.io/mutex.lock, or that of the pod beside "
     "others that has the token."},
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
     "The urlPrefix by which kube-scheduler reaches hamid. Default: "
     "http://127.0.0.1:8080."},
    {DOCTOR, "as", NULL, TEXT, AT(as), "USER",
     "Whose rights are looked at. Default: the service account of the pod in which hamid "
     "runs, else your own."},
    {DOCTOR, "patience", NULL, HAMID_FLAG_DURATION, AT(patience_ms), "DURATION",
     "hamid's --patience. Default: what its pod says, else 30s."},
    {DOCTOR, "lock-expire", NULL, HAMID_FLAG_DURATION, AT(lock_expire_ms), "DURATION",
     "The age at which a lock is worth a warning. Default: what hamid's pod says, else "
     "5m."},
#undef TEXT
#undef AT
};

const struct command *commands_all(size_t *ret_count)
{
    *ret_count = sizeof(table) / sizeof(table[0]);
    return table;
}

bool commands_takes_words(const struct command *command)
{
    return (command->bit & (QUEUE | EXPLAIN | RELEASE | COMPLETION)) != 0;
}

void commands_fill_flags(const struct command *command, struct options *options,
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

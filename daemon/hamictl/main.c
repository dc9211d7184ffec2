/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl: what an operator looks at when a pod does not start. Reads only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <hami/kubernetes.h>

#include "explain.h"
#include "flags.h"
#include "sources.h"
#include "table.h"

struct options {
    const char *hamid;
    const char *kubeconfig;
    const char *context;
    const char *node;
    const char *output;
    struct hamid_flag_list arguments;
};

static const char locks_closing[] =
    "Without --hamid the locks are read from the nodes' annotations; queues are known to "
    "hamid "
    "alone.\n\nExamples:\n"
    "  hamictl locks\n"
    "  hamictl locks --hamid http://127.0.0.1:8080 -o json\n"
    "  kubectl -n kube-system port-forward deploy/kube-scheduler 8080 & hamictl locks "
    "--hamid "
    "http://127.0.0.1:8080";

static const char explain_closing[] = "Examples:\n"
                                      "  hamictl explain default/train-0\n"
                                      "  hamictl explain default/train-0 --hamid "
                                      "http://127.0.0.1:8080    (with its place in the "
                                      "queue)";

static void fill_flags(struct options *options, bool is_locks, struct hamid_flag *flags)
{
    const struct hamid_flag all[] = {
        {"hamid", NULL, HAMID_FLAG_TEXT, &options->hamid, "URL",
         "Ask this hamid scheduler: the address of its --listen or --metrics-listen.", 0,
         0, NULL},
        {"kubeconfig", NULL, HAMID_FLAG_TEXT, &options->kubeconfig, "FILE",
         "How to reach the API server. Default: KUBECONFIG, ~/.kube/config, or the pod's "
         "service "
         "account.",
         0, 0, NULL},
        {"context", NULL, HAMID_FLAG_TEXT, &options->context, "NAME",
         "The kubeconfig's context.", 0, 0, NULL},
        /* explain's table ends here */
        {is_locks ? "node" : NULL, NULL, HAMID_FLAG_TEXT, &options->node, "NAME",
         "Show this node alone.", 0, 0, NULL},
        {"output", "o", HAMID_FLAG_TEXT, &options->output, "table|json",
         "How it is printed.", 0, 0, NULL},
        {NULL, NULL, HAMID_FLAG_TEXT, NULL, NULL, NULL, 0, 0, NULL},
    };
    memcpy(flags, all, sizeof(all));
}

static int fail(const char *error)
{
    (void)fprintf(stderr, "hamictl: %s\n", error);
    return 1;
}

/* ---- locks ---------------------------------------------------------------------- */

static json_t *get_nodes(const struct options *options, char *error)
{
    if (options->hamid != NULL) {
        return source_from_hamid(options->hamid, error);
    }
    hami_kubernetes *client = source_login(options->kubeconfig, options->context, error);
    if (client == NULL) {
        return NULL;
    }
    json_t *nodes = source_from_cluster(client, options->node, error);
    (void)hami_kubernetes_free(client);
    return nodes;
}

/* A hamid shows all nodes; the flag picks one. */
static json_t *pick_node(json_t *nodes, const char *node)
{
    json_t *picked = json_array();
    const json_t *found = explain_find_node(nodes, node);
    if (found != NULL) {
        (void)json_array_append(picked, (json_t *)found);
    }
    json_decref(nodes);
    return picked;
}

static int show_locks(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    int status = 0;
    json_t *nodes = get_nodes(options, error);
    if (nodes == NULL) {
        return fail(error);
    }
    if (options->node != NULL) {
        nodes = pick_node(nodes, options->node);
    }
    if (options->output != NULL && strcmp(options->output, "json") == 0) {
        (void)json_dumpf(nodes, stdout, JSON_INDENT(2));
        (void)fputc('\n', stdout);
    } else if (json_array_size(nodes) == 0) {
        (void)puts("No node is locked.");
    } else {
        status = table_print(nodes, stdout) == 0 ? 0 : fail("out of memory");
    }
    json_decref(nodes);
    return status;
}

/* ---- explain -------------------------------------------------------------------- */

static void say_wait(const json_t *node, const json_t *waiter)
{
    char waited[32];
    table_age(json_number_value(json_object_get(waiter, "waitedSeconds")), waited,
              sizeof(waited));
    long long place = json_integer_value(json_object_get(waiter, "position"));
    (void)printf("It waits for node %s since %s: place %lld of %zu.\n",
                 source_text(node, "node"), waited, place + 1,
                 json_array_size(json_object_get(node, "waiters")));
}

static int say_lock(hami_kubernetes *client, const char *node, const json_t *slot,
                    char *error)
{
    char text[EXPLAIN_TEXT_MAX];
    char age[32];
    bool exists = false;
    json_t *holder = NULL;
    const char *namespace_name = source_text(slot, "namespace");
    const char *name = source_text(slot, "pod");
    const json_t *seconds = json_object_get(slot, "ageSeconds");
    table_age(seconds != NULL ? json_number_value(seconds) : -1, age, sizeof(age));
    (void)printf("Node %s: %s is %s", node, source_text(slot, "key"),
                 source_text(slot, "state"));
    if (name[0] != '\0') {
        (void)printf(" by pod %s/%s", namespace_name, name);
    }
    (void)printf(" (fence %s, age %s).\n", source_text(slot, "fence"), age);
    if (source_text(slot, "reason")[0] != '\0') {
        (void)printf("  hamid says: %s.\n", source_text(slot, "reason"));
    }
    if (name[0] != '\0') {
        holder = source_pod(client, namespace_name, name, &exists, error);
        if (holder == NULL && error[0] != '\0') {
            return -1;
        }
        explain_pod(holder, text, sizeof(text));
        (void)printf("  Pod %s/%s %s.\n", namespace_name, name, text);
    }
    explain_lock(slot, holder, node, text, sizeof(text));
    (void)printf("  What would free it: %s.\n", text);
    json_decref(holder);
    return 0;
}

static int say_node(hami_kubernetes *client, const char *node, const json_t *nodes,
                    const char *namespace_name, const char *name, char *error)
{
    size_t index = 0;
    const json_t *slot = NULL;
    const json_t *entry = explain_find_node(nodes, node);
    if (entry == NULL || json_array_size(json_object_get(entry, "slots")) == 0) {
        (void)printf("Node %s is not locked: no lock holds this pod back.\n", node);
        return 0;
    }
    json_array_foreach(json_object_get(entry, "slots"), index, slot)
    {
        if (strcmp(source_text(slot, "namespace"), namespace_name) == 0 &&
            strcmp(source_text(slot, "pod"), name) == 0) {
            (void)printf("It holds the lock %s of node %s itself.\n",
                         source_text(slot, "key"), node);
        }
        if (say_lock(client, node, slot, error) != 0) {
            return -1;
        }
    }
    return 0;
}

static int explain_with(hami_kubernetes *client, const struct options *options,
                        const char *namespace_name, const char *name)
{
    char error[SOURCE_ERROR_MAX] = "";
    char text[EXPLAIN_TEXT_MAX];
    bool exists = false;
    const json_t *waiter = NULL;
    json_t *pod = source_pod(client, namespace_name, name, &exists, error);
    if (pod == NULL && error[0] != '\0') {
        return fail(error);
    }
    explain_pod(pod, text, sizeof(text));
    (void)printf("Pod %s/%s %s.\n", namespace_name, name, text);
    json_t *nodes = options->hamid != NULL ? source_from_hamid(options->hamid, error)
                                           : source_from_cluster(client, NULL, error);
    const json_t *entry = explain_find_waiter(nodes, namespace_name, name, &waiter);
    const char *node = entry != NULL ? source_text(entry, "node")
                       : pod != NULL ? explain_node_of(pod)
                                     : "";
    int status = nodes != NULL ? 0 : -1;
    if (entry != NULL) {
        say_wait(entry, waiter);
    } else if (options->hamid != NULL && nodes != NULL) {
        (void)puts("It waits in no queue of this hamid.");
    }
    if (status == 0 && node[0] != '\0') {
        status = say_node(client, node, nodes, namespace_name, name, error);
    }
    json_decref(nodes);
    json_decref(pod);
    return status == 0 ? 0 : fail(error);
}

static int explain(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    char namespace_name[64] = "default";
    const char *name =
        options->arguments.count == 1 ? options->arguments.values[0] : NULL;
    const char *slash = name != NULL ? strchr(name, '/') : NULL;
    if (slash != NULL && (size_t)(slash - name) < sizeof(namespace_name)) {
        memcpy(namespace_name, name, (size_t)(slash - name));
        namespace_name[slash - name] = '\0';
        name = slash + 1;
    }
    if (name == NULL || *name == '\0' || strchr(name, '/') != NULL) {
        (void)fprintf(stderr, "hamictl explain: name one pod, as NAMESPACE/POD\n");
        return 2;
    }
    hami_kubernetes *client = source_login(options->kubeconfig, options->context, error);
    if (client == NULL) {
        return fail(error);
    }
    int status = explain_with(client, options, namespace_name, name);
    (void)hami_kubernetes_free(client);
    return status;
}

/* ---- the command line ----------------------------------------------------------- */

static void show_help(FILE *out)
{
    (void)fputs(
        "usage: hamictl COMMAND [flags]\n\n"
        "Looks at HAMi's node locks. Commands:\n\n"
        "  locks                  who holds which node, since when, and how many wait\n"
        "  explain NAMESPACE/POD  why a pod waits, and what would free its node\n\n"
        "'hamictl COMMAND --help' lists a command's flags.\n",
        out);
}

static int run(const char *name, int argc, char **argv)
{
    struct options options;
    struct hamid_flag flags[8];
    char error[HAMID_FLAG_ERROR_MAX];
    bool is_locks = strcmp(name, "locks") == 0;
    memset(&options, 0, sizeof(options));
    fill_flags(&options, is_locks, flags);
    struct hamid_command command = {
        .name = is_locks ? "hamictl locks" : "hamictl explain",
        .usage = is_locks ? "[flags]" : "NAMESPACE/POD [flags]",
        .summary =
            is_locks
                ? "Lists the nodes that are locked: by whom, since when, and how many "
                  "pods wait."
                : "Says why a pod waits: its place, who holds its node, where that pod "
                  "stands, and what would free the lock.",
        .closing = is_locks ? locks_closing : explain_closing,
        .flags = flags,
    };
    enum hamid_flags_result result = hamid_flags_parse(
        &command, argc, argv, is_locks ? NULL : &options.arguments, error);
    if (result == HAMID_FLAGS_HELP) {
        char *help = hamid_flags_help(&command);
        (void)fputs(help != NULL ? help : "out of memory\n", stdout);
        free(help);
        return 0;
    }
    if (result == HAMID_FLAGS_WRONG) {
        (void)fprintf(stderr, "%s: %s\n", command.name, error);
        return 2;
    }
    if (options.output != NULL && strcmp(options.output, "json") != 0 &&
        strcmp(options.output, "table") != 0) {
        (void)fprintf(stderr, "%s: --output: '%.64s' is neither table nor json\n",
                      command.name, options.output);
        return 2;
    }
    return is_locks ? show_locks(&options) : explain(&options);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 ||
        strcmp(command, "help") == 0) {
        show_help(stdout);
        return 0;
    }
    if (strcmp(command, "--version") == 0 || strcmp(command, "version") == 0) {
        (void)printf("hamictl %s\n", hami_version());
        return 0;
    }
    if (strcmp(command, "locks") != 0 && strcmp(command, "explain") != 0) {
        show_help(stderr);
        return 2;
    }
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    return run(command, argc - 2, argv + 2);
}

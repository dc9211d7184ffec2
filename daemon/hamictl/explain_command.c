/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl explain`: what is known about a pod and the lock that it waits for, told. What
 * follows from it is judged in explain.c.
 */
#include <stdio.h>
#include <string.h>

#include <hami/kubernetes.h>

#include "command.h"
#include "explain.h"
#include "sources.h"
#include "table.h"

static void say_wait(const json_t *node, const json_t *waiter)
{
    char waited[32];
    char expected[48];
    table_age(json_number_value(json_object_get(waiter, "waitedSeconds")), waited,
              sizeof(waited));
    table_expected(waiter, expected, sizeof(expected));
    long long place = json_integer_value(json_object_get(waiter, "position"));
    (void)printf("It waits for node %s since %s: place %lld of %zu%s%s.\n",
                 source_text(node, "node"), waited, place + 1,
                 json_array_size(json_object_get(node, "waiters")),
                 expected[0] != '-' ? ", its turn is expected " : "",
                 expected[0] != '-' ? expected : "");
}

static void say_cover(const char *node, const json_t *slot)
{
    (void)printf("Node %s: pods are in flight side by side under %s; one that could be "
                 "taken for another of them waits, and one that must be alone waits for "
                 "them all.\n",
                 node, source_text(slot, "key"));
}

static void say_slot(const char *node, const json_t *slot)
{
    char age[32];
    const json_t *seconds = json_object_get(slot, "ageSeconds");
    const char *name = source_text(slot, "pod");
    table_age(seconds != NULL ? json_number_value(seconds) : -1, age, sizeof(age));
    (void)printf("Node %s: %s is %s", node, source_text(slot, "key"),
                 source_text(slot, "state"));
    if (name[0] != '\0') {
        (void)printf(" by pod %s/%s", source_text(slot, "namespace"), name);
    }
    (void)printf(" (fence %s, age %s).\n", source_text(slot, "fence"), age);
    if (source_text(slot, "calls")[0] != '\0') {
        (void)printf("  It is beside others, with %s.\n", source_text(slot, "calls"));
    }
    if (source_text(slot, "reason")[0] != '\0') {
        (void)printf("  hamid says: %s.\n", source_text(slot, "reason"));
    }
}

/* Is a pod in flight in the way of the one that is asked about? */
static void say_whether_it_meets(const json_t *calls, const json_t *slot)
{
    const char *common = source_common_call(calls, source_text(slot, "calls"));
    if (source_text(slot, "calls")[0] == '\0' || json_array_size(calls) == 0) {
        return;
    }
    if (common != NULL) {
        (void)printf("  Both ask for %s: the pod waits for it.\n", common);
    } else {
        (void)puts(
            "  They ask for nothing alike: the pod need not wait for it, unless it "
            "must be alone or stands behind one that must.");
    }
}

static int say_lock(hami_kubernetes *client, const char *node, const json_t *slot,
                    char *error)
{
    char text[EXPLAIN_TEXT_MAX];
    bool exists = false;
    json_t *holder = NULL;
    const char *namespace_name = source_text(slot, "namespace");
    const char *name = source_text(slot, "pod");
    if (source_is_cover(slot)) {
        say_cover(node, slot);
        return 0;
    }
    say_slot(node, slot);
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
    int status = 0;
    size_t index = 0;
    const json_t *slot = NULL;
    const json_t *entry = explain_find_node(nodes, node);
    if (entry == NULL || json_array_size(json_object_get(entry, "slots")) == 0) {
        (void)printf("Node %s is not locked: no lock holds this pod back.\n", node);
        return 0;
    }
    json_t *calls = source_calls(client, namespace_name, name);
    json_array_foreach(json_object_get(entry, "slots"), index, slot)
    {
        bool is_its_own = !source_is_cover(slot) &&
                          strcmp(source_text(slot, "namespace"), namespace_name) == 0 &&
                          strcmp(source_text(slot, "pod"), name) == 0;
        if (is_its_own) {
            (void)printf("It holds the lock %s of node %s itself.\n",
                         source_text(slot, "key"), node);
        }
        status = status != 0 ? status : say_lock(client, node, slot, error);
        if (status == 0 && !is_its_own) {
            say_whether_it_meets(calls, slot);
        }
    }
    json_decref(calls);
    return status;
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
        return command_fail(error);
    }
    explain_pod(pod, text, sizeof(text));
    (void)printf("Pod %s/%s %s.\n", namespace_name, name, text);
    json_t *nodes = options->hamid.url != NULL ? source_from_hamid(&options->hamid, error)
                                               : source_from_cluster(client, NULL, error);
    const json_t *entry = explain_find_waiter(nodes, namespace_name, name, &waiter);
    const char *node = entry != NULL ? source_text(entry, "node")
                       : pod != NULL ? explain_node_of(pod)
                                     : "";
    int status = nodes != NULL ? 0 : -1;
    if (entry != NULL) {
        say_wait(entry, waiter);
    } else if (options->hamid.url != NULL && nodes != NULL) {
        (void)puts("It waits in no queue of this hamid.");
    }
    if (status == 0 && node[0] != '\0') {
        status = say_node(client, node, nodes, namespace_name, name, error);
    }
    json_decref(nodes);
    json_decref(pod);
    return status == 0 ? 0 : command_fail(error);
}

/* Without a login to the API server: what hamid alone knows. */
static int explain_by_hamid(const struct options *options, const char *namespace_name,
                            const char *name)
{
    char error[SOURCE_ERROR_MAX] = "";
    const json_t *waiter = NULL;
    const json_t *slot = NULL;
    size_t index = 0;
    json_t *nodes = source_from_hamid(&options->hamid, error);
    if (nodes == NULL) {
        return command_fail(error);
    }
    const json_t *entry = explain_find_waiter(nodes, namespace_name, name, &waiter);
    (void)printf("Without a login to the API server hamid alone is asked.\n");
    if (entry == NULL) {
        (void)puts("It waits in no queue of this hamid.");
    } else {
        say_wait(entry, waiter);
        json_array_foreach(json_object_get(entry, "slots"), index, slot)
        {
            if (source_is_cover(slot)) {
                say_cover(source_text(entry, "node"), slot);
            } else {
                say_slot(source_text(entry, "node"), slot);
            }
        }
    }
    json_decref(nodes);
    return 0;
}

int command_explain(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    char namespace_name[64];
    const char *name = options->arguments.count == 1
                           ? command_pod(options->arguments.values[0], namespace_name)
                           : NULL;
    if (name == NULL) {
        (void)fprintf(stderr, "hamictl explain: name one pod, as NAMESPACE/POD\n");
        return EXIT_USAGE;
    }
    hami_kubernetes *client = command_login(options, error);
    if (client == NULL && options->hamid.url == NULL) {
        return command_fail(error);
    }
    int status = client != NULL ? explain_with(client, options, namespace_name, name)
                                : explain_by_hamid(options, namespace_name, name);
    (void)hami_kubernetes_free(client);
    return status;
}

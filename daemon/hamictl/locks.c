/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl locks` and `hamictl queue`: who holds which node, and who waits for one.
 */
#include <stdio.h>
#include <string.h>

#include <hami/kubernetes.h>

#include "command.h"
#include "explain.h"
#include "sources.h"
#include "table.h"

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

int command_locks(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    json_t *nodes = command_nodes(options, error);
    if (nodes == NULL) {
        return command_fail(error);
    }
    if (options->node != NULL) {
        nodes = pick_node(nodes, options->node);
    }
    if (options->is_json) {
        command_print_json(nodes);
        return 0;
    }
    int status = 0;
    if (json_array_size(nodes) == 0) {
        (void)puts("No node is locked.");
    } else {
        status = table_print(nodes, stdout) == 0 ? 0 : command_fail("out of memory");
    }
    json_decref(nodes);
    return status;
}

/* ---- queue ---------------------------------------------------------------------- */

static void say_holders(const char *node, const json_t *slots)
{
    size_t index = 0;
    const json_t *slot = NULL;
    char age[32];
    if (json_array_size(slots) == 0) {
        (void)printf("Node %s is not locked.\n", node);
    }
    json_array_foreach(slots, index, slot)
    {
        const json_t *seconds = json_object_get(slot, "ageSeconds");
        const char *reason = source_text(slot, "reason");
        if (source_is_cover(slot)) {
            (void)printf("Node %s: pods are in flight side by side under %s.\n", node,
                         source_text(slot, "key"));
            continue;
        }
        table_age(seconds != NULL ? json_number_value(seconds) : -1, age, sizeof(age));
        if (source_text(slot, "pod")[0] == '\0') {
            (void)printf("Node %s: %s is %s for %s", node, source_text(slot, "key"),
                         source_text(slot, "state"), age);
        } else {
            (void)printf("Node %s: %s is %s by pod %s/%s for %s", node,
                         source_text(slot, "key"), source_text(slot, "state"),
                         source_text(slot, "namespace"), source_text(slot, "pod"), age);
        }
        (void)printf("%s%s.\n", reason[0] != '\0' ? ": " : "", reason);
    }
}

static int show_queue(const struct options *options, const char *node, json_t *entry)
{
    const json_t *waiters = json_object_get(entry, "waiters");
    say_holders(node, json_object_get(entry, "slots"));
    if (options->hamid.url == NULL) {
        (void)puts("Who waits is known to hamid alone: name it by --hamid URL.");
        return 0;
    }
    if (json_array_size(waiters) == 0) {
        (void)puts("Nobody waits for it at this hamid.");
        return 0;
    }
    return table_print_waiters(waiters, stdout) == 0 ? 0 : command_fail("out of memory");
}

int command_queue(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    if (options->arguments.count != 1) {
        (void)fprintf(stderr, "hamictl queue: name one node\n");
        return EXIT_USAGE;
    }
    struct options asked = *options;
    const char *node = asked.node = options->arguments.values[0];
    json_t *nodes = command_nodes(&asked, error);
    if (nodes == NULL) {
        return command_fail(error);
    }
    const json_t *found = explain_find_node(nodes, node);
    json_t *entry =
        found != NULL ? json_incref((json_t *)found)
                      : json_pack("{s:s, s:[], s:[]}", "node", node, "slots", "waiters");
    json_decref(nodes);
    int status = 0;
    if (options->is_json) {
        /* Not known is not the same as nobody. */
        if (options->hamid.url == NULL) {
            (void)json_object_set_new(entry, "waiters", json_null());
        }
        command_print_json(json_incref(entry));
    } else {
        status = show_queue(options, node, entry);
    }
    json_decref(entry);
    return status;
}

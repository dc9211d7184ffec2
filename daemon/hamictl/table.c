/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of a locks view as a table: one line a lock, and one for a node that only has
 * waiters.
 */
#include "table.h"

#include <string.h>

#include <libsmartcols.h>

#include "flags.h"
#include "sources.h"

enum column { NODE = 0, KEY, STATE, POD, FENCE, AGE, WAITERS, NOTE, COLUMN_COUNT };

void table_age(double seconds, char *buffer, size_t size)
{
    if (seconds < 0) {
        (void)snprintf(buffer, size, "-");
    } else if (seconds < 60) {
        (void)snprintf(buffer, size, "%.1fs", seconds);
    } else {
        hamid_duration_format((uint64_t)seconds * 1000, buffer, size);
    }
}

static void format_pod(const json_t *slot, char *buffer, size_t size)
{
    const char *name = source_text(slot, "pod");
    if (name[0] == '\0') {
        (void)snprintf(buffer, size, "-");
    } else {
        (void)snprintf(buffer, size, "%s/%s", source_text(slot, "namespace"), name);
    }
}

static int add_slot(struct libscols_table *table, const char *node, const json_t *slot,
                    size_t waiters)
{
    char pod[320];
    char age[32];
    char count[24];
    const json_t *seconds = json_object_get(slot, "ageSeconds");
    const char *fence = source_text(slot, "fence");
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (line == NULL) {
        return -1;
    }
    format_pod(slot, pod, sizeof(pod));
    table_age(seconds != NULL ? json_number_value(seconds) : -1, age, sizeof(age));
    (void)snprintf(count, sizeof(count), "%zu", waiters);
    const char *note = json_is_true(json_object_get(slot, "alarm"))
                           ? "waits for Allocate past its age"
                           : source_text(slot, "reason");
    const char *cells[COLUMN_COUNT] = {
        [NODE] = node,
        [KEY] = source_text(slot, "key"),
        [STATE] = source_text(slot, "state"),
        [POD] = pod,
        [FENCE] = strcmp(fence, "0") == 0 || fence[0] == '\0' ? "-" : fence,
        [AGE] = age,
        [WAITERS] = count,
        [NOTE] = note,
    };
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (scols_line_set_data(line, i, cells[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_node(struct libscols_table *table, const json_t *node)
{
    const char *name = source_text(node, "node");
    const json_t *slots = json_object_get(node, "slots");
    size_t waiters = json_array_size(json_object_get(node, "waiters"));
    size_t index = 0;
    const json_t *slot = NULL;
    int status = 0;
    json_array_foreach(slots, index, slot)
    {
        status = status != 0 ? status : add_slot(table, name, slot, waiters);
    }
    return status;
}

static int add_columns(struct libscols_table *table)
{
    static const char *const names[COLUMN_COUNT] = {"NODE",  "KEY", "STATE",   "POD",
                                                    "FENCE", "AGE", "WAITERS", "NOTE"};
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        int flags = i == FENCE || i == AGE || i == WAITERS ? SCOLS_FL_RIGHT : 0;
        if (scols_table_new_column(table, names[i], 0, flags) == NULL) {
            return -1;
        }
    }
    return 0;
}

int table_print(const json_t *nodes, FILE *out)
{
    size_t index = 0;
    const json_t *node = NULL;
    struct libscols_table *table = scols_new_table();
    if (table == NULL) {
        return -1;
    }
    (void)scols_table_set_stream(table, out);
    int status = add_columns(table);
    json_array_foreach(nodes, index, node)
    {
        status = status != 0 ? status : add_node(table, node);
    }
    if (status == 0) {
        status = scols_print_table(table);
    }
    scols_unref_table(table);
    return status == 0 ? 0 : -1;
}

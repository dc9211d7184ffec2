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
#include "style.h"

enum column { NODE = 0, KEY, STATE, POD, AGE, WAITERS, TOKEN, NOTE, COLUMN_COUNT };

void table_age(double seconds, char *buffer, size_t size)
{
    if (seconds < 0) {
        (void)snprintf(buffer, size, "-");
    } else if (seconds >= 2 * 86400) {
        (void)snprintf(buffer, size, "%.0fd", (seconds - 43200) / 86400);
    } else if (seconds < 60) {
        (void)snprintf(buffer, size, "%.1fs", seconds);
    } else {
        hamid_duration_format((uint64_t)seconds * 1000, buffer, size);
    }
}

void table_expected(const json_t *waiter, char *buffer, size_t size)
{
    char age[32];
    double seconds = json_number_value(json_object_get(waiter, "expectedSeconds"));
    if (seconds <= 0) {
        (void)snprintf(buffer, size, "-");
    } else {
        table_age(seconds, age, sizeof(age));
        (void)snprintf(buffer, size, "in %s", age);
    }
}

static void format_pod(const json_t *slot, char *buffer, size_t size)
{
    const char *name = source_text(slot, "pod");
    if (name[0] == '\0' || source_is_cover(slot)) {
        (void)snprintf(buffer, size, "-");
    } else {
        (void)snprintf(buffer, size, "%s/%s", source_text(slot, "namespace"), name);
    }
}

/* What is to be said of a lock; of a pod beside others first what it is known by. */
static void format_note(const json_t *slot, char *buffer, size_t size)
{
    const char *calls = source_text(slot, "calls");
    const char *note = json_is_true(json_object_get(slot, "alarm"))
                           ? "waits for Allocate past its age"
                           : source_text(slot, "reason");
    (void)snprintf(buffer, size, "%s%s%s", calls,
                   calls[0] != '\0' && note[0] != '\0' ? ": " : "", note);
}

static int add_slot(struct libscols_table *table, const char *node, const json_t *slot,
                    size_t waiters)
{
    char pod[320];
    char age[32];
    char count[24];
    char note[1280];
    const json_t *seconds = json_object_get(slot, "ageSeconds");
    const char *token = source_text(slot, "token");
    struct libscols_line *line = scols_table_new_line(table, NULL);
    if (line == NULL) {
        return -1;
    }
    format_pod(slot, pod, sizeof(pod));
    table_age(seconds != NULL ? json_number_value(seconds) : -1, age, sizeof(age));
    (void)snprintf(count, sizeof(count), "%zu", waiters);
    format_note(slot, note, sizeof(note));
    const char *cells[COLUMN_COUNT] = {
        [NODE] = node,
        [KEY] = source_text(slot, "key"),
        [STATE] = source_text(slot, "state"),
        [POD] = pod,
        [AGE] = age,
        [WAITERS] = count,
        [TOKEN] = token[0] != '\0' ? token : "-",
        [NOTE] = note,
    };
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (scols_line_set_data(line, i, cells[i]) != 0) {
            return -1;
        }
    }
    if (json_is_true(json_object_get(slot, "alarm"))) {
        (void)scols_line_set_color(line, style_colour(TONE_BAD));
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
    static const char *const names[COLUMN_COUNT] = {"NODE", "KEY",     "STATE", "POD",
                                                    "AGE",  "WAITERS", "TOKEN", "NOTE"};
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        int flags = i == AGE || i == WAITERS ? SCOLS_FL_RIGHT : 0;
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
    (void)scols_table_enable_colors(table, style_is_coloured(out));
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

/* ---- waiters -------------------------------------------------------------------- */

static int add_waiter(struct libscols_table *table, const json_t *waiter)
{
    char place[24];
    char pod[320];
    char waited[32];
    char priority[24];
    char left[32];
    char expected[32];
    struct libscols_line *line = scols_table_new_line(table, NULL);
    const json_t *seconds = json_object_get(waiter, "leftSeconds");
    if (line == NULL) {
        return -1;
    }
    (void)snprintf(place, sizeof(place), "%lld",
                   (long long)json_integer_value(json_object_get(waiter, "position")) +
                       1);
    format_pod(waiter, pod, sizeof(pod));
    table_age(json_number_value(json_object_get(waiter, "waitedSeconds")), waited,
              sizeof(waited));
    table_age(seconds != NULL ? json_number_value(seconds) : -1, left, sizeof(left));
    table_expected(waiter, expected, sizeof(expected));
    (void)snprintf(priority, sizeof(priority), "%lld",
                   (long long)json_integer_value(json_object_get(waiter, "priority")));
    const char *cells[] = {place, pod, waited, expected, left, priority};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        if (scols_line_set_data(line, i, cells[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

int table_print_waiters(const json_t *waiters, FILE *out)
{
    static const char *const names[] = {"PLACE",    "POD",           "WAITED",
                                        "EXPECTED", "PATIENCE LEFT", "PRIORITY"};
    size_t index = 0;
    const json_t *waiter = NULL;
    struct libscols_table *table = scols_new_table();
    if (table == NULL) {
        return -1;
    }
    (void)scols_table_set_stream(table, out);
    int status = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int flags = i == 1 ? 0 : SCOLS_FL_RIGHT;
        if (scols_table_new_column(table, names[i], 0, flags) == NULL) {
            status = -1;
        }
    }
    json_array_foreach(waiters, index, waiter)
    {
        status = status != 0 ? status : add_waiter(table, waiter);
    }
    if (status == 0) {
        status = scols_print_table(table);
    }
    scols_unref_table(table);
    return status == 0 ? 0 : -1;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl watch`: looks again and again, and tells what changed since the last look. On
 * a terminal the table is drawn again instead.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hami/kubernetes.h>

#include "command.h"
#include "explain.h"
#include "sources.h"
#include "style.h"
#include "table.h"

#define INTERVAL_HAMID_MS 1000
#define INTERVAL_CLUSTER_MS 5000

struct watch {
    const struct options *options;
    hami_kubernetes *client; /* NULL = a hamid is asked */
    json_t *before;          /* the last look's locks: "NODE KEY" to slot */
    bool is_table;
    bool has_failed; /* the last look */
};

static void format_time(char *buffer, size_t size)
{
    time_t now = time(NULL);
    struct tm parts;
    (void)strftime(buffer, size, "%H:%M:%S", localtime_r(&now, &parts));
}

/* All slots of a look by a name of their own, each with node and number of waiters. What
 * covers pods side by side changes as they do, and says no more than they. */
static json_t *index_slots(const json_t *nodes)
{
    json_t *index = json_object();
    size_t i = 0;
    size_t k = 0;
    const json_t *node = NULL;
    const json_t *slot = NULL;
    json_array_foreach(nodes, i, node)
    {
        const char *name = source_text(node, "node");
        json_array_foreach(json_object_get(node, "slots"), k, slot)
        {
            char label[640];
            if (source_is_cover(slot)) {
                continue;
            }
            json_t *copy = json_copy((json_t *)slot);
            size_t waiters = json_array_size(json_object_get(node, "waiters"));
            (void)json_object_set_new(copy, "node", json_string(name));
            (void)json_object_set_new(copy, "waiters", json_integer((json_int_t)waiters));
            (void)snprintf(label, sizeof(label), "%s %s", name, source_text(slot, "key"));
            (void)json_object_set_new(index, label, copy);
        }
    }
    return index;
}

static bool is_locked(const json_t *slot)
{
    return slot != NULL && source_text(slot, "value")[0] != '\0';
}

static void format_owner(const json_t *slot, char *buffer, size_t size)
{
    const char *name = source_text(slot, "pod");
    if (name[0] == '\0') {
        (void)snprintf(buffer, size, "nobody knows whom ('%.100s')",
                       source_text(slot, "value"));
    } else {
        (void)snprintf(buffer, size, "%s/%s", source_text(slot, "namespace"), name);
    }
}

/* What happened to a lock between two looks; NULL = nothing. */
static const char *event_of(const json_t *before, const json_t *now)
{
    if (is_locked(before) != is_locked(now)) {
        return is_locked(now) ? "locked" : "freed";
    }
    if (!is_locked(now)) {
        return NULL;
    }
    const char *token = source_text(now, "token");
    const char *value = source_text(now, "value");
    if (strcmp(token, source_text(before, "token")) != 0 ||
        strcmp(value, source_text(before, "value")) != 0) {
        return "passed-on";
    }
    return strcmp(source_text(before, "state"), source_text(now, "state")) != 0 ? "state"
                                                                                : NULL;
}

static void tell_json(const char *event, const json_t *before, const json_t *now)
{
    char when[32];
    time_t seconds = time(NULL);
    struct tm parts;
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    json_t *line = json_pack("{s:s, s:s, s:s, s:O?, s:O?}", "time", when, "event", event,
                             "node", source_text(now != NULL ? now : before, "node"),
                             "before", before, "now", now);
    (void)json_dumpf(line, stdout, JSON_COMPACT);
    (void)fputc('\n', stdout);
    json_decref(line);
}

static void tell_line(const char *event, const json_t *before, const json_t *now)
{
    char when[16];
    char owner[320] = "";
    char last[320] = "";
    const json_t *any = now != NULL ? now : before;
    format_time(when, sizeof(when));
    format_owner(now, owner, sizeof(owner));
    format_owner(before, last, sizeof(last));
    (void)printf("%s  %s  %s ", when, source_text(any, "node"), source_text(any, "key"));
    if (strcmp(event, "locked") == 0) {
        (void)printf("locked by %s (%s)", owner, source_text(now, "state"));
    } else if (strcmp(event, "freed") == 0) {
        (void)printf("freed by %s", last);
    } else if (strcmp(event, "passed-on") == 0) {
        (void)printf("passed on from %s to %s (%s)", last, owner,
                     source_text(now, "state"));
    } else {
        (void)printf("of %s is %s now", owner, source_text(now, "state"));
    }
    json_int_t waiters = json_integer_value(json_object_get(now, "waiters"));
    if (waiters > 0) {
        (void)printf(", %lld wait%s", (long long)waiters, waiters == 1 ? "s" : "");
    }
    (void)putchar('\n');
}

static void tell(const struct watch *watch, const json_t *before, const json_t *now)
{
    const char *event = event_of(before, now);
    if (event == NULL) {
        return;
    }
    if (watch->options->is_json) {
        tell_json(event, before, now);
    } else {
        tell_line(event, before, now);
    }
}

static void tell_changes(struct watch *watch, const json_t *nodes)
{
    const char *label = NULL;
    json_t *slot = NULL;
    json_t *now = index_slots(nodes);
    json_object_foreach(watch->before, label, slot)
    {
        if (json_object_get(now, label) == NULL) {
            tell(watch, slot, NULL);
        }
    }
    json_object_foreach(now, label, slot)
    {
        tell(watch, json_object_get(watch->before, label), slot);
    }
    json_decref(watch->before);
    watch->before = now;
    (void)fflush(stdout);
}

static void draw(const json_t *nodes)
{
    char when[16];
    format_time(when, sizeof(when));
    (void)printf("\033[H\033[J%sNode locks at %s%s\n\n", style_begin(stdout, TONE_STRONG),
                 when, style_end(stdout, TONE_STRONG));
    if (json_array_size(nodes) == 0) {
        (void)puts("No node is locked.");
    } else {
        (void)table_print(nodes, stdout);
    }
    (void)fflush(stdout);
}

static json_t *look(struct watch *watch, char *error)
{
    const struct options *options = watch->options;
    json_t *nodes = watch->client != NULL
                        ? source_from_cache(watch->client, options->node, error)
                        : source_from_hamid(&options->hamid, error);
    if (nodes == NULL || options->node == NULL) {
        return nodes;
    }
    const json_t *found = explain_find_node(nodes, options->node);
    json_t *one = found != NULL ? json_pack("[O]", found) : json_array();
    json_decref(nodes);
    return one;
}

/* One look. A server that does not answer for a while ends nothing: it is said once. */
static void turn(struct watch *watch)
{
    char error[SOURCE_ERROR_MAX] = "";
    json_t *nodes = look(watch, error);
    if (nodes == NULL) {
        if (!watch->has_failed) {
            (void)fprintf(stderr, "hamictl: %s; trying again\n", error);
        }
        watch->has_failed = true;
        return;
    }
    watch->has_failed = false;
    if (watch->is_table) {
        draw(nodes);
    } else {
        tell_changes(watch, nodes);
    }
    json_decref(nodes);
}

static void pause_until(uint64_t moment_ns)
{
    const struct timespec moment = {.tv_sec = (time_t)(moment_ns / 1000000000u),
                                    .tv_nsec = (long)(moment_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR) {
    }
}

int command_watch(const struct options *options)
{
    char error[SOURCE_ERROR_MAX] = "";
    struct watch watch = {.options = options, .before = json_object()};
    uint64_t interval_ms = options->interval_ms != 0    ? options->interval_ms
                           : options->hamid.url != NULL ? INTERVAL_HAMID_MS
                                                        : INTERVAL_CLUSTER_MS;
    watch.is_table = !options->is_json && isatty(STDOUT_FILENO) == 1;
    if (options->hamid.url == NULL) {
        watch.client = command_login(options, error);
        if (watch.client == NULL) {
            json_decref(watch.before);
            return command_fail(error);
        }
    }
    uint64_t end = options->for_ms != 0 ? hami_kubernetes_in_ms(options->for_ms)
                                        : HAMI_DEADLINE_NEVER;
    for (;;) {
        turn(&watch);
        uint64_t next = hami_kubernetes_in_ms(interval_ms);
        if (next >= end) {
            break;
        }
        pause_until(next);
    }
    json_decref(watch.before);
    (void)hami_kubernetes_free(watch.client);
    return watch.has_failed ? EXIT_FAILED : 0;
}

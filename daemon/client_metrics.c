/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See client_metrics.h. Of the calls by verb and code those are written that there were:
 * at most one row for each pair of the two lists.
 */
#include "client_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const verbs[HAMI_KUBERNETES_VERBS] = {
    "get", "list", "watch", "create", "update", "patch", "delete"};
static const int codes[HAMI_KUBERNETES_CODES] = HAMI_KUBERNETES_CODES_INIT;
static const uint64_t bounds_us[HAMI_KUBERNETES_BOUNDS] = HAMI_KUBERNETES_BOUNDS_INIT;

static void write_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_number(FILE *out, const char *name, const char *type, const char *help,
                         uint64_t value)
{
    write_head(out, name, type, help);
    (void)fprintf(out, "%s %" PRIu64 "\n", name, value);
}

/* @label  "" or one with a comma behind, such as verb="get", */
static void write_times(FILE *out, const char *name, const char *label,
                        const struct hami_kubernetes_times *times)
{
    uint64_t total = 0;
    const char *end = label[0] != '\0' ? "{" : "";
    int length = 0;

    for (size_t i = 0; i < HAMI_KUBERNETES_BOUNDS; i++) {
        total += times->counts[i];
        (void)fprintf(out, "%s_bucket{%sle=\"%g\"} %" PRIu64 "\n", name, label,
                      (double)bounds_us[i] / 1e6, total);
    }
    total += times->counts[HAMI_KUBERNETES_BOUNDS];
    (void)fprintf(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, label, total);
    while (label[length] != '\0' && label[length] != ',') {
        length++;
    }
    (void)fprintf(out, "%s_sum%s%.*s%s %.9g\n", name, end, length, label,
                  end[0] != '\0' ? "}" : "", (double)times->sum_us / 1e6);
    (void)fprintf(out, "%s_count%s%.*s%s %" PRIu64 "\n", name, end, length, label,
                  end[0] != '\0' ? "}" : "", total);
}

static void write_code(FILE *out, const char *verb, size_t place, uint64_t count)
{
    char code[16];

    (void)snprintf(code, sizeof(code), "%d", codes[place]);
    (void)fprintf(out,
                  "hamid_transport_requests_total{verb=\"%s\",code=\"%s\"} %" PRIu64 "\n",
                  verb,
                  place == 0                           ? "none"
                  : place == HAMI_KUBERNETES_CODES - 1 ? "other"
                                                       : code,
                  count);
}

static void write_calls(FILE *out, const struct hami_kubernetes_calls *calls)
{
    char label[32];

    write_head(out, "hamid_transport_requests_total", "counter",
               "API server requests ended, by verb and code; none = no answer came.");
    for (size_t verb = 0; verb < HAMI_KUBERNETES_VERBS; verb++) {
        for (size_t i = 0; i < HAMI_KUBERNETES_CODES; i++) {
            if (calls->answers[verb][i] > 0) {
                write_code(out, verbs[verb], i, calls->answers[verb][i]);
            }
        }
    }
    write_head(out, "hamid_transport_request_duration_seconds", "histogram",
               "Time from the send of an API server request to its answer's end.");
    for (size_t verb = 0; verb < HAMI_KUBERNETES_VERBS; verb++) {
        if (verb != HAMI_KUBERNETES_VERB_WATCH) {
            (void)snprintf(label, sizeof(label), "verb=\"%s\",", verbs[verb]);
            write_times(out, "hamid_transport_request_duration_seconds", label,
                        &calls->durations[verb]);
        }
    }
    write_head(out, "hamid_watch_lag_seconds", "histogram",
               "Time from a write's answer until a watch showed what was written.");
    write_times(out, "hamid_watch_lag_seconds", "", &calls->watch_lag);
}

static void write_stats(FILE *out, const struct hami_kubernetes_stats *stats)
{
    write_number(out, "hamid_transport_retries_total", "counter",
                 "Requests sent again after 429 or 503.", stats->retries);
    write_number(out, "hamid_transport_connections_total", "counter",
                 "Connections opened to the API server.", stats->connections);
    write_number(out, "hamid_transport_watch_restarts_total", "counter",
                 "Watches started again after a loss.", stats->watch_restarts);
    write_number(out, "hamid_transport_requests_in_flight", "gauge",
                 "Requests that the API server has not answered yet.", stats->in_flight);
    write_number(out, "hamid_transport_requests_waiting", "gauge",
                 "Requests that wait here for a place in flight.", stats->waiting);
    write_head(out, "hamid_transport_local_wait_seconds_total", "counter",
               "Time that requests waited here before they were sent.");
    (void)fprintf(out, "hamid_transport_local_wait_seconds_total %.9g\n",
                  (double)stats->local_wait_ns / 1e9);
}

char *hamid_client_metrics(hami_kubernetes *client)
{
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;
    struct hami_kubernetes_calls *calls = calloc(1, sizeof(*calls));
    char *text = NULL;
    size_t length = 0;
    FILE *out = calls != NULL ? open_memstream(&text, &length) : NULL;

    if (out == NULL) {
        free(calls);
        return NULL;
    }
    calls->size = sizeof(*calls);
    if (hami_kubernetes_calls(client, calls) == 0 &&
        hami_kubernetes_stats(client, &stats) == 0) {
        write_calls(out, calls);
        write_stats(out, &stats);
    }
    free(calls);
    if (fclose(out) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See denials.h. The table's mutex guards the entries; no log line is written under it.
 */
#include "denials.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define ENTRIES_MAX 32 /* more kinds than the roles have rules */
#define RECENT_NS (60 * UINT64_C(1000000000))
/* Lists and watches are tried again every 10 s at most: an older refusal is overcome. So
 * it is after a restart of the API server, which refuses everybody until it has read its
 * roles. */
#define RECENT_READ_NS (15 * UINT64_C(1000000000))

/* One verb on one resource, by one cause. */
struct entry {
    bool is_permission;
    char verb[16];
    char resource[96];
    bool is_over; /* it has succeeded since */
    uint64_t count;
    uint64_t last_ns;
    uint64_t logged_ns;
};

struct hamid_denials {
    pthread_mutex_t mutex;
    struct entry entries[ENTRIES_MAX];
    size_t count;
    char missing[512]; /* of who asks hamid_denials_missing() */
};

struct hamid_denials *hamid_denials_new(void)
{
    struct hamid_denials *denials = calloc(1, sizeof(*denials));
    if (denials != NULL) {
        (void)pthread_mutex_init(&denials->mutex, NULL);
    }
    return denials;
}

struct hamid_denials *hamid_denials_free(struct hamid_denials *denials)
{
    if (denials != NULL) {
        (void)pthread_mutex_destroy(&denials->mutex);
        free(denials);
    }
    return NULL;
}

/* The entry of that kind, made if need be; NULL where the table is full. */
static struct entry *find(struct hamid_denials *denials,
                          const struct hami_kubernetes_denial *denial)
{
    for (size_t i = 0; i < denials->count; i++) {
        struct entry *entry = &denials->entries[i];
        if (entry->is_permission == denial->is_permission &&
            strcmp(entry->verb, denial->verb) == 0 &&
            strcmp(entry->resource, denial->resource) == 0) {
            return entry;
        }
    }
    if (denials->count == ENTRIES_MAX ||
        strlen(denial->verb) >= sizeof(denials->entries[0].verb) ||
        strlen(denial->resource) >= sizeof(denials->entries[0].resource)) {
        return NULL;
    }
    struct entry *entry = &denials->entries[denials->count++];
    entry->is_permission = denial->is_permission;
    memcpy(entry->verb, denial->verb, strlen(denial->verb) + 1);
    memcpy(entry->resource, denial->resource, strlen(denial->resource) + 1);
    return entry;
}

static void say(const struct hami_kubernetes_denial *denial)
{
    char message[160];
    (void)snprintf(message, sizeof(message), "%s: %.15s %.95s",
                   denial->is_permission ? "Missing permission"
                                         : "Refused by an admission policy or plugin",
                   denial->verb, denial->resource);
    hamid_log_error(
        message, "apiGroup", denial->group[0] != '\0' ? denial->group : "core",
        "namespace", denial->namespace_name[0] != '\0' ? denial->namespace_name : NULL,
        "name", denial->name[0] != '\0' ? denial->name : NULL, "err", denial->text,
        "needs", denial->is_permission ? "the role's manifest in deploy/rbac" : NULL,
        NULL);
}

static void end(struct hamid_denials *denials,
                const struct hami_kubernetes_denial *denial)
{
    char message[160];
    pthread_mutex_lock(&denials->mutex);
    struct entry *entry = find(denials, denial);
    if (entry != NULL) {
        entry->is_over = true;
    }
    pthread_mutex_unlock(&denials->mutex);
    (void)snprintf(message, sizeof(message), "Permission is there now: %.15s %.95s",
                   denial->verb, denial->resource);
    hamid_log_info(0, message, NULL);
}

void hamid_denials_told(void *data, const struct hami_kubernetes_denial *denial)
{
    struct hamid_denials *denials = data;
    uint64_t now = hami_kubernetes_now();
    bool is_to_be_said = false;

    if (denial->is_over) {
        end(denials, denial);
        return;
    }
    pthread_mutex_lock(&denials->mutex);
    struct entry *entry = find(denials, denial);
    if (entry != NULL) {
        is_to_be_said = entry->count == 0 || now - entry->logged_ns >= RECENT_NS;
        entry->count++;
        entry->last_ns = now;
        entry->is_over = false;
        entry->logged_ns = is_to_be_said ? now : entry->logged_ns;
    }
    pthread_mutex_unlock(&denials->mutex);
    if (is_to_be_said) {
        say(denial);
    }
}

/* Is a permission lacking that was refused then? */
static bool is_lacking(const struct entry *entry, uint64_t now_ns)
{
    bool is_read = strcmp(entry->verb, "list") == 0 || strcmp(entry->verb, "watch") == 0;
    return entry->is_permission && !entry->is_over &&
           strcmp(entry->resource, "events") != 0 &&
           now_ns - entry->last_ns < (is_read ? RECENT_READ_NS : RECENT_NS);
}

const char *hamid_denials_missing(struct hamid_denials *denials)
{
    uint64_t now = hami_kubernetes_now();
    size_t length = 0;

    if (denials == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&denials->mutex);
    for (size_t i = 0; i < denials->count && length < sizeof(denials->missing); i++) {
        const struct entry *entry = &denials->entries[i];
        if (is_lacking(entry, now)) {
            length += (size_t)snprintf(
                denials->missing + length, sizeof(denials->missing) - length, "%s %s %s",
                length == 0 ? "missing permission:" : ",", entry->verb, entry->resource);
        }
    }
    pthread_mutex_unlock(&denials->mutex);
    return length > 0 ? denials->missing : NULL;
}

char *hamid_denials_metrics(struct hamid_denials *denials)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = denials != NULL ? open_memstream(&text, &length) : NULL;

    if (out == NULL) {
        return NULL;
    }
    (void)fputs("# HELP hamid_api_denied_total Requests that the API server refused with "
                "403, by verb, resource and whose no it was.\n"
                "# TYPE hamid_api_denied_total counter\n",
                out);
    pthread_mutex_lock(&denials->mutex);
    for (size_t i = 0; i < denials->count; i++) {
        const struct entry *entry = &denials->entries[i];
        (void)fprintf(
            out,
            "hamid_api_denied_total{verb=\"%s\",resource=\"%s\",cause=\"%s\"} %llu\n",
            entry->verb, entry->resource,
            entry->is_permission ? "permission" : "admission",
            (unsigned long long)entry->count);
    }
    pthread_mutex_unlock(&denials->mutex);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

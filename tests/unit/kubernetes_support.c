/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubesim, clients and records for the tests of the Kubernetes client. A record's mutex
 * guards it.
 */
#include "kubernetes_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- files ---------------------------------------------------------------------- */

void make_directory(char *path, size_t size)
{
    const char *parent = getenv("TMPDIR");

    (void)snprintf(path, size, "%s/hami-XXXXXX", parent != NULL ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    char name[512];

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') {
            (void)unlink(name);
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    (void)rmdir(path);
}

char *write_file(const char *directory, const char *name, const char *text)
{
    char *path = NULL;
    char *fresh = NULL;
    FILE *file;

    ck_assert(asprintf(&path, "%s/%s", directory, name) > 0);
    ck_assert(asprintf(&fresh, "%s/%s.new", directory, name) > 0);
    file = fopen(fresh, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(fresh, path), 0);
    free(fresh);
    return path;
}

const char *kept_file(const struct fixture *fixture, const char *name, const char *text)
{
    static char paths[8][128];
    static size_t next;
    char *path = write_file(fixture->directory, name, text);

    next = (next + 1) % 8;
    (void)snprintf(paths[next], sizeof(paths[next]), "%s", path);
    free(path);
    return paths[next];
}

/* ---- kubesim -------------------------------------------------------------------- */

static void add_log(void *data, enum hami_log_level level, const char *line)
{
    struct fixture *fixture = data;
    size_t length;

    (void)level;
    pthread_mutex_lock(&fixture->mutex);
    length = strlen(fixture->log);
    (void)snprintf(fixture->log + length, sizeof(fixture->log) - length, "%s\n", line);
    pthread_mutex_unlock(&fixture->mutex);
}

bool fixture_has_log(struct fixture *fixture, const char *text)
{
    bool has;

    pthread_mutex_lock(&fixture->mutex);
    has = strstr(fixture->log, text) != NULL;
    pthread_mutex_unlock(&fixture->mutex);
    return has;
}

void fixture_open(struct fixture *fixture, const struct kubesim_options *options)
{
    memset(fixture, 0, sizeof(*fixture));
    (void)pthread_mutex_init(&fixture->mutex, NULL);
    make_directory(fixture->directory, sizeof(fixture->directory));
    ck_assert_int_eq(kubesim_start(options, &fixture->sim), 0);
    ck_assert_int_eq(kubesim_create_node(fixture->sim, "n1", NULL, 0), 201);
    ck_assert_int_eq(kubesim_write_files(fixture->sim, fixture->directory), 0);
    (void)snprintf(fixture->path, sizeof(fixture->path), "%s/kubeconfig",
                   fixture->directory);
    fixture->config.size = sizeof(fixture->config);
    fixture->config.kubeconfig = fixture->path;
    /* A net; who tests a deadline gives one. */
    fixture->config.request_timeout_ms = 2 * WAIT_MS;
    fixture->config.log = add_log;
    fixture->config.log_data = fixture;
}

void fixture_connect(struct fixture *fixture)
{
    struct hami_error error = HAMI_ERROR_INIT;

    ck_assert_msg(hami_kubernetes_new(&fixture->config, &fixture->client, &error) == 0,
                  "%s", error.text);
}

void fixture_close(struct fixture *fixture)
{
    fixture->client = hami_kubernetes_free(fixture->client);
    fixture->sim = kubesim_free(fixture->sim);
    remove_directory(fixture->directory);
    (void)pthread_mutex_destroy(&fixture->mutex);
}

/* ---- records -------------------------------------------------------------------- */

void record_init(struct record *record)
{
    pthread_condattr_t attributes;

    memset(record, 0, sizeof(*record));
    (void)pthread_mutex_init(&record->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&record->condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void record_done(struct record *record)
{
    free(record->told);
    (void)pthread_mutex_destroy(&record->mutex);
    (void)pthread_cond_destroy(&record->condition);
}

static void add_told(struct record *record, const struct told *told)
{
    pthread_mutex_lock(&record->mutex);
    if (record->count == record->capacity) {
        record->capacity = record->capacity != 0 ? record->capacity * 2 : 16;
        record->told = realloc(record->told, record->capacity * sizeof(*told));
    }
    record->told[record->count++] = *told;
    pthread_cond_broadcast(&record->condition);
    pthread_mutex_unlock(&record->mutex);
}

void record_answer(void *data, const struct hami_kubernetes_answer *answer)
{
    struct told told = {
        .code = answer->code,
        .status = answer->status,
        .body_length = answer->body_length,
        .server_time_us = answer->server_time_us,
        .local_wait_ns = answer->local_wait_ns,
        .retry_after_ms = answer->retry_after_ms,
        .maybe_resent = answer->maybe_resent,
        .at_ns = hami_kubernetes_now(),
    };

    (void)snprintf(told.text, sizeof(told.text), "%s", answer->text);
    (void)snprintf(told.body, sizeof(told.body), "%s", answer->body);
    add_told(data, &told);
}

void record_timer(void *data, int code)
{
    struct told told = {.code = code, .at_ns = hami_kubernetes_now()};

    add_told(data, &told);
}

struct told *record_wait(struct record *record, size_t count)
{
    uint64_t end = hami_kubernetes_in_ms(WAIT_MS);
    struct timespec deadline = {.tv_sec = (time_t)(end / 1000000000),
                                .tv_nsec = (long)(end % 1000000000)};
    struct told *last = NULL;
    int result = 0;

    pthread_mutex_lock(&record->mutex);
    while (record->count < count && result == 0) {
        result = pthread_cond_timedwait(&record->condition, &record->mutex, &deadline);
    }
    if (record->count >= count && count > 0) {
        last = &record->told[count - 1];
    }
    pthread_mutex_unlock(&record->mutex);
    ck_assert_msg(result == 0, "only %zu of %zu callbacks came", record->count, count);
    return last;
}

size_t record_count(struct record *record)
{
    size_t count;

    pthread_mutex_lock(&record->mutex);
    count = record->count;
    pthread_mutex_unlock(&record->mutex);
    return count;
}

/* ---- requests ------------------------------------------------------------------- */

struct hami_kubernetes_request get_node(void)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;

    request.path = "/api/v1/nodes/n1";
    return request;
}

struct hami_kubernetes_request patch_node(void)
{
    static const char body[] = "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}";
    struct hami_kubernetes_request request = get_node();

    request.method = HAMI_KUBERNETES_PATCH;
    request.content_type = "application/merge-patch+json";
    request.body = body;
    request.body_length = sizeof(body) - 1;
    return request;
}

struct told ask(hami_kubernetes *client, struct hami_kubernetes_request request)
{
    struct record record;
    struct told told;

    record_init(&record);
    ck_assert_int_eq(
        hami_kubernetes_request_start(client, &request, record_answer, &record), 0);
    told = *record_wait(&record, 1);
    record_done(&record);
    return told;
}

int status_of_get(hami_kubernetes *client)
{
    struct told told = ask(client, get_node());

    ck_assert_msg(told.code == 0, "%d %s", told.code, told.text);
    return told.status;
}

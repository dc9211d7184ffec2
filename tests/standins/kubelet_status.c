/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See kubelet_status.h. One thread. */
#include "kubelet_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"

#define AGAIN_MS 200
#define TRIES_MAX 600

struct status_write {
    struct status_write *next;
    struct kubelet_status *status;
    char *path;
    char *body;
    unsigned tries;
    int64_t due_ms; /* 0: under way */
};

struct kubelet_status {
    struct requests *requests;
    struct status_write *writes;
};

static void drop(struct status_write *write)
{
    struct status_write **link = &write->status->writes;
    while (*link != write) {
        link = &(*link)->next;
    }
    *link = write->next;
    free(write->path);
    free(write->body);
    free(write);
}

/* A server that has just come up refuses (401, 403) before it knows its users' rights. */
static bool is_worth_more(const struct status_write *write, const struct answer *answer)
{
    return (answer->status == 0 || answer->status == 401 || answer->status == 403 ||
            answer->status == 429 || answer->status >= 500) &&
           write->tries < TRIES_MAX;
}

static void status_answered(void *data, const struct answer *answer)
{
    struct status_write *write = data;
    /* A pod that is gone (404), or another by now (409, 422), needs no status. */
    if (is_worth_more(write, answer)) {
        write->due_ms = duration_now_ms() + AGAIN_MS;
        return;
    }
    if (answer->status != 200 && answer->status != 404) {
        fprintf(stderr, "standin-kubelet: PATCH %s: %d %s%.200s\n", write->path,
                answer->status, answer->problem, answer->body);
    }
    drop(write);
}

static void status_send(struct status_write *write)
{
    struct request request = {.method = "PATCH",
                              .url = write->path,
                              .content_type = "application/merge-patch+json",
                              .body = write->body,
                              .timeout_ms = 10000,
                              .done = status_answered,
                              .data = write};
    write->tries++;
    write->due_ms = 0;
    if (requests_send(write->status->requests, &request) < 0) {
        struct answer none = {.status = 400, .problem = "out of memory", .body = ""};
        status_answered(write, &none);
    }
}

void kubelet_status_write(struct kubelet_status *status, const char *path, char *body)
{
    struct status_write *write = calloc(1, sizeof(*write));
    if (write == NULL || body == NULL || (write->path = strdup(path)) == NULL) {
        free(write);
        free(body);
        return;
    }
    write->status = status;
    write->body = body;
    write->next = status->writes;
    status->writes = write;
    status_send(write);
}

int64_t kubelet_status_turn(struct kubelet_status *status, int64_t now_ms)
{
    int64_t next = now_ms + 1000;
    struct status_write *after;
    for (struct status_write *write = status->writes; write != NULL; write = after) {
        after = write->next;
        if (write->due_ms != 0 && write->due_ms <= now_ms) {
            status_send(write);
        } else if (write->due_ms != 0 && write->due_ms < next) {
            next = write->due_ms;
        }
    }
    return next;
}

struct kubelet_status *kubelet_status_new(struct requests *requests)
{
    struct kubelet_status *status = calloc(1, sizeof(*status));
    if (status != NULL) {
        status->requests = requests;
    }
    return status;
}

void kubelet_status_free(struct kubelet_status *status)
{
    while (status != NULL && status->writes != NULL) {
        drop(status->writes);
    }
    free(status);
}

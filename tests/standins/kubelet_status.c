/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Status writes of the stand-in kubelet, sent again while no clear answer comes. */
#include "kubelet_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct status_write {
    struct requests *requests;
    char *path;
    char *body;
    unsigned tries;
};

static void status_send(struct status_write *write);

static void status_answered(void *data, const struct answer *answer)
{
    struct status_write *write = data;
    /* A pod that is gone (404), or another by now (409, 422), needs no status. */
    if ((answer->status == 0 || answer->status >= 500) && write->tries < 5) {
        status_send(write);
        return;
    }
    if (answer->status != 200 && answer->status != 404) {
        fprintf(stderr, "standin-kubelet: PATCH %s: %d %s%.200s\n", write->path,
                answer->status, answer->problem, answer->body);
    }
    free(write->path);
    free(write->body);
    free(write);
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
    if (requests_send(write->requests, &request) < 0) {
        struct answer none = {.status = 400, .problem = "out of memory", .body = ""};
        status_answered(write, &none);
    }
}

void kubelet_status_write(struct requests *requests, const char *path, char *body)
{
    struct status_write *write = calloc(1, sizeof(*write));
    if (write == NULL || body == NULL || (write->path = strdup(path)) == NULL) {
        free(write);
        free(body);
        return;
    }
    write->requests = requests;
    write->body = body;
    status_send(write);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A list that is kept up to date by a watch, for the stand-ins. One thread. */
#ifndef STANDIN_WATCH_H
#define STANDIN_WATCH_H

#include "requests.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct watch {
    struct requests *requests;
    char path[160];
    /* Each object as listed, then as it changes. May not start a request. */
    void (*note)(void *data, json_t *object, bool is_deleted);
    void *data;
    bool is_open;
    int64_t due_ms; /* not open: list again then */
};

/* Lists and watches if it is not at it already. Call it in each turn of the loop. */
void watch_keep_open(struct watch *watch, int64_t now_ms);

#endif

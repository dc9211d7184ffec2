/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kubelet knows of each of its Allocates, a line of JSON for each once it is over:
 *
 *   {"node","namespace","pod","uid","container","resource","count": who was asked for what,
 *    "begin","seconds": when (since the epoch), and how long the kubelet waited,
 *    "served": the uid of the pod that the answer was about, null without an answer,
 *    "devices": the uuids in that answer, "problem": why it failed, empty where it did not}
 *
 * `container` counts from 0, init containers first. One thread.
 */
#ifndef STANDIN_KUBELET_RECORD_H
#define STANDIN_KUBELET_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kubelet_record {
    json_t *line;     /* NULL: no Allocate is under way */
    int64_t begun_us; /* of the monotonic clock */
};

/* An Allocate begins, unless it is under way: a plugin that asks anew is still in it. */
void kubelet_record_begin(struct kubelet_record *record, const char *node,
                          const json_t *pod, size_t container, const char *resource,
                          unsigned count);
/* The agent's answer to the plugin. */
void kubelet_record_answer(struct kubelet_record *record, const json_t *body);
/* The Allocate is over; PROBLEM is NULL where it went well. FILE NULL: tells nobody. */
void kubelet_record_end(struct kubelet_record *record, FILE *file, const char *problem);
void kubelet_record_drop(struct kubelet_record *record);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of libcurl that are used again and again for the floor's requests, and many of
 * them under way at once on one connection. Whatever fails here ends the program.
 */
#ifndef BENCH_FLOOR_LINES_H
#define BENCH_FLOOR_LINES_H

#include <stdbool.h>

#include "floor_texts.h"
#include "kubeconfig.h"

struct node;

struct login {
    struct kubeconfig config;
    struct curl_slist *patch_headers;
    struct curl_slist *json_headers;
};

/* A handle with the body of its request; its private pointer is the line. */
struct line {
    CURL *handle;
    struct node *node;  /* NULL: a watch, whose end is never in order */
    const char *answer; /* to be shown where it is a refusal; NULL = nobody keeps it */
    char body[BODY_MAX];
};

void login_open(struct login *login, const char *kubeconfig);
void login_close(struct login *login);

/* LOGIN is borrowed for the life of the handle. */
void line_open(const struct login *login, struct line *line, struct node *node);
/* Without a body: a GET. Else what line->body holds goes out. */
void line_request(const struct login *login, struct line *line, const char *method,
                  const char *path, bool has_body);

/* The multi handle. @streams  requests at a time; 0 = as many as libcurl wants */
CURLM *lines_open(long streams);
/* line_request(), and its way. */
void lines_send(CURLM *multi, const struct login *login, struct line *line,
                const char *method, const char *path, bool has_body);
/* Takes off the next line that was answered, with what was asked for; NULL = none yet. */
struct line *lines_take(CURLM *multi);

#endif

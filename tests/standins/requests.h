/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many HTTP requests at once on one thread, for the stand-ins: calls to the API server
 * (one HTTP/2 connection, with the login) and to a binder (HTTP/1.1, a connection for
 * each call under way), and watches that hand out their lines.
 *
 * One thread only. A callback comes from requests_turn(), once for each request, and may
 * start further requests.
 */
#ifndef STANDIN_REQUESTS_H
#define STANDIN_REQUESTS_H

#include "kubeconfig.h"

#include <stdbool.h>

struct requests;

struct answer {
    int status;          /* 0: no answer */
    bool timed_out;      /* the patience was over; the connection is closed */
    const char *problem; /* why there is no answer, else "" */
    const char *body;    /* ended by NUL, borrowed for the callback */
};

/* `sending` and `line` are called from inside curl: they may not start a request. */
struct request {
    const char *method;
    const char *url;          /* a path that begins with / goes to the API server */
    const char *unix_socket;  /* the url's host is reached through it; NULL: by TCP */
    const char *content_type; /* NULL: application/json */
    const char *body;         /* NULL: none */
    long timeout_ms;          /* of the whole exchange; 0: none */
    void (*done)(void *data, const struct answer *answer);
    /* Called once the connection is there and the request goes out. */
    void (*sending)(void *data);
    /* A watch: called for each line; the body is not collected then. */
    void (*line)(void *data, const char *line);
    void *data;
};

/* CONFIG and AGENT are borrowed for the life of the object. NULL: out of memory. */
struct requests *requests_new(const struct kubeconfig *config, const char *agent);
/* Open requests end without a callback. */
void requests_free(struct requests *requests);
/* Copies what it needs. Returns -1 without a callback when out of memory. */
int requests_send(struct requests *requests, const struct request *request);
/* Wait at most wait_ms for something to happen, and run the callbacks that are due. */
void requests_turn(struct requests *requests, int wait_ms);

#endif

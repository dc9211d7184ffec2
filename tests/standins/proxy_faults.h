/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which faults the stand-in proxy is to make, as its control socket was told, and when.
 *
 * Pure: no clock, no I/O. Moments are milliseconds of whatever clock the caller has.
 */
#ifndef STANDIN_PROXY_FAULTS_H
#define STANDIN_PROXY_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum proxy_way { PROXY_REQUESTS, PROXY_ANSWERS, PROXY_WAYS };

/* AFTER: the bytes reach the server, and nothing of what it answers reaches the client.
 */
enum proxy_cut { PROXY_CUT_NONE, PROXY_CUT_BEFORE, PROXY_CUT_AFTER };

struct proxy_rule {
    enum proxy_cut cut;  /* NONE: no rule */
    bool by_connection;  /* else by bytes of requests, over all connections */
    uint64_t every;      /* connections or bytes from one cut to the next */
    uint64_t offset;     /* by_connection: bytes of requests that pass unharmed first */
    uint64_t times_left; /* UINT64_MAX: for ever */
    uint64_t seen;       /* connections or bytes since the last cut */
};

struct proxy_faults {
    struct proxy_rule rule;
    int64_t delay_ms[PROXY_WAYS];
    int64_t stalled_until_ms[PROXY_WAYS]; /* INT64_MAX: until resumed */
    uint64_t connections;
    uint64_t bytes[PROXY_WAYS];
    uint64_t cuts[3]; /* by enum proxy_cut */
};

extern const char proxy_faults_commands[];

/*
 * Does what LINE says. Returns NULL, or what is wrong with it (static text); nothing is
 * changed then.
 */
const char *proxy_faults_obey(struct proxy_faults *faults, const char *line,
                              int64_t now_ms);
/* Counts a connection. Returns whether the rule means this one. */
bool proxy_faults_connected(struct proxy_faults *faults);
/*
 * Counts SIZE bytes of requests on a connection that had BEFORE of them. Returns what is
 * to become of them and of their connection. IS_MEANT is what _connected answered.
 */
enum proxy_cut proxy_faults_request(struct proxy_faults *faults, bool is_meant,
                                    uint64_t before, size_t size);
/* When bytes that came at NOW may go on, a stall left aside. */
int64_t proxy_faults_due(const struct proxy_faults *faults, enum proxy_way way,
                         int64_t now_ms);
/* One line of JSON. */
void proxy_faults_status(const struct proxy_faults *faults, char *text, size_t size);

#endif

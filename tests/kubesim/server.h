/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server object and what its parts offer each other. Everything in it belongs to
 * the server's thread while that runs, and to the caller of kubesim_stop afterwards;
 * the members from `lock` on are the only ones shared.
 */
#ifndef KUBESIM_SERVER_H
#define KUBESIM_SERVER_H

#include "kubesim.h"

#include "exchange.h"
#include "store.h"

#include <event2/event.h>
#include <event2/listener.h>
#include <openssl/ssl.h>
#include <pthread.h>

struct sim_connection;
struct sim_faults;
struct sim_audit;
struct sim_tls;

#define SIM_CONNECTION_LIMIT 4096
#define SIM_INTERNAL_USER "kubesim"

/* A function that waits for its turn on the server's thread. */
struct sim_task {
    struct sim_task *next;
    void (*function)(void *data);
    void *data;
    bool done;
};

struct kubesim {
    struct kubesim_options options;
    char **users; /* owned, NULL-terminated, the first one is the default */
    unsigned port;
    char url[40];
    struct sim_tls *tls;
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *wake_event, *bookmark_timer;
    struct sim_store *store;
    struct sim_faults *faults;
    json_t *canned; /* answers given in advance; NULL: none */
    struct sim_audit *audit;
    struct sim_connection *connections;
    struct sim_exchange *exchanges;
    struct sim_watch *watches;
    struct event *pump_event; /* active when watches may have something to send */
    unsigned connection_count, accepted_count;
    uint64_t sequence; /* of the last request that reached the store */
    int date_skew;
    bool paused;
    pthread_t thread;
    int wake_fd;

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t done;
    struct sim_task *tasks, **tasks_end;
    pthread_cond_t changed; /* something happened that a wait may be for */
    uint64_t activity;
    bool running, stopping;
};

/* Run FUNCTION on the server's thread and wait; in place when already there or when
 * the server is stopped. */
void sim_server_call(struct kubesim *sim, void (*function)(void *data), void *data);

/* Tell the waits of the C API to look again. */
void sim_server_notify(struct kubesim *sim);

/* connection.c */
int sim_listen(struct kubesim *sim);
void sim_connections_close(struct kubesim *sim);

/* router.c */
/* The request is complete: take it from here. Called once for each exchange. */
void sim_router_begin(struct sim_exchange *exchange);
/* Apply an internal request at once and leave its answer in the exchange. */
void sim_router_run_internal(struct sim_exchange *exchange);

/* verbs: fill in the exchange's answer */
void sim_read_get(struct sim_exchange *exchange);
void sim_read_list(struct sim_exchange *exchange);
void sim_write_create(struct sim_exchange *exchange);
void sim_write_update(struct sim_exchange *exchange);
void sim_write_patch(struct sim_exchange *exchange);
void sim_write_delete(struct sim_exchange *exchange);
void sim_write_binding(struct sim_exchange *exchange);

/* The selectors of the query; false: answered with 400. Clear it in either case. */
bool sim_query_selector(struct sim_exchange *exchange, struct sim_selector *selector);

/* watch.c */
/* Starts streaming, or fills in an answer and returns false. */
bool sim_watch_start(struct sim_exchange *exchange);
void sim_watch_stop(struct sim_exchange *exchange);
/* Something changed or drained: send what is due on the next turn of the loop. */
void sim_watch_wake(struct kubesim *sim);
void sim_watch_cut(struct kubesim *sim, const char *resource);
void sim_watch_expire(struct kubesim *sim, const char *resource);
void sim_watch_expire_one(struct sim_exchange *exchange);
void sim_watch_bookmark(struct kubesim *sim);
unsigned sim_watch_count(struct kubesim *sim, const char *resource);
int sim_watch_init(struct kubesim *sim);
void sim_watch_done(struct kubesim *sim);

/* audit.c */
int sim_audit_init(struct kubesim *sim);
void sim_audit_done(struct kubesim *sim);
/* Record the arrival of a request; again for the second run of a doubled one. */
void sim_audit_open(struct sim_exchange *exchange);
/* It reaches the store now: number it. */
void sim_audit_apply(struct sim_exchange *exchange);
const char *sim_audit_id(const struct sim_exchange *exchange);
/* The outcome is known: write the log line. Once; later calls do nothing. */
void sim_audit_close(struct sim_exchange *exchange);
void sim_audit_flush(struct kubesim *sim);
unsigned sim_audit_count(struct kubesim *sim, const struct kubesim_match *match);
json_t *sim_audit_select(struct kubesim *sim, const struct kubesim_match *match);
void sim_audit_forget(struct kubesim *sim);
/* A request against a pattern; CODE is not looked at. */
bool sim_match_request(const struct kubesim_match *match,
                       const struct sim_exchange *exchange);

/* control.c */
void sim_control(struct sim_exchange *exchange, const char *path);

/* canned.c: answers for paths that kubesim does not know. */
/* Takes a reference. NULL, or what is wrong with it. */
const char *sim_canned_add(struct kubesim *sim, json_t *request);
/* True where there was one; it is given. */
bool sim_canned_answer(struct sim_exchange *exchange, const char *path);

/* Status answers: status.c */
void sim_status(struct sim_exchange *exchange, int code, const char *reason,
                json_t *details, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void sim_status_not_found(struct sim_exchange *exchange);
/* details.kind is the resource, or resource/SUBRESOURCE when that is given. */
void sim_status_conflict(struct sim_exchange *exchange, const char *subresource,
                         const char *format, ...) __attribute__((format(printf, 3, 4)));
void sim_status_exists(struct sim_exchange *exchange);
/* 422 with one cause. */
void sim_status_invalid(struct sim_exchange *exchange, const char *field,
                        const char *reason, const char *message);
void sim_status_bad_request(struct sim_exchange *exchange, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 422 for a forbidden combination of list or watch parameters; returns false. */
bool sim_status_list_options(struct sim_exchange *exchange, const char *field,
                             const char *why);
/* A Status value for an ERROR event of a watch. */
json_t *sim_status_gone(void);

/* validate.c: check the object that is about to be stored; false: answered. */
bool sim_validate(struct sim_exchange *exchange, const json_t *candidate,
                  const json_t *current);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the other files of this library may ask of the client, besides the public request
 * functions: streams (watches), timers and requests that can be cancelled, all on the
 * client's one thread.
 *
 * I1: every callback runs on the client's thread, exactly once where it says so, with no
 * lock held.
 *
 * I2: a callback never runs inside the function that starts or cancels: these may be
 * called with a lock of the caller's own held. They never block and are MT-Safe.
 *
 * I3: a handle is valid until its last callback (answered, on_end, on_fire) has been
 * entered; cancel is for handles that are valid. A caller that cancels from another
 * thread than the client's keeps handle and "has ended" under a lock of its own. `ret` is
 * written before any callback can run, and is NULL on failure.
 *
 * I4: hami_kubernetes_free() ends everything with CLOSED; nothing can be started from
 * then on.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HTTP_H
#define HAMI_INTERNAL_KUBERNETES_HTTP_H

#include <hami/kubernetes.h>

/* A line of a stream that is longer ends the stream with LIMIT. */
#define HAMI_INTERNAL_HTTP_LINE_MAX (4u * 1024 * 1024)

/* ---- streams -------------------------------------------------------------------- */

struct hami_internal_http_stream;

struct hami_internal_http_stream_options {
    const char *path;         /* copied; as in hami_kubernetes_request */
    const char *accept;       /* copied; NULL = application/json */
    uint64_t idle_timeout_ms; /* without a single byte; ends the stream with TIMEDOUT; 0 =
                                 none */
    /* The server answered 200; lines may come. May be NULL. */
    void (*on_open)(void *data);
    /* One line of a 200 answer without its line end, ended with NUL; empty lines are left
     * out. */
    void (*on_line)(void *data, const char *line, size_t length);
    /*
     * The end, exactly once; the handle is gone. answer->code: 0 - the server ended it in
     * order (status 200), or refused it (another status, with the body as far as it fits
     * in 64 KiB and retry_after_ms); TRANSPORT - the connection could not be made or was
     * lost; TIMEDOUT - idle; LIMIT - a line was too long; CANCELED; CLOSED; NOMEM;
     * ACCESS.
     */
    void (*on_end)(void *data, const struct hami_kubernetes_answer *answer);
    void *data;
};

/*
 * Starts a GET whose answer is read line by line for as long as the server sends. Not
 * counted in the cap on requests in flight, and has no deadline but idle_timeout_ms.
 * There are at most 256. Returns   0 - on_end will come; or INVAL, NOMEM, CLOSED, FORKED,
 * LIMIT - it will not
 */
int hami_internal_http_stream_start(
    hami_kubernetes *client, const struct hami_internal_http_stream_options *options,
    struct hami_internal_http_stream **ret);

/* Ends a stream soon: on_end with CANCELED follows, unless it ends otherwise first. No
 * line comes once this was called on the client's thread. */
void hami_internal_http_stream_cancel(hami_kubernetes *client,
                                      struct hami_internal_http_stream *stream);

/* ---- timers --------------------------------------------------------------------- */

struct hami_internal_http_timer;

/* code: 0 - the time has come; CANCELED; CLOSED. Exactly once; the handle is gone. */
typedef void (*hami_internal_http_timer_fn)(void *data, int code);

/*
 * Calls on_fire on the client's thread after delay_ms; 0 = as soon as that thread turns,
 * which is the way to get work onto it. Returns   0 - on_fire will come; or NOMEM,
 * CLOSED, FORKED - it will not
 */
int hami_internal_http_timer_start(hami_kubernetes *client, uint64_t delay_ms,
                                   hami_internal_http_timer_fn on_fire, void *data,
                                   struct hami_internal_http_timer **ret);

/* on_fire with CANCELED follows soon, unless it fires first. */
void hami_internal_http_timer_cancel(hami_kubernetes *client,
                                     struct hami_internal_http_timer *timer);

/* ---- requests that can be cancelled --------------------------------------------- */

struct hami_internal_http_request;

/* As hami_kubernetes_request_start(), with a handle. `ret` may be NULL. I2 holds: the
 * callback never comes before this has returned when called on the client's thread. */
int hami_internal_http_request_start(hami_kubernetes *client,
                                     const struct hami_kubernetes_request *request,
                                     hami_kubernetes_answered_fn callback, void *data,
                                     struct hami_internal_http_request **ret);

/* The callback comes soon: TRANSPORT if surely nothing was sent, IN_DOUBT if something
 * may have been (an answer that is just coming in is told as usual). */
void hami_internal_http_request_cancel(hami_kubernetes *client,
                                       struct hami_internal_http_request *request);

/* ---- odds and ends -------------------------------------------------------------- */

/* True in a forked child: answer FORKED and touch nothing. */
bool hami_internal_http_is_forked(const hami_kubernetes *client);

/* True on the client's own thread: a blocking function answers INVAL there. */
bool hami_internal_http_is_own_thread(const hami_kubernetes *client);

/* A watch has shown an object of this version. On the client's thread. */
void hami_internal_http_count_sight(hami_kubernetes *client, const char *version);

/* Counts a restart of a watch in hami_kubernetes_stats. */
void hami_internal_http_count_watch_restart(hami_kubernetes *client);

/* Logs one line by config.log, if set. Never with a lock held, never a secret. */
void hami_internal_http_log(const hami_kubernetes *client, enum hami_log_level level,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

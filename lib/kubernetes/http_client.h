/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's inside, shared by client.c and http_*.c only.
 *
 * Everything that a client works on is a job: a request, a stream or a timer. A job comes
 * in through the inbox, is taken by the client's thread, stands in the heap until it
 * ends, and ends once.
 *
 * Lock: `mutex` guards what is marked (M); nothing is done under it but moving pointers
 * and counting. Marked (C): constant after hami_kubernetes_new(). All else belongs to the
 * client's thread.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HTTP_CLIENT_H
#define HAMI_INTERNAL_KUBERNETES_HTTP_CLIENT_H

#include <curl/curl.h>
#include <pthread.h>
#include <sys/queue.h>

#include "http.h"
#include "exec.h"
#include "login.h"
#include "support.h"

/* denial.c: the verb that a request is of, as RBAC names it; NULL for paths outside of
 * the API. */
const char *hami_internal_denial_verb(const hami_kubernetes *client,
                                      enum hami_kubernetes_method method,
                                      const char *url);

#define HAMI_INTERNAL_HTTP_WAITING_MAX 10000u
#define HAMI_INTERNAL_HTTP_STREAMS_MAX 256u
#define HAMI_INTERNAL_HTTP_HEADERS_MAX 65536u /* bytes of all headers of one answer */
#define HAMI_INTERNAL_HTTP_STREAM_BODY_MAX                                               \
    65536u /* bytes kept of a refused stream's body */
#define HAMI_INTERNAL_HTTP_BUFFER_BYTES (512L * 1024) /* see http_nudge.c */
#define HAMI_INTERNAL_HTTP_PATH_MAX 8192u
#define HAMI_INTERNAL_HTTP_LACKS_MAX 16u
#define HAMI_INTERNAL_HTTP_HEADER_VALUE_MAX 1024u
#define HAMI_INTERNAL_HTTP_REQUEST_BODY_MAX (8u * 1024 * 1024)

#define HAMI_INTERNAL_HTTP_CONFIG_TEXTS 12

enum hami_internal_http_kind {
    HAMI_INTERNAL_HTTP_REQUEST,
    HAMI_INTERNAL_HTTP_STREAM,
    HAMI_INTERNAL_HTTP_TIMER
};

struct hami_internal_http_job {
    enum hami_internal_http_kind kind;
    uint64_t due_ns; /* when the heap calls it */
    size_t heap_index;
    bool is_cancelled;                            /* (M) it stands in client->cancelled */
    LIST_ENTRY(hami_internal_http_job) cancelled; /* (M) */
    TAILQ_ENTRY(hami_internal_http_job) entry;    /* inbox (M), then client->waiting */
};
TAILQ_HEAD(hami_internal_http_jobs, hami_internal_http_job);
LIST_HEAD(hami_internal_http_job_list, hami_internal_http_job);

/* The jobs by due time: a binary heap. */
struct hami_internal_http_heap {
    struct hami_internal_http_job **jobs;
    size_t count;
    size_t capacity;
};

/* A bearer token in the form that goes out, and a client certificate where that may
 * change while the client lives. Counted, because transfers in flight keep the old ones.
 */
struct hami_internal_http_credentials {
    unsigned references;
    char *header;      /* "Authorization: Bearer ..."; secret; NULL = no token */
    char *certificate; /* PEM, with its key; NULL = none */
    char *key;         /* secret */
};

/* The credential plugin of a client. Its runs are on a thread of their own, one at a
 * time; the client's thread looks at what they bring. */
struct hami_internal_http_exec {
    bool is_used;        /* (C) */
    uint64_t timeout_ms; /* (C) of one run */
    int cancel_fd;       /* (C) can be read once the run is to end; -1 = none */
    bool is_running;     /* there is a thread to be joined */
    bool is_holding;     /* the server refused what we have: requests wait */
    pthread_t thread;
    uint64_t due_ns;     /* of the next run; HAMI_DEADLINE_NEVER = none */
    uint64_t ended_ns;   /* of the last one */
    uint64_t pause_ms;   /* after the last failure; 0 = it did not fail */
    uint64_t refused_ms; /* pause between runs for a 401; 0 = the last were taken */
    /* of the run that is under way */
    bool is_over; /* (M) the rest may be read */
    int code;
    struct hami_internal_exec_credential credential;
    struct hami_error error;
};

/* One exchange in libcurl: a handle that is used again and again, and what came in by it.
 */
struct hami_internal_http_transfer {
    CURL *easy;
    hami_kubernetes *client;
    struct hami_internal_http_job *job;
    LIST_ENTRY(hami_internal_http_transfer) entry; /* large, or free */
    struct hami_internal_http_credentials *credentials;
    struct curl_slist headers[5];
    char error[CURL_ERROR_SIZE];
    bool is_write;
    /* about the exchange under way */
    unsigned sends;     /* how often libcurl came to the point of writing the request */
    int local_port;     /* of the connection that it was sent on last; 0 = none */
    uint32_t stream;    /* HTTP/2 stream of the last send; 0 = none */
    bool is_exchanging; /* on that connection still */
    bool is_refused;    /* the server said that it did not process the last send */
    bool is_resend_stopped; /* libcurl wanted to write it once more, which was stopped */
    bool is_reopen_stopped; /* likewise, over a new connection of its own */
    bool is_behind_scout;   /* not sent: another one was connecting */
    bool is_too_large;
    bool is_out_of_memory;
    bool is_large; /* its answer is larger than libcurl's buffer: see http_nudge.c */
    uint64_t last_byte_ns; /* of a large one */
    long connections;      /* of those that it opened: counted already */
    int status;
    size_t header_bytes;
    uint64_t server_time_us;
    bool has_retry_after;
    uint64_t retry_after_ms;
    struct hami_internal_text body;
};
LIST_HEAD(hami_internal_http_transfers, hami_internal_http_transfer);

/* A connection's server said that it processes no stream above this one. */
#define HAMI_INTERNAL_HTTP_GOAWAYS_MAX 16
struct hami_internal_http_goaway {
    int local_port; /* of the connection; 0 = none */
    uint32_t last_stream;
};

/* Versions of objects, the last of each kind, by a hash; 0 = none. */
#define HAMI_INTERNAL_HTTP_SIGHTS_MAX 64
struct hami_internal_http_sights {
    struct {
        uint64_t version, at_ns;
    } written[HAMI_INTERNAL_HTTP_SIGHTS_MAX], seen[HAMI_INTERNAL_HTTP_SIGHTS_MAX];
    unsigned next_written, next_seen;
};

enum hami_internal_http_state {
    HAMI_INTERNAL_HTTP_WAITING = 0, /* for a place below in_flight_max */
    HAMI_INTERNAL_HTTP_DELAYED,     /* until Retry-After has passed */
    HAMI_INTERNAL_HTTP_IN_FLIGHT
};

struct hami_internal_http_request {
    struct hami_internal_http_job job;
    enum hami_internal_http_state state;
    enum hami_kubernetes_method method;
    const char *url; /* these point into `texts` */
    const char *accept_header;
    const char *content_header;
    const char *body; /* NULL = none */
    size_t body_length;
    hami_kubernetes_answered_fn callback;
    void *data;
    uint64_t deadline_ns;
    uint64_t wait_since_ns;
    uint64_t sent_ns; /* the last time that it was handed to libcurl */
    uint64_t local_wait_ns;
    uint64_t place_wait_ns; /* of local_wait_ns: for a place */
    bool is_counted;        /* in stats.requests */
    bool is_doubtful;       /* an earlier try may have been carried out */
    bool maybe_resent;
    unsigned unprocessed_count; /* sends that the server left out, and lost reads */
    bool was_unauthorized;      /* the one retry after 401 is used up */
    struct hami_internal_http_transfer *transfer;
    bool may_be_nudged; /* it stands in client->reads */
    TAILQ_ENTRY(hami_internal_http_request) sent;
    char texts[];
};
TAILQ_HEAD(hami_internal_http_requests, hami_internal_http_request);

struct hami_internal_http_stream {
    struct hami_internal_http_job job;
    struct hami_internal_http_stream_options options;
    const char *url; /* these point into `texts` */
    const char *accept_header;
    uint64_t last_byte_ns;
    bool is_open;
    bool is_silent; /* cancelled: no more lines */
    struct hami_internal_text line;
    struct hami_internal_http_transfer *transfer;
    char texts[];
};

struct hami_internal_http_timer {
    struct hami_internal_http_job job;
    hami_internal_http_timer_fn on_fire;
    void *data;
};

struct hami_kubernetes {
    struct hami_internal_login login; /* (C) */
    char *base_url;                   /* (C) scheme, host, port, prefix of each URL */
    char *host_header;            /* (C) NULL, or "Host: ..." beside tls-server-name */
    char *user_agent;             /* (C) */
    struct curl_slist connect_to; /* (C) data NULL = not used */
    uint32_t in_flight_max;       /* (C) */
    uint64_t request_timeout_ms;  /* (C) */
    uint64_t answer_bytes_max;    /* (C) */
    long buffer_bytes;            /* (C) libcurl's, for each transfer */
    void (*log)(void *data, enum hami_log_level level, const char *line);    /* (C) */
    void *log_data;                                                          /* (C) */
    void (*denied)(void *data, const struct hami_kubernetes_denial *denial); /* (C) */
    void *denied_data;                                                       /* (C) */
    unsigned char *fork_page; /* (C) wiped in a forked child */
    pthread_t thread;         /* (C) */

    pthread_mutex_t mutex;
    struct hami_internal_http_jobs inbox;         /* (M) */
    struct hami_internal_http_job_list cancelled; /* (M) */
    bool is_closing;                              /* (M) */
    bool is_woken;         /* (M) the thread will look at the inbox by itself */
    uint32_t stream_count; /* (M) */
    struct hami_kubernetes_stats stats; /* (M) gauges included */
    struct hami_kubernetes_calls calls; /* (M) */

    CURLM *multi; /* others may wake it only */
    struct hami_internal_http_heap heap;
    struct hami_internal_http_jobs waiting;    /* requests, oldest first */
    struct hami_internal_http_transfers large; /* requests in flight */
    struct hami_internal_http_requests reads;  /* likewise, the one sent first ahead */
    struct hami_internal_http_transfers free_transfers;
    uint32_t in_flight_count; /* requests only */
    uint32_t free_count;
    bool speaks_http2;             /* as the last answer told */
    uint64_t clock_quiet_until_ns; /* our clock's distance from the server's was told */
    const struct hami_internal_http_transfer *scout; /* the last request to connect, until
                                                        it ends; NULL = none */
    struct hami_internal_http_credentials *credentials; /* NULL = no token */
    uint64_t token_looked_ns;
    struct {
        uint64_t device, inode, size, seconds, nanoseconds;
    } token_stamp;
    bool is_token_bad;         /* said in the log */
    bool has_live_certificate; /* a client certificate comes from the credentials */
    struct hami_kubernetes_config made_with; /* (C) with texts of our own: */
    char *made_with_texts[HAMI_INTERNAL_HTTP_CONFIG_TEXTS];
    struct hami_internal_http_renewal
        *renewal; /* (M) a login that is to be used; or NULL */
    struct hami_internal_http_exec exec;
    struct hami_internal_http_goaway goaways[HAMI_INTERNAL_HTTP_GOAWAYS_MAX];
    unsigned next_goaway;
    struct hami_internal_http_sights sights;
    bool is_nudging;
    uint64_t next_nudge_ns;
    uint64_t random;
    bool has_lacks;
    char lacks[HAMI_INTERNAL_HTTP_LACKS_MAX][128]; /* permissions that were told to be
                                                      missing: "patch nodes"; "" = none */
};

/* ---- denial.c ------------------------------------------------------------------- */

/* Tells config.denied of an answer 403 to this request; its body is a Status object. */
void hami_internal_denial_tell(hami_kubernetes *client,
                               enum hami_kubernetes_method method, const char *url,
                               const struct hami_internal_text *body);
/* The same of an answer 2xx, where that permission was told to be missing. */
void hami_internal_denial_over(hami_kubernetes *client,
                               enum hami_kubernetes_method method, const char *url);

/* ---- http_heap.c ---------------------------------------------------------------- */

/* Makes room for one more job, so that a push can't fail. Returns false if out of memory.
 */
bool hami_internal_http_heap_reserve(struct hami_internal_http_heap *heap);
void hami_internal_http_heap_push(struct hami_internal_http_heap *heap,
                                  struct hami_internal_http_job *job);
void hami_internal_http_heap_remove(struct hami_internal_http_heap *heap,
                                    struct hami_internal_http_job *job);
/* Moves a job that is in the heap to another time. */
void hami_internal_http_heap_move(struct hami_internal_http_heap *heap,
                                  struct hami_internal_http_job *job, uint64_t due_ns);
/* The job that is due first; NULL if empty. */
struct hami_internal_http_job *
hami_internal_http_heap_first(const struct hami_internal_http_heap *heap);

/* ---- http_job.c: in and out ----------------------------------------------------- */

/* Puts a new job into the inbox, or says why not; wakes the thread. Returns 0, FORKED,
 * CLOSED, LIMIT. */
int hami_internal_http_job_enter(hami_kubernetes *client,
                                 struct hami_internal_http_job *job);
void hami_internal_http_job_cancel(hami_kubernetes *client,
                                   struct hami_internal_http_job *job);
/* The last step of a job's end, after its callback: forgets it and frees its memory. */
void hami_internal_http_job_free(hami_kubernetes *client,
                                 struct hami_internal_http_job *job);

/* ---- http_request.c, http_stream.c, http_timer.c: what the thread does with each kind
 */

/* Taken from the inbox; stands in the heap already. */
void hami_internal_http_request_enter(hami_kubernetes *client,
                                      struct hami_internal_http_request *request,
                                      uint64_t now);
/* Its time in the heap has come: deadline, or end of a Retry-After. */
void hami_internal_http_request_due(hami_kubernetes *client,
                                    struct hami_internal_http_request *request,
                                    uint64_t now);
/* libcurl is done with its transfer. */
void hami_internal_http_request_done(hami_kubernetes *client,
                                     struct hami_internal_http_request *request,
                                     CURLcode result);
/* Ended from here: HAMI_E_CANCELED or HAMI_E_CLOSED. */
void hami_internal_http_request_end(hami_kubernetes *client,
                                    struct hami_internal_http_request *request, int code);
/* True if the oldest waiting request may be handed to libcurl now. */
bool hami_internal_http_request_may_go(const hami_kubernetes *client);
/* Hands waiting requests to libcurl as long as they may go. */
void hami_internal_http_request_pump(hami_kubernetes *client);

void hami_internal_http_stream_enter(hami_kubernetes *client,
                                     struct hami_internal_http_stream *stream,
                                     uint64_t now);
void hami_internal_http_stream_due(hami_kubernetes *client,
                                   struct hami_internal_http_stream *stream,
                                   uint64_t now);
void hami_internal_http_stream_done(hami_kubernetes *client,
                                    struct hami_internal_http_stream *stream,
                                    CURLcode result);
void hami_internal_http_stream_end(hami_kubernetes *client,
                                   struct hami_internal_http_stream *stream, int code);
/* A line's bytes, and the end of the headers, from the transfer's callbacks. False ends
 * the transfer. */
bool hami_internal_http_stream_receive(struct hami_internal_http_stream *stream,
                                       const char *bytes, size_t length);
void hami_internal_http_stream_opened(struct hami_internal_http_stream *stream);

void hami_internal_http_timer_end(hami_kubernetes *client,
                                  struct hami_internal_http_timer *timer, int code);

/* ---- http_transfer.c ------------------------------------------------------------ */

struct hami_internal_http_exchange {
    enum hami_kubernetes_method method;
    const char *url;
    const char *accept_header;
    const char *content_header; /* NULL = no body */
    const char *body;
    size_t body_length;
};

/*
 * Hands an exchange to libcurl. Texts are borrowed until the transfer is given back.
 * Returns 0, NOMEM, ACCESS (no token could be read)
 */
int hami_internal_http_transfer_start(hami_kubernetes *client,
                                      struct hami_internal_http_job *job,
                                      const struct hami_internal_http_exchange *exchange,
                                      struct hami_internal_http_transfer **ret);
/* Takes it out of libcurl (an exchange under way is broken off); what came in can still
 * be read. */
void hami_internal_http_transfer_stop(struct hami_internal_http_transfer *transfer);
/* Gives it back to the pool. */
void hami_internal_http_transfer_free(struct hami_internal_http_transfer *transfer);
/* Closes a pooled or stopped handle for good. */
void hami_internal_http_transfer_destroy(struct hami_internal_http_transfer *transfer);

/* ---- http_delivery.c ------------------------------------------------------------ */

/* libcurl's CURLOPT_PREREQFUNCTION: asked before each send of a request. data: the
 * transfer. */
int hami_internal_http_delivery_before_send(void *data, char *remote_address,
                                            char *local_address, int remote_port,
                                            int local_port);
/* libcurl's CURLOPT_OPENSOCKETFUNCTION. data: the transfer. */
curl_socket_t hami_internal_http_delivery_open_socket(void *data, curlsocktype purpose,
                                                      struct curl_sockaddr *address);
/* True if other requests are to wait for the connection that one is making. */
bool hami_internal_http_delivery_is_scouting(const hami_kubernetes *client);
/* libcurl's CURLOPT_DEBUGFUNCTION. */
int hami_internal_http_delivery_debug(CURL *easy, curl_infotype type, char *bytes,
                                      size_t length, void *data);
/* True if the request may have been processed: it was sent, and the server did not say
 * that it was left out. */
bool hami_internal_http_delivery_is_doubtful(
    const struct hami_internal_http_transfer *transfer);

/* ---- http_calls.c --------------------------------------------------------------- */

/* An answer has come, or (status 0) none will: counted by verb and code. sent_ns 0 = no
 * duration. */
void hami_internal_http_calls_count(hami_kubernetes *client,
                                    enum hami_kubernetes_method method, const char *url,
                                    int status, uint64_t sent_ns);
/* A watch has ended likewise. */
void hami_internal_http_calls_count_watch(hami_kubernetes *client, int status);
/* A write was answered with this body: its version is looked for in watches. */
void hami_internal_http_calls_wrote(hami_kubernetes *client, const char *body);

/* ---- http_nudge.c --------------------------------------------------------------- */

/* A request was handed to libcurl, at its sent_ns; it is in flight no more. */
void hami_internal_http_nudge_sent(hami_kubernetes *client,
                                   struct hami_internal_http_request *request);
void hami_internal_http_nudge_landed(hami_kubernetes *client,
                                     struct hami_internal_http_request *request);
/* A piece of a request's answer has come, and is counted in the transfer. */
void hami_internal_http_nudge_count(struct hami_internal_http_transfer *transfer);
/* The transfer is libcurl's no more. */
void hami_internal_http_nudge_forget(struct hami_internal_http_transfer *transfer);
/* Nudges the server if an answer stands still. */
void hami_internal_http_nudge_look(hami_kubernetes *client);
/* Milliseconds until the next look may have something to do; UINT64_MAX: none. */
uint64_t hami_internal_http_nudge_wait_ms(const hami_kubernetes *client);

/* ---- http_options.c ------------------------------------------------------------- */

/* Sets what never changes on a new handle: TLS, proxy, protocols, sockets. Returns false
 * on failure. */
bool hami_internal_http_options_set(const hami_kubernetes *client, CURL *easy);

/* ---- http_credentials.c --------------------------------------------------------- */

/* First read, at _new. Returns 0, ACCESS, INVAL, NOMEM. */
int hami_internal_http_credentials_open(hami_kubernetes *client,
                                        struct hami_error *reterr);
/* Looks whether the token's file has changed: at most once a second, or at once. */
void hami_internal_http_credentials_look(hami_kubernetes *client, bool at_once);
struct hami_internal_http_credentials *
hami_internal_http_credentials_get(hami_kubernetes *client);
void hami_internal_http_credentials_free(
    struct hami_internal_http_credentials *credentials);

/* Takes a token, a certificate with its key, or both into use; NULL = none. The same as
 * before changes nothing. Returns 0, NOMEM. */
int hami_internal_http_credentials_use(hami_kubernetes *client, const char *token,
                                       const char *certificate, const char *key);

/* ---- http_renew.c --------------------------------------------------------------- */

/* Keeps what a reload goes by. Returns 0, NOMEM. */
int hami_internal_http_renew_keep(hami_kubernetes *client,
                                  const struct hami_kubernetes_config *config);
void hami_internal_http_renew_done(hami_kubernetes *client);
/* Takes a login that was read again into use. */
void hami_internal_http_renew_look(hami_kubernetes *client);

/* ---- http_exec.c ---------------------------------------------------------------- */

/* The first run, at _new: blocks. Returns 0 (also without a plugin), ACCESS, NOMEM. */
int hami_internal_http_exec_open(hami_kubernetes *client, uint64_t timeout_ms,
                                 struct hami_error *reterr);
/* Ends a run that is under way, and frees; once the thread is gone, or was never there.
 */
void hami_internal_http_exec_close(hami_kubernetes *client);
/* Takes what a run has brought; starts one that is due. */
void hami_internal_http_exec_look(hami_kubernetes *client);
/* Milliseconds until the next one is due; UINT64_MAX = none. */
uint64_t hami_internal_http_exec_wait_ms(const hami_kubernetes *client);
/*
 * The server answered 401 to these credentials.
 * Returns   true if the request is to be sent again: there are newer ones, or a run has
 *           been started that holds up all requests until it is over
 */
bool hami_internal_http_exec_refused(
    hami_kubernetes *client, const struct hami_internal_http_credentials *credentials);

/* ---- request.c ------------------------------------------------------------------ */

/* From "/" on, printable ASCII without blanks and '#', bounded. */
bool hami_internal_http_path_is_valid(const char *path);
/* Can stand in a header: printable ASCII, bounded, not empty. */
bool hami_internal_http_value_is_valid(const char *value);

/* ---- http_loop.c ---------------------------------------------------------------- */

int hami_internal_http_loop_start(hami_kubernetes *client, struct hami_error *reterr);
void hami_internal_http_loop_stop(hami_kubernetes *client);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP/1.1 server on an event loop, for TCP and unix sockets, made for answers
 * that come late: thousands of requests may be parked on one thread, and a client that
 * goes away is noticed while its request is parked.
 *
 *  - A route's handler gets an exchange when the whole request was read, and answers it
 * at once or later, exactly once, by hamid_http_answer(). The exchange is the server's;
 * after the answer it must not be touched.
 *  - Requests are handed out in the order in which their last bytes came to this machine,
 * whatever connections they came on.
 *  - If the client goes first, the function given to hamid_http_on_gone() is called,
 * once; the exchange must not be touched afterwards. Without such a function a late
 * answer has to be avoided in another way, so give one whenever the answer does not come
 * inside the handler.
 *  - Bytes that come after a request and before its answer (pipelining) are thrown away;
 * the connection closes after the answer.
 *  - Everything is bounded: connections, head and body sizes, what all connections hold
 * together, the time to shake hands, to send a whole request, to take an answer, and to
 * be idle. All of it runs on the loop's thread.
 *  - Where connections run out, the one that has been silent longest makes room; where
 * none is silent, callers wait in the kernel's queue. A request that was read is never
 * given up.
 */
#ifndef HAMID_HTTP_SERVER_H
#define HAMID_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_base;
struct evbuffer;
struct hamid_tls;
struct hamid_http_server;
struct hamid_http_exchange;

typedef void (*hamid_http_handler)(struct hamid_http_exchange *exchange, void *data);

struct hamid_http_route {
    const char *method;
    const char *path; /* exact; or what it begins with, where it ends with '*' */
    hamid_http_handler handle;
    size_t body_bytes_max; /* 0 = no body is taken */
    bool wants_json;       /* another content type is refused with 415 */
};

struct hamid_http_config {
    const struct hamid_http_route *routes; /* borrowed for the server's life */
    size_t route_count;
    const char *const *hosts; /* names (without port) that a Host header may have;
                                 borrowed; NULL = any */
    size_t host_count;
    bool takes_addresses; /* a Host that is an IP address is right as well: a page of
                             another site can bend names to this listener, not those */
    /* NULL = plain text. Else answers a request that was refused before its handler was
     * called: 400, 403, 404, 405, 408, 411, 413, 415, 417, 421, 431, 501, 503, 505.
     * hamid_http_path() is NULL where it is not known. Must answer inside. */
    void (*refuse)(struct hamid_http_exchange *exchange, int status, const char *text,
                   void *data);
    void *data; /* handed to refuse and to each handler */
    /* NULL = plain text. Borrowed for the server's life; unix sockets stay plain. */
    struct hamid_tls *tls;
    const char *const *client_names; /* common names that a client's certificate may have;
                                        borrowed; others get 403; NULL = any */
    size_t client_name_count;
    size_t connections_max; /* 0 = 20000 */
    size_t unrequested_max; /* connections without a whole request; 0 = three quarters */
    size_t held_bytes_max;  /* in buffers of all connections together; 0 = 256 MiB. One
                               that would pass it is refused with 503 */
    uint64_t handshake_ms;  /* of TLS; 0 = 10000 */
    uint64_t read_ms;       /* a whole request, from its first byte; 0 = 10000 */
    uint64_t idle_ms;       /* without a byte of a request; 0 = 120000 */
    uint64_t write_ms;      /* taking a whole answer; 0 = 30000 */
};

struct hamid_http_stats {
    uint64_t accepted;
    uint64_t evicted;           /* silent connections closed for want of room */
    uint64_t pauses;            /* times that listening paused for want of room */
    uint64_t handshakes;        /* of TLS that succeeded */
    uint64_t handshakes_failed; /* or took too long */
};

/* Who is at the other end of a unix socket. */
struct hamid_http_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

/* NULL without memory. @config copied, what it points to borrowed as said there. */
struct hamid_http_server *hamid_http_server_new(struct event_base *base,
                                                const struct hamid_http_config *config);

/* Closes listeners and connections; pending exchanges get their gone-function. Takes
 * NULL. */
struct hamid_http_server *hamid_http_server_free(struct hamid_http_server *server);

/*
 * Listens on a TCP address: "127.0.0.1:8080", "[::1]:0", "localhost:8080", ":8080" (all
 * addresses).
 * @address  receives what was bound, as "127.0.0.1:41234"; NULL = not wanted
 * @error    receives one line on failure
 * Returns   0, or -1
 */
int hamid_http_listen_tcp(struct hamid_http_server *server, const char *text,
                          char *address, size_t address_size, char *error,
                          size_t error_size);

/*
 * The same on a TCP socket that listens already.
 * @fd       non-blocking, and closed on exec; the server's from now on, on failure too
 */
int hamid_http_listen_fd(struct hamid_http_server *server, int fd, char *address,
                         size_t address_size, char *error, size_t error_size);

/*
 * Listens on a unix socket. A socket file that nobody answers on any more is replaced;
 * one that is alive is an error. The file is removed when the server is freed.
 * @mode     of the file, such as 0600
 * Returns   0, or -1
 */
int hamid_http_listen_unix(struct hamid_http_server *server, const char *path,
                           mode_t mode, char *error, size_t error_size);

/* Takes no new connections, and closes each one after its answer. */
void hamid_http_server_drain(struct hamid_http_server *server);

/* Connections; and among them those whose request is read but not wholly answered. */
size_t hamid_http_server_connections(const struct hamid_http_server *server);
size_t hamid_http_server_busy(const struct hamid_http_server *server);

void hamid_http_server_stats(const struct hamid_http_server *server,
                             struct hamid_http_stats *ret);

/* Is a TCP address as above one of the loopback? False too where it can't be resolved. */
bool hamid_http_is_loopback(const char *text);

/* ---- one exchange. Texts are borrowed until the answer. ------------------------- */

const char *hamid_http_path(const struct hamid_http_exchange *exchange);
const char *hamid_http_query(const struct hamid_http_exchange *exchange); /* "" without */
bool hamid_http_has_query(const struct hamid_http_exchange *exchange, const char *word);
const char *hamid_http_header(const struct hamid_http_exchange *exchange,
                              const char *name);

/* The request's body; the handler may take its bytes. Never NULL. */
struct evbuffer *hamid_http_body(struct hamid_http_exchange *exchange);

/* The body as one text, ended with NUL; NULL without memory. */
const char *hamid_http_body_text(struct hamid_http_exchange *exchange,
                                 size_t *ret_length);

/* False over TCP. */
bool hamid_http_peer(const struct hamid_http_exchange *exchange,
                     struct hamid_http_peer *ret);

/*
 * Lets go of the request's texts and its body, for one that is parked and needs them no
 * more: method, path and headers are NULL from now on, the body is empty.
 */
void hamid_http_release_request(struct hamid_http_exchange *exchange);

/* See above; replaces the one given before. NULL = nobody is told. */
void hamid_http_on_gone(struct hamid_http_exchange *exchange, void (*gone)(void *data),
                        void *data);

/*
 * Further headers of the answer, given before it.
 * @lines    borrowed until the answer is made; each line ends with CR LF
 */
void hamid_http_set_headers(struct hamid_http_exchange *exchange, const char *lines);

/* Answers; consumes the exchange. @content_type NULL = none (204) */
void hamid_http_answer(struct hamid_http_exchange *exchange, int status,
                       const char *content_type, const void *body, size_t length);

/* The same with the bytes of a buffer, which is left empty. */
void hamid_http_answer_buffer(struct hamid_http_exchange *exchange, int status,
                              const char *content_type, struct evbuffer *body);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connected socket, with or without TLS, that never blocks: what came in goes to
 * `input`, what is in `output` goes out. It keeps the moment at which the kernel got the
 * bytes that were read last, which a library's own buffered reader would lose.
 *
 * With TLS the handshake goes on by itself with reading.
 */
#ifndef HAMID_HTTP_STREAM_H
#define HAMID_HTTP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <event2/buffer.h>
#include <openssl/ssl.h>

struct hamid_http_stream {
    int fd;
    SSL *ssl; /* NULL = plain text */
    struct evbuffer *input;
    struct evbuffer *output;
    uint64_t arrived_ns; /* of the last bytes that were read; CLOCK_REALTIME */
    bool is_shaken;      /* the handshake is over; true without TLS */
    bool is_broken;      /* TLS can't go on: neither reading nor writing does anything */
    bool reading_wants_room; /* reading goes on when the socket can be written */
};

enum hamid_http_read {
    HAMID_HTTP_READ_BYTES,
    HAMID_HTTP_READ_NOTHING,
    HAMID_HTTP_READ_END,    /* of the stream, or it is broken */
    HAMID_HTTP_READ_NO_TLS, /* plain HTTP where TLS was expected: a plain answer fits */
    HAMID_HTTP_READ_BAD_SHAKE, /* the handshake failed; the reason is in `failure` */
};

enum hamid_http_write {
    HAMID_HTTP_WRITE_ALL, /* the output is empty */
    HAMID_HTTP_WRITE_SOME,
    HAMID_HTTP_WRITE_BROKEN
};

#define HAMID_HTTP_FAILURE_MAX 160

/*
 * @fd       the stream's from now on, on failure too
 * @ssl      consumed; NULL = plain text
 * Returns   false without memory; hamid_http_stream_done() is safe then
 */
bool hamid_http_stream_init(struct hamid_http_stream *stream, int fd, SSL *ssl);

/* Says goodbye where TLS is whole, and closes. */
void hamid_http_stream_done(struct hamid_http_stream *stream);

/* Have the kernel stamp what comes in on the sockets that this one accepts. */
void hamid_http_stream_want_stamps(int fd);

/*
 * Appends what there is, up to some limit, to the input.
 * @failure  HAMID_HTTP_FAILURE_MAX bytes; receives a line with BAD_SHAKE
 */
enum hamid_http_read hamid_http_stream_read(struct hamid_http_stream *stream,
                                            char *failure);

/* Sends of the output what the socket takes, up to some limit. */
enum hamid_http_write hamid_http_stream_write(struct hamid_http_stream *stream);

/* Ends this direction. What still comes in is read as it is, decrypted no more. */
void hamid_http_stream_end(struct hamid_http_stream *stream);

#endif

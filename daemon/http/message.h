/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 requests as text: the head, and the chunked coding. Pure, and strict: what two
 * readers could take differently (a folded header, two lengths, a bare line feed) is
 * refused.
 */
#ifndef HAMID_HTTP_MESSAGE_H
#define HAMID_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAMID_HTTP_HEADERS_MAX 64
#define HAMID_HTTP_HEAD_MAX 16384 /* bytes of request line and headers */

struct evbuffer;

struct hamid_http_header {
    const char *name;
    const char *value;
};

/* A request's head; all texts lie within the text that was parsed. */
struct hamid_http_head {
    const char *method;
    const char *path;  /* begins with '/'; not decoded */
    const char *query; /* after '?'; "" without */
    size_t header_count;
    int version_minor; /* of HTTP/1 */
    bool has_host;
    bool has_body_length;
    uint64_t body_length;
    bool is_chunked;
    bool keep_alive;
    bool expects_continue;
    struct hamid_http_header headers[HAMID_HTTP_HEADERS_MAX]; /* last: who keeps a head
                                                                 keeps header_count */
};

/*
 * Takes a head apart.
 * @text     length bytes that end with the empty line; changed, and kept by ret
 * Returns   0, or the HTTP status to refuse it with: 400, 417, 431, 501, 505
 */
int hamid_http_head_parse(char *text, size_t length, struct hamid_http_head *ret);

/* The value of the first header of that name, NULL without. */
const char *hamid_http_head_header(const struct hamid_http_head *head, const char *name);

/* Is a Content-Type value JSON's ("application/json", with or without parameters)? */
bool hamid_http_is_json(const char *content_type);

/* Where the decoding of a chunked body stands; zero is the beginning. */
struct hamid_http_chunks {
    enum {
        HAMID_CHUNK_SIZE = 0,
        HAMID_CHUNK_DATA,
        HAMID_CHUNK_END,
        HAMID_CHUNK_TRAILER
    } state;
    uint64_t left;
    size_t trailer_bytes;
};

/*
 * Moves what can be decoded from `in` to `out`.
 * @limit    bytes that `out` may come to
 * Returns   1 - the body is complete; 0 - more is needed; or the status to refuse it
 * with: 400, 413
 */
int hamid_http_chunks_feed(struct hamid_http_chunks *chunks, struct evbuffer *in,
                           struct evbuffer *out, size_t limit);

/* "OK" for 200 and so on; "Status" for one that is not known. */
const char *hamid_http_reason(int status);

#endif

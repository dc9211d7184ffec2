/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS runs over a BIO of our own, because OpenSSL's reads with read(2), which tells no
 * stamp. A record that has been begun is read to its end: nothing stays inside OpenSSL
 * that the event loop would not know of.
 */
#include "stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#define READ_MAX (64u << 10)   /* of one turn, and one TLS record more */
#define WRITE_MAX (256u << 10) /* likewise */
#define RECORD_MAX (16u << 10)

/* ---- the socket ----------------------------------------------------------------- */

void hamid_http_stream_want_stamps(int fd)
{
    int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one));
}

static uint64_t nanoseconds(const struct timespec *when)
{
    return (uint64_t)when->tv_sec * 1000000000 + (uint64_t)when->tv_nsec;
}

/* The stamps of the kernel are of this clock. */
static uint64_t stamp_of(struct msghdr *message)
{
    struct timespec when;
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    for (; part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            memcpy(&when, CMSG_DATA(part), sizeof(when));
            return nanoseconds(&when);
        }
    }
    (void)clock_gettime(CLOCK_REALTIME, &when);
    return nanoseconds(&when);
}

static bool is_for_later(int number)
{
    return number == EAGAIN || number == EWOULDBLOCK || number == EINTR;
}

/* As recv(2) does, and keeps the stamp. */
static ssize_t receive(struct hamid_http_stream *stream, void *bytes, size_t size)
{
    union {
        char space[CMSG_SPACE(sizeof(struct timespec))];
        struct cmsghdr aligned;
    } control;
    struct iovec piece = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(stream->fd, &message, MSG_DONTWAIT);
    if (length > 0) {
        stream->arrived_ns = stamp_of(&message);
    }
    return length;
}

/* ---- the socket as OpenSSL sees it ---------------------------------------------- */

static int bio_read(BIO *bio, char *bytes, int size)
{
    ssize_t length = receive(BIO_get_data(bio), bytes, (size_t)size);
    BIO_clear_retry_flags(bio);
    if (length < 0 && is_for_later(errno)) {
        BIO_set_retry_read(bio);
    }
    return (int)length;
}

static int bio_write(BIO *bio, const char *bytes, int size)
{
    struct hamid_http_stream *stream = BIO_get_data(bio);
    ssize_t length = send(stream->fd, bytes, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (length < 0 && is_for_later(errno)) {
        BIO_set_retry_write(bio);
    }
    return (int)length;
}

static long bio_control(BIO *bio, int command, long number, void *data)
{
    (void)bio;
    (void)number;
    (void)data;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method;

static void make_bio_method(void)
{
    BIO_METHOD *method =
        BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "hamid");
    if (method != NULL && BIO_meth_set_read(method, bio_read) == 1 &&
        BIO_meth_set_write(method, bio_write) == 1 &&
        BIO_meth_set_ctrl(method, bio_control) == 1) {
        bio_method = method;
    } else {
        BIO_meth_free(method);
    }
}

static bool attach(struct hamid_http_stream *stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_bio_method);
    BIO *bio = bio_method != NULL ? BIO_new(bio_method) : NULL;
    if (bio == NULL) {
        return false;
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(stream->ssl, bio, bio);
    SSL_set_accept_state(stream->ssl);
    return true;
}

/* ---- TLS ------------------------------------------------------------------------ */

static void drop_tls(struct hamid_http_stream *stream)
{
    SSL_free(stream->ssl);
    stream->ssl = NULL;
    stream->is_shaken = true;
    stream->reading_wants_room = false;
}

/* What a step that gave no bytes means. */
static enum hamid_http_read take_step(struct hamid_http_stream *stream, int result)
{
    int kind = SSL_get_error(stream->ssl, result);
    stream->reading_wants_room = kind == SSL_ERROR_WANT_WRITE;
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        return HAMID_HTTP_READ_NOTHING;
    }
    stream->is_broken = kind != SSL_ERROR_ZERO_RETURN;
    return HAMID_HTTP_READ_END;
}

/* The reason of a handshake's end, from OpenSSL's queue and the certificate's verdict. */
static void describe_failure(const struct hamid_http_stream *stream, char *failure)
{
    unsigned long code = ERR_peek_last_error();
    long verdict = SSL_get_verify_result(stream->ssl);
    const char *reason = ERR_reason_error_string(code);
    (void)snprintf(failure, HAMID_HTTP_FAILURE_MAX, "%s%s%s",
                   code == 0        ? "the client went away"
                   : reason != NULL ? reason
                                    : "no reason given",
                   verdict != X509_V_OK ? ": " : "",
                   verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : "");
}

static enum hamid_http_read shake(struct hamid_http_stream *stream, char *failure)
{
    ERR_clear_error();
    int result = SSL_do_handshake(stream->ssl);
    if (result == 1) {
        stream->is_shaken = true;
        stream->reading_wants_room = false;
        return HAMID_HTTP_READ_NOTHING;
    }
    bool is_http = ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_HTTP_REQUEST;
    describe_failure(stream, failure);
    if (take_step(stream, result) == HAMID_HTTP_READ_NOTHING) {
        return HAMID_HTTP_READ_NOTHING;
    }
    if (is_http) {
        drop_tls(stream);
        stream->is_broken = false;
        return HAMID_HTTP_READ_NO_TLS;
    }
    return HAMID_HTTP_READ_BAD_SHAKE;
}

static enum hamid_http_read read_tls(struct hamid_http_stream *stream)
{
    char bytes[RECORD_MAX];
    size_t sum = 0;
    ERR_clear_error();
    while (sum < READ_MAX || SSL_pending(stream->ssl) > 0) {
        int length = SSL_read(stream->ssl, bytes, sizeof(bytes));
        if (length <= 0) {
            enum hamid_http_read end = take_step(stream, length);
            return sum > 0 && !stream->is_broken ? HAMID_HTTP_READ_BYTES : end;
        }
        if (evbuffer_add(stream->input, bytes, (size_t)length) != 0) {
            return HAMID_HTTP_READ_END;
        }
        sum += (size_t)length;
    }
    return HAMID_HTTP_READ_BYTES;
}

/* One record at a time; what is left of the output stays where it is. */
static enum hamid_http_write write_tls(struct hamid_http_stream *stream)
{
    size_t sum = 0;
    ERR_clear_error();
    while (sum < WRITE_MAX && evbuffer_get_length(stream->output) > 0) {
        size_t size = evbuffer_get_length(stream->output);
        size = size < RECORD_MAX ? size : RECORD_MAX;
        const unsigned char *bytes = evbuffer_pullup(stream->output, (ev_ssize_t)size);
        int length = bytes != NULL ? SSL_write(stream->ssl, bytes, (int)size) : -1;
        if (length <= 0) {
            bool is_later = bytes != NULL &&
                            SSL_get_error(stream->ssl, length) == SSL_ERROR_WANT_WRITE;
            stream->is_broken = !is_later;
            return is_later ? HAMID_HTTP_WRITE_SOME : HAMID_HTTP_WRITE_BROKEN;
        }
        (void)evbuffer_drain(stream->output, (size_t)length);
        sum += (size_t)length;
    }
    return evbuffer_get_length(stream->output) == 0 ? HAMID_HTTP_WRITE_ALL
                                                    : HAMID_HTTP_WRITE_SOME;
}

static void say_goodbye(struct hamid_http_stream *stream)
{
    if (stream->ssl != NULL && stream->is_shaken && !stream->is_broken) {
        ERR_clear_error();
        (void)SSL_shutdown(stream->ssl);
    }
}

/* ---- plain text ----------------------------------------------------------------- */

static enum hamid_http_read read_plain(struct hamid_http_stream *stream)
{
    char bytes[READ_MAX];
    ssize_t length = receive(stream, bytes, sizeof(bytes));
    if (length < 0 && is_for_later(errno)) {
        return HAMID_HTTP_READ_NOTHING;
    }
    if (length <= 0 || evbuffer_add(stream->input, bytes, (size_t)length) != 0) {
        return HAMID_HTTP_READ_END;
    }
    return HAMID_HTTP_READ_BYTES;
}

static enum hamid_http_write write_plain(struct hamid_http_stream *stream)
{
    if (evbuffer_get_length(stream->output) > 0 &&
        evbuffer_write_atmost(stream->output, stream->fd, WRITE_MAX) < 0 &&
        !is_for_later(errno)) {
        return HAMID_HTTP_WRITE_BROKEN;
    }
    return evbuffer_get_length(stream->output) == 0 ? HAMID_HTTP_WRITE_ALL
                                                    : HAMID_HTTP_WRITE_SOME;
}

/* ---- public --------------------------------------------------------------------- */

bool hamid_http_stream_init(struct hamid_http_stream *stream, int fd, SSL *ssl)
{
    memset(stream, 0, sizeof(*stream));
    stream->fd = fd;
    stream->ssl = ssl;
    stream->is_shaken = ssl == NULL;
    stream->input = evbuffer_new();
    stream->output = evbuffer_new();
    return stream->input != NULL && stream->output != NULL &&
           (ssl == NULL || attach(stream));
}

void hamid_http_stream_done(struct hamid_http_stream *stream)
{
    say_goodbye(stream);
    SSL_free(stream->ssl);
    (void)close(stream->fd);
    if (stream->input != NULL) {
        evbuffer_free(stream->input);
    }
    if (stream->output != NULL) {
        evbuffer_free(stream->output);
    }
}

enum hamid_http_read hamid_http_stream_read(struct hamid_http_stream *stream,
                                            char *failure)
{
    if (stream->is_broken) {
        return HAMID_HTTP_READ_END;
    }
    if (stream->ssl == NULL) {
        return read_plain(stream);
    }
    if (!stream->is_shaken) {
        enum hamid_http_read found = shake(stream, failure);
        if (!stream->is_shaken || stream->ssl == NULL) {
            return found;
        }
    }
    return read_tls(stream);
}

enum hamid_http_write hamid_http_stream_write(struct hamid_http_stream *stream)
{
    if (stream->is_broken) {
        return HAMID_HTTP_WRITE_BROKEN;
    }
    return stream->ssl != NULL ? write_tls(stream) : write_plain(stream);
}

void hamid_http_stream_end(struct hamid_http_stream *stream)
{
    say_goodbye(stream);
    drop_tls(stream);
    stream->is_broken = false;
    (void)shutdown(stream->fd, SHUT_WR);
}

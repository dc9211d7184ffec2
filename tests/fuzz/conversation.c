/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See conversation.h. Both ends are on one thread, so nothing ever waits. */
#include "conversation.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <jansson.h>

#include "http/internal.h"
#include "log.h"

#define OUTPUT_MAX (1u << 20)
#define TURNS 4 /* of the loop: more than one event may follow from a piece */

static char output[OUTPUT_MAX + 1];
static size_t output_length;

/* ---- the log ---- */

/* What log.c calls here in write's place: whatever came in, a log line is one line. */
ssize_t fuzz_log_write(int fd, const void *bytes, size_t length);

ssize_t fuzz_log_write(int fd, const void *bytes, size_t length)
{
    const char *line = bytes;

    FUZZ_CHECK(fd == STDERR_FILENO && length > 1 && line[length - 1] == '\n');
    for (size_t i = 0; i + 1 < length; i++) {
        FUZZ_CHECK((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
    }
    if (line[0] == '{') {
        json_t *value = json_loadb(line, length, 0, NULL);
        FUZZ_CHECK(json_is_object(value));
        json_decref(value);
    }
    return (ssize_t)length;
}

/* ---- answers ---- */

/* The value of a header of this head; NULL without. The head ends with an empty line. */
static const char *header(const char *head, const char *name)
{
    const char *end = strstr(head, "\r\n\r\n");
    const char *at = strcasestr(head, name);

    return at != NULL && at < end ? at + strlen(name) : NULL;
}

/* One answer from `at` on; returns what follows it. */
static char *read_answer(const struct conversation *conversation, char *at)
{
    char type[128] = "";
    char *body = strstr(at, "\r\n\r\n");

    FUZZ_CHECK(strncmp(at, "HTTP/1.1 ", 9) == 0 && body != NULL);
    int status = atoi(at + 9);
    FUZZ_CHECK(status >= 100 && status <= 599);
    body += 4;
    const char *length_text = header(at, "\r\nContent-Length: ");
    const char *content_type = header(at, "\r\nContent-Type: ");
    size_t length = length_text != NULL ? strtoul(length_text, NULL, 10) : 0;
    FUZZ_CHECK((length_text != NULL) == (status != 204 && status != 100));
    FUZZ_CHECK(length <= output_length - (size_t)(body - output));
    if (content_type != NULL) {
        (void)snprintf(type, sizeof(type), "%.*s", (int)strcspn(content_type, "\r"),
                       content_type);
    }
    char behind = body[length];
    body[length] = '\0';
    FUZZ_CHECK(strlen(body) == length);
    if (status != 100) {
        conversation->answered(status, type, body);
    }
    body[length] = behind;
    return body + length;
}

static void read_answers(const struct conversation *conversation)
{
    char *at = output;

    output[output_length] = '\0';
    while (at < output + output_length) {
        at = read_answer(conversation, at);
    }
}

/* ---- the connection ---- */

static void listen_to(int fd)
{
    for (;;) {
        ssize_t got = recv(fd, output + output_length, OUTPUT_MAX - output_length, 0);
        if (got <= 0) {
            FUZZ_CHECK(output_length < OUTPUT_MAX);
            return;
        }
        output_length += (size_t)got;
    }
}

static void turn(const struct conversation *conversation, int fd)
{
    for (int i = 0; i < TURNS; i++) {
        (void)event_base_loop(conversation->base, EVLOOP_NONBLOCK);
        listen_to(fd);
    }
    if (conversation->pause != NULL) {
        conversation->pause();
        (void)event_base_loop(conversation->base, EVLOOP_NONBLOCK);
        listen_to(fd);
    }
}

/* Says a part; false once the server has hung up. */
static bool say(const struct conversation *conversation, int fd, const char *bytes,
                size_t length, size_t piece)
{
    while (length > 0) {
        size_t part = piece > 0 && piece < length ? piece : length;
        ssize_t sent = send(fd, bytes, part, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) {
            return false;
        }
        turn(conversation, fd);
        if (sent < 0) {
            return false; /* it does not read: nothing more is to be said */
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static void talk(const struct conversation *conversation, int fd, const uint8_t *data,
                 size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    size_t piece = fuzz_byte(&input);
    bool goes_on = true;

    while (goes_on) {
        size_t length = 0;
        char *part = fuzz_take(&input, "\x1e", &length);
        if (part == NULL) {
            break;
        }
        goes_on = say(conversation, fd, part, length, piece);
        turn(conversation, fd);
        free(part);
    }
}

void conversation_hold(const struct conversation *conversation, const uint8_t *data,
                       size_t size)
{
    struct hamid_http_server *server = conversation->server;
    int fds[2];

    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) ==
               0);
    output_length = 0;
    hamid_log_setup(9, size % 2 == 0);
    hamid_http_connection_open(server, fds[1], conversation->is_unix);
    talk(conversation, fds[0], data, size);
    (void)shutdown(fds[0], SHUT_WR);
    turn(conversation, fds[0]);
    (void)close(fds[0]);
    for (int i = 0; i < TURNS; i++) {
        (void)event_base_loop(conversation->base, EVLOOP_NONBLOCK);
    }
    FUZZ_CHECK(hamid_http_server_connections(server) == 0);
    FUZZ_CHECK(hamid_http_server_busy(server) == 0);
    FUZZ_CHECK(server->held_bytes == 0);
    read_answers(conversation);
}

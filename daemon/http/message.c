/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 requests as text. Pure: bytes in, a struct or a status out.
 */
#include "message.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <event2/buffer.h>

#define TRAILER_MAX 4096
#define CHUNK_LINE_MAX 256

static bool is_token_character(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_token(const char *text)
{
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (!is_token_character((unsigned char)*text)) {
            return false;
        }
    }
    return true;
}

/* No control characters but the tab, which only a header's value may have. */
static bool is_printable(const char *text, bool tab)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x20 && !(tab && c == '\t')) || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Cuts the next line off at its CR LF; NULL where there is none, or a bare CR, LF or NUL
 * before it. */
static char *cut_line(char **text, char *end)
{
    char *line = *text;
    for (char *at = line; at + 1 < end; at++) {
        if (*at == '\r' && at[1] == '\n') {
            *at = '\0';
            *text = at + 2;
            return line;
        }
        if (*at == '\r' || *at == '\n' || *at == '\0') {
            return NULL;
        }
    }
    return NULL;
}

static int parse_request_line(char *line, struct hamid_http_head *ret)
{
    char *target = strchr(line, ' ');
    if (target == NULL) {
        return 400;
    }
    *target++ = '\0';
    char *version = strchr(target, ' ');
    if (version == NULL) {
        return 400;
    }
    *version++ = '\0';
    if (!is_token(line) || *target != '/' || !is_printable(target, false)) {
        return 400;
    }
    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        return strncmp(version, "HTTP/", 5) == 0 ? 505 : 400;
    }
    char *query = strchr(target, '?');
    if (query != NULL) {
        *query++ = '\0';
    }
    ret->method = line;
    ret->path = target;
    ret->query = query != NULL ? query : "";
    ret->version_minor = version[7] - '0';
    ret->keep_alive = ret->version_minor == 1;
    return 0;
}

static int parse_header(char *line, struct hamid_http_head *ret)
{
    char *value = strchr(line, ':');
    if (value == NULL || *line == ' ' || *line == '\t') {
        return 400;
    }
    *value++ = '\0';
    value += strspn(value, " \t");
    size_t length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) {
        value[--length] = '\0';
    }
    if (!is_token(line) || !is_printable(value, true)) {
        return 400;
    }
    if (ret->header_count == HAMID_HTTP_HEADERS_MAX) {
        return 431;
    }
    ret->headers[ret->header_count].name = line;
    ret->headers[ret->header_count++].value = value;
    return 0;
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (*list != '\0') {
        list += strspn(list, " \t,");
        size_t item = strcspn(list, " \t,");
        if (item == length && strncasecmp(list, word, length) == 0) {
            return true;
        }
        list += item;
    }
    return false;
}

static int read_length(const char *value, struct hamid_http_head *ret)
{
    uint64_t length = 0;
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || digits > 15 || value[digits] != '\0') {
        return 400;
    }
    for (; *value != '\0'; value++) {
        length = length * 10 + (uint64_t)(*value - '0');
    }
    if (ret->has_body_length) {
        return 400; /* one is enough: two readers could take either */
    }
    ret->has_body_length = true;
    ret->body_length = length;
    return 0;
}

/* Headers that say how the request is framed. */
static int read_framing(const struct hamid_http_header *header,
                        struct hamid_http_head *ret)
{
    if (strcasecmp(header->name, "Content-Length") == 0) {
        return read_length(header->value, ret);
    }
    if (strcasecmp(header->name, "Transfer-Encoding") == 0) {
        if (ret->is_chunked || strcasecmp(header->value, "chunked") != 0) {
            return 501;
        }
        ret->is_chunked = true;
    } else if (strcasecmp(header->name, "Host") == 0) {
        if (ret->has_host) {
            return 400;
        }
        ret->has_host = true;
    } else if (strcasecmp(header->name, "Connection") == 0) {
        if (has_word(header->value, "close")) {
            ret->keep_alive = false;
        }
    } else if (strcasecmp(header->name, "Expect") == 0) {
        if (strcasecmp(header->value, "100-continue") != 0) {
            return 417;
        }
        ret->expects_continue = true;
    }
    return 0;
}

int hamid_http_head_parse(char *text, size_t length, struct hamid_http_head *ret)
{
    char *end = text + length;
    memset(ret, 0, sizeof(*ret));
    char *line = cut_line(&text, end);
    int status = line != NULL ? parse_request_line(line, ret) : 400;
    while (status == 0) {
        line = cut_line(&text, end);
        if (line == NULL) {
            return 400;
        }
        if (*line == '\0') {
            break;
        }
        status = parse_header(line, ret);
        if (status == 0) {
            status = read_framing(&ret->headers[ret->header_count - 1], ret);
        }
    }
    /* Before HTTP/1.1 there were no chunks: another reader would see another body. */
    if (status == 0 && ret->is_chunked &&
        (ret->has_body_length || ret->version_minor == 0)) {
        status = 400;
    }
    return status;
}

const char *hamid_http_head_header(const struct hamid_http_head *head, const char *name)
{
    for (size_t i = 0; i < head->header_count; i++) {
        if (strcasecmp(head->headers[i].name, name) == 0) {
            return head->headers[i].value;
        }
    }
    return NULL;
}

bool hamid_http_is_json(const char *content_type)
{
    static const char json[] = "application/json";
    if (content_type == NULL || strncasecmp(content_type, json, sizeof(json) - 1) != 0) {
        return false;
    }
    char after = content_type[sizeof(json) - 1];
    return after == '\0' || after == ';' || after == ' ' || after == '\t';
}

/* ---- chunked coding ------------------------------------------------------------- */

/* Reads a line without its CR LF into buffer. Returns 1, 0 (not there yet) or 400. */
static int read_line(struct evbuffer *in, char *buffer, size_t size)
{
    struct evbuffer_ptr end = evbuffer_search(in, "\r\n", 2, NULL);
    if (end.pos < 0) {
        return evbuffer_get_length(in) >= size ? 400 : 0;
    }
    if ((size_t)end.pos >= size) {
        return 400;
    }
    (void)evbuffer_remove(in, buffer, (size_t)end.pos);
    buffer[end.pos] = '\0';
    (void)evbuffer_drain(in, 2);
    return 1;
}

/* "1a" or "1a;extension". */
static int read_chunk_size(struct hamid_http_chunks *chunks, struct evbuffer *in)
{
    char line[CHUNK_LINE_MAX];
    int got = read_line(in, line, sizeof(line));
    if (got != 1) {
        return got;
    }
    size_t digits = strspn(line, "0123456789abcdefABCDEF");
    if (digits == 0 || digits > 12 || (line[digits] != '\0' && line[digits] != ';')) {
        return 400;
    }
    chunks->left = strtoull(line, NULL, 16);
    chunks->state = chunks->left > 0 ? HAMID_CHUNK_DATA : HAMID_CHUNK_TRAILER;
    return 1;
}

static int read_chunk_data(struct hamid_http_chunks *chunks, struct evbuffer *in,
                           struct evbuffer *out, size_t limit)
{
    if (chunks->left > limit - evbuffer_get_length(out)) {
        return 413;
    }
    int moved = evbuffer_remove_buffer(in, out, (size_t)chunks->left);
    if (moved <= 0) {
        return 0;
    }
    chunks->left -= (uint64_t)moved;
    if (chunks->left == 0) {
        chunks->state = HAMID_CHUNK_END;
    }
    return 1;
}

/* Returns 2 when the trailer, and with it the body, has ended. */
static int read_trailer(struct hamid_http_chunks *chunks, struct evbuffer *in)
{
    char line[CHUNK_LINE_MAX];
    int got = read_line(in, line, sizeof(line));
    if (got != 1) {
        return got;
    }
    chunks->trailer_bytes += strlen(line);
    if (chunks->trailer_bytes > TRAILER_MAX) {
        return 400;
    }
    return line[0] == '\0' ? 2 : 1;
}

int hamid_http_chunks_feed(struct hamid_http_chunks *chunks, struct evbuffer *in,
                           struct evbuffer *out, size_t limit)
{
    char line[4];
    int got = 1;
    while (got == 1) {
        switch (chunks->state) {
        case HAMID_CHUNK_SIZE:
            got = read_chunk_size(chunks, in);
            break;
        case HAMID_CHUNK_DATA:
            got = read_chunk_data(chunks, in, out, limit);
            break;
        case HAMID_CHUNK_END:
            got = read_line(in, line, sizeof(line));
            if (got == 1 && line[0] != '\0') {
                got = 400;
            }
            chunks->state = HAMID_CHUNK_SIZE;
            if (got == 0) {
                chunks->state = HAMID_CHUNK_END;
            }
            break;
        case HAMID_CHUNK_TRAILER:
            got = read_trailer(chunks, in);
            break;
        }
    }
    return got == 2 ? 1 : got;
}

const char *hamid_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {204, "No Content"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].status == status) {
            return reasons[i].reason;
        }
    }
    return "Status";
}

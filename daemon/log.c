/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-line logs. A line is put together on the stack, cut at LINE_MAX_BYTES, and written
 * by one call, so that lines of several threads never mix. The level may be changed at
 * any time; the other settings are written before threads start.
 */
#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096

static atomic_uint log_verbosity = 2;
static bool log_json = false;

struct line {
    char text[LINE_MAX_BYTES];
    size_t length;
};

static void put(struct line *line, const char *text)
{
    size_t room = sizeof(line->text) - 8 - line->length;
    size_t length = strlen(text);
    if (length > room) {
        length = room;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
}

/* A quoted text, escaped so that it stays one line and, in JSON, stays JSON. */
static void put_quoted(struct line *line, const char *text)
{
    put(line, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char piece[8] = {(char)c, '\0'};
        if (c == '"' || c == '\\') {
            piece[0] = '\\';
            piece[1] = (char)c;
            piece[2] = '\0';
        } else if (c < 0x20 || c == 0x7f) {
            (void)snprintf(piece, sizeof(piece), "\\u%04x", c);
        }
        if (line->length + sizeof(piece) + 8 > sizeof(line->text)) {
            break;
        }
        put(line, piece);
    }
    put(line, "\"");
}

/* Milliseconds since 1970, as klog's JSON has it. */
static void put_json_head(struct line *line, enum hamid_log_severity severity,
                          unsigned verbosity, const char *where, const char *message)
{
    static const char *const names[] = {"info", "warning", "error"};
    struct timeval now;
    char head[256];
    (void)gettimeofday(&now, NULL);
    (void)snprintf(
        head, sizeof(head),
        "{\"ts\":%lld%03ld.%03ld,\"caller\":\"%.80s\",\"v\":%u,\"severity\":\"%s\","
        "\"msg\":",
        (long long)now.tv_sec, (long)now.tv_usec / 1000, (long)now.tv_usec % 1000, where,
        verbosity, names[severity]);
    put(line, head);
    put_quoted(line, message);
}

/* klog's header: severity, date and time (UTC), thread, place. */
static void put_text_head(struct line *line, enum hamid_log_severity severity,
                          const char *where, const char *message)
{
    struct timeval now;
    struct tm parts;
    char head[256];
    (void)gettimeofday(&now, NULL);
    (void)gmtime_r(&now.tv_sec, &parts);
    (void)snprintf(head, sizeof(head), "%c%02d%02d %02d:%02d:%02d.%06ld %7ld %.80s] ",
                   "IWE"[severity], parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, (long)now.tv_usec, (long)gettid(), where);
    put(line, head);
    put_quoted(line, message);
}

static void write_line(enum hamid_log_severity severity, unsigned verbosity,
                       const char *where, const char *message, va_list pairs)
{
    struct line line;
    line.length = 0;
    if (log_json) {
        put_json_head(&line, severity, verbosity, where, message);
    } else {
        put_text_head(&line, severity, where, message);
    }
    const char *name = va_arg(pairs, const char *);
    for (; name != NULL; name = va_arg(pairs, const char *)) {
        const char *value = va_arg(pairs, const char *);
        if (value == NULL) {
            continue;
        }
        put(&line, log_json ? "," : " ");
        if (log_json) {
            put_quoted(&line, name);
            put(&line, ":");
        } else {
            put(&line, name);
            put(&line, "=");
        }
        put_quoted(&line, value);
    }
    if (log_json) {
        line.text[line.length++] = '}';
    }
    line.text[line.length++] = '\n';
    ssize_t written = write(STDERR_FILENO, line.text, line.length);
    (void)written; /* a log that can't be written has nobody to be told to */
}

void hamid_log_setup(unsigned verbosity, bool json)
{
    log_verbosity = verbosity;
    if (log_json != json) {
        log_json = json;
    }
}

bool hamid_log_format_parse(const char *text, bool *ret_json)
{
    if (strcmp(text, "json") != 0 && strcmp(text, "text") != 0) {
        return false;
    }
    *ret_json = text[0] == 'j';
    return true;
}

bool hamid_log_is_on(unsigned verbosity)
{
    return verbosity <= log_verbosity;
}

void hamid_log_info_at(const char *where, unsigned verbosity, const char *message, ...)
{
    if (verbosity > log_verbosity) {
        return;
    }
    va_list pairs;
    va_start(pairs, message);
    write_line(HAMID_LOG_INFO, verbosity, where, message, pairs);
    va_end(pairs);
}

void hamid_log_warning_at(const char *where, const char *message, ...)
{
    va_list pairs;
    va_start(pairs, message);
    write_line(HAMID_LOG_WARNING, 0, where, message, pairs);
    va_end(pairs);
}

void hamid_log_error_at(const char *where, const char *message, ...)
{
    va_list pairs;
    va_start(pairs, message);
    write_line(HAMID_LOG_ERROR, 0, where, message, pairs);
    va_end(pairs);
}

void hamid_log_library(void *data, enum hami_log_level level, const char *line)
{
    static const char where[] = "libhaminodelock";
    (void)data;
    switch (level) {
    case HAMI_LOG_ERROR:
        hamid_log_error_at(where, line, NULL);
        break;
    case HAMI_LOG_WARNING:
        hamid_log_warning_at(where, line, NULL);
        break;
    case HAMI_LOG_INFO:
        hamid_log_info_at(where, 2, line, NULL);
        break;
    case HAMI_LOG_DEBUG:
        hamid_log_info_at(where, 4, line, NULL);
        break;
    }
}

const char *hamid_log_number(char *buffer, uint64_t number)
{
    (void)snprintf(buffer, 24, "%llu", (unsigned long long)number);
    return buffer;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts in gRPC's header fields. Pure; everything that is read comes from outside.
 */
#include "text.h"

#include <stdio.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

static int hexadecimal(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

void hamid_grpc_text_encode(const char *text, char *buffer, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t used = 0;

    for (size_t i = 0; text[i] != '\0' && i < HAMID_GRPC_TEXT_MAX; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain = c >= 0x20 && c <= 0x7e && c != '%';

        if (used + (is_plain ? 1 : 3) >= size) {
            break;
        }
        if (is_plain) {
            buffer[used++] = (char)c;
        } else {
            buffer[used++] = '%';
            buffer[used++] = digits[c >> 4];
            buffer[used++] = digits[c & 15];
        }
    }
    buffer[used] = '\0';
}

void hamid_grpc_text_decode(const char *value, size_t length, char *buffer, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used + 1 < size; i++) {
        char c = value[i];

        if (c == '%' && i + 2 < length && hexadecimal(value[i + 1]) >= 0 &&
            hexadecimal(value[i + 2]) >= 0) {
            c = (char)(hexadecimal(value[i + 1]) * 16 + hexadecimal(value[i + 2]));
            i += 2;
        }
        buffer[used++] = c != '\0' ? c : '?';
    }
    buffer[used] = '\0';
}

int hamid_grpc_timeout_parse(const char *value, size_t length, uint64_t *ret_ms)
{
    uint64_t number = 0;

    if (length < 2 || length > 9) {
        return -1;
    }
    for (size_t i = 0; i + 1 < length; i++) {
        if (value[i] < '0' || value[i] > '9') {
            return -1;
        }
        number = number * 10 + (uint64_t)(value[i] - '0');
    }
    switch (value[length - 1]) {
    case 'H':
        *ret_ms = number * 3600000;
        return 0;
    case 'M':
        *ret_ms = number * 60000;
        return 0;
    case 'S':
        *ret_ms = number * 1000;
        return 0;
    case 'm':
        *ret_ms = number;
        return 0;
    case 'u':
        *ret_ms = (number + 999) / 1000;
        return 0;
    case 'n':
        *ret_ms = (number + 999999) / 1000000;
        return 0;
    default:
        return -1;
    }
}

void hamid_grpc_timeout_format(uint64_t milliseconds,
                               char buffer[HAMID_GRPC_TIMEOUT_TEXT])
{
    static const struct {
        uint64_t each;
        char unit;
    } units[] = {{1, 'm'}, {1000, 'S'}, {60000, 'M'}, {3600000, 'H'}};
    const uint64_t most = 99999999;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        uint64_t number =
            milliseconds / units[i].each + (milliseconds % units[i].each != 0);

        if (number <= most) {
            (void)snprintf(buffer, HAMID_GRPC_TIMEOUT_TEXT, "%u%c", (unsigned)number,
                           units[i].unit);
            return;
        }
    }
    (void)snprintf(buffer, HAMID_GRPC_TIMEOUT_TEXT, "%uH", (unsigned)most);
}

bool hamid_grpc_is_grpc(const char *value, size_t length)
{
    static const char type[] = "application/grpc";
    size_t known = sizeof(type) - 1;

    return length >= known && strncmp(value, type, known) == 0 &&
           (length == known || value[known] == '+' || value[known] == ';');
}

int hamid_grpc_code_parse(const char *value, size_t length)
{
    int code = 0;

    if (length == 0 || length > 9) {
        return -1;
    }
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9') {
            return -1;
        }
        code = code * 10 + (value[i] - '0');
    }
    return code;
}

int hamid_grpc_code_of_http(int status)
{
    switch (status) {
    case 400:
        return HAMID_GRPC_INTERNAL;
    case 401:
        return HAMID_GRPC_UNAUTHENTICATED;
    case 403:
        return HAMID_GRPC_PERMISSION_DENIED;
    case 404:
        return HAMID_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return HAMID_GRPC_UNAVAILABLE;
    default:
        return HAMID_GRPC_UNKNOWN;
    }
}

int hamid_grpc_code_of_reset(uint32_t error)
{
    switch (error) {
    case NGHTTP2_REFUSED_STREAM:
        return HAMID_GRPC_UNAVAILABLE;
    case NGHTTP2_CANCEL:
        return HAMID_GRPC_CANCELLED;
    case NGHTTP2_ENHANCE_YOUR_CALM:
        return HAMID_GRPC_RESOURCE_EXHAUSTED;
    case NGHTTP2_INADEQUATE_SECURITY:
        return HAMID_GRPC_PERMISSION_DENIED;
    default:
        return HAMID_GRPC_INTERNAL;
    }
}

const char *hamid_grpc_code_name(int code)
{
    static const char *const names[] = {"OK",
                                        "CANCELLED",
                                        "UNKNOWN",
                                        "INVALID_ARGUMENT",
                                        "DEADLINE_EXCEEDED",
                                        "NOT_FOUND",
                                        "ALREADY_EXISTS",
                                        "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED",
                                        "FAILED_PRECONDITION",
                                        "ABORTED",
                                        "OUT_OF_RANGE",
                                        "UNIMPLEMENTED",
                                        "INTERNAL",
                                        "UNAVAILABLE",
                                        "DATA_LOSS",
                                        "UNAUTHENTICATED"};

    return code >= 0 && code < (int)(sizeof(names) / sizeof(names[0])) ? names[code]
                                                                       : "UNKNOWN";
}

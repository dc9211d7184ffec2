/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The names and meanings of codes, filling of struct hami_error, the version. No state.
 */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hami_version(void)
{
    return HAMI_VERSION_STRING;
}

const char *hami_strerror(int code)
{
    switch (code) {
    case HAMI_OK:
        return "success";
#define TEXT_CASE(name, number, text)                                                    \
    case HAMI_E_##name:                                                                  \
        return text;
        HAMI_ERRORS(TEXT_CASE)
    default:
        return "unknown code";
    }
}

const char *hami_errname(int code)
{
    switch (code) {
    case HAMI_OK:
        return "OK";
#define NAME_CASE(name, number, text)                                                    \
    case HAMI_E_##name:                                                                  \
        return #name;
        HAMI_ERRORS(NAME_CASE)
    default:
        return "?";
    }
}

int hami_internal_errors_set(struct hami_error *error, int code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        error->size = sizeof(*error);
        error->code = code;
        error->status = 0;
        error->system = 0;
        error->position = error->waiting = 0;
        error->expected_ns = 0;
        va_start(arguments, format);
        (void)vsnprintf(error->text, sizeof(error->text), format, arguments);
        va_end(arguments);
    }
    return code;
}

void hami_internal_errors_copy(struct hami_error *to, const struct hami_error *from)
{
    if (to) {
        size_t size = to->size;
        *to = *from;
        to->size = size;
    }
}

bool hami_internal_errors_is_struct_known(const void *memory, size_t size, size_t known)
{
    const unsigned char *bytes = memory;

    for (size_t i = known; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

int hami_internal_errors_read_struct(void *to, size_t known, const void *from,
                                     size_t minimum)
{
    size_t size;

    memcpy(&size, from, sizeof(size));
    if (size < minimum || size > 65536) {
        return HAMI_E_INVAL;
    }
    if (!hami_internal_errors_is_struct_known(from, size, known)) {
        return HAMI_E_ABI;
    }
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &known, sizeof(known));
    return 0;
}

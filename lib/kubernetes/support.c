/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small helpers of all files of this library. No state, no lock.
 */
#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_LIMIT_DEFAULT (64u * 1024 * 1024)
#define TEXT_FIRST_CAPACITY 256u

int hami_internal_support_copy_sized(void *target, size_t target_size, const void *source)
{
    size_t size = 0;

    if (source == NULL) {
        return HAMI_E_INVAL;
    }
    memcpy(&size, source, sizeof(size));
    if (size < sizeof(size)) {
        return HAMI_E_INVAL;
    }
    for (size_t i = target_size; i < size; i++) {
        if (((const unsigned char *)source)[i] != 0) {
            return HAMI_E_ABI;
        }
    }
    memset(target, 0, target_size);
    memcpy(target, source, size < target_size ? size : target_size);
    memcpy(target, &target_size, sizeof(target_size));
    return 0;
}

int hami_internal_support_give_sized(void *target, const void *source, size_t source_size)
{
    size_t size = 0;

    if (target == NULL) {
        return HAMI_E_INVAL;
    }
    memcpy(&size, target, sizeof(size));
    if (size < sizeof(size)) {
        return HAMI_E_INVAL;
    }
    if (size > source_size) {
        memset((char *)target + source_size, 0, size - source_size);
    }
    memcpy(target, source, size < source_size ? size : source_size);
    memcpy(target, &size, sizeof(size));
    return 0;
}

int hami_internal_support_fail(struct hami_error *reterr, int code, const char *format,
                               ...)
{
    struct hami_error error = HAMI_ERROR_INIT;
    va_list arguments;

    if (reterr == NULL) {
        return code;
    }
    error.code = code;
    va_start(arguments, format);
    (void)vsnprintf(error.text, sizeof(error.text), format, arguments);
    va_end(arguments);
    (void)hami_internal_support_give_sized(reterr, &error, sizeof(error));
    return code;
}

char *hami_internal_support_free_secret(char *text)
{
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
    return NULL;
}

/* Makes room for `more` bytes and the NUL. A secret's old copy is overwritten: no
 * realloc. */
static bool text_reserve(struct hami_internal_text *text, size_t more)
{
    size_t limit = text->limit != 0 ? text->limit : TEXT_LIMIT_DEFAULT;
    size_t capacity = text->capacity != 0 ? text->capacity : TEXT_FIRST_CAPACITY;
    char *grown;

    if (more > limit || text->length > limit - more) {
        text->over = true;
        return false;
    }
    while (capacity < text->length + more + 1) {
        capacity *= 2;
    }
    if (capacity == text->capacity) {
        return true;
    }
    grown = malloc(capacity);
    if (grown == NULL) {
        return false;
    }
    if (text->text != NULL) {
        memcpy(grown, text->text, text->length + 1);
        explicit_bzero(text->text, text->capacity);
        free(text->text);
    }
    text->text = grown;
    text->capacity = capacity;
    return true;
}

bool hami_internal_text_add(struct hami_internal_text *text, const char *bytes,
                            size_t length)
{
    if (text->failed || !text_reserve(text, length)) {
        text->failed = true;
        return false;
    }
    if (length > 0) {
        memcpy(text->text + text->length, bytes, length);
    }
    text->length += length;
    text->text[text->length] = '\0';
    return true;
}

bool hami_internal_text_format(struct hami_internal_text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || text->failed || !text_reserve(text, (size_t)length)) {
        text->failed = true;
        return false;
    }
    va_start(arguments, format);
    (void)vsnprintf(text->text + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
    return true;
}

void hami_internal_text_clear(struct hami_internal_text *text)
{
    text->length = 0;
    text->failed = false;
    text->over = false;
    if (text->text != NULL) {
        text->text[0] = '\0';
    }
}

void hami_internal_text_done(struct hami_internal_text *text)
{
    size_t limit = text->limit;

    if (text->text != NULL) {
        explicit_bzero(text->text, text->capacity);
        free(text->text);
    }
    memset(text, 0, sizeof(*text));
    text->limit = limit;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files and texts that a login is made of: bounded reading, base64, tokens. No state, no
 * lock. What is read may be a secret: buffers are overwritten before they are freed.
 */
#include "login.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static int fail_access(const char *path, const char *what, struct hami_error *reterr)
{
    int error = errno;

    (void)hami_internal_support_fail(reterr, HAMI_E_ACCESS, "The %s %s can't be read: %s",
                                     what, path, strerrordesc_np(error));
    if (reterr != NULL) {
        reterr->system = error;
    }
    return HAMI_E_ACCESS;
}

/* Reads up to `size` bytes; less only at the end. Returns -1 on failure. */
static ssize_t read_fully(int file, char *buffer, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t got = read(file, buffer + length, size - length);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -1 : (ssize_t)length;
        }
        length += (size_t)got;
    }
    return (ssize_t)length;
}

static int read_open_file(int file, const char *path, size_t limit, const char *what,
                          char **ret, size_t *ret_length, struct hami_error *reterr)
{
    struct stat status;
    char *buffer;
    ssize_t length;

    if (fstat(file, &status) != 0) {
        return fail_access(path, what, reterr);
    }
    if (!S_ISREG(status.st_mode)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "The %s %s is not a regular file", what, path);
    }
    buffer = malloc(limit + 2);
    if (buffer == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    length = read_fully(file, buffer, limit + 1);
    if (length < 0) {
        free(buffer);
        return fail_access(path, what, reterr);
    }
    buffer[length] = '\0';
    if ((size_t)length > limit || strlen(buffer) != (size_t)length) {
        bool too_large = (size_t)length > limit;

        explicit_bzero(buffer, (size_t)length);
        free(buffer);
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL,
            too_large ? "The %s %s is larger than %zu bytes"
                      : "The %s %s has a NUL character within %zu bytes",
            what, path, limit);
    }
    *ret = buffer;
    *ret_length = (size_t)length;
    return 0;
}

int hami_internal_file_read(const char *path, size_t limit, const char *what, char **ret,
                            size_t *ret_length, struct hami_error *reterr)
{
    /* O_NONBLOCK: a FIFO in the file's place must not hold us up. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int code;

    if (file < 0) {
        return fail_access(path, what, reterr);
    }
    code = read_open_file(file, path, limit, what, ret, ret_length, reterr);
    (void)close(file);
    return code;
}

int hami_internal_base64_decode(const char *text, char **ret, size_t *ret_length)
{
    size_t size = strlen(text) / 4 * 3 + 8;
    EVP_ENCODE_CTX *context = EVP_ENCODE_CTX_new();
    char *decoded = malloc(size);
    int first = 0;
    int second = 0;
    bool is_good;

    if (context == NULL || decoded == NULL) {
        EVP_ENCODE_CTX_free(context);
        free(decoded);
        return HAMI_E_NOMEM;
    }
    EVP_DecodeInit(context);
    is_good = EVP_DecodeUpdate(context, (unsigned char *)decoded, &first,
                               (const unsigned char *)text, (int)strlen(text)) >= 0 &&
              EVP_DecodeFinal(context, (unsigned char *)decoded + first, &second) == 1 &&
              first + second > 0;
    EVP_ENCODE_CTX_free(context);
    if (!is_good) {
        explicit_bzero(decoded, size);
        free(decoded);
        return HAMI_E_INVAL;
    }
    decoded[first + second] = '\0';
    *ret = decoded;
    *ret_length = (size_t)first + (size_t)second;
    return 0;
}

bool hami_internal_token_trim(char *token)
{
    size_t length = strlen(token);
    size_t start = 0;

    while (length > 0 && isspace((unsigned char)token[length - 1])) {
        token[--length] = '\0';
    }
    while (isspace((unsigned char)token[start])) {
        start++;
    }
    memmove(token, token + start, length - start + 1);
    length -= start;
    for (size_t i = 0; i < length; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            return false;
        }
    }
    return length > 0 && length <= HAMI_INTERNAL_LOGIN_TOKEN_MAX;
}

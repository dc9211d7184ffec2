/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each fuzz target is made of: one function that is given bytes, and checks that end
 * the process. libFuzzer calls it, or replay.c does with the files of a corpus.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The target; always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An invariant: where it does not hold the input is a finding. */
#define FUZZ_CHECK(condition)                                                            \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,      \
                          #condition);                                                   \
            abort();                                                                     \
        }                                                                                \
    } while (0)

/* What is left of an input. */
struct fuzz_input {
    const char *at;
    size_t left;
};

/* A copy of the given bytes, ended with NUL in an allocation of exactly that size, so
 * that reading past it is seen. To be freed. */
static inline char *fuzz_copy(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);

    FUZZ_CHECK(copy != NULL);
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    copy[length] = '\0';
    return copy;
}

/* Takes the bytes up to a separator (which is skipped), or all; to be freed. NULL where
 * nothing is left. */
static inline char *fuzz_take(struct fuzz_input *input, const char *separator,
                              size_t *ret_length)
{
    if (input->at == NULL) {
        return NULL;
    }
    const char *end = input->left > 0
                          ? memmem(input->at, input->left, separator, strlen(separator))
                          : NULL;
    size_t length = end != NULL ? (size_t)(end - input->at) : input->left;
    char *text = fuzz_copy(input->at, length);

    if (end != NULL) {
        input->at = end + strlen(separator);
        input->left -= length + strlen(separator);
    } else {
        input->at = NULL;
        input->left = 0;
    }
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return text;
}

/* One byte; 0 where nothing is left. */
static inline unsigned fuzz_byte(struct fuzz_input *input)
{
    if (input->at == NULL || input->left == 0) {
        return 0;
    }
    input->left--;
    return (unsigned char)*input->at++;
}

static inline bool fuzz_is_same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

#endif

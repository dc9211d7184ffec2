/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Filling of struct hami_error, and reading of structs that start with their size. */
#ifndef HAMI_LIB_ERRORS_H
#define HAMI_LIB_ERRORS_H

#include <hami/nodelock.h>

/* Fills `error` (NULL is fine) and returns `code`. */
int hami_internal_errors_set(struct hami_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies, keeping the target's size; `to` may be NULL. */
void hami_internal_errors_copy(struct hami_error *to, const struct hami_error *from);

/* True if a struct of `size` bytes says nothing beyond the `known` bytes. */
bool hami_internal_errors_is_struct_known(const void *memory, size_t size, size_t known);

/*
 * Reads a caller's struct of any age: members that it lacks are zero.
 * @to, @known  our own struct and its size
 * @from        the caller's; starts with its size
 * @minimum     the least size that makes sense
 * Returns 0, HAMI_E_INVAL (no sensible size), HAMI_E_ABI (unknown members are set)
 */
int hami_internal_errors_read_struct(void *to, size_t known, const void *from,
                                     size_t minimum);

#endif

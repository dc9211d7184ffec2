/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small helpers of all files of this library: structs of other versions, errors, secrets,
 * text that grows. No state.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_SUPPORT_H
#define HAMI_INTERNAL_KUBERNETES_SUPPORT_H

#include <hami/nodelock.h>

#define HAMI_INTERNAL_NANOSECONDS_PER_MS UINT64_C(1000000)

/*
 * Copies a caller's struct that starts with `size` into ours: a missing tail is zero.
 * Returns 0, INVAL (source NULL, or its size cannot even hold `size`), ABI (unknown tail
 * is set).
 */
int hami_internal_support_copy_sized(void *target, size_t target_size,
                                     const void *source);

/* Copies what fits of our struct into a caller's; keeps the caller's size. Returns 0,
 * INVAL. */
int hami_internal_support_give_sized(void *target, const void *source,
                                     size_t source_size);

/* Fills reterr (may be NULL) and returns code. */
int hami_internal_support_fail(struct hami_error *reterr, int code, const char *format,
                               ...) __attribute__((format(printf, 3, 4)));

/* Overwrites a text and frees it. Takes NULL, returns NULL. For whatever may hold a
 * secret. */
char *hami_internal_support_free_secret(char *text);

/* Text that grows up to a bound. Zero = empty. `text` is ended with NUL once anything was
 * added. */
struct hami_internal_text {
    char *text;
    size_t length;
    size_t capacity;
    size_t limit; /* bytes of text; 0 = 64 MiB */
    bool failed;  /* out of memory or over the limit: it stays so until cleared */
    bool over;    /* of these: over the limit */
};

/* Adds bytes. Returns false once failed. */
bool hami_internal_text_add(struct hami_internal_text *text, const char *bytes,
                            size_t length);
bool hami_internal_text_format(struct hami_internal_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Empties it, keeps its memory. */
void hami_internal_text_clear(struct hami_internal_text *text);
/* Frees its memory, after overwriting it. */
void hami_internal_text_done(struct hami_internal_text *text);

#endif

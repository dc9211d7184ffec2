/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies that the floor sends, and sums of what it measured. Bodies are as long as
 * those of a real lock. Pure, but for the wall clock; each ends the program where a name
 * is too long for its buffer.
 */
#ifndef BENCH_FLOOR_TEXTS_H
#define BENCH_FLOOR_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX 512
#define BODY_MAX 4096

/*
 * Two texts on a node, of which the next write tests the old and sets the next. Their
 * keys mean nothing to hamid, which runs on the same server. Quotes are kept escaped.
 */
struct pair {
    uint64_t fence;
    char lock[TEXT_MAX];
    char lease[TEXT_MAX];
    char next_lock[TEXT_MAX];
    char next_lease[TEXT_MAX];
};

void die(const char *what, const char *detail) __attribute__((noreturn));
/* For what snprintf answered. */
void fits(int length, size_t size);

/* What stands on a node before its first turn. */
void pair_begin(struct pair *pair);
void pair_next(struct pair *pair, const char *name, const char *uid);
void pair_is_written(struct pair *pair);

/* BODY has BODY_MAX bytes. The first sets both texts whatever stands there, the second is
 * guarded. */
void text_node_begin(char *body, const struct pair *pair);
void text_node_patch(char *body, const struct pair *pair);
void text_binding(char *body, const char *name, const char *uid, const char *node,
                  uint64_t fence);
/* One that asks for one device of that node, as HAMi's filter leaves it. */
void text_pod(char *body, const char *name, const char *node);
void text_success(char *body, const char *uid, uint64_t fence);

/* Of the clock that nobody sets. */
int64_t now_us(void);
/* Sorts the values; 0 without any. */
int64_t median(int64_t *values, size_t count);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's books: which container of which pod has which devices, as its
 * PodResources API (v1) lists them. Read anew for each question, never kept. Loop's
 * thread.
 *
 * The kubelet lists a container's devices as soon as it has taken the answer to Allocate;
 * it does not list init containers that end.
 */
#ifndef HAMID_NODE_BOOKS_H
#define HAMID_NODE_BOOKS_H

#include <hami/kubernetes.h>

struct books;
struct books_reading;
struct event_base;

/* One container's devices of one resource. */
struct books_row {
    struct hami_handshake_holding holding;
    char *const *ids;
    size_t id_count;
};

/* All rows, by a List that began at started_ns. */
struct books_page {
    const struct books_row *rows;
    size_t count;
    uint64_t started_ns;
};

/*
 * How a reading ended.
 * @page     borrowed for the function; NULL: it failed
 * @problem  why, in one line
 */
typedef void (*books_read_fn)(void *data, const struct books_page *page,
                              const char *problem);

/* @path     of the kubelet's socket; copied. Returns NULL without memory, or where this
 *           build can't speak with a kubelet */
struct books *books_new(struct event_base *base, const char *path);
struct books *books_free(struct books *books);

/* Starts to read; `read` comes once, not within. NULL without memory: it does not come.
 */
struct books_reading *books_read_start(struct books *books, uint64_t timeout_ms,
                                       books_read_fn read, void *data);
/* Gives a reading up; nothing comes. */
void books_read_cancel(struct books_reading *reading);

/* Holdings of a page, as the handshake takes them: new, to be freed. NULL without memory.
 */
struct hami_handshake_holding *books_holdings(const struct books_page *page);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of books.c where this build can't speak gRPC: there are no books. */
#include "books.h"

#include <stddef.h>

struct books *books_new(struct event_base *base, const char *path)
{
    (void)base;
    (void)path;
    return NULL;
}

struct books *books_free(struct books *books)
{
    (void)books;
    return NULL;
}

struct books_reading *books_read_start(struct books *books, uint64_t timeout_ms,
                                       books_read_fn read, void *data)
{
    (void)books;
    (void)timeout_ms;
    (void)read;
    (void)data;
    return NULL;
}

void books_read_cancel(struct books_reading *reading)
{
    (void)reading;
}

struct hami_handshake_holding *books_holdings(const struct books_page *page)
{
    (void)page;
    return NULL;
}

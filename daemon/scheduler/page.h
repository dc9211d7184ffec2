/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status page as bytes: page/index.html, put into a source by page/embed.py.
 */
#ifndef HAMID_SCHEDULER_PAGE_H
#define HAMID_SCHEDULER_PAGE_H

#include <stddef.h>

extern const unsigned char page_text[];
extern const size_t page_length;

/* The Content-Security-Policy that lets this page's own script and style run alone. */
extern const char page_policy[];

#endif

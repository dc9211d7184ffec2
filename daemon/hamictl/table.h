/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl locks` and `queue`: nodes of a locks view, and the waiters of one, as tables.
 */
#ifndef HAMICTL_TABLE_H
#define HAMICTL_TABLE_H

#include <stdio.h>

#include <jansson.h>

/* Returns 0, or -1 without memory. */
int table_print(const json_t *nodes, FILE *out);

/* Waiters of one node, in their order. Returns 0, or -1 without memory. */
int table_print_waiters(const json_t *waiters, FILE *out);

/* "4.2s", "12m3s", "3h0m0s", "12d"; "-" for a negative number. */
void table_age(double seconds, char *buffer, size_t size);

/* When a waiter's turn is expected: "in 4.2s"; "-" where nothing is known of the pace. */
void table_expected(const json_t *waiter, char *buffer, size_t size);

#endif

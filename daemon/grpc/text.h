/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts in gRPC's header fields, in and out. No state, no I/O.
 */
#ifndef HAMID_GRPC_TEXT_H
#define HAMID_GRPC_TEXT_H

#include "grpc.h"

#define HAMID_GRPC_TIMEOUT_TEXT 16 /* bytes of a timeout's text, with the NUL */

/*
 * Percent-encodes a status text: what is no printable ASCII, and "%".
 * @size     3 * HAMID_GRPC_TEXT_MAX + 1 always fits; cut between characters at size and
 * at HAMID_GRPC_TEXT_MAX bytes of text
 */
void hamid_grpc_text_encode(const char *text, char *buffer, size_t size);

/* Decodes; broken escapes stay as they are, a NUL becomes "?", cut at size - 1. */
void hamid_grpc_text_decode(const char *value, size_t length, char *buffer, size_t size);

/* Reads "100m": 1 to 8 digits and one of H M S m u n. Returns 0, or -1. Rounded up. */
int hamid_grpc_timeout_parse(const char *value, size_t length, uint64_t *ret_ms);

/* Writes it in the finest unit that holds it, rounded up. */
void hamid_grpc_timeout_format(uint64_t milliseconds,
                               char buffer[HAMID_GRPC_TIMEOUT_TEXT]);

/* "application/grpc", also with "+proto" or ";..." behind it. */
bool hamid_grpc_is_grpc(const char *value, size_t length);

/* Reads a grpc-status: decimal, at most 9 digits. Returns the code, or -1. */
int hamid_grpc_code_parse(const char *value, size_t length);

/* What an HTTP status means where no grpc-status came. */
int hamid_grpc_code_of_http(int status);

/* What an RST_STREAM's error means where no grpc-status came. */
int hamid_grpc_code_of_reset(uint32_t error);

#endif

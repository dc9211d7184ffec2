/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening addresses: from text to a bound socket and back.
 */
#ifndef HAMID_HTTP_ADDRESS_H
#define HAMID_HTTP_ADDRESS_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Bind a socket, non-blocking and closed on exec; listening is the caller's.
 * @error    receives one line on failure
 * Returns   the descriptor, or -1
 */
int hamid_http_address_bind_tcp(const char *text, char *error, size_t error_size);
int hamid_http_address_bind_unix(const char *path, mode_t mode, char *error,
                                 size_t error_size);

/* What a TCP socket is bound to: "127.0.0.1:8080", "[::1]:8080". */
void hamid_http_address_name(int fd, char *text, size_t size);

/*
 * Splits "host:port", "[::1]:port" or ":port".
 * @host     receives the host, "" for all addresses
 * Returns   0, or -1 where it is none
 */
int hamid_http_address_split(const char *text, char *host, size_t host_size, char *port,
                             size_t port_size);

#endif

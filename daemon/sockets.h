/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening sockets that a service manager opened and passed on (LISTEN_FDS). What
 * arrives on them while no process runs waits in their backlog.
 */
#ifndef HAMID_SOCKETS_H
#define HAMID_SOCKETS_H

#include <stddef.h>

/*
 * The socket of that name (LISTEN_FDNAMES), or where none has one of the names that are
 * known here, the index'th. It is made non-blocking and closed on exec.
 * @name     "extender" or "metrics"
 * @error    receives one line on failure
 * Returns   the descriptor; -1 - none is passed; -2 - what is passed is no TCP socket
 * that listens, or more than one
 */
int hamid_socket_passed(const char *name, size_t index, char *error, size_t error_size);

#endif

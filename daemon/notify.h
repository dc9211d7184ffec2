/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the service manager how the daemon is, where it asked for it by NOTIFY_SOCKET.
 */
#ifndef HAMID_NOTIFY_H
#define HAMID_NOTIFY_H

/* Sends lines such as "READY=1". Without NOTIFY_SOCKET, or where it fails, nothing
 * happens. */
void hamid_notify(const char *state);

#endif

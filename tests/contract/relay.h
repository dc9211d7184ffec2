/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TCP relay on loopback that can lose what passes through it. The connection that is
 * accepted next after relay_arm() meets the fault; others pass unharmed.
 */
#ifndef CONTRACT_RELAY_H
#define CONTRACT_RELAY_H

#include "contract.h"

struct relay;

/* Starts relaying to 127.0.0.1:port; NULL on failure. */
struct relay *relay_new(unsigned port);
/* Ends all connections. */
struct relay *relay_free(struct relay *relay);
unsigned relay_port(const struct relay *relay);
void relay_arm(struct relay *relay, enum contract_fault fault);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists by pages, for clients of a server that does not stream them: all pages of a list
 * show one version, and a token is good for a while only.
 */
#ifndef TESTS_SIMULATION_LISTING_H
#define TESTS_SIMULATION_LISTING_H

#include "network.h"

/* One page, by request->pods and request->token; its text is put into *ret. Returns the
 * status. */
int listing_page(struct request *request, char **ret);

void listing_done(struct world *world);

#endif

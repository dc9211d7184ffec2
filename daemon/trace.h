/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace id of a pod's bind to a node, for logs: made of the two alone, so that it is
 * the same in every process that has to do with this bind, from the request to the node
 * side's release, and nothing has to be handed on. Pure.
 */
#ifndef HAMID_TRACE_H
#define HAMID_TRACE_H

#define HAMID_TRACE_BYTES 17

/*
 * Writes 16 hexadecimal digits and returns the buffer; NULL where the pod's uid is not
 * known (NULL or ""), so that a log line leaves it out.
 */
const char *hamid_trace(char buffer[HAMID_TRACE_BYTES], const char *uid,
                        const char *node);

#endif

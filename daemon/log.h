/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-line logs on standard error, as Kubernetes' own programs write them: text or JSON,
 * verbosity by number (0 always, 2 the default, 4 debug, 5 trace).
 *
 * A message starts with a capital letter, has no full stop, and says what happened;
 * details follow as pairs of lowerCamelCase name and text. No secret belongs into any of
 * them.
 */
#ifndef HAMID_LOG_H
#define HAMID_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <hami/nodelock.h>

enum hamid_log_severity { HAMID_LOG_INFO = 0, HAMID_LOG_WARNING, HAMID_LOG_ERROR };

/* Set before other threads run; later for another verbosity alone. */
void hamid_log_setup(unsigned verbosity, bool json);

/* The program that lines of text are of; "hamid" unless set, with the settings. Borrowed. */
void hamid_log_name(const char *name);

/* "text" or "json"; false where it is neither. */
bool hamid_log_format_parse(const char *text, bool *ret_json);

/* Is a line of that verbosity written? For lines that are costly to make. */
bool hamid_log_is_on(unsigned verbosity);

/*
 * Writes a line by one write(2). After the message: name, text, name, text, ..., NULL. A
 * text that is NULL is left out with its name. MT-Safe.
 */
void hamid_log_info(unsigned verbosity, const char *message, ...)
    __attribute__((sentinel));
void hamid_log_warning(const char *message, ...) __attribute__((sentinel));
void hamid_log_error(const char *message, ...) __attribute__((sentinel));

/* For the libraries' log callbacks; data is not looked at. */
void hamid_log_library(void *data, enum hami_log_level level, const char *line);

/* A number as text within a caller's buffer of 24 bytes, for the pairs. */
const char *hamid_log_number(char *buffer, uint64_t number);

#endif

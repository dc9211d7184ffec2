/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-line logs on standard error, as Kubernetes' own programs write them: klog's text or
 * its JSON, verbosity by number (0 always, 2 the default, 3 what happens to each pod,
 * 4 debug, 5 trace).
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

/* "text" or "json"; false where it is neither. */
bool hamid_log_format_parse(const char *text, bool *ret_json);

/* Is a line of that verbosity written? For lines that are costly to make. */
bool hamid_log_is_on(unsigned verbosity);

/*
 * Writes a line by one write(2). After the message: name, text, name, text, ..., NULL. A
 * text that is NULL is left out with its name. MT-Safe. The macros add where in the
 * sources it is written.
 */
void hamid_log_info_at(const char *where, unsigned verbosity, const char *message, ...)
    __attribute__((sentinel));
void hamid_log_warning_at(const char *where, const char *message, ...)
    __attribute__((sentinel));
void hamid_log_error_at(const char *where, const char *message, ...)
    __attribute__((sentinel));

#define HAMID_LOG_TEXT(line) #line
#define HAMID_LOG_WHERE(line) __FILE_NAME__ ":" HAMID_LOG_TEXT(line)
#define hamid_log_info(verbosity, ...)                                                   \
    hamid_log_info_at(HAMID_LOG_WHERE(__LINE__), verbosity, __VA_ARGS__)
#define hamid_log_warning(...)                                                           \
    hamid_log_warning_at(HAMID_LOG_WHERE(__LINE__), __VA_ARGS__)
#define hamid_log_error(...) hamid_log_error_at(HAMID_LOG_WHERE(__LINE__), __VA_ARGS__)

/* For the libraries' log callbacks; data is not looked at. */
void hamid_log_library(void *data, enum hami_log_level level, const char *line);

/* A number as text within a caller's buffer of 24 bytes, for the pairs. */
const char *hamid_log_number(char *buffer, uint64_t number);

#endif

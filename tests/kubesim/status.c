/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status objects: the form in which the API server tells success and failure. No lock.
 */
#include "server.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* DETAILS is consumed; NULL leaves the member out. */
static json_t *failure(int code, const char *reason, json_t *details, const char *message)
{
    json_t *status = json_pack("{s:s,s:s,s:{},s:s,s:s}", "kind", "Status", "apiVersion",
                               "v1", "metadata", "status", "Failure", "message", message);
    if (reason != NULL) {
        json_object_set_new(status, "reason", json_string(reason));
    }
    if (details != NULL) {
        json_object_set_new(status, "details", details);
    }
    json_object_set_new(status, "code", json_integer(code));
    return status;
}

static char *format_text(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        abort();
    }
    sim_text_clean(text); /* a precision may have cut a character in two */
    return text;
}

void sim_status(struct sim_exchange *exchange, int code, const char *reason,
                json_t *details, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *message = format_text(format, arguments);
    va_end(arguments);
    sim_answer_json(exchange, code, failure(code, reason, details, message));
    free(message);
}

/* {"name":..,"group":..,"kind":..}, the members in the server's order. */
static json_t *details_of(const struct sim_exchange *exchange, const char *kind)
{
    json_t *details = json_object();
    if (exchange->target.name[0] != '\0') {
        json_object_set_new(details, "name", json_string(exchange->target.name));
    }
    if (exchange->target.resource->group[0] != '\0') {
        json_object_set_new(details, "group",
                            json_string(exchange->target.resource->group));
    }
    json_object_set_new(details, "kind", json_string(kind));
    return details;
}

/* "nodes" or "leases.coordination.k8s.io" */
static const char *qualified(const struct sim_exchange *exchange, char *buffer,
                             size_t size)
{
    const struct sim_resource *resource = exchange->target.resource;
    snprintf(buffer, size, "%s%s%s", resource->plural,
             resource->group[0] != '\0' ? "." : "", resource->group);
    return buffer;
}

void sim_status_not_found(struct sim_exchange *exchange)
{
    char text[64];
    sim_status(exchange, 404, "NotFound",
               details_of(exchange, exchange->target.resource->plural),
               "%s \"%s\" not found", qualified(exchange, text, sizeof(text)),
               exchange->target.name);
}

void sim_status_exists(struct sim_exchange *exchange)
{
    char text[64];
    sim_status(exchange, 409, "AlreadyExists",
               details_of(exchange, exchange->target.resource->plural),
               "%s \"%s\" already exists", qualified(exchange, text, sizeof(text)),
               exchange->target.name);
}

void sim_status_conflict(struct sim_exchange *exchange, const char *subresource,
                         const char *format, ...)
{
    char text[64], kind[64];
    va_list arguments;
    va_start(arguments, format);
    char *message = format_text(format, arguments);
    va_end(arguments);
    snprintf(kind, sizeof(kind), "%s%s%s", exchange->target.resource->plural,
             subresource != NULL ? "/" : "", subresource != NULL ? subresource : "");
    sim_status(exchange, 409, "Conflict", details_of(exchange, kind),
               "Operation cannot be fulfilled on %s \"%s\": %s",
               subresource != NULL ? kind : qualified(exchange, text, sizeof(text)),
               exchange->target.name, message);
    free(message);
}

void sim_status_invalid(struct sim_exchange *exchange, const char *field,
                        const char *reason, const char *message)
{
    const struct sim_resource *resource = exchange->target.resource;
    json_t *details = details_of(exchange, resource->kind);
    json_object_set_new(details, "causes",
                        json_pack("[{s:s,s:s,s:s}]", "reason", reason, "message", message,
                                  "field", field));
    sim_status(exchange, 422, "Invalid", details, "%s%s%s \"%s\" is invalid: %s: %s",
               resource->kind, resource->group[0] != '\0' ? "." : "", resource->group,
               exchange->target.name, field, message);
}

void sim_status_bad_request(struct sim_exchange *exchange, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *message = format_text(format, arguments);
    va_end(arguments);
    sim_status(exchange, 400, "BadRequest", NULL, "%s", message);
    free(message);
}

bool sim_status_list_options(struct sim_exchange *exchange, const char *field,
                             const char *why)
{
    json_t *causes = json_pack("[{s:s,s:s,s:s}]", "reason", "FieldValueForbidden",
                               "message", why, "field", field);
    sim_status(exchange, 422, "Invalid",
               json_pack("{s:s,s:s,s:o}", "group", "meta.k8s.io", "kind", "ListOptions",
                         "causes", causes),
               "ListOptions.meta.k8s.io \"\" is invalid: %s: %s", field, why);
    return false;
}

json_t *sim_status_gone(void)
{
    return failure(410, "Expired", NULL,
                   "The resourceVersion for the provided watch is too old.");
}

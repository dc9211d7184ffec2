/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Paths, methods and Accept headers: see route.h. Pure, no lock. */
#include "route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server.h"

#define SEGMENTS 8

/* Decoded path segments; false when there are too many. */
static bool split(const char *path, char **segments, size_t *ret)
{
    size_t count = 0;
    while (*path == '/') {
        size_t length = strcspn(++path, "/");
        if (length == 0) {
            break;
        }
        if (count == SEGMENTS) {
            *ret = count;
            return false;
        }
        segments[count++] = sim_url_decode(path, length, false);
        path += length;
    }
    *ret = count;
    return true;
}

static bool copy_text(char *buffer, size_t size, const char *text)
{
    return (size_t)snprintf(buffer, size, "%s", text) < size;
}

/* SEGMENTS behind the API root: [namespaces NS] RESOURCE [NAME [SUBRESOURCE]]. */
static bool resolve_segments(const char *root, char **segments, size_t count,
                             struct sim_target *ret)
{
    bool in_namespace = count >= 3 && strcmp(segments[0], "namespaces") == 0 &&
                        sim_resource_find(root, segments[2]) != NULL;
    if (in_namespace) {
        if (!copy_text(ret->namespace_name, sizeof(ret->namespace_name), segments[1])) {
            return false;
        }
        segments += 2;
        count -= 2;
    }
    ret->resource = count > 0 ? sim_resource_find(root, segments[0]) : NULL;
    if (ret->resource == NULL || count > 3 ||
        (in_namespace && !ret->resource->namespaced) ||
        (!in_namespace && ret->resource->namespaced && count > 1)) {
        return false;
    }
    return (count < 2 || copy_text(ret->name, sizeof(ret->name), segments[1])) &&
           (count < 3 ||
            copy_text(ret->subresource, sizeof(ret->subresource), segments[2]));
}

static bool known_subresource(const struct sim_target *target)
{
    const char *name = target->subresource;
    return name[0] == '\0' ||
           (strcmp(name, "status") == 0 && target->resource->has_status) ||
           (strcmp(name, "binding") == 0 && strcmp(target->resource->kind, "Pod") == 0);
}

static const char *verb_of(const char *method, bool watch,
                           const struct sim_target *target)
{
    bool named = target->name[0] != '\0';
    if (strcmp(target->subresource, "binding") == 0) {
        return strcmp(method, "POST") == 0 ? "create" : NULL;
    }
    if (strcmp(method, "GET") == 0) {
        return named ? "get" : watch ? "watch" : "list";
    }
    if (strcmp(method, "POST") == 0) {
        bool whole = target->resource->namespaced && target->namespace_name[0] == '\0';
        return named || whole ? NULL : "create";
    }
    if (!named) {
        return NULL;
    }
    if (strcmp(method, "PUT") == 0) {
        return "update";
    }
    if (strcmp(method, "PATCH") == 0) {
        return "patch";
    }
    return strcmp(method, "DELETE") == 0 && target->subresource[0] == '\0' ? "delete"
                                                                           : NULL;
}

enum sim_route_result sim_route_resolve(const char *path, const char *method, bool watch,
                                        struct sim_target *ret)
{
    char *segments[SEGMENTS];
    char root[128];
    size_t count = 0, skip = 0;
    memset(ret, 0, sizeof(*ret));
    bool found = split(path, segments, &count);
    if (found && count >= 2 && strcmp(segments[0], "api") == 0) {
        skip = 2;
    } else if (found && count >= 3 && strcmp(segments[0], "apis") == 0) {
        skip = 3;
    }
    if (skip == 2) {
        snprintf(root, sizeof(root), "/api/%.60s", segments[1]);
    } else if (skip == 3) {
        snprintf(root, sizeof(root), "/apis/%.60s/%.20s", segments[1], segments[2]);
    }
    found = skip > 0 && resolve_segments(root, segments + skip, count - skip, ret) &&
            known_subresource(ret);
    for (size_t i = 0; i < count; i++) {
        free(segments[i]);
    }
    if (!found) {
        return SIM_ROUTE_OTHER;
    }
    ret->verb = method != NULL ? verb_of(method, watch, ret) : NULL;
    return ret->verb != NULL ? SIM_ROUTE_RESOURCE : SIM_ROUTE_METHOD;
}

/* One parameter of a media type: the value of KEY, its length in *length. */
static const char *parameter(const char *clause, size_t size, const char *key,
                             size_t *length)
{
    size_t key_length = strlen(key);
    for (size_t i = 0; i + key_length < size; i++) {
        if (clause[i] == ';') {
            size_t at = i + 1;
            while (at < size && clause[at] == ' ') {
                at++;
            }
            if (at + key_length < size && strncmp(clause + at, key, key_length) == 0) {
                at += key_length;
                *length = strcspn(clause + at, ";, ");
                *length = *length < size - at ? *length : size - at;
                return clause + at;
            }
        }
    }
    return NULL;
}

static bool is_text(const char *text, size_t length, const char *wanted)
{
    return text != NULL && strlen(wanted) == length && strncmp(text, wanted, length) == 0;
}

/* The form of one clause; SIM_FORM_NONE: can't be served. */
static enum sim_form clause_form(const char *clause, size_t size, bool list)
{
    size_t type = 0, as_length = 0, length = 0;
    while (type < size && clause[type] != ';' && clause[type] != ' ') {
        type++;
    }
    if (!is_text(clause, type, "application/json") && !is_text(clause, type, "*/*") &&
        !is_text(clause, type, "application/*")) {
        return SIM_FORM_NONE;
    }
    const char *as = parameter(clause, size, "as=", &as_length);
    if (as == NULL) {
        return SIM_FORM_FULL;
    }
    const char *group = parameter(clause, size, "g=", &length);
    if (!is_text(group, length, "meta.k8s.io")) {
        return SIM_FORM_NONE;
    }
    const char *wanted = list ? "PartialObjectMetadataList" : "PartialObjectMetadata";
    if (!is_text(as, as_length, wanted)) {
        return SIM_FORM_NONE;
    }
    return list ? SIM_FORM_METADATA_LIST : SIM_FORM_METADATA;
}

enum sim_form sim_route_form(const char *accept, bool list)
{
    if (accept == NULL || accept[0] == '\0') {
        return SIM_FORM_FULL;
    }
    while (*accept != '\0') {
        accept += strspn(accept, ", ");
        size_t length = strcspn(accept, ",");
        enum sim_form form =
            length > 0 ? clause_form(accept, length, list) : SIM_FORM_NONE;
        if (form != SIM_FORM_NONE) {
            return form;
        }
        accept += length;
    }
    return SIM_FORM_NONE;
}

bool sim_query_selector(struct sim_exchange *exchange, struct sim_selector *selector)
{
    const struct sim_resource *resource = exchange->target.resource;
    char *fields = sim_query_get(exchange, "fieldSelector");
    char *labels = sim_query_get(exchange, "labelSelector");
    enum sim_selector_result result = sim_selector_add_fields(selector, resource, fields);
    if (result == SIM_SELECTOR_OK) {
        result = sim_selector_add_labels(selector, labels);
    }
    if (result == SIM_SELECTOR_FIELD) {
        sim_status_bad_request(exchange, "field label not supported: %s", fields);
    } else if (result == SIM_SELECTOR_SYNTAX) {
        sim_status_bad_request(exchange, "invalid selector: can't understand '%s%s'",
                               fields != NULL ? fields : "",
                               labels != NULL ? labels : "");
    }
    free(fields);
    free(labels);
    return result == SIM_SELECTOR_OK;
}

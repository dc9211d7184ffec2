/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* GET of one object and LIST, with selectors, pages and metadata-only forms. No lock. */
#include "server.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list_request {
    struct sim_selector selector;
    uint64_t version; /* the state that is asked for */
    size_t limit;     /* 0: no limit */
    char *after;      /* key of the last object of the page before, NULL: none */
};

/* Change the two letters in which base64 for URLs differs. */
static void swap_letters(char *text, const char *from, const char *to)
{
    for (; *text != '\0'; text++) {
        if (*text == from[0] || *text == from[1]) {
            *text = to[*text == from[1]];
        }
    }
}

/* {"v":"meta.k8s.io/v1","rv":N,"start":"namespace/name"} in base64, as the server's. */
static char *continue_token(uint64_t version, const struct sim_object *last)
{
    json_t *token =
        json_pack("{s:s,s:I,s:o}", "v", "meta.k8s.io/v1", "rv", (json_int_t)version,
                  "start", json_sprintf("%s/%s", last->namespace_name, last->name));
    char *text = json_dumps(token, JSON_COMPACT);
    json_decref(token);
    size_t length = strlen(text);
    char *encoded = malloc(length * 2 + 8);
    if (encoded == NULL) {
        abort();
    }
    EVP_EncodeBlock((unsigned char *)encoded, (unsigned char *)text, (int)length);
    swap_letters(encoded, "+/", "-_");
    free(text);
    return encoded;
}

/* ENCODED is changed. */
static bool parse_continue(struct list_request *request, char *encoded)
{
    size_t length = strlen(encoded);
    unsigned char *text = calloc(1, length + 4);
    bool good = false;
    if (text == NULL) {
        abort();
    }
    swap_letters(encoded, "-_", "+/");
    int decoded = EVP_DecodeBlock(text, (const unsigned char *)encoded, (int)length);
    json_t *token = decoded > 0 ? json_loads((char *)text, 0, NULL) : NULL;
    const char *start = json_string_value(json_object_get(token, "start"));
    if (start != NULL && strchr(start, '/') != NULL) {
        request->version = (uint64_t)json_integer_value(json_object_get(token, "rv"));
        request->after = strdup(start);
        good = true;
    }
    json_decref(token);
    free(text);
    return good;
}

/* The resourceVersion of the query in *ret, 0 when there is none; false: answered. A
 * version that is yet to come makes the server wait, and then give up. */
static bool asked_version(struct sim_exchange *exchange, uint64_t *ret)
{
    uint64_t current = sim_store_version(exchange->server->store);
    char *version = sim_query_get(exchange, "resourceVersion");
    char *end = NULL;
    bool good = true;
    *ret = version != NULL ? strtoull(version, &end, 10) : 0;
    if (end != NULL && *end != '\0') {
        sim_status_bad_request(exchange,
                               "invalid resource version: resourceVersion: "
                               "Invalid value: \"%s\": invalid syntax",
                               version);
        good = false;
    } else if (*ret > current) {
        sim_status(exchange, 504, "Timeout",
                   json_pack("{s:[{s:s,s:s}],s:i}", "causes", "reason",
                             "ResourceVersionTooLarge", "message",
                             "Too large resource version", "retryAfterSeconds", 1),
                   "Timeout: Too large resource version: %llu, current: %llu",
                   (unsigned long long)*ret, (unsigned long long)current);
        exchange->answer.retry_after = 1;
        good = false;
    }
    free(version);
    return good;
}

void sim_read_get(struct sim_exchange *exchange)
{
    const struct sim_target *target = &exchange->target;
    uint64_t version;
    if (!asked_version(exchange, &version)) {
        return;
    }
    struct sim_object *object = sim_store_find(exchange->server->store, target->resource,
                                               target->namespace_name, target->name);
    if (object == NULL) {
        sim_status_not_found(exchange);
        return;
    }
    sim_answer_object(exchange, 200, object);
}

/* The version of the state to answer from; false: answered with an error. */
static bool parse_version(struct sim_exchange *exchange, struct list_request *request)
{
    uint64_t wanted;
    if (!asked_version(exchange, &wanted)) {
        return false;
    }
    char *match = sim_query_get(exchange, "resourceVersionMatch");
    char *version = sim_query_get(exchange, "resourceVersion");
    bool exact = match != NULL && strcmp(match, "Exact") == 0;
    bool good = match == NULL || (version != NULL && version[0] != '\0');
    request->version =
        exact && wanted > 0 ? wanted : sim_store_version(exchange->server->store);
    if (!good) {
        static const char why[] = "Forbidden: resourceVersionMatch is forbidden unless "
                                  "resourceVersion is provided";
        sim_status_list_options(exchange, "resourceVersionMatch", why);
    }
    free(match);
    free(version);
    return good;
}

static bool parse_list(struct sim_exchange *exchange, struct list_request *request)
{
    if (!sim_query_selector(exchange, &request->selector) ||
        !parse_version(exchange, request)) {
        return false;
    }
    char *limit = sim_query_get(exchange, "limit");
    char *token = sim_query_get(exchange, "continue");
    request->limit = limit != NULL ? strtoul(limit, NULL, 10) : 0;
    bool good = true;
    if (token != NULL && token[0] != '\0' && !parse_continue(request, token)) {
        sim_status_bad_request(exchange,
                               "invalid continue token: continue key is not valid");
        good = false;
    }
    free(limit);
    free(token);
    return good;
}

static bool is_wanted(const struct sim_exchange *exchange,
                      const struct list_request *request, const struct sim_object *object)
{
    const char *space = exchange->target.namespace_name;
    return (space[0] == '\0' || strcmp(space, object->namespace_name) == 0) &&
           sim_selector_matches(&request->selector, object->value);
}

/* Index of the first object behind the last page. */
static size_t first_index(const struct list_request *request, struct sim_object **objects,
                          size_t count)
{
    if (request->after == NULL) {
        return 0;
    }
    size_t space_length = strcspn(request->after, "/");
    const char *name = request->after + space_length + 1;
    for (size_t i = 0; i < count; i++) {
        const char *space = objects[i]->namespace_name;
        int order = strncmp(space, request->after, space_length);
        if (order == 0) {
            order = space[space_length] != '\0' ? 1 : strcmp(objects[i]->name, name);
        }
        if (order > 0) {
            return i;
        }
    }
    return count;
}

struct page {
    FILE *stream;
    size_t written;
    struct sim_object *last;
    size_t remaining;
};

static void collect(struct sim_exchange *exchange, const struct list_request *request,
                    struct sim_object **objects, size_t count, struct page *page)
{
    bool metadata = exchange->form == SIM_FORM_METADATA_LIST;
    for (size_t i = first_index(request, objects, count); i < count; i++) {
        if (!is_wanted(exchange, request, objects[i])) {
            continue;
        }
        if (request->limit > 0 && page->written == request->limit) {
            page->remaining++;
            continue;
        }
        fputs(page->written > 0 ? "," : "", page->stream);
        if (metadata) {
            fputs(sim_object_metadata(objects[i]), page->stream);
        } else { /* typed lists leave kind and apiVersion out of their items */
            fprintf(page->stream, "{%s",
                    objects[i]->text + sim_object_prefix(objects[i]));
        }
        page->written++;
        page->last = objects[i];
    }
}

/* The list's own metadata: version, token and count of what follows. */
static char *list_metadata(const struct list_request *request, const struct page *page)
{
    char version[24];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)request->version);
    json_t *metadata = json_pack("{s:s}", "resourceVersion", version);
    if (page->remaining > 0) {
        char *token = continue_token(request->version, page->last);
        json_object_set_new(metadata, "continue", json_string(token));
        free(token);
        if (request->selector.count == 0) {
            json_object_set_new(metadata, "remainingItemCount",
                                json_integer((json_int_t)page->remaining));
        }
    }
    char *text = json_dumps(metadata, JSON_COMPACT);
    json_decref(metadata);
    return text;
}

static void answer_list(struct sim_exchange *exchange, const struct list_request *request,
                        struct sim_object **objects, size_t count)
{
    const struct sim_resource *resource = exchange->target.resource;
    bool metadata = exchange->form == SIM_FORM_METADATA_LIST;
    char *items = NULL, *body = NULL;
    size_t size = 0, length = 0;
    struct page page = {.stream = open_memstream(&items, &size)};
    if (page.stream == NULL) {
        abort();
    }
    collect(exchange, request, objects, count, &page);
    fclose(page.stream);
    char *list = list_metadata(request, &page);
    FILE *stream = open_memstream(&body, &length);
    fprintf(stream,
            "{\"kind\":\"%s%s\",\"apiVersion\":\"%s\",\"metadata\":%s,\"items\":[",
            metadata ? "PartialObjectMetadata" : resource->kind, "List",
            metadata ? "meta.k8s.io/v1" : resource->group_version, list);
    fwrite(items, 1, size, stream);
    fputs("]}\n", stream);
    fclose(stream);
    free(list);
    free(items);
    sim_answer_text(exchange, 200, "application/json", body);
}

void sim_read_list(struct sim_exchange *exchange)
{
    struct list_request request = {0};
    struct sim_object **objects;
    size_t count;
    if (parse_list(exchange, &request)) {
        if (sim_store_list(exchange->server->store, exchange->target.resource,
                           request.version, &objects, &count) < 0) {
            sim_status(exchange, 410, "Expired", NULL,
                       "The provided continue parameter is too old to display a "
                       "consistent list result.");
        } else {
            answer_list(exchange, &request, objects, count);
            sim_store_list_free(objects, count);
        }
    }
    sim_selector_clear(&request.selector);
    free(request.after);
}

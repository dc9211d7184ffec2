/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a handler may ask of the exchange that it has.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

const char *hamid_http_path(const struct hamid_http_exchange *exchange)
{
    return exchange->request != NULL ? exchange->request->head.path : NULL;
}

const char *hamid_http_query(const struct hamid_http_exchange *exchange)
{
    return exchange->request != NULL ? exchange->request->head.query : "";
}

bool hamid_http_has_query(const struct hamid_http_exchange *exchange, const char *word)
{
    const char *query = hamid_http_query(exchange);
    size_t length = strlen(word);
    while (*query != '\0') {
        size_t item = strcspn(query, "&");
        if (strncmp(query, word, length) == 0 &&
            (item == length || (item > length && query[length] == '='))) {
            return true;
        }
        query += item + (query[item] == '&' ? 1 : 0);
    }
    return false;
}

const char *hamid_http_header(const struct hamid_http_exchange *exchange,
                              const char *name)
{
    return exchange->request != NULL
               ? hamid_http_head_header(&exchange->request->head, name)
               : NULL;
}

struct evbuffer *hamid_http_body(struct hamid_http_exchange *exchange)
{
    return exchange->body;
}

const char *hamid_http_body_text(struct hamid_http_exchange *exchange, size_t *ret_length)
{
    size_t length = evbuffer_get_length(exchange->body);
    if (evbuffer_add(exchange->body, "", 1) != 0) {
        return NULL;
    }
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return (const char *)evbuffer_pullup(exchange->body, -1);
}

bool hamid_http_peer(const struct hamid_http_exchange *exchange,
                     struct hamid_http_peer *ret)
{
    if (exchange->has_peer) {
        *ret = exchange->peer;
    }
    return exchange->has_peer;
}

void hamid_http_set_headers(struct hamid_http_exchange *exchange, const char *lines)
{
    exchange->header_lines = lines;
}

void hamid_http_on_gone(struct hamid_http_exchange *exchange, void (*gone)(void *data),
                        void *data)
{
    exchange->gone = gone;
    exchange->gone_data = data;
}

void hamid_http_release_request(struct hamid_http_exchange *exchange)
{
    if (exchange->request != NULL) {
        free(exchange->request->text);
    }
    free(exchange->request);
    exchange->request = NULL;
    if (exchange->body != NULL) {
        evbuffer_free(exchange->body);
        exchange->body = NULL;
    }
    hamid_http_connection_count(exchange);
}

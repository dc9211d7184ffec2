/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* One delivery's data and life: see exchange.h. Server's thread only, no lock. */
#include "exchange.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fault.h"
#include "server.h"

struct sim_exchange *sim_exchange_new(struct kubesim *server,
                                      const struct sim_transport *transport, void *stream)
{
    struct sim_exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL) {
        abort();
    }
    exchange->server = server;
    exchange->transport = transport;
    exchange->stream = stream;
    exchange->answer.retry_after = -1;
    exchange->next = server->exchanges;
    exchange->link = &server->exchanges;
    if (exchange->next != NULL) {
        exchange->next->link = &exchange->next;
    }
    server->exchanges = exchange;
    return exchange;
}

void sim_text_clean(char *text)
{
    json_t *probe = json_string(text);
    if (probe == NULL) {
        for (; *text != '\0'; text++) {
            if ((unsigned char)*text >= 0x80) {
                *text = '?';
            }
        }
    }
    json_decref(probe);
}

static void replace_text(char **field, const char *value)
{
    free(*field);
    *field = strdup(value);
    if (*field == NULL) {
        abort();
    }
    sim_text_clean(*field);
}

bool sim_exchange_add_header(struct sim_exchange *exchange, const char *name,
                             const char *value)
{
    exchange->header_bytes += strlen(name) + strlen(value) + 32;
    if (exchange->header_bytes > SIM_HEADER_LIMIT) {
        return false;
    }
    if (strcmp(name, ":method") == 0) {
        replace_text(&exchange->method, value);
    } else if (strcmp(name, ":path") == 0) {
        replace_text(&exchange->uri, value);
    } else if (strcasecmp(name, "authorization") == 0) {
        replace_text(&exchange->authorization, value);
    } else if (strcasecmp(name, "accept") == 0) {
        replace_text(&exchange->accept, value);
    } else if (strcasecmp(name, "content-type") == 0) {
        replace_text(&exchange->content_type, value);
    } else if (strcasecmp(name, "user-agent") == 0) {
        replace_text(&exchange->user_agent, value);
    }
    return true;
}

bool sim_exchange_add_body(struct sim_exchange *exchange, const void *data, size_t length)
{
    size_t needed = exchange->body_length + length + 1;
    if (needed > SIM_BODY_LIMIT) {
        return false;
    }
    if (needed > exchange->body_capacity) {
        size_t capacity = needed < 1024 ? 1024 : needed * 2;
        char *grown = realloc(exchange->body, capacity);
        if (grown == NULL) {
            return false;
        }
        exchange->body = grown;
        exchange->body_capacity = capacity;
    }
    memcpy(exchange->body + exchange->body_length, data, length);
    exchange->body_length += length;
    exchange->body[exchange->body_length] = '\0';
    return true;
}

void sim_exchange_detach(struct sim_exchange *exchange)
{
    exchange->transport = NULL;
    exchange->stream = NULL;
    if (exchange->watch != NULL) {
        sim_watch_stop(exchange);
    }
    bool waits =
        exchange->timer != NULL && event_pending(exchange->timer, EV_TIMEOUT, NULL);
    if (exchange->finished || !waits) {
        sim_exchange_free(exchange);
    }
}

void sim_exchange_finish(struct sim_exchange *exchange)
{
    exchange->finished = true;
    if (exchange->transport == NULL) {
        sim_exchange_free(exchange);
    }
}

void sim_exchange_free(struct sim_exchange *exchange)
{
    if (exchange->delivery != NULL) {
        sim_audit_close(exchange);
    }
    if (exchange->watch != NULL) {
        sim_watch_stop(exchange);
    }
    if (exchange->timer != NULL) {
        event_free(exchange->timer);
    }
    *exchange->link = exchange->next;
    if (exchange->next != NULL) {
        exchange->next->link = exchange->link;
    }
    sim_answer_clear(&exchange->answer);
    sim_fault_unref(exchange->fault);
    json_decref(exchange->request);
    free(exchange->method);
    free(exchange->uri);
    free(exchange->query);
    free(exchange->authorization);
    free(exchange->accept);
    free(exchange->content_type);
    free(exchange->user_agent);
    free(exchange->body);
    free(exchange->certificate_user);
    free(exchange);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct sim_exchange *exchange = data;
    (void)fd;
    (void)what;
    exchange->on_timer(exchange);
}

void sim_exchange_after(struct sim_exchange *exchange, unsigned delay_ms,
                        void (*function)(struct sim_exchange *exchange))
{
    struct timeval delay = {delay_ms / 1000, (delay_ms % 1000) * 1000L};
    if (exchange->timer == NULL) {
        exchange->timer = evtimer_new(exchange->server->base, on_timer, exchange);
    }
    exchange->on_timer = function;
    evtimer_add(exchange->timer, &delay);
}

void sim_answer_clear(struct sim_answer *answer)
{
    free(answer->body);
    sim_object_unref(answer->object);
    memset(answer, 0, sizeof(*answer));
    answer->retry_after = -1;
}

void sim_answer_text(struct sim_exchange *exchange, int code, const char *content_type,
                     char *body)
{
    sim_answer_clear(&exchange->answer);
    exchange->answer.code = code;
    exchange->answer.content_type = content_type;
    exchange->answer.body = body;
    exchange->answer.length = body != NULL ? strlen(body) : 0;
}

void sim_answer_copy(struct sim_exchange *exchange, int code, const char *text)
{
    size_t length = strlen(text);
    char *body = malloc(length + 2);
    if (body == NULL) {
        abort();
    }
    memcpy(body, text, length);
    memcpy(body + length, "\n", 2);
    sim_answer_text(exchange, code, "application/json", body);
}

void sim_answer_json(struct sim_exchange *exchange, int code, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;
    if (text == NULL) {
        abort(); /* every text in it was cleaned */
    }
    sim_answer_copy(exchange, code, text);
    free(text);
    json_decref(value);
}

void sim_answer_object(struct sim_exchange *exchange, int code, struct sim_object *object)
{
    sim_answer_copy(exchange, code,
                    exchange->form == SIM_FORM_METADATA ? sim_object_metadata(object)
                                                        : object->text);
    exchange->answer.version = object->version;
    exchange->answer.object = sim_object_ref(object);
}

const char *sim_reason_phrase(int code)
{
    static const struct {
        int code;
        const char *text;
    } phrases[] = {{200, "OK"},
                   {201, "Created"},
                   {400, "Bad Request"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {406, "Not Acceptable"},
                   {409, "Conflict"},
                   {410, "Gone"},
                   {413, "Request Entity Too Large"},
                   {415, "Unsupported Media Type"},
                   {422, "Unprocessable Entity"},
                   {429, "Too Many Requests"},
                   {431, "Request Header Fields Too Large"},
                   {500, "Internal Server Error"},
                   {503, "Service Unavailable"},
                   {504, "Gateway Timeout"}};
    for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
        if (phrases[i].code == code) {
            return phrases[i].text;
        }
    }
    return "Status";
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit = (char)tolower((unsigned char)digit);
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

char *sim_url_decode(const char *text, size_t length, bool in_query)
{
    char *out = malloc(length + 1);
    size_t used = 0;
    if (out == NULL) {
        abort();
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '%' && i + 2 < length && hex_digit(text[i + 1]) >= 0 &&
            hex_digit(text[i + 2]) >= 0) {
            out[used++] = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            out[used++] = in_query && text[i] == '+' ? ' ' : text[i];
        }
    }
    out[used] = '\0';
    sim_text_clean(out);
    return out;
}

char *sim_query_get(const struct sim_exchange *exchange, const char *name)
{
    const char *at = exchange->query;
    size_t name_length = strlen(name);
    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, "&");
        if (length >= name_length && strncmp(at, name, name_length) == 0 &&
            (length == name_length || at[name_length] == '=')) {
            size_t skip = name_length + (length > name_length);
            return sim_url_decode(at + skip, length - skip, true);
        }
        at += length + (at[length] == '&');
    }
    return NULL;
}

bool sim_query_flag(const struct sim_exchange *exchange, const char *name)
{
    char *value = sim_query_get(exchange, name);
    bool set = value != NULL && strcmp(value, "false") != 0 && strcmp(value, "0") != 0;
    free(value);
    return set;
}

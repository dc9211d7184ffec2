/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of deliveries. In memory: one record for each arrival, with its audit line
 * once the outcome is known (the oldest lines are dropped beyond a bound). In the file:
 * one line of JSON for each, in the form of audit.k8s.io/v1 Event, written through a
 * buffer that is flushed every 100 ms and at the end.
 *
 * Server's thread only, no lock. Bearer tokens never get here.
 */
#include "server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

#define LINES_LIMIT (128u << 20)
#define FLUSH_MS 100

/* A request that was never applied or answered: no code of Kubernetes' own. */
#define CODE_NOT_DELIVERED 503

struct sim_delivery {
    char *verb, *resource, *subresource, *namespace_name, *name, *user, *body;
    char *line; /* NULL: not complete yet, or dropped */
    char id[37];
    char received[40];
    uint64_t sequence;
    int code;
    bool closed, orphan; /* orphan: forgotten while still open */
};

struct sim_audit {
    FILE *file;
    struct event *flush_timer;
    struct sim_delivery **records;
    size_t count, capacity;
    size_t oldest_line, line_bytes;
};

static char *copy(const char *text)
{
    char *result = strdup(text != NULL ? text : "");
    if (result == NULL) {
        abort();
    }
    return result;
}

static void delivery_free(struct sim_delivery *delivery)
{
    free(delivery->verb);
    free(delivery->resource);
    free(delivery->subresource);
    free(delivery->namespace_name);
    free(delivery->name);
    free(delivery->user);
    free(delivery->body);
    free(delivery->line);
    free(delivery);
}

static void on_flush(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    sim_audit_flush(data);
}

int sim_audit_init(struct kubesim *sim)
{
    struct sim_audit *audit = calloc(1, sizeof(*audit));
    struct timeval interval = {0, FLUSH_MS * 1000L};
    if (audit == NULL) {
        return -ENOMEM;
    }
    sim->audit = audit;
    if (sim->options.audit_path == NULL) {
        return 0;
    }
    audit->file = fopen(sim->options.audit_path, "we");
    if (audit->file == NULL) {
        return -errno;
    }
    setvbuf(audit->file, NULL, _IOFBF, 256 * 1024);
    audit->flush_timer = event_new(sim->base, -1, EV_PERSIST, on_flush, sim);
    event_add(audit->flush_timer, &interval);
    return 0;
}

void sim_audit_flush(struct kubesim *sim)
{
    if (sim->audit != NULL && sim->audit->file != NULL) {
        fflush(sim->audit->file);
    }
}

void sim_audit_forget(struct kubesim *sim)
{
    struct sim_audit *audit = sim->audit;
    for (size_t i = 0; i < audit->count; i++) {
        if (audit->records[i]->closed) {
            delivery_free(audit->records[i]);
        } else {
            audit->records[i]->orphan = true;
        }
    }
    audit->count = audit->oldest_line = audit->line_bytes = 0;
}

void sim_audit_done(struct kubesim *sim)
{
    struct sim_audit *audit = sim->audit;
    if (audit == NULL) {
        return;
    }
    sim_audit_forget(sim);
    if (audit->flush_timer != NULL) {
        event_free(audit->flush_timer);
    }
    if (audit->file != NULL) {
        fclose(audit->file);
    }
    free(audit->records);
    free(audit);
    sim->audit = NULL;
}

static void append(struct sim_audit *audit, struct sim_delivery *delivery)
{
    if (audit->count == audit->capacity) {
        size_t capacity = audit->capacity > 0 ? audit->capacity * 2 : 1024;
        void *grown = realloc(audit->records, capacity * sizeof(*audit->records));
        if (grown == NULL) {
            abort();
        }
        audit->records = grown;
        audit->capacity = capacity;
    }
    audit->records[audit->count++] = delivery;
}

void sim_audit_open(struct sim_exchange *exchange)
{
    const struct sim_target *target = &exchange->target;
    struct sim_delivery *delivery = calloc(1, sizeof(*delivery));
    if (delivery == NULL) {
        abort();
    }
    delivery->verb = copy(target->verb);
    delivery->resource = copy(target->resource != NULL ? target->resource->plural : "");
    delivery->subresource = copy(target->subresource);
    delivery->namespace_name = copy(target->namespace_name);
    delivery->name = copy(target->name);
    delivery->user = copy(exchange->user);
    delivery->body = copy(exchange->body);
    sim_uuid(delivery->id);
    sim_time_micros(delivery->received);
    exchange->delivery = delivery;
    append(exchange->server->audit, delivery);
    sim_server_notify(exchange->server);
}

void sim_audit_apply(struct sim_exchange *exchange)
{
    exchange->delivery->sequence = ++exchange->server->sequence;
}

const char *sim_audit_id(const struct sim_exchange *exchange)
{
    return exchange->delivery != NULL ? exchange->delivery->id : NULL;
}

static bool is_write(const struct sim_exchange *exchange)
{
    const char *verb = exchange->target.verb;
    return verb != NULL && strcmp(verb, "get") != 0 && strcmp(verb, "list") != 0 &&
           strcmp(verb, "watch") != 0;
}

static json_t *object_reference(const struct sim_exchange *exchange)
{
    const struct sim_target *target = &exchange->target;
    json_t *reference = json_pack("{s:s}", "resource", target->resource->plural);
    if (target->namespace_name[0] != '\0') {
        json_object_set_new(reference, "namespace", json_string(target->namespace_name));
    }
    if (target->name[0] != '\0') {
        json_object_set_new(reference, "name", json_string(target->name));
    }
    if (target->resource->group[0] != '\0') {
        json_object_set_new(reference, "apiGroup", json_string(target->resource->group));
    }
    json_object_set_new(reference, "apiVersion",
                        json_string(strrchr(target->resource->path, '/') + 1));
    if (target->subresource[0] != '\0') {
        json_object_set_new(reference, "subresource", json_string(target->subresource));
    }
    return reference;
}

static json_t *annotations(const struct sim_exchange *exchange)
{
    json_t *map = json_object();
    const struct sim_delivery *delivery = exchange->delivery;
    if (delivery->sequence > 0) {
        json_object_set_new(map, "kubesim/sequence",
                            json_sprintf("%llu", (unsigned long long)delivery->sequence));
    }
    if (exchange->answer.version > 0) {
        json_object_set_new(
            map, "kubesim/resource-version",
            json_sprintf("%llu", (unsigned long long)exchange->answer.version));
    }
    if (exchange->fault != NULL) {
        const struct kubesim_fault *what = &exchange->fault->what;
        bool delay = what->action == KUBESIM_NOTHING &&
                     (what->delay_before_ms > 0 || what->delay_answer_ms > 0);
        json_object_set_new(
            map, "kubesim/fault",
            json_string(delay ? "delay" : sim_fault_action_name(what->action)));
    }
    return map;
}

/* All of the event but for the objects, which are spliced in as text. */
static json_t *event_head(const struct sim_exchange *exchange)
{
    const struct sim_delivery *delivery = exchange->delivery;
    char now[40];
    sim_time_micros(now);
    json_t *event = json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:{s:s,s:[s]},s:[s]}", "kind", "Event",
        "apiVersion", "audit.k8s.io/v1", "level",
        is_write(exchange) ? "RequestResponse" : "Metadata", "auditID", delivery->id,
        "stage", "ResponseComplete", "requestURI", exchange->uri, "verb",
        exchange->target.verb != NULL ? exchange->target.verb : "get", "user", "username",
        exchange->user != NULL ? exchange->user : "system:anonymous", "groups",
        exchange->user != NULL ? "system:authenticated" : "system:unauthenticated",
        "sourceIPs", "127.0.0.1");
    if (event == NULL) {
        event = json_object(); /* a URI that is no UTF-8 */
    }
    json_t *agent =
        exchange->user_agent != NULL ? json_string(exchange->user_agent) : NULL;
    if (agent != NULL) {
        json_object_set_new(event, "userAgent", agent);
    }
    if (exchange->target.resource != NULL) {
        json_object_set_new(event, "objectRef", object_reference(exchange));
    }
    json_object_set_new(event, "responseStatus",
                        json_pack("{s:{},s:i}", "metadata", "code", delivery->code));
    json_object_set_new(event, "requestReceivedTimestamp",
                        json_string(delivery->received));
    json_object_set_new(event, "stageTimestamp", json_string(now));
    json_object_set_new(event, "annotations", annotations(exchange));
    return event;
}

/* The answer's object as text and its length; NULL when there is none to log. */
static const char *response_text(const struct sim_exchange *exchange, size_t *length)
{
    const struct sim_answer *answer = &exchange->answer;
    if (answer->object != NULL) {
        *length = strlen(answer->object->text);
        return answer->object->text;
    }
    if (answer->body == NULL || answer->length < 2 || answer->body[0] != '{') {
        return NULL;
    }
    *length = answer->length - (answer->body[answer->length - 1] == '\n');
    return answer->body;
}

/* What came in is logged as it came, where that fits into a line. */
static void put_request(FILE *stream, const struct sim_exchange *exchange)
{
    fputs(",\"requestObject\":", stream);
    if (exchange->body != NULL && strpbrk(exchange->body, "\r\n") == NULL) {
        fputs(exchange->body, stream);
    } else {
        json_dumpf(exchange->request, stream, JSON_COMPACT | JSON_ENCODE_ANY);
    }
}

static char *event_line(const struct sim_exchange *exchange)
{
    char *line = NULL;
    size_t size = 0, length = 0;
    json_t *event = event_head(exchange);
    char *head = json_dumps(event, JSON_COMPACT);
    FILE *stream = open_memstream(&line, &size);
    if (stream == NULL || head == NULL) {
        abort();
    }
    json_decref(event);
    fwrite(head, 1, strlen(head) - 1, stream); /* leaves the last brace open */
    if (is_write(exchange)) {
        const char *response = response_text(exchange, &length);
        if (exchange->request != NULL) {
            put_request(stream, exchange);
        }
        if (response != NULL) {
            fprintf(stream, ",\"responseObject\":%.*s", (int)length, response);
        }
    }
    fputs("}\n", stream);
    fclose(stream);
    free(head);
    return line;
}

static void bound_lines(struct sim_audit *audit)
{
    while (audit->line_bytes > LINES_LIMIT && audit->oldest_line < audit->count) {
        struct sim_delivery *delivery = audit->records[audit->oldest_line++];
        if (delivery->line != NULL) {
            audit->line_bytes -= strlen(delivery->line);
            free(delivery->line);
            delivery->line = NULL;
        }
    }
}

void sim_audit_close(struct sim_exchange *exchange)
{
    struct sim_delivery *delivery = exchange->delivery;
    struct sim_audit *audit = exchange->server->audit;
    if (delivery == NULL) {
        return;
    }
    delivery->code =
        exchange->answer.code != 0 ? exchange->answer.code : CODE_NOT_DELIVERED;
    delivery->line = event_line(exchange);
    delivery->closed = true;
    exchange->delivery = NULL;
    if (audit->file != NULL) {
        fputs(delivery->line, audit->file);
    }
    if (delivery->orphan) {
        delivery_free(delivery);
    } else {
        audit->line_bytes += strlen(delivery->line);
        bound_lines(audit);
    }
    sim_server_notify(exchange->server);
}

static bool same(const char *wanted, const char *present)
{
    return wanted == NULL || strcmp(wanted, present) == 0;
}

static bool matches(const struct kubesim_match *match,
                    const struct sim_delivery *delivery)
{
    if (match == NULL) {
        return strcmp(delivery->user, SIM_INTERNAL_USER) != 0;
    }
    return same(match->verb, delivery->verb) &&
           same(match->resource, delivery->resource) &&
           same(match->subresource, delivery->subresource) &&
           same(match->namespace_name, delivery->namespace_name) &&
           same(match->name, delivery->name) && same(match->user, delivery->user) &&
           (match->body == NULL || strstr(delivery->body, match->body) != NULL) &&
           (match->code == 0 || match->code == delivery->code);
}

bool sim_match_request(const struct kubesim_match *match,
                       const struct sim_exchange *exchange)
{
    const struct sim_target *target = &exchange->target;
    return target->resource != NULL && same(match->verb, target->verb) &&
           same(match->resource, target->resource->plural) &&
           same(match->subresource, target->subresource) &&
           same(match->namespace_name, target->namespace_name) &&
           same(match->name, target->name) && same(match->user, exchange->user) &&
           (match->body == NULL ||
            (exchange->body != NULL && strstr(exchange->body, match->body) != NULL));
}

unsigned sim_audit_count(struct kubesim *sim, const struct kubesim_match *match)
{
    unsigned count = 0;
    for (size_t i = 0; i < sim->audit->count; i++) {
        count += matches(match, sim->audit->records[i]);
    }
    return count;
}

json_t *sim_audit_select(struct kubesim *sim, const struct kubesim_match *match)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sim->audit->count; i++) {
        const struct sim_delivery *delivery = sim->audit->records[i];
        if (delivery->line != NULL && matches(match, delivery)) {
            json_array_append_new(list, json_loads(delivery->line, 0, NULL));
        }
    }
    return list;
}

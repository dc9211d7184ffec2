/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a complete request to its answer: who asks, what for, in which form, which
 * fault it meets, and the steps before applying, applying, and answering that a fault
 * may delay, double or cut short. Server's thread only, no lock.
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "route.h"

static void send_answer(struct sim_exchange *exchange)
{
    if (exchange->transport != NULL) {
        exchange->transport->respond(exchange, &exchange->answer);
    }
    exchange->answered = true;
    sim_audit_close(exchange);
    sim_exchange_finish(exchange);
}

/* The request ends here without an answer. */
static void give_up(struct sim_exchange *exchange, enum sim_abort how)
{
    sim_audit_close(exchange);
    if (exchange->transport != NULL) {
        exchange->transport->abort(exchange, how);
    }
    sim_exchange_finish(exchange);
}

/* It stays open without an answer, until its sender leaves or the server stops. */
static void hang(struct sim_exchange *exchange)
{
    sim_audit_close(exchange);
    if (exchange->transport == NULL) {
        sim_exchange_finish(exchange);
    }
}

static void run_verb(struct sim_exchange *exchange)
{
    static const struct {
        const char *verb;
        void (*run)(struct sim_exchange *exchange);
    } verbs[] = {{"get", sim_read_get},        {"list", sim_read_list},
                 {"update", sim_write_update}, {"patch", sim_write_patch},
                 {"delete", sim_write_delete}, {"create", sim_write_create}};
    sim_audit_apply(exchange);
    if (strcmp(exchange->target.subresource, "binding") == 0) {
        sim_write_binding(exchange);
        return;
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].verb, exchange->target.verb) == 0) {
            verbs[i].run(exchange);
            return;
        }
    }
}

/* A write of somebody else that comes first. */
static void foreign_write(struct sim_exchange *exchange, const struct kubesim_fault *what)
{
    const struct sim_target *target = &exchange->target;
    if (what->hook != NULL) {
        what->hook(exchange->server, what->hook_data);
    }
    if (what->write_key != NULL) {
        kubesim_set_annotation(exchange->server,
                               what->write_resource != NULL ? what->write_resource
                                                            : target->resource->plural,
                               what->write_namespace != NULL ? what->write_namespace
                                                             : target->namespace_name,
                               what->write_name != NULL ? what->write_name : target->name,
                               what->write_key, what->write_value);
    }
}

/* The same write once more; the first or the second answer is the one to send. */
static void run_again(struct sim_exchange *exchange, bool send_second)
{
    struct sim_answer first = exchange->answer;
    if (strcmp(exchange->target.verb, "get") == 0 ||
        strcmp(exchange->target.verb, "list") == 0) {
        return;
    }
    sim_audit_close(exchange);
    memset(&exchange->answer, 0, sizeof(exchange->answer));
    exchange->answer.retry_after = -1;
    sim_audit_open(exchange);
    run_verb(exchange);
    sim_audit_close(exchange);
    if (send_second) {
        sim_answer_clear(&first);
    } else {
        sim_answer_clear(&exchange->answer);
        exchange->answer = first;
    }
}

static void status_of_fault(struct sim_exchange *exchange,
                            const struct kubesim_fault *what)
{
    int seconds = what->retry_after < 0 ? 0 : what->retry_after;
    if (what->status == 429) { /* the one answer that is no Status object */
        sim_answer_text(exchange, 429, "text/plain; charset=utf-8",
                        strdup("Too many requests, please try again later.\n"));
    } else {
        sim_status(exchange, what->status,
                   what->status == 409   ? "Conflict"
                   : what->status == 403 ? "Forbidden"
                   : what->status == 404 ? "NotFound"
                   : what->status == 503 ? "ServiceUnavailable"
                   : what->status == 504 ? "Timeout"
                                         : "InternalError",
                   NULL, "this answer was asked for by a fault");
    }
    if (what->retry_after != 0) {
        exchange->answer.retry_after = seconds;
    }
}

/* Applied: now whatever the fault does to the answer. */
static void conclude(struct sim_exchange *exchange)
{
    const struct kubesim_fault *what =
        exchange->fault != NULL ? &exchange->fault->what : NULL;
    enum kubesim_action action = what != NULL ? what->action : KUBESIM_NOTHING;
    if (action == KUBESIM_DROP_AFTER || action == KUBESIM_RESET_AFTER) {
        give_up(exchange,
                action == KUBESIM_DROP_AFTER ? SIM_ABORT_CONNECTION : SIM_ABORT_STREAM);
        return;
    }
    if (action == KUBESIM_HANG_AFTER) {
        hang(exchange);
        return;
    }
    if (action == KUBESIM_STATUS_AFTER) {
        sim_audit_close(exchange);
        status_of_fault(exchange, what);
    }
    exchange->answer.truncate = action == KUBESIM_TRUNCATE;
    exchange->answer.close = action == KUBESIM_GOAWAY;
    exchange->answer.date_skew = what != NULL ? what->date_skew : 0;
    if (action == KUBESIM_GOAWAY && exchange->transport != NULL) {
        exchange->transport->go_away(exchange);
    }
    if (what != NULL && what->delay_answer_ms > 0) {
        sim_exchange_after(exchange, what->delay_answer_ms, send_answer);
    } else {
        send_answer(exchange);
    }
}

static void start_watch(struct sim_exchange *exchange, enum kubesim_action action)
{
    if (exchange->transport == NULL) { /* its sender left while it was delayed */
        sim_audit_close(exchange);
        sim_exchange_finish(exchange);
        return;
    }
    sim_audit_apply(exchange);
    if (!sim_watch_start(exchange)) {
        send_answer(exchange);
    } else if (action == KUBESIM_EXPIRE_WATCHES) {
        sim_watch_expire_one(exchange);
    } else if (action == KUBESIM_TRUNCATE || action == KUBESIM_DROP_AFTER) {
        give_up(exchange, SIM_ABORT_CONNECTION);
    }
}

static void apply(struct sim_exchange *exchange)
{
    const struct kubesim_fault *what =
        exchange->fault != NULL ? &exchange->fault->what : NULL;
    enum kubesim_action action = what != NULL ? what->action : KUBESIM_NOTHING;
    bool is_watch = strcmp(exchange->target.verb, "watch") == 0;
    exchange->applied = true;
    if (what != NULL) {
        foreign_write(exchange, what);
    }
    if (action == KUBESIM_CUT_WATCHES) {
        sim_watch_cut(exchange->server, what->watches);
    } else if (action == KUBESIM_EXPIRE_WATCHES && !is_watch) {
        sim_watch_expire(exchange->server, what->watches);
    }
    if (is_watch) {
        start_watch(exchange, action);
        return;
    }
    run_verb(exchange);
    if (action == KUBESIM_TWICE || action == KUBESIM_TWICE_SECOND) {
        run_again(exchange, action == KUBESIM_TWICE_SECOND);
    }
    conclude(exchange);
}

/* The faults that keep the request from the store. True: it ends here. */
static bool stop_before(struct sim_exchange *exchange, const struct kubesim_fault *what)
{
    switch (what->action) {
    case KUBESIM_DROP_BEFORE:
        give_up(exchange, SIM_ABORT_CONNECTION);
        return true;
    case KUBESIM_RESET_BEFORE:
        give_up(exchange, SIM_ABORT_STREAM);
        return true;
    case KUBESIM_REFUSE_STREAM:
        give_up(exchange, SIM_ABORT_REFUSED);
        return true;
    case KUBESIM_GOAWAY_REFUSE:
        give_up(exchange, SIM_ABORT_GOAWAY);
        return true;
    case KUBESIM_HANG_BEFORE:
        hang(exchange);
        return true;
    case KUBESIM_STATUS:
        status_of_fault(exchange, what);
        exchange->answer.date_skew = what->date_skew;
        send_answer(exchange);
        return true;
    default:
        return false;
    }
}

static void after_delay(struct sim_exchange *exchange)
{
    if (!stop_before(exchange, &exchange->fault->what)) {
        apply(exchange);
    }
}

static void deliver(struct sim_exchange *exchange)
{
    exchange->fault = sim_fault_meet(exchange->server->faults, exchange);
    if (exchange->fault == NULL) {
        apply(exchange);
    } else if (exchange->fault->what.delay_before_ms > 0) {
        sim_exchange_after(exchange, exchange->fault->what.delay_before_ms, after_delay);
    } else {
        after_delay(exchange);
    }
}

/* Body and media types; false: answered. */
static bool parse_request(struct sim_exchange *exchange)
{
    const char *verb = exchange->target.verb;
    bool patch = strcmp(verb, "patch") == 0;
    char *dry_run = sim_query_get(exchange, "dryRun");
    if (dry_run != NULL) {
        free(dry_run);
        sim_status_bad_request(exchange, "dryRun is not served here");
        return false;
    }
    if (exchange->body_length > 0) {
        exchange->request =
            json_loadb(exchange->body, exchange->body_length, JSON_DECODE_ANY, NULL);
    }
    const char *type = exchange->content_type;
    bool json = type == NULL || strncmp(type, "application/json", 16) == 0;
    if (!patch && exchange->body_length > 0 && !json) {
        sim_status(exchange, 415, "UnsupportedMediaType", NULL,
                   "the body of the request was in an unknown format - accepted media "
                   "types include: application/json");
        return false;
    }
    exchange->form = sim_route_form(exchange->accept, strcmp(verb, "list") == 0);
    if (exchange->form == SIM_FORM_NONE) {
        sim_status(exchange, 406, "NotAcceptable", NULL,
                   "only the following media types are accepted: application/json, "
                   "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1 (of a "
                   "list: PartialObjectMetadataList)");
        return false;
    }
    return true;
}

static bool authenticate(struct sim_exchange *exchange)
{
    const char *header = exchange->authorization;
    const char *name = exchange->certificate_user;
    if (exchange->internal) {
        exchange->user = SIM_INTERNAL_USER;
        return true;
    }
    if (header != NULL && strncmp(header, "Bearer ", 7) == 0) {
        name = header + 7;
    }
    for (char **user = exchange->server->users; name != NULL && *user != NULL; user++) {
        if (strcmp(*user, name) == 0) {
            exchange->user = *user;
            return true;
        }
    }
    return false;
}

static void refuse_anonymous(struct sim_exchange *exchange)
{
    sim_status(exchange, 401, "Unauthorized", NULL, "Unauthorized");
    send_answer(exchange);
}

/* Paths that name no resource: health, version, our own control; else 404. */
static void answer_other(struct sim_exchange *exchange, const char *path, bool known_user)
{
    bool get = strcmp(exchange->method, "GET") == 0;
    if (known_user && sim_canned_answer(exchange, path)) {
        /* answered */
    } else if (get && (strcmp(path, "/livez") == 0 || strcmp(path, "/readyz") == 0 ||
                       strcmp(path, "/healthz") == 0)) {
        sim_answer_text(exchange, 200, "text/plain; charset=utf-8", strdup("ok"));
    } else if (get && strcmp(path, "/version") == 0) {
        sim_answer_json(exchange, 200,
                        json_pack("{s:s,s:s,s:s,s:s}", "major", "1", "minor", "37",
                                  "gitVersion", "v1.37.2+kubesim", "platform",
                                  "linux/amd64"));
    } else if (!known_user) {
        refuse_anonymous(exchange);
        return;
    } else if (strncmp(path, "/kubesim/", 9) == 0) {
        sim_control(exchange, path + 9);
    } else if (strncmp(path, "/api/v1/", 8) == 0 || strncmp(path, "/apis/", 6) == 0) {
        sim_status(exchange, 404, "NotFound", json_object(),
                   "the server could not find the requested resource");
    } else {
        sim_answer_text(exchange, 404, "text/plain; charset=utf-8",
                        strdup("404 page not found\n"));
    }
    send_answer(exchange);
}

/* Cut the query off the path and find out what is asked for. */
static enum sim_route_result resolve(struct sim_exchange *exchange, char **ret_path)
{
    if (exchange->uri == NULL) {
        exchange->uri = strdup("/");
    }
    if (exchange->method == NULL) {
        exchange->method = strdup("");
    }
    char *path = exchange->uri != NULL ? strdup(exchange->uri) : NULL;
    if (path == NULL || exchange->method == NULL) {
        abort();
    }
    char *query = strchr(path, '?');
    free(exchange->query);
    exchange->query = strdup(query != NULL ? query + 1 : "");
    if (query != NULL) {
        *query = '\0';
    }
    *ret_path = path;
    return sim_route_resolve(path, exchange->method, sim_query_flag(exchange, "watch"),
                             &exchange->target);
}

static void begin_resource(struct sim_exchange *exchange, enum sim_route_result result,
                           bool known_user)
{
    sim_audit_open(exchange);
    if (!known_user) {
        refuse_anonymous(exchange);
    } else if (result == SIM_ROUTE_METHOD) {
        sim_status(exchange, 405, "MethodNotAllowed", json_object(),
                   "the server does not allow this method on the requested resource");
        send_answer(exchange);
    } else if (!parse_request(exchange)) {
        send_answer(exchange);
    } else {
        deliver(exchange);
    }
}

void sim_router_begin(struct sim_exchange *exchange)
{
    char *path;
    enum sim_route_result result = resolve(exchange, &path);
    bool known_user = authenticate(exchange);
    if (result == SIM_ROUTE_OTHER) {
        answer_other(exchange, path, known_user);
    } else {
        begin_resource(exchange, result, known_user);
    }
    free(path);
}

void sim_router_run_internal(struct sim_exchange *exchange)
{
    char *path;
    exchange->internal = true;
    enum sim_route_result result = resolve(exchange, &path);
    (void)authenticate(exchange);
    free(path);
    if (result != SIM_ROUTE_RESOURCE || strcmp(exchange->target.verb, "watch") == 0) {
        sim_answer_text(exchange, 404, "text/plain; charset=utf-8",
                        strdup("404 page not found\n"));
        return;
    }
    sim_audit_open(exchange);
    if (parse_request(exchange)) {
        run_verb(exchange);
    }
    sim_audit_close(exchange);
}

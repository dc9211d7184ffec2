/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /kubesim/...: faults and switches for other processes. It meets no fault itself and
 * is not logged. Server's thread only, no lock.
 *
 *   POST   faults {..}            arm one, answers {"id":N}
 *   GET    faults                 all, with what they saw and hit
 *   DELETE faults, faults/N       disarm all or one
 *   POST   watches/cut, watches/expire, watches/bookmark, watches/pause, watches/resume
 *                                 (cut and expire: optional {"resource":"nodes"})
 *   POST   compact, flush         forget the history; write the audit log out
 *   POST   date-skew {"seconds":N}
 *   POST   answers {"method","path","status","answer"[,"contains"]}
 *                                 give this JSON for a path that is no resource of ours
 *                                 (and where the query or the body has this text)
 *   GET    counters               deliveries, version, watches, connections
 */
#include "server.h"

#include <stdlib.h>
#include <string.h>

#include "fault.h"

static void answer_done(struct sim_exchange *exchange)
{
    sim_answer_copy(exchange, 200, "{\"done\":true}");
}

static void arm(struct sim_exchange *exchange)
{
    struct kubesim_fault what;
    const char *wrong = sim_fault_parse(exchange->request, &what);
    if (wrong != NULL) {
        sim_status_bad_request(exchange, "fault: %s", wrong);
        return;
    }
    sim_answer_json(
        exchange, 201,
        json_pack("{s:i}", "id", sim_fault_arm(exchange->server->faults, &what)));
}

static void list_faults(struct sim_exchange *exchange)
{
    sim_answer_json(exchange, 200, sim_fault_list(exchange->server->faults));
}

static void disarm(struct sim_exchange *exchange)
{
    sim_fault_disarm(exchange->server->faults, 0);
    answer_done(exchange);
}

static const char *resource_of(const struct sim_exchange *exchange)
{
    return json_string_value(json_object_get(exchange->request, "resource"));
}

static void cut(struct sim_exchange *exchange)
{
    sim_watch_cut(exchange->server, resource_of(exchange));
    answer_done(exchange);
}

static void expire(struct sim_exchange *exchange)
{
    sim_watch_expire(exchange->server, resource_of(exchange));
    answer_done(exchange);
}

static void bookmark(struct sim_exchange *exchange)
{
    sim_watch_bookmark(exchange->server);
    answer_done(exchange);
}

static void pause_watches(struct sim_exchange *exchange)
{
    exchange->server->paused = true;
    answer_done(exchange);
}

static void resume_watches(struct sim_exchange *exchange)
{
    exchange->server->paused = false;
    sim_watch_wake(exchange->server);
    answer_done(exchange);
}

static void compact(struct sim_exchange *exchange)
{
    sim_store_compact(exchange->server->store);
    answer_done(exchange);
}

static void flush(struct sim_exchange *exchange)
{
    sim_audit_flush(exchange->server);
    answer_done(exchange);
}

static void date_skew(struct sim_exchange *exchange)
{
    exchange->server->date_skew =
        (int)json_integer_value(json_object_get(exchange->request, "seconds"));
    answer_done(exchange);
}

static void add_answer(struct sim_exchange *exchange)
{
    const char *wrong = sim_canned_add(exchange->server, exchange->request);
    if (wrong != NULL) {
        sim_status_bad_request(exchange, "answer: %s", wrong);
    } else {
        answer_done(exchange);
    }
}

static void counters(struct sim_exchange *exchange)
{
    struct kubesim *sim = exchange->server;
    sim_answer_json(
        exchange, 200,
        json_pack("{s:i,s:I,s:i,s:i,s:i}", "deliveries", (int)sim_audit_count(sim, NULL),
                  "version", (json_int_t)sim_store_version(sim->store), "watches",
                  (int)sim_watch_count(sim, NULL), "connections",
                  (int)sim->connection_count, "accepted", (int)sim->accepted_count));
}

void sim_control(struct sim_exchange *exchange, const char *path)
{
    static const struct {
        const char *method, *path;
        void (*run)(struct sim_exchange *exchange);
    } routes[] = {{"POST", "faults", arm},
                  {"GET", "faults", list_faults},
                  {"DELETE", "faults", disarm},
                  {"POST", "watches/cut", cut},
                  {"POST", "watches/expire", expire},
                  {"POST", "watches/bookmark", bookmark},
                  {"POST", "watches/pause", pause_watches},
                  {"POST", "watches/resume", resume_watches},
                  {"POST", "compact", compact},
                  {"POST", "flush", flush},
                  {"POST", "date-skew", date_skew},
                  {"POST", "answers", add_answer},
                  {"GET", "counters", counters}};
    if (exchange->body_length > 0) {
        exchange->request =
            json_loadb(exchange->body, exchange->body_length, JSON_DECODE_ANY, NULL);
    }
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        if (strcmp(routes[i].path, path) == 0 &&
            strcmp(routes[i].method, exchange->method) == 0) {
            routes[i].run(exchange);
            return;
        }
    }
    if (strncmp(path, "faults/", 7) == 0 && strcmp(exchange->method, "DELETE") == 0) {
        sim_fault_disarm(exchange->server->faults, atoi(path + 7));
        answer_done(exchange);
        return;
    }
    sim_status_bad_request(exchange, "no such control: %s %s", exchange->method, path);
}

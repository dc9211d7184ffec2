/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases from the field that only the whole daemon can show: what is told to whom when a
 * node is held by a pod that does not get on, where contention is told, and when a daemon
 * that lost the API server calls itself ready again.
 */
#include "running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "suite.h"

#define WAIT_MS 30000

static struct running running;
static struct http_client clients[4];

/* ---- an extender that filters --------------------------------------------------- */

/* HAMi's side of filter: it answers the one node that fits, whoever holds it. */
static const char filtered[] = "{\"Nodes\":null,\"NodeNames\":[\"n1\"],"
                               "\"FailedNodes\":{},\"Error\":\"\"}";
static unsigned filter_calls;

static void answer_filter(struct evhttp_request *request, void *data)
{
    struct evbuffer *body = evbuffer_new();
    (void)data;
    filter_calls++;
    (void)evbuffer_add(body, filtered, strlen(filtered));
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                            "application/json");
    evhttp_send_reply(request, 200, "OK", body);
    evbuffer_free(body);
}

/* Opened before hamid is started, on the loop that the test turns. */
static struct evhttp *open_filter(struct event_base *base, char *url, size_t size)
{
    struct evhttp *server = evhttp_new(base);
    struct evhttp_bound_socket *socket =
        evhttp_bind_socket_with_handle(server, "127.0.0.1", 0);
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    ck_assert_ptr_nonnull(socket);
    ck_assert_int_eq(getsockname(evhttp_bound_socket_get_fd(socket),
                                 (struct sockaddr *)&address, &length),
                     0);
    (void)snprintf(url, size, "http://127.0.0.1:%u", ntohs(address.sin_port));
    evhttp_set_gencb(server, answer_filter, NULL);
    return server;
}

static void ask_filter(struct http_client *client)
{
    static const char request[] =
        "POST /filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: 25\r\n\r\n{\"Pod\":{},\"NodeNames\":[]}";
    http_client_open(client, running.base, running.address);
    http_client_send(client, request);
    ck_assert(http_client_until_text(client, "\"Error\":\"\"}"));
    ck_assert_msg(strstr(client->answer, filtered) != NULL, "%s", client->answer);
}

START_TEST(test_case_3_28_contention_is_told_at_bind_and_never_in_filter)
{
    char url[64];
    char flag[96];
    running_prepare(&running);
    struct evhttp *server = open_filter(running.base, url, sizeof(url));
    (void)snprintf(flag, sizeof(flag), "--filter-url=%s", url);
    const char *const flags[] = {flag, "--patience=300ms", NULL};
    running_start_hamid(&running, flags);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    /* The node is held: filter still says that it fits, as it came, and bind says why
     * not, in words that kube-scheduler's users look for. */
    ask_filter(&clients[2]);
    ck_assert_uint_eq(filter_calls, 1);
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[1]), "node lock contention"));
    http_client_close(&clients[1]);
    /* Back from the back-off queue within seconds: filter, then bind, which now waits no
     * longer than until the release. */
    double released = running_seconds();
    running_release(&running, "n1", "p0");
    ask_filter(&clients[3]);
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert(running_seconds() - released < 5);
    running_release(&running, "n1", "p1");
    running_close(clients, 4);
    evhttp_free(server);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_1_27_a_bind_behind_a_stale_holder_is_told_quickly_who_it_is)
{
    static const char *const flags[] = {"--stall-limit=300ms", "--lock-expire=1s",
                                        "--patience=60s", NULL};
    running_start(&running, flags);
    running_pods(&running, "p", 3);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    /* No plugin: p0 is bound and waits for ever. */
    double started = running_seconds();
    running_bind(&running, &clients[1], "p1", "n1");
    const char *error = running_error(&clients[1]);
    ck_assert(running_seconds() - started < 10);
    ck_assert_msg(strstr(error, "ns/p0") != NULL, "%s", error);
    ck_assert_msg(strstr(error, "for ") != NULL, "%s", error);
    /* Past the lock's age somebody looks again, and it is counted. */
    do {
        running_bind(&running, &clients[2], "p2", "n1");
        error = running_error(&clients[2]);
        http_client_close(&clients[2]);
    } while (running_seconds() - started < 1.5);
    ck_assert(running_until(&running, "/metrics", "hamid_lock_alarms_total 1\n"));
    /* Its end frees the node for the next try; an owner is looked at once a second. */
    started = running_seconds();
    ck_assert_int_eq(kubesim_set_phase(running.sim, "ns", "p0", "Failed"), 200);
    running_bind(&running, &clients[3], "p2", "n1");
    while (running_error(&clients[3])[0] != '\0') {
        ck_assert(running_seconds() - started < 5);
        http_client_close(&clients[3]);
        running_bind(&running, &clients[3], "p2", "n1");
    }
    running_release(&running, "n1", "p2");
    http_client_close(&clients[3]);
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_3_15_ready_is_true_again_only_after_a_sync_begun_after_the_loss)
{
    const struct kubesim_match watches = {.verb = "watch", .resource = "nodes"};
    const struct kubesim_match lists = {.verb = "list", .resource = "nodes"};
    struct kubesim_fault stuck = {
        .match = {.resource = "nodes", .user = "admin", .verb = "watch"},
        .action = KUBESIM_NOTHING,
        .count = 1,
        .delay_before_ms = 1500};
    running_start(&running, NULL);
    unsigned watched = kubesim_count(running.sim, &watches);
    unsigned listed = kubesim_count(running.sim, &lists);
    /* The watch is lost for good, and the one that is to replace it is stuck. */
    int fault = kubesim_arm(running.sim, &stuck);
    double lost = running_seconds();
    kubesim_expire_watches(running.sim, "nodes");
    ck_assert(kubesim_wait_count(running.sim, &watches, watched + 1, WAIT_MS));
    ck_assert(running_until(&running, "/readyz", "503"));
    ck_assert_uint_eq(kubesim_hits(running.sim, fault), 1);
    ck_assert(running_until(&running, "/readyz", "200 OK"));
    ck_assert_msg(running_seconds() - lost > 1, "ready after %f s",
                  running_seconds() - lost);
    ck_assert_uint_ge(kubesim_count(running.sim, &watches) +
                          kubesim_count(running.sim, &lists),
                      watched + listed + 1);
    running_stop(&running);
}
END_TEST

START_TEST(
    test_a_binding_without_an_answer_does_not_keep_the_node_for_all_of_the_patience)
{
    struct kubesim_fault fault = {
        .match = {.verb = "create", .resource = "pods", .subresource = "binding"},
        .count = 1,
        .action = KUBESIM_HANG_BEFORE};
    running_start(&running, (const char *const[]){"--patience=600s", "--hold-limit=1s",
                                                  "--stall-limit=0", NULL});
    running_pods(&running, "p", 2);
    (void)kubesim_arm(running.sim, &fault);
    double started = running_seconds();
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_leases 1\n"));
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_ptr_nonnull(strstr(running_error(&clients[0]), "p0"));
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert(running_seconds() - started < 20);
    running_release(&running, "n1", "p1");
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler in the field");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all,
                   test_case_1_27_a_bind_behind_a_stale_holder_is_told_quickly_who_it_is);
    tcase_add_test(
        all, test_case_3_15_ready_is_true_again_only_after_a_sync_begun_after_the_loss);
    tcase_add_test(all, test_case_3_28_contention_is_told_at_bind_and_never_in_filter);
    tcase_add_test(
        all,
        test_a_binding_without_an_answer_does_not_keep_the_node_for_all_of_the_patience);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a request reaches the server, and what is said when its answer does not come
 * back. The server counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes_support.h"
#include "suite.h"

static struct fixture fixture;

static void open_http2(void)
{
    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
}

static void open_http1(void)
{
    struct kubesim_options options = {.without_http2 = true};

    fixture_open(&fixture, &options);
    fixture_connect(&fixture);
}

static void teardown(void)
{
    fixture_close(&fixture);
}

static const struct kubesim_match patches = {.verb = "patch", .resource = "nodes"};

static int arm(enum kubesim_action action, unsigned count)
{
    struct kubesim_fault fault = {.match = patches, .action = action, .count = count};

    return kubesim_arm(fixture.sim, &fault);
}

/* The next request goes over a connection that was used before. */
static void use_connection(void)
{
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
}

static bool is_applied(void)
{
    char *value = kubesim_annotation(fixture.sim, "nodes", NULL, "n1", "a");
    bool applied = value != NULL;

    free(value);
    return applied;
}

/* ---- lost answers --------------------------------------------------------------- */

START_TEST(a_lost_connection_leaves_a_write_in_doubt_and_sends_it_once)
{
    struct told told;

    use_connection();
    (void)arm(KUBESIM_DROP_AFTER, 0);
    told = ask(fixture.client, patch_node());
    ck_assert_int_eq(told.code, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(told.status, 0);
    ck_assert(!told.maybe_resent);
    ck_assert_msg(strstr(told.text, "after the request was sent") != NULL, "%s",
                  told.text);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 1);
    ck_assert(is_applied());
}
END_TEST

START_TEST(a_write_lost_before_it_was_applied_is_in_doubt_too)
{
    use_connection();
    (void)arm(KUBESIM_DROP_BEFORE, 0);
    ck_assert_int_eq(ask(fixture.client, patch_node()).code, HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 1);
    ck_assert(!is_applied());
}
END_TEST

START_TEST(a_write_lost_on_a_new_connection_is_in_doubt)
{
    (void)arm(KUBESIM_DROP_AFTER, 0);
    ck_assert_int_eq(ask(fixture.client, patch_node()).code, HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 1);
}
END_TEST

START_TEST(a_read_is_sent_again_when_its_used_connection_dies)
{
    struct kubesim_fault fault = {.match = {.verb = "get", .resource = "nodes"},
                                  .action = KUBESIM_DROP_BEFORE,
                                  .skip = 0,
                                  .count = 1};

    use_connection();
    kubesim_forget_log(fixture.sim);
    (void)kubesim_arm(fixture.sim, &fault);
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &fault.match), 2);
}
END_TEST

START_TEST(a_write_whose_answer_breaks_off_is_in_doubt_and_keeps_its_status)
{
    struct told told;

    (void)arm(KUBESIM_TRUNCATE, 0);
    told = ask(fixture.client, patch_node());
    ck_assert_int_eq(told.code, HAMI_E_IN_DOUBT);
    /* Over HTTP/2 the end may overtake the beginning. */
    ck_assert(told.status == 200 || told.status == 0);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 1);
}
END_TEST

START_TEST(the_client_works_on_after_a_lost_connection)
{
    use_connection();
    (void)arm(KUBESIM_DROP_AFTER, 1);
    ck_assert_int_eq(ask(fixture.client, patch_node()).code, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 200);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 2);
}
END_TEST

/* ---- HTTP/2 --------------------------------------------------------------------- */

START_TEST(a_reset_stream_leaves_a_write_in_doubt_and_the_connection_in_use)
{
    unsigned accepted = 0;

    use_connection();
    (void)arm(KUBESIM_RESET_AFTER, 1);
    ck_assert_int_eq(ask(fixture.client, patch_node()).code, HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 1);
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 200);
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_eq(accepted, 1);
}
END_TEST

/* libcurl tells a refusal on a connection that was used before in no way from a lost
 * connection. */
START_TEST(a_refused_stream_on_a_used_connection_is_in_doubt_and_not_sent_again)
{
    use_connection();
    (void)arm(KUBESIM_REFUSE_STREAM, 1);
    ck_assert_int_eq(ask(fixture.client, patch_node()).code, HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 1);
}
END_TEST

START_TEST(a_refused_stream_is_sent_again_because_it_was_not_processed)
{
    struct told told;

    (void)arm(KUBESIM_REFUSE_STREAM, 1);
    told = ask(fixture.client, patch_node());
    ck_assert_msg(told.code == 0, "%s", told.text);
    ck_assert_int_eq(told.status, 200);
    ck_assert(!told.maybe_resent);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 2);
}
END_TEST

START_TEST(a_goaway_that_leaves_a_write_out_sends_it_again)
{
    struct told told;

    use_connection();
    (void)arm(KUBESIM_GOAWAY_REFUSE, 1);
    told = ask(fixture.client, patch_node());
    ck_assert_msg(told.code == 0, "%s", told.text);
    ck_assert_int_eq(told.status, 200);
    ck_assert(!told.maybe_resent);
}
END_TEST

/* Many in flight: those up to the last stream are answered or in doubt, those above it go
 * out again. */
START_TEST(writes_that_a_goaway_leaves_out_are_carried_out_once)
{
    struct hami_kubernetes_request request = patch_node();
    struct record record;
    size_t answered = 0;
    unsigned accepted = 0;

    record_init(&record);
    use_connection();
    for (int i = 0; i < 20; i++) {
        struct kubesim_fault fault = {
            .match = patches, .action = KUBESIM_GOAWAY_REFUSE, .skip = 5, .count = 1};

        (void)kubesim_arm(fixture.sim, &fault);
        for (int j = 0; j < 40; j++) {
            ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &request,
                                                           record_answer, &record),
                             0);
        }
        (void)record_wait(&record, (size_t)(i + 1) * 40);
    }
    for (size_t i = 0; i < 800; i++) {
        ck_assert_msg(record.told[i].code == 0 || record.told[i].code == HAMI_E_IN_DOUBT,
                      "%d %s", record.told[i].code, record.told[i].text);
        answered += record.told[i].code == 0 ? 1 : 0;
    }
    ck_assert_uint_ge(answered, 640);
    /* What one connection left out shares the next one. */
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_le(accepted, 21);
    record_done(&record);
}
END_TEST

START_TEST(a_stream_refused_for_ever_was_surely_not_carried_out)
{
    unsigned accepted = 0;
    struct told told;

    (void)arm(KUBESIM_REFUSE_STREAM, 0);
    told = ask(fixture.client, patch_node());
    ck_assert_msg(told.code == HAMI_E_TRANSPORT, "%d %s", told.code, told.text);
    ck_assert(!is_applied());
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_le(accepted, 6);
}
END_TEST

START_TEST(a_goaway_after_the_answer_moves_on_to_a_new_connection)
{
    unsigned accepted = 0;

    use_connection();
    (void)arm(KUBESIM_GOAWAY, 1);
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 200);
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 200);
    (void)kubesim_connections(fixture.sim, &accepted);
    ck_assert_uint_eq(accepted, 2);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &patches), 2);
}
END_TEST

/* Many writes at once on a connection that dies: each is delivered once at most, none is
 * lost sight of. */
START_TEST(no_write_of_many_is_delivered_twice_when_their_connection_dies)
{
    struct hami_kubernetes_request request = patch_node();
    struct record record;
    size_t answered = 0;
    unsigned delivered;

    record_init(&record);
    use_connection();
    for (int i = 0; i < 20; i++) {
        struct kubesim_fault fault = {
            .match = patches, .action = KUBESIM_DROP_AFTER, .skip = 5, .count = 1};

        (void)kubesim_arm(fixture.sim, &fault);
        for (int j = 0; j < 40; j++) {
            ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &request,
                                                           record_answer, &record),
                             0);
        }
        (void)record_wait(&record, (size_t)(i + 1) * 40);
    }
    ck_assert_uint_eq(record_count(&record), 800);
    for (size_t i = 0; i < 800; i++) {
        ck_assert_msg(record.told[i].code == 0 || record.told[i].code == HAMI_E_IN_DOUBT,
                      "%d %s", record.told[i].code, record.told[i].text);
        ck_assert(!record.told[i].maybe_resent);
        answered += record.told[i].code == 0 ? 1 : 0;
    }
    delivered = kubesim_count(fixture.sim, &patches);
    ck_assert_uint_le(delivered, 800);
    ck_assert_uint_ge(delivered, answered);
    ck_assert_uint_lt(answered, 800);
    record_done(&record);
}
END_TEST

/* ---- a server that closes on a request ------------------------------------------ */

START_TEST(a_write_on_a_connection_that_dies_without_a_byte_is_delivered_once)
{
    static const struct scripted_step steps[] = {
        {.answer = OK_ANSWER}, {.end = SCRIPTED_CLOSE}, {.answer = OK_ANSWER}};
    enum hami_kubernetes_method methods[] = {HAMI_KUBERNETES_POST, HAMI_KUBERNETES_PUT,
                                             HAMI_KUBERNETES_PATCH,
                                             HAMI_KUBERNETES_DELETE};
    struct hami_kubernetes_request request = patch_node();
    struct scripted server;
    hami_kubernetes *client;
    struct told told;

    request.method = methods[_i];
    if (request.method == HAMI_KUBERNETES_DELETE) {
        request.body = NULL;
        request.body_length = 0;
    }
    scripted_start(&server, steps, 3);
    client = scripted_client(&server, NULL);
    ck_assert_int_eq(ask(client, get_node()).status, 200);
    told = ask(client, request);
    ck_assert_int_eq(told.code, HAMI_E_IN_DOUBT);
    ck_assert(!told.maybe_resent);
    ck_assert_uint_eq(scripted_requests(&server), 2);
    ck_assert_int_eq(ask(client, get_node()).status, 200);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

START_TEST(a_read_on_a_connection_that_dies_without_a_byte_is_sent_again)
{
    static const struct scripted_step steps[] = {
        {.answer = OK_ANSWER}, {.end = SCRIPTED_CLOSE}, {.answer = OK_ANSWER}};
    struct scripted server;
    hami_kubernetes *client;

    scripted_start(&server, steps, 3);
    client = scripted_client(&server, NULL);
    ck_assert_int_eq(ask(client, get_node()).status, 200);
    ck_assert_int_eq(ask(client, get_node()).status, 200);
    ck_assert_uint_eq(scripted_requests(&server), 3);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

/* The body is larger than what the sockets buffer, so that it is written in part only. */
START_TEST(a_write_that_was_sent_in_part_is_in_doubt)
{
    static const struct scripted_step steps[] = {{.read_max = 1, .end = SCRIPTED_CLOSE}};
    struct hami_kubernetes_request request = patch_node();
    char *body = calloc(1, 8 * 1024 * 1024);
    struct scripted server;
    hami_kubernetes *client;

    memset(body, ' ', 8 * 1024 * 1024);
    request.body = body;
    request.body_length = 8 * 1024 * 1024;
    scripted_start(&server, steps, 1);
    client = scripted_client(&server, NULL);
    ck_assert_int_eq(ask(client, request).code, HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(scripted_requests(&server), 1);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
    free(body);
}
END_TEST

/* ---- surely not sent ------------------------------------------------------------ */

START_TEST(a_refused_connection_is_surely_not_sent)
{
    struct scripted server;
    hami_kubernetes *client;
    struct told told;

    scripted_start(&server, NULL, 0);
    client = scripted_client(&server, NULL);
    scripted_stop(&server);
    told = ask(client, patch_node());
    ck_assert_int_eq(told.code, HAMI_E_TRANSPORT);
    ck_assert_int_eq(told.status, 0);
    ck_assert_msg(strstr(told.text, "nothing was sent") != NULL, "%s", told.text);
    (void)hami_kubernetes_free(client);
}
END_TEST

/* A label of 70 characters is no name: the resolver says so without asking anybody. */
START_TEST(a_name_that_does_not_resolve_is_surely_not_sent)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    hami_kubernetes *client = NULL;
    struct told told;

    config.server =
        "https://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaa.invalid:6443";
    ck_assert_int_eq(hami_kubernetes_new(&config, &client, NULL), 0);
    told = ask(client, patch_node());
    ck_assert_msg(told.code == HAMI_E_TRANSPORT, "%d %s", told.code, told.text);
    (void)hami_kubernetes_free(client);
}
END_TEST

START_TEST(a_server_with_another_ca_gets_nothing)
{
    struct kubesim *other = NULL;
    char *ca;
    struct told told;

    fixture_open(&fixture, NULL);
    ck_assert_int_eq(kubesim_start(NULL, &other), 0);
    ca = write_file(fixture.directory, "other-ca.crt", kubesim_ca_pem(other));
    fixture.config.kubeconfig = NULL;
    fixture.config.server = kubesim_url(fixture.sim);
    fixture.config.token = kubesim_token(fixture.sim, "admin");
    fixture.config.ca_file = ca;
    fixture_connect(&fixture);
    told = ask(fixture.client, patch_node());
    ck_assert_msg(told.code == HAMI_E_TRANSPORT, "%d %s", told.code, told.text);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 0);
    free(ca);
    (void)kubesim_free(other);
    fixture_close(&fixture);
}
END_TEST

START_TEST(a_server_that_speaks_no_tls_gets_nothing)
{
    static const struct scripted_step steps[] = {
        {.answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
         .read_max = 1,
         .end = SCRIPTED_CLOSE}};
    struct scripted server;
    hami_kubernetes *client;
    struct told told;

    scripted_start(&server, steps, 1);
    (void)snprintf(server.url, sizeof(server.url), "https://127.0.0.1:%u", server.port);
    client = scripted_client(&server, NULL);
    told = ask(client, patch_node());
    ck_assert_msg(told.code == HAMI_E_TRANSPORT, "%d %s", told.code, told.text);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

static void add_lost_answers(TCase *tcase)
{
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_lost_connection_leaves_a_write_in_doubt_and_sends_it_once);
    tcase_add_test(tcase, a_write_lost_before_it_was_applied_is_in_doubt_too);
    tcase_add_test(tcase, a_write_lost_on_a_new_connection_is_in_doubt);
    tcase_add_test(tcase, a_read_is_sent_again_when_its_used_connection_dies);
    tcase_add_test(tcase,
                   a_write_whose_answer_breaks_off_is_in_doubt_and_keeps_its_status);
    tcase_add_test(tcase, the_client_works_on_after_a_lost_connection);
    tcase_add_test(tcase, no_write_of_many_is_delivered_twice_when_their_connection_dies);
}

int main(void)
{
    Suite *suite = suite_create("kubernetes delivery");
    TCase *http2 = tcase_create("HTTP/2");
    TCase *http1 = tcase_create("HTTP/1.1");
    TCase *alone = tcase_create("without kubesim");

    tcase_add_checked_fixture(http2, open_http2, teardown);
    tcase_add_checked_fixture(http1, open_http1, teardown);
    add_lost_answers(http2);
    add_lost_answers(http1);
    tcase_add_test(http2,
                   a_reset_stream_leaves_a_write_in_doubt_and_the_connection_in_use);
    tcase_add_test(http2, a_refused_stream_is_sent_again_because_it_was_not_processed);
    tcase_add_test(http2,
                   a_refused_stream_on_a_used_connection_is_in_doubt_and_not_sent_again);
    tcase_add_test(http2, a_goaway_that_leaves_a_write_out_sends_it_again);
    tcase_add_test(http2, writes_that_a_goaway_leaves_out_are_carried_out_once);
    tcase_add_test(http2, a_stream_refused_for_ever_was_surely_not_carried_out);
    tcase_add_test(http2, a_goaway_after_the_answer_moves_on_to_a_new_connection);
    tcase_set_timeout(alone, 60);
    tcase_add_loop_test(
        alone, a_write_on_a_connection_that_dies_without_a_byte_is_delivered_once, 0, 4);
    tcase_add_test(alone, a_read_on_a_connection_that_dies_without_a_byte_is_sent_again);
    tcase_add_test(alone, a_write_that_was_sent_in_part_is_in_doubt);
    tcase_add_test(alone, a_refused_connection_is_surely_not_sent);
    tcase_add_test(alone, a_name_that_does_not_resolve_is_surely_not_sent);
    tcase_add_test(alone, a_server_with_another_ca_gets_nothing);
    tcase_add_test(alone, a_server_that_speaks_no_tls_gets_nothing);
    suite_add_tcase(suite, http2);
    suite_add_tcase(suite, http1);
    suite_add_tcase(suite, alone);
    return run_suite(suite);
}

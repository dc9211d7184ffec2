/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and timers: what the watch and the back-off stand on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "kubernetes_support.h"
#include "suite.h"

#define MS UINT64_C(1000000)
#define WATCH "/api/v1/nodes?watch=true&allowWatchBookmarks=true"

static struct fixture fixture;

/* What one stream told. The mutex of `ends` guards all. */
struct heard {
    struct record ends;
    struct hami_internal_http_stream *stream;
    hami_kubernetes *client;
    size_t opened;
    size_t lines;
    size_t bytes;
    size_t longest;
    char last[256];
    size_t cancel_at; /* cancels after so many lines, on the client's thread; 0 = never */
};
static struct heard heard;

static void on_open(void *data)
{
    struct heard *to = data;

    pthread_mutex_lock(&to->ends.mutex);
    to->opened++;
    pthread_cond_broadcast(&to->ends.condition);
    pthread_mutex_unlock(&to->ends.mutex);
}

static void on_line(void *data, const char *line, size_t length)
{
    struct heard *to = data;
    bool cancel;

    pthread_mutex_lock(&to->ends.mutex);
    to->lines++;
    to->bytes += length;
    to->longest = length > to->longest ? length : to->longest;
    (void)snprintf(to->last, sizeof(to->last), "%s", line);
    cancel = to->lines == to->cancel_at && strlen(line) == length;
    pthread_cond_broadcast(&to->ends.condition);
    pthread_mutex_unlock(&to->ends.mutex);
    if (cancel) {
        hami_internal_http_stream_cancel(to->client, to->stream);
    }
}

static void setup(void)
{
    fixture_open(&fixture, NULL);
    fixture.config.in_flight_max = 1;
    fixture_connect(&fixture);
    memset(&heard, 0, sizeof(heard));
    record_init(&heard.ends);
    heard.client = fixture.client;
}

static void setup_http1(void)
{
    struct kubesim_options options = {.without_http2 = true};

    fixture_open(&fixture, &options);
    fixture_connect(&fixture);
    memset(&heard, 0, sizeof(heard));
    record_init(&heard.ends);
    heard.client = fixture.client;
}

static void teardown(void)
{
    fixture_close(&fixture);
    record_done(&heard.ends);
}

static int start_on(hami_kubernetes *client, const char *path, uint64_t idle_ms)
{
    struct hami_internal_http_stream_options options = {
        .path = path,
        .idle_timeout_ms = idle_ms,
        .on_open = on_open,
        .on_line = on_line,
        .on_end = record_answer,
        .data = &heard,
    };

    heard.client = client;
    return hami_internal_http_stream_start(client, &options, &heard.stream);
}

static int start(const char *path, uint64_t idle_ms)
{
    return start_on(fixture.client, path, idle_ms);
}

/* Waits until a number that callbacks count up has come so far. */
static void wait_for(const size_t *counter, size_t count)
{
    uint64_t end = hami_kubernetes_in_ms(WAIT_MS);
    struct timespec deadline = {.tv_sec = (time_t)(end / 1000000000),
                                .tv_nsec = (long)(end % 1000000000)};
    int result = 0;

    pthread_mutex_lock(&heard.ends.mutex);
    while (*counter < count && result == 0) {
        result =
            pthread_cond_timedwait(&heard.ends.condition, &heard.ends.mutex, &deadline);
    }
    pthread_mutex_unlock(&heard.ends.mutex);
    ck_assert_msg(result == 0, "%zu of %zu came", *counter, count);
}

static void stream_scripted(const struct scripted_step *step)
{
    struct scripted server;
    hami_kubernetes *client;

    memset(&heard.lines, 0, sizeof(heard) - offsetof(struct heard, lines));
    scripted_start(&server, step, 1);
    client = scripted_client(&server, NULL);
    ck_assert_int_eq(start_on(client, "/lines", 0), 0);
    (void)record_wait(&heard.ends, 1);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}

/* ---- a watch -------------------------------------------------------------------- */

START_TEST(a_watch_tells_each_change_as_a_line)
{
    ck_assert_int_eq(start(WATCH "&resourceVersion=0", 0), 0);
    wait_for(&heard.opened, 1);
    ck_assert_int_eq(kubesim_set_annotation(fixture.sim, "nodes", NULL, "n1", "k", "v1"),
                     200);
    wait_for(&heard.lines, 1);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(kubesim_set_annotation(fixture.sim, "nodes", NULL, "n1", "k",
                                                i % 2 ? "a" : "b"),
                         200);
    }
    wait_for(&heard.lines, 101);
    ck_assert_ptr_nonnull(strstr(heard.last, "MODIFIED"));
    ck_assert_uint_eq(record_count(&heard.ends), 0);
    kubesim_cut_watches(fixture.sim, NULL);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, 0);
    ck_assert_int_eq(heard.ends.told[0].status, 200);
    ck_assert_uint_eq(heard.opened, 1);
}
END_TEST

START_TEST(a_stream_takes_no_place_from_requests)
{
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;

    ck_assert_int_eq(start(WATCH, 0), 0);
    wait_for(&heard.opened, 1);
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.in_flight, 0);
}
END_TEST

START_TEST(a_cancelled_stream_ends_once_with_canceled)
{
    ck_assert_int_eq(start(WATCH, 0), 0);
    wait_for(&heard.opened, 1);
    hami_internal_http_stream_cancel(fixture.client, heard.stream);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, HAMI_E_CANCELED);
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
    ck_assert_uint_eq(record_count(&heard.ends), 1);
}
END_TEST

START_TEST(a_stream_that_is_silent_too_long_ends_with_timedout)
{
    uint64_t begun = hami_kubernetes_now();

    ck_assert_int_eq(start(WATCH, 150), 0);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, HAMI_E_TIMEDOUT);
    ck_assert_uint_ge(heard.ends.told[0].at_ns - begun, 150 * MS);
    ck_assert_ptr_nonnull(strstr(heard.ends.told[0].text, "Nothing came from"));
}
END_TEST

START_TEST(a_refused_stream_ends_with_status_and_body)
{
    ck_assert_int_eq(start("/api/v1/nothing?watch=true", 0), 0);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, 0);
    ck_assert_int_eq(heard.ends.told[0].status, 404);
    ck_assert_uint_gt(heard.ends.told[0].body_length, 0);
    ck_assert_uint_eq(heard.opened, 0);
    ck_assert_uint_eq(heard.lines, 0);
}
END_TEST

START_TEST(a_stream_told_to_come_back_later_says_when)
{
    (void)kubesim_arm(fixture.sim, &(struct kubesim_fault){.action = KUBESIM_STATUS,
                                                           .status = 429,
                                                           .retry_after = 3});
    ck_assert_int_eq(start(WATCH, 0), 0);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->status, 429);
    ck_assert_uint_eq(heard.ends.told[0].retry_after_ms, 3000);
    ck_assert_uint_eq(heard.lines, 0);
}
END_TEST

START_TEST(freeing_a_client_ends_its_streams_with_closed)
{
    ck_assert_int_eq(start(WATCH, 0), 0);
    wait_for(&heard.opened, 1);
    fixture.client = hami_kubernetes_free(fixture.client);
    ck_assert_uint_eq(record_count(&heard.ends), 1);
    ck_assert_int_eq(heard.ends.told[0].code, HAMI_E_CLOSED);
}
END_TEST

START_TEST(a_lost_connection_ends_a_stream_with_transport)
{
    ck_assert_int_eq(start(WATCH, 0), 0);
    wait_for(&heard.opened, 1);
    fixture.sim = kubesim_free(fixture.sim);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, HAMI_E_TRANSPORT);
}
END_TEST

START_TEST(a_stream_that_breaks_off_in_the_middle_ends_with_transport)
{
    struct scripted_step step = {
        .answer = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none\ntw",
        .end = SCRIPTED_CLOSE};

    stream_scripted(&step);
    ck_assert_int_eq(heard.ends.told[0].code, HAMI_E_TRANSPORT);
    ck_assert_uint_eq(heard.lines, 1);
}
END_TEST

START_TEST(no_more_streams_than_the_bound_are_started)
{
    int started = 0;

    for (int i = 0; i < 256; i++) {
        ck_assert_int_eq(start(WATCH, 0), 0);
        started++;
    }
    ck_assert_int_eq(start(WATCH, 0), HAMI_E_LIMIT);
    ck_assert_ptr_null(heard.stream);
    fixture.client = hami_kubernetes_free(fixture.client);
    ck_assert_uint_eq(record_count(&heard.ends), 256);
    ck_assert_int_eq(started, 256);
}
END_TEST

START_TEST(a_path_or_accept_that_is_wrong_is_refused)
{
    struct hami_internal_http_stream_options options = {
        .path = "/x", .accept = "a\n", .on_line = on_line, .on_end = record_answer};

    ck_assert_int_eq(
        hami_internal_http_stream_start(fixture.client, &options, &heard.stream),
        HAMI_E_INVAL);
    ck_assert_int_eq(start("no-slash", 0), HAMI_E_INVAL);
}
END_TEST

/* ---- lines, byte by byte -------------------------------------------------------- */

START_TEST(lines_are_told_without_their_ends_and_empty_ones_left_out)
{
    struct scripted_step step = {.answer =
                                     "HTTP/1.1 200 OK\r\n\r\none\n\n\r\ntwo\r\nthree",
                                 .end = SCRIPTED_CLOSE};

    stream_scripted(&step);
    ck_assert_uint_eq(heard.lines, 3);
    ck_assert_uint_eq(heard.bytes, 11);
    ck_assert_str_eq(heard.last, "three");
    ck_assert_int_eq(heard.ends.told[0].code, 0);
}
END_TEST

#define KIB                                                                              \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

START_TEST(a_line_of_just_the_limit_is_told)
{
    struct scripted_step step = {.answer = "HTTP/1.1 200 OK\r\n\r\n",
                                 .answer_part = KIB,
                                 .repeat = 4096,
                                 .end = SCRIPTED_CLOSE};

    stream_scripted(&step);
    ck_assert_int_eq(heard.ends.told[0].code, 0);
    ck_assert_uint_eq(heard.longest, HAMI_INTERNAL_HTTP_LINE_MAX);
}
END_TEST

START_TEST(a_line_above_the_limit_ends_the_stream)
{
    struct scripted_step step = {.answer = "HTTP/1.1 200 OK\r\n\r\nx",
                                 .answer_part = KIB,
                                 .repeat = 4096,
                                 .end = SCRIPTED_CLOSE};

    stream_scripted(&step);
    ck_assert_int_eq(heard.ends.told[0].code, HAMI_E_LIMIT);
    ck_assert_uint_eq(heard.lines, 0);
}
END_TEST

START_TEST(no_line_comes_after_a_cancel_on_the_clients_thread)
{
    struct scripted_step step = {.answer = "HTTP/1.1 200 OK\r\n\r\n1\n2\n3\n4\n5\n6\n",
                                 .end = SCRIPTED_HANG};
    struct scripted server;
    hami_kubernetes *client;

    scripted_start(&server, &step, 1);
    client = scripted_client(&server, NULL);
    heard.cancel_at = 2;
    ck_assert_int_eq(start_on(client, "/lines", 0), 0);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, HAMI_E_CANCELED);
    ck_assert_uint_eq(heard.lines, 2);
    (void)hami_kubernetes_free(client);
    scripted_stop(&server);
}
END_TEST

START_TEST(a_refused_streams_body_is_kept_in_part_only)
{
    struct scripted_step step = {.answer = "HTTP/1.1 500 Oops\r\n\r\n",
                                 .answer_part = KIB,
                                 .repeat = 100,
                                 .end = SCRIPTED_CLOSE};

    stream_scripted(&step);
    ck_assert_int_eq(heard.ends.told[0].status, 500);
    ck_assert_uint_eq(heard.ends.told[0].body_length, 65536);
}
END_TEST

/* ---- timers --------------------------------------------------------------------- */

START_TEST(timers_fire_in_the_order_of_their_times)
{
    static const uint64_t delays[] = {60, 20, 40, 0, 20};
    struct hami_internal_http_timer *timer = NULL;
    uint64_t begun = hami_kubernetes_now();

    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(hami_internal_http_timer_start(fixture.client, delays[i],
                                                        record_timer, &heard.ends,
                                                        &timer),
                         0);
        ck_assert_ptr_nonnull(timer);
    }
    (void)record_wait(&heard.ends, 5);
    for (size_t i = 0; i < 5; i++) {
        static const uint64_t sorted[] = {0, 20, 20, 40, 60};

        ck_assert_int_eq(heard.ends.told[i].code, 0);
        ck_assert_uint_ge(heard.ends.told[i].at_ns - begun, sorted[i] * MS);
    }
}
END_TEST

START_TEST(timers_can_be_cancelled_and_end_with_the_client)
{
    struct hami_internal_http_timer *timer = NULL;

    ck_assert_int_eq(hami_internal_http_timer_start(fixture.client, 600000, record_timer,
                                                    &heard.ends, &timer),
                     0);
    hami_internal_http_timer_cancel(fixture.client, timer);
    ck_assert_int_eq(record_wait(&heard.ends, 1)->code, HAMI_E_CANCELED);
    ck_assert_int_eq(hami_internal_http_timer_start(fixture.client, UINT64_MAX,
                                                    record_timer, &heard.ends, NULL),
                     0);
    fixture.client = hami_kubernetes_free(fixture.client);
    ck_assert_uint_eq(record_count(&heard.ends), 2);
    ck_assert_int_eq(heard.ends.told[1].code, HAMI_E_CLOSED);
}
END_TEST

START_TEST(restarts_of_watches_are_counted)
{
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;

    hami_internal_http_count_watch_restart(fixture.client);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.watch_restarts, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes stream");
    TCase *http2 = tcase_create("HTTP/2");
    TCase *http1 = tcase_create("HTTP/1.1");

    tcase_add_checked_fixture(http2, setup, teardown);
    tcase_add_checked_fixture(http1, setup_http1, teardown);
    tcase_set_timeout(http2, 60);
    tcase_set_timeout(http1, 60);
    tcase_add_test(http2, a_watch_tells_each_change_as_a_line);
    tcase_add_test(http2, a_stream_takes_no_place_from_requests);
    tcase_add_test(http2, a_cancelled_stream_ends_once_with_canceled);
    tcase_add_test(http2, a_stream_that_is_silent_too_long_ends_with_timedout);
    tcase_add_test(http2, a_refused_stream_ends_with_status_and_body);
    tcase_add_test(http2, a_stream_told_to_come_back_later_says_when);
    tcase_add_test(http2, freeing_a_client_ends_its_streams_with_closed);
    tcase_add_test(http2, a_lost_connection_ends_a_stream_with_transport);
    tcase_add_test(http2, a_stream_that_breaks_off_in_the_middle_ends_with_transport);
    tcase_add_test(http2, no_more_streams_than_the_bound_are_started);
    tcase_add_test(http2, a_path_or_accept_that_is_wrong_is_refused);
    tcase_add_test(http2, lines_are_told_without_their_ends_and_empty_ones_left_out);
    tcase_add_test(http2, a_line_of_just_the_limit_is_told);
    tcase_add_test(http2, a_line_above_the_limit_ends_the_stream);
    tcase_add_test(http2, no_line_comes_after_a_cancel_on_the_clients_thread);
    tcase_add_test(http2, a_refused_streams_body_is_kept_in_part_only);
    tcase_add_test(http2, timers_fire_in_the_order_of_their_times);
    tcase_add_test(http2, timers_can_be_cancelled_and_end_with_the_client);
    tcase_add_test(http2, restarts_of_watches_are_counted);
    tcase_add_test(http1, a_watch_tells_each_change_as_a_line);
    tcase_add_test(http1, a_cancelled_stream_ends_once_with_canceled);
    tcase_add_test(http1, freeing_a_client_ends_its_streams_with_closed);
    suite_add_tcase(suite, http2);
    suite_add_tcase(suite, http1);
    return run_suite(suite);
}

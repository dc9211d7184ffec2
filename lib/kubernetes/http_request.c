/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests on the client's thread: waiting for a place, in flight, delayed, ended.
 *
 *     waiting -> in flight -> ended
 *        ^           |
 *        +- delayed <+
 *
 * Delayed by 429 or 503 with Retry-After. Back to waiting at once: by 401, once and if
 * the token's file has changed, when the server left the request out, and when another
 * request is making the connection that it is to use.
 *
 * What is known of a request's fate: it was surely not sent unless libcurl came to the
 * point of writing it (transfer->sends) or an earlier try was answered 503, which says
 * nothing about what happened before. What the server left out by its own word was not
 * done. 429 and 401 are refusals before anything is done. Any state can end by deadline,
 * cancel or close. Lock: client->mutex for counters only.
 */
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_MAX 512
#define UNPROCESSED_MAX 5u
#define JITTER_MS_MIN 10u
#define JITTER_MS_SPREAD 50u
#define CLOCK_SKEW_S_MAX 60
#define CLOCK_QUIET_NS (600 * UINT64_C(1000000000))

static uint64_t next_random(hami_kubernetes *client)
{
    client->random ^= client->random << 13;
    client->random ^= client->random >> 7;
    client->random ^= client->random << 17;
    return client->random;
}

/* ---- waiting -------------------------------------------------------------------- */

static void wait_for_place(hami_kubernetes *client,
                           struct hami_internal_http_request *request, uint64_t now)
{
    request->state = HAMI_INTERNAL_HTTP_WAITING;
    request->wait_since_ns = now;
    if (request->is_counted) {
        /* Sent before, so older than all that wait. */
        TAILQ_INSERT_HEAD(&client->waiting, &request->job, entry);
    } else {
        TAILQ_INSERT_TAIL(&client->waiting, &request->job, entry);
    }
}

static void stop_waiting(struct hami_internal_http_request *request, uint64_t now)
{
    uint64_t waited = now > request->wait_since_ns ? now - request->wait_since_ns : 0;

    request->local_wait_ns += waited;
    if (request->state == HAMI_INTERNAL_HTTP_WAITING) {
        request->place_wait_ns += waited;
    }
}

/* ---- the end -------------------------------------------------------------------- */

/* Is in flight no more; its transfer stays readable. */
static void land(hami_kubernetes *client, struct hami_internal_http_request *request)
{
    hami_internal_http_transfer_stop(request->transfer);
    hami_internal_http_nudge_landed(client, request);
    client->in_flight_count--;
    if (client->scout == request->transfer) {
        client->scout = NULL;
    }
}

/* Leaves the lists and the counts of its state; its transfer stays readable. */
static void leave(hami_kubernetes *client, struct hami_internal_http_request *request)
{
    bool was_in_flight = request->state == HAMI_INTERNAL_HTTP_IN_FLIGHT;

    if (was_in_flight) {
        land(client, request);
    } else {
        stop_waiting(request, hami_kubernetes_now());
        if (request->state == HAMI_INTERNAL_HTTP_WAITING) {
            TAILQ_REMOVE(&client->waiting, &request->job, entry);
        }
    }
    pthread_mutex_lock(&client->mutex);
    client->stats.waiting -= was_in_flight ? 0 : 1;
    client->stats.in_flight = client->in_flight_count;
    pthread_mutex_unlock(&client->mutex);
}

static void finish(hami_kubernetes *client, struct hami_internal_http_request *request,
                   struct hami_kubernetes_answer *answer)
{
    struct hami_internal_http_transfer *transfer = request->transfer;

    if (request->job.heap_index != SIZE_MAX) {
        hami_internal_http_heap_remove(&client->heap, &request->job);
    }
    answer->local_wait_ns = request->local_wait_ns;
    answer->maybe_resent = request->maybe_resent;
    if (answer->body == NULL) {
        answer->body = "";
    }
    pthread_mutex_lock(&client->mutex);
    client->stats.local_wait_ns += request->local_wait_ns;
    if (answer->code != 0 && request->is_counted) {
        client->stats.answers[0]++;
    }
    pthread_mutex_unlock(&client->mutex);
    if (answer->code != 0 && request->is_counted) {
        hami_internal_http_calls_count(client, request->method, request->url, 0, 0);
    }
    request->callback(request->data, answer);
    if (transfer != NULL) {
        hami_internal_http_transfer_free(transfer);
    }
    hami_internal_http_job_free(client, &request->job);
}

static bool may_have_been_applied(const struct hami_internal_http_request *request)
{
    return request->is_doubtful ||
           (request->transfer != NULL &&
            hami_internal_http_delivery_is_doubtful(request->transfer));
}

/* Ends a request that got no answer. `surely_not` is the code where surely nothing was
 * carried out. */
static void finish_without_answer(hami_kubernetes *client,
                                  struct hami_internal_http_request *request,
                                  int surely_not, const char *why)
{
    bool is_doubtful = may_have_been_applied(request);
    struct hami_kubernetes_answer answer = {.size = sizeof(answer)};
    char text[TEXT_MAX];
    int length;

    length = snprintf(text, sizeof(text), "%s%s", why,
                      is_doubtful ? " after the request was sent" : "; nothing was sent");
    if (request->local_wait_ns >= HAMI_INTERNAL_NANOSECONDS_PER_MS && length >= 0 &&
        (size_t)length < sizeof(text)) {
        (void)snprintf(
            text + length, sizeof(text) - (size_t)length,
            " (%llu ms were spent waiting here, %llu of them for one of %u places)",
            (unsigned long long)(request->local_wait_ns /
                                 HAMI_INTERNAL_NANOSECONDS_PER_MS),
            (unsigned long long)(request->place_wait_ns /
                                 HAMI_INTERNAL_NANOSECONDS_PER_MS),
            client->in_flight_max);
    }
    answer.code = is_doubtful ? HAMI_E_IN_DOUBT : surely_not;
    answer.text = text;
    if (request->transfer != NULL) {
        answer.status = request->transfer->status;
        answer.server_time_us = request->transfer->server_time_us;
    }
    finish(client, request, &answer);
}

static void finish_with_answer(hami_kubernetes *client,
                               struct hami_internal_http_request *request)
{
    const struct hami_internal_http_transfer *transfer = request->transfer;
    struct hami_kubernetes_answer answer = {
        .size = sizeof(answer),
        .status = transfer->status,
        .body = transfer->body.text,
        .body_length = transfer->body.length,
        .text = "",
        .server_time_us = transfer->server_time_us,
        .retry_after_ms = transfer->retry_after_ms,
    };

    finish(client, request, &answer);
}

/* ---- what libcurl answered ------------------------------------------------------ */

/* HAMi judges a lock's age by the time that is written in it, which is our clock's: said
 * where the server's differs by too much, and again after a while. */
static void look_at_clock(hami_kubernetes *client, uint64_t server_time_us)
{
    uint64_t now_ns = hami_kubernetes_now();
    struct timespec ours;
    int64_t ahead_s;

    if (server_time_us == 0 || now_ns < client->clock_quiet_until_ns) {
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &ours);
    ahead_s = (int64_t)ours.tv_sec - (int64_t)(server_time_us / 1000000);
    if (ahead_s > -CLOCK_SKEW_S_MAX && ahead_s < CLOCK_SKEW_S_MAX) {
        return;
    }
    client->clock_quiet_until_ns = now_ns + CLOCK_QUIET_NS;
    hami_internal_http_log(client, HAMI_LOG_WARNING,
                           "This computer's clock is %lld s %s that of %s: locks that "
                           "are written here look %s to HAMi, which judges them by "
                           "their time",
                           (long long)(ahead_s < 0 ? -ahead_s : ahead_s),
                           ahead_s < 0 ? "behind" : "ahead of", client->login.server,
                           ahead_s < 0 ? "older" : "younger");
}

static void count_answer(hami_kubernetes *client,
                         const struct hami_internal_http_transfer *transfer)
{
    int class = transfer->status / 100;
    long version = 0;

    (void)curl_easy_getinfo(transfer->easy, CURLINFO_HTTP_VERSION, &version);
    client->speaks_http2 = version == CURL_HTTP_VERSION_2_0;
    look_at_clock(client, transfer->server_time_us);
    pthread_mutex_lock(&client->mutex);
    client->stats.answers[class >= 1 && class <= 5 ? class : 0]++;
    pthread_mutex_unlock(&client->mutex);
}

static void finish_failed(hami_kubernetes *client,
                          struct hami_internal_http_request *request, CURLcode result)
{
    const struct hami_internal_http_transfer *transfer = request->transfer;
    struct hami_kubernetes_answer answer = {.size = sizeof(answer)};
    char text[TEXT_MAX];

    if (transfer->is_too_large) {
        (void)snprintf(
            text, sizeof(text),
            "The answer (status %d) is larger than %llu bytes, or its headers than %u",
            transfer->status, (unsigned long long)client->answer_bytes_max,
            HAMI_INTERNAL_HTTP_HEADERS_MAX);
        answer.code = HAMI_E_LIMIT;
        answer.status = transfer->status;
        answer.text = text;
        answer.server_time_us = transfer->server_time_us;
        finish(client, request, &answer);
        return;
    }
    if (transfer->is_resend_stopped || transfer->is_reopen_stopped) {
        (void)snprintf(text, sizeof(text), "The connection to %s was lost",
                       client->login.server);
    } else {
        (void)snprintf(
            text, sizeof(text), "The exchange with %s failed: %s", client->login.server,
            transfer->error[0] != '\0' ? transfer->error : curl_easy_strerror(result));
    }
    finish_without_answer(client, request,
                          result == CURLE_OUT_OF_MEMORY || transfer->is_out_of_memory
                              ? HAMI_E_NOMEM
                              : HAMI_E_TRANSPORT,
                          text);
}

/* Goes back from in flight to waiting or delayed, to be sent once more. */
static void send_again(hami_kubernetes *client,
                       struct hami_internal_http_request *request, uint64_t delay_ns)
{
    uint64_t now = hami_kubernetes_now();

    land(client, request);
    hami_internal_http_transfer_free(request->transfer);
    request->transfer = NULL;
    if (delay_ns > 0) {
        request->state = HAMI_INTERNAL_HTTP_DELAYED;
        request->wait_since_ns = now;
        hami_internal_http_heap_move(&client->heap, &request->job, now + delay_ns);
    } else {
        wait_for_place(client, request, now);
    }
    pthread_mutex_lock(&client->mutex);
    client->stats.in_flight = client->in_flight_count;
    client->stats.waiting++;
    client->stats.retries++;
    pthread_mutex_unlock(&client->mutex);
}

/* 401: where the token's file holds another one by now, or a plugin can be asked, the
 * request deserves one more try. */
static bool retry_unauthorized(hami_kubernetes *client,
                               struct hami_internal_http_request *request)
{
    if (request->transfer->status != 401 || request->was_unauthorized) {
        return false;
    }
    hami_internal_http_credentials_look(client, true);
    if (client->credentials == request->transfer->credentials &&
        !hami_internal_http_exec_refused(client, request->transfer->credentials)) {
        return false;
    }
    request->was_unauthorized = true;
    send_again(client, request, 0);
    return true;
}

/* Left out by the server; or a read whose connection, used before, was lost. */
static bool may_be_sent_again(const struct hami_internal_http_transfer *transfer)
{
    bool is_lost_read = !transfer->is_write && transfer->is_reopen_stopped;

    return transfer->sends > 0 && !transfer->is_resend_stopped &&
           (is_lost_read || !hami_internal_http_delivery_is_doubtful(transfer));
}

/* Sent, and safe to send again, a few times; or put back behind the scout. */
static bool retry_unprocessed(hami_kubernetes *client,
                              struct hami_internal_http_request *request)
{
    if (request->transfer->is_behind_scout) {
        send_again(client, request, 0);
        return true;
    }
    if (!may_be_sent_again(request->transfer) ||
        request->unprocessed_count >= UNPROCESSED_MAX) {
        return false;
    }
    request->unprocessed_count++;
    send_again(client, request, 0);
    return true;
}

/* 429 and 503 with Retry-After: waits as told, with jitter, if that leaves time before
 * the deadline. */
static bool retry_later(hami_kubernetes *client,
                        struct hami_internal_http_request *request)
{
    const struct hami_internal_http_transfer *transfer = request->transfer;
    uint64_t now = hami_kubernetes_now();
    uint64_t jitter_ms = transfer->retry_after_ms / 4 + JITTER_MS_SPREAD;
    uint64_t room_ms;

    if ((transfer->status != 429 && transfer->status != 503) ||
        !transfer->has_retry_after || request->deadline_ns <= now) {
        return false;
    }
    room_ms = (request->deadline_ns - now) / HAMI_INTERNAL_NANOSECONDS_PER_MS;
    if (transfer->retry_after_ms + JITTER_MS_MIN >= room_ms) {
        return false;
    }
    if (jitter_ms > room_ms - transfer->retry_after_ms) {
        jitter_ms = room_ms - transfer->retry_after_ms;
    }
    jitter_ms = JITTER_MS_MIN + next_random(client) % (jitter_ms - JITTER_MS_MIN + 1);
    if (transfer->status == 503 && transfer->is_write) {
        /* 503 also comes when a write was carried out and its end could not be seen. */
        request->is_doubtful = true;
    }
    send_again(client, request,
               (transfer->retry_after_ms + jitter_ms) * HAMI_INTERNAL_NANOSECONDS_PER_MS);
    return true;
}

void hami_internal_http_request_done(hami_kubernetes *client,
                                     struct hami_internal_http_request *request,
                                     CURLcode result)
{
    hami_internal_http_transfer_stop(request->transfer);
    if (result == CURLE_OK && request->transfer->status >= 100) {
        count_answer(client, request->transfer);
        if (request->transfer->status < 300) {
            client->exec.refused_ms = 0;
        }
        hami_internal_http_calls_count(client, request->method, request->url,
                                       request->transfer->status, request->sent_ns);
        if (request->transfer->is_write && request->transfer->status / 100 == 2 &&
            request->transfer->body.length > 0) {
            hami_internal_http_calls_wrote(client, request->transfer->body.text);
        }
        if (retry_unauthorized(client, request) || retry_later(client, request)) {
            return;
        }
        leave(client, request);
        if (request->transfer->status == 403) {
            hami_internal_denial_tell(client, request->method, request->url,
                                      &request->transfer->body);
        } else if (request->transfer->status / 100 == 2) {
            hami_internal_denial_over(client, request->method, request->url);
        }
        finish_with_answer(client, request);
        return;
    }
    if (retry_unprocessed(client, request)) {
        return;
    }
    leave(client, request);
    finish_failed(client, request, result);
}

/* ---- in, out, due --------------------------------------------------------------- */

void hami_internal_http_request_enter(hami_kubernetes *client,
                                      struct hami_internal_http_request *request,
                                      uint64_t now)
{
    uint64_t since = request->wait_since_ns;

    wait_for_place(client, request, now);
    request->wait_since_ns = since;
}

void hami_internal_http_request_due(hami_kubernetes *client,
                                    struct hami_internal_http_request *request,
                                    uint64_t now)
{
    if (request->state == HAMI_INTERNAL_HTTP_DELAYED && now < request->deadline_ns) {
        stop_waiting(request, now);
        hami_internal_http_heap_move(&client->heap, &request->job, request->deadline_ns);
        wait_for_place(client, request, now);
        return;
    }
    leave(client, request);
    finish_without_answer(client, request, HAMI_E_TIMEDOUT, "The deadline passed");
}

void hami_internal_http_request_end(hami_kubernetes *client,
                                    struct hami_internal_http_request *request, int code)
{
    struct hami_kubernetes_answer answer = {.size = sizeof(answer), .code = code};

    leave(client, request);
    if (code == HAMI_E_CANCELED) {
        finish_without_answer(client, request, HAMI_E_TRANSPORT, "It was cancelled");
        return;
    }
    answer.text = code == HAMI_E_CLOSED ? "The client was closed" : "Memory ran out";
    finish(client, request, &answer);
}

static void send_request(hami_kubernetes *client,
                         struct hami_internal_http_request *request)
{
    struct hami_internal_http_exchange exchange = {
        .method = request->method,
        .url = request->url,
        .accept_header = request->accept_header,
        .content_header = request->content_header,
        .body = request->body,
        .body_length = request->body_length,
    };
    bool is_first = !request->is_counted;
    int code;

    code = hami_internal_http_transfer_start(client, &request->job, &exchange,
                                             &request->transfer);
    if (code != 0) {
        leave(client, request);
        finish_without_answer(client, request, code,
                              code == HAMI_E_ACCESS ? "The token could not be read"
                                                    : "Memory ran out");
        return;
    }
    request->sent_ns = hami_kubernetes_now();
    stop_waiting(request, request->sent_ns);
    TAILQ_REMOVE(&client->waiting, &request->job, entry);
    request->state = HAMI_INTERNAL_HTTP_IN_FLIGHT;
    request->is_counted = true;
    request->maybe_resent = request->is_doubtful;
    client->in_flight_count++;
    hami_internal_http_nudge_sent(client, request);
    pthread_mutex_lock(&client->mutex);
    client->stats.requests += is_first ? 1 : 0;
    client->stats.waiting--;
    client->stats.in_flight = client->in_flight_count;
    pthread_mutex_unlock(&client->mutex);
}

bool hami_internal_http_request_may_go(const hami_kubernetes *client)
{
    return client->in_flight_count < client->in_flight_max && !client->exec.is_holding &&
           !hami_internal_http_delivery_is_scouting(client);
}

void hami_internal_http_request_pump(hami_kubernetes *client)
{
    while (hami_internal_http_request_may_go(client) && !TAILQ_EMPTY(&client->waiting)) {
        send_request(client,
                     (struct hami_internal_http_request *)TAILQ_FIRST(&client->waiting));
    }
}

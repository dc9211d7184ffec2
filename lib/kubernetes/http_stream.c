/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams: answers that are read line by line for as long as they last. On the client's
 * thread; client->mutex for counters only.
 *
 * A stream has no deadline, only a limit on its silence: its place in the heap is a look
 * at when the last byte came, so that bytes cost no heap operation.
 */
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512

/* ---- what comes in -------------------------------------------------------------- */

static void give_line(struct hami_internal_http_stream *stream)
{
    size_t length = stream->line.length;

    if (length > 0 && stream->line.text[length - 1] == '\r') {
        stream->line.text[--length] = '\0';
    }
    if (length > 0 && !stream->is_silent) {
        stream->options.on_line(stream->options.data, stream->line.text, length);
    }
    hami_internal_text_clear(&stream->line);
}

bool hami_internal_http_stream_receive(struct hami_internal_http_stream *stream,
                                       const char *bytes, size_t length)
{
    stream->last_byte_ns = hami_kubernetes_now();
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end != NULL ? (size_t)(end - bytes) : length;

        if (!hami_internal_text_add(&stream->line, bytes, part)) {
            stream->transfer->is_too_large = stream->line.over;
            stream->transfer->is_out_of_memory = !stream->line.over;
            return false;
        }
        if (end == NULL) {
            break;
        }
        give_line(stream);
        bytes += part + 1;
        length -= part + 1;
    }
    return true;
}

void hami_internal_http_stream_opened(struct hami_internal_http_stream *stream)
{
    stream->last_byte_ns = hami_kubernetes_now();
    if (!stream->is_open && !stream->is_silent && stream->options.on_open != NULL) {
        stream->is_open = true;
        stream->options.on_open(stream->options.data);
    }
    stream->is_open = true;
}

/* ---- the end -------------------------------------------------------------------- */

static void finish(hami_kubernetes *client, struct hami_internal_http_stream *stream,
                   int code, const char *text)
{
    struct hami_internal_http_transfer *transfer = stream->transfer;
    struct hami_kubernetes_answer answer = {
        .size = sizeof(answer), .code = code, .text = text, .body = ""};

    if (stream->job.heap_index != SIZE_MAX) {
        hami_internal_http_heap_remove(&client->heap, &stream->job);
    }
    if (transfer != NULL) {
        hami_internal_http_transfer_stop(transfer);
        answer.status = transfer->status;
        answer.server_time_us = transfer->server_time_us;
        answer.retry_after_ms = transfer->retry_after_ms;
        if (transfer->body.length > 0) {
            answer.body = transfer->body.text;
            answer.body_length = transfer->body.length;
        }
    }
    stream->options.on_end(stream->options.data, &answer);
    if (transfer != NULL) {
        hami_internal_http_transfer_free(transfer);
    }
    hami_internal_text_done(&stream->line);
    hami_internal_http_job_free(client, &stream->job);
}

void hami_internal_http_stream_done(hami_kubernetes *client,
                                    struct hami_internal_http_stream *stream,
                                    CURLcode result)
{
    const struct hami_internal_http_transfer *transfer = stream->transfer;
    char text[TEXT_MAX];
    int class = transfer->status / 100;

    pthread_mutex_lock(&client->mutex);
    client->stats.answers[class >= 1 && class <= 5 ? class : 0]++;
    pthread_mutex_unlock(&client->mutex);
    hami_internal_http_calls_count_watch(client, transfer->status);
    if (result == CURLE_OK && transfer->status >= 100) {
        if (transfer->status == 401) {
            hami_internal_http_credentials_look(client, true);
            (void)hami_internal_http_exec_refused(client, transfer->credentials);
        }
        if (transfer->status == 200 && stream->line.length > 0) {
            give_line(stream);
        }
        if (transfer->status == 403) {
            hami_internal_denial_tell(client, HAMI_KUBERNETES_GET, stream->url,
                                      &transfer->body);
        }
        finish(client, stream, 0, "");
        return;
    }
    if (transfer->is_too_large) {
        (void)snprintf(text, sizeof(text), "A line of the stream is longer than %u bytes",
                       HAMI_INTERNAL_HTTP_LINE_MAX);
        finish(client, stream, HAMI_E_LIMIT, text);
        return;
    }
    (void)snprintf(
        text, sizeof(text), "The stream from %s broke off: %s", client->login.server,
        transfer->error[0] != '\0' ? transfer->error : curl_easy_strerror(result));
    finish(client, stream,
           transfer->is_out_of_memory || result == CURLE_OUT_OF_MEMORY ? HAMI_E_NOMEM
                                                                       : HAMI_E_TRANSPORT,
           text);
}

void hami_internal_http_stream_end(hami_kubernetes *client,
                                   struct hami_internal_http_stream *stream, int code)
{
    const char *text = code == HAMI_E_CANCELED ? "The stream was cancelled"
                       : code == HAMI_E_CLOSED ? "The client was closed"
                                               : "Memory ran out";

    finish(client, stream, code, text);
}

/* ---- in, due -------------------------------------------------------------------- */

static uint64_t silence_ends(const struct hami_internal_http_stream *stream)
{
    uint64_t limit = stream->options.idle_timeout_ms;

    if (limit == 0 ||
        limit > (UINT64_MAX - stream->last_byte_ns) / HAMI_INTERNAL_NANOSECONDS_PER_MS) {
        return UINT64_MAX;
    }
    return stream->last_byte_ns + limit * HAMI_INTERNAL_NANOSECONDS_PER_MS;
}

void hami_internal_http_stream_enter(hami_kubernetes *client,
                                     struct hami_internal_http_stream *stream,
                                     uint64_t now)
{
    struct hami_internal_http_exchange exchange = {.method = HAMI_KUBERNETES_GET,
                                                   .url = stream->url,
                                                   .accept_header =
                                                       stream->accept_header};
    int code;

    stream->last_byte_ns = now;
    code = hami_internal_http_transfer_start(client, &stream->job, &exchange,
                                             &stream->transfer);
    if (code != 0) {
        finish(client, stream, code,
               code == HAMI_E_ACCESS ? "The token could not be read" : "Memory ran out");
        return;
    }
    hami_internal_http_heap_move(&client->heap, &stream->job, silence_ends(stream));
}

void hami_internal_http_stream_due(hami_kubernetes *client,
                                   struct hami_internal_http_stream *stream, uint64_t now)
{
    char text[TEXT_MAX];

    if (silence_ends(stream) > now) {
        hami_internal_http_heap_move(&client->heap, &stream->job, silence_ends(stream));
        return;
    }
    (void)snprintf(text, sizeof(text), "Nothing came from %s for %llu ms",
                   client->login.server,
                   (unsigned long long)stream->options.idle_timeout_ms);
    finish(client, stream, HAMI_E_TIMEDOUT, text);
}

/* ---- internal interface --------------------------------------------------------- */

int hami_internal_http_stream_start(
    hami_kubernetes *client, const struct hami_internal_http_stream_options *options,
    struct hami_internal_http_stream **ret)
{
    struct hami_internal_http_stream *stream = NULL;
    const char *accept = options->accept != NULL ? options->accept : "application/json";
    size_t url_size = strlen(client->base_url) + strlen(options->path) + 1;
    size_t accept_size = sizeof("Accept: ") + strlen(accept);
    int code;

    if (!hami_internal_http_path_is_valid(options->path) ||
        !hami_internal_http_value_is_valid(accept)) {
        return HAMI_E_INVAL;
    }
    stream = calloc(1, sizeof(*stream) + url_size + accept_size);
    if (stream == NULL) {
        return HAMI_E_NOMEM;
    }
    stream->job.kind = HAMI_INTERNAL_HTTP_STREAM;
    stream->job.heap_index = SIZE_MAX;
    stream->job.due_ns = UINT64_MAX;
    stream->options = *options;
    stream->options.path = NULL;
    stream->options.accept = NULL;
    stream->line.limit = HAMI_INTERNAL_HTTP_LINE_MAX;
    stream->url = stream->texts;
    stream->accept_header = stream->texts + url_size;
    (void)snprintf(stream->texts, url_size, "%s%s", client->base_url, options->path);
    (void)snprintf(stream->texts + url_size, accept_size, "Accept: %s", accept);
    *ret = stream;
    code = hami_internal_http_job_enter(client, &stream->job);
    if (code != 0) {
        *ret = NULL;
        free(stream);
    }
    return code;
}

void hami_internal_http_stream_cancel(hami_kubernetes *client,
                                      struct hami_internal_http_stream *stream)
{
    if (hami_internal_http_is_own_thread(client)) {
        stream->is_silent = true;
    }
    hami_internal_http_job_cancel(client, &stream->job);
}

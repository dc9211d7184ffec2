/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that have come and would not be told. No lock: everything here runs on the
 * client's thread.
 *
 * libcurl before 8.1 puts what comes over HTTP/2 into a buffer of the transfer that it is
 * for, whichever transfer reads the connection. When that buffer is full it has nghttp2
 * pause in the middle of a frame, and goes on once the transfer was run - but only if
 * bytes are left over in what it had read. If the piece that did not fit was the last
 * one, none are: then nghttp2 is not called again, and does not come to say that this
 * frame ended the stream, until something else comes on the connection. All of the answer
 * is here, and the request stands until its deadline. Servers that tell no length in
 * advance and end the stream with the last piece are hit by it. kube-apiserver tells none
 * of a list; the ends that were seen of it were frames of their own.
 *
 * So the buffer is far larger than libcurl's own 16 KiB, of which no memory is used but
 * what an answer fills. An answer that is larger still can meet the same fate. It is one
 * of which more than a buffer has come, and then nothing for a while: in that case
 * something harmless is asked on the connection, whose answer, be it a refusal, gets
 * nghttp2 going. The same is done, once, for a read that stands for a second: whatever
 * else keeps an answer from it that has come on its connection, the next bytes there have
 * libcurl look.
 */
#include "http_client.h"

#define SILENCE_NS (UINT64_C(200) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define STANDS_NS (UINT64_C(1000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define INTERVAL_NS (UINT64_C(1000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define NUDGE_TIMEOUT_MS 5000u
#define NUDGE_PATH "/version"

void hami_internal_http_nudge_sent(hami_kubernetes *client,
                                   struct hami_internal_http_request *request)
{
    if (request->method == HAMI_KUBERNETES_GET) {
        request->may_be_nudged = true;
        TAILQ_INSERT_TAIL(&client->reads, request, sent);
    }
}

void hami_internal_http_nudge_landed(hami_kubernetes *client,
                                     struct hami_internal_http_request *request)
{
    if (request->may_be_nudged) {
        request->may_be_nudged = false;
        TAILQ_REMOVE(&client->reads, request, sent);
    }
}

void hami_internal_http_nudge_count(struct hami_internal_http_transfer *transfer)
{
    hami_kubernetes *client = transfer->client;

    if (transfer->header_bytes + transfer->body.length <= (size_t)client->buffer_bytes) {
        return;
    }
    transfer->last_byte_ns = hami_kubernetes_now();
    if (!transfer->is_large) {
        transfer->is_large = true;
        LIST_INSERT_HEAD(&client->large, transfer, entry);
    }
}

void hami_internal_http_nudge_forget(struct hami_internal_http_transfer *transfer)
{
    if (transfer->is_large) {
        transfer->is_large = false;
        LIST_REMOVE(transfer, entry);
    }
}

/* When the first one has stood for too long; UINT64_MAX: never. */
static uint64_t next_due(const hami_kubernetes *client)
{
    const struct hami_internal_http_request *first = TAILQ_FIRST(&client->reads);
    const struct hami_internal_http_transfer *transfer;
    uint64_t due = first != NULL ? first->sent_ns + STANDS_NS : UINT64_MAX;

    if (client->is_nudging || !client->speaks_http2) {
        return UINT64_MAX;
    }
    LIST_FOREACH(transfer, &client->large, entry)
    {
        uint64_t silent = transfer->last_byte_ns + SILENCE_NS;

        due = silent < due ? silent : due;
    }
    return due > client->next_nudge_ns ? due : client->next_nudge_ns;
}

/* One nudge is for all that stand now; a read gets no second one. */
static void forget_standing(hami_kubernetes *client, uint64_t now)
{
    struct hami_internal_http_request *request;

    while ((request = TAILQ_FIRST(&client->reads)) != NULL &&
           request->sent_ns + STANDS_NS <= now) {
        hami_internal_http_nudge_landed(client, request);
    }
}

static void ignore_line(void *data, const char *line, size_t length)
{
    (void)data;
    (void)line;
    (void)length;
}

static void nudge_ended(void *data, const struct hami_kubernetes_answer *answer)
{
    hami_kubernetes *client = data;

    (void)answer;
    client->is_nudging = false;
}

void hami_internal_http_nudge_look(hami_kubernetes *client)
{
    struct hami_internal_http_stream_options options = {.path = NUDGE_PATH,
                                                        .idle_timeout_ms =
                                                            NUDGE_TIMEOUT_MS,
                                                        .on_line = ignore_line,
                                                        .on_end = nudge_ended,
                                                        .data = client};
    struct hami_internal_http_stream *stream;
    uint64_t now;

    if (LIST_EMPTY(&client->large) && TAILQ_EMPTY(&client->reads)) {
        return;
    }
    now = hami_kubernetes_now();
    if (next_due(client) > now) {
        return;
    }
    /* As a stream it needs no place among the requests, which may all stand still. */
    forget_standing(client, now);
    client->next_nudge_ns = now + INTERVAL_NS;
    client->is_nudging = hami_internal_http_stream_start(client, &options, &stream) == 0;
}

uint64_t hami_internal_http_nudge_wait_ms(const hami_kubernetes *client)
{
    uint64_t now = hami_kubernetes_now();
    bool has_none = LIST_EMPTY(&client->large) && TAILQ_EMPTY(&client->reads);
    uint64_t due = has_none ? UINT64_MAX : next_due(client);

    if (due == UINT64_MAX || due <= now) {
        return due == UINT64_MAX ? UINT64_MAX : 0;
    }
    return (due - now - 1) / HAMI_INTERNAL_NANOSECONDS_PER_MS + 1;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers: libcurl's easy handles, used again and again, and what they receive.
 *
 * No lock: everything here runs on the client's thread.
 */
#include "http_client.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FREE_TRANSFERS_MAX 64u
#define KEPT_BODY_CAPACITY 65536u

/* ---- libcurl's callbacks -------------------------------------------------------- */

/* The value of a header line if it has this name; NULL if not. `name` is in lower case,
 * with ':'. */
static const char *header_value(const char *line, size_t length, const char *name)
{
    size_t name_length = strlen(name);

    if (length <= name_length || strncasecmp(line, name, name_length) != 0) {
        return NULL;
    }
    return line + name_length + strspn(line + name_length, " \t");
}

static void read_status(struct hami_internal_http_transfer *transfer, const char *line)
{
    const char *blank = strchr(line, ' ');

    transfer->status = blank != NULL ? atoi(blank + 1) : 0;
    transfer->server_time_us = 0;
    transfer->has_retry_after = false;
    transfer->retry_after_ms = 0;
}

/* Seconds, or a date: then the time from the answer's own date on. */
static void read_retry_after(struct hami_internal_http_transfer *transfer,
                             const char *value)
{
    char *end = NULL;
    unsigned long seconds;
    time_t date;

    if (*value >= '0' && *value <= '9') {
        seconds = strtoul(value, &end, 10);
        transfer->has_retry_after = true;
        transfer->retry_after_ms = seconds < 86400 ? seconds * 1000 : 86400u * 1000;
        return;
    }
    date = curl_getdate(value, NULL);
    if (date > 0 && transfer->server_time_us != 0) {
        uint64_t date_us = (uint64_t)date * 1000000;

        transfer->has_retry_after = true;
        if (date_us > transfer->server_time_us) {
            transfer->retry_after_ms = (date_us - transfer->server_time_us) / 1000;
        }
    }
}

static void read_header(struct hami_internal_http_transfer *transfer, const char *line,
                        size_t length)
{
    const char *value;

    if (strncmp(line, "HTTP/", 5) == 0) {
        read_status(transfer, line);
        return;
    }
    value = header_value(line, length, "date:");
    if (value != NULL) {
        time_t date = curl_getdate(value, NULL);

        transfer->server_time_us = date > 0 ? (uint64_t)date * 1000000 : 0;
        return;
    }
    value = header_value(line, length, "retry-after:");
    if (value != NULL) {
        read_retry_after(transfer, value);
    }
}

static size_t on_header(char *bytes, size_t size, size_t count, void *data)
{
    struct hami_internal_http_transfer *transfer = data;
    size_t length = size * count;
    char line[256];

    transfer->header_bytes += length;
    if (transfer->header_bytes > HAMI_INTERNAL_HTTP_HEADERS_MAX) {
        transfer->is_too_large = true;
        return 0;
    }
    if (length <= 2 && transfer->status == 200 &&
        transfer->job->kind == HAMI_INTERNAL_HTTP_STREAM) {
        struct hami_internal_http_stream *stream =
            (struct hami_internal_http_stream *)transfer->job;

        hami_internal_denial_over(transfer->client, HAMI_KUBERNETES_GET, stream->url);
        hami_internal_http_stream_opened(stream);
        return length;
    }
    if (length < sizeof(line)) {
        memcpy(line, bytes, length);
        line[length] = '\0';
        read_header(transfer, line, length);
    }
    return length;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *data)
{
    struct hami_internal_http_transfer *transfer = data;
    size_t length = size * count;

    if (transfer->job->kind == HAMI_INTERNAL_HTTP_STREAM && transfer->status == 200) {
        return hami_internal_http_stream_receive(
                   (struct hami_internal_http_stream *)transfer->job, bytes, length)
                   ? length
                   : 0;
    }
    if (transfer->job->kind == HAMI_INTERNAL_HTTP_STREAM) {
        size_t room = HAMI_INTERNAL_HTTP_STREAM_BODY_MAX - transfer->body.length;

        (void)hami_internal_text_add(&transfer->body, bytes,
                                     length < room ? length : room);
        return length;
    }
    if (!hami_internal_text_add(&transfer->body, bytes, length)) {
        transfer->is_too_large = transfer->body.over;
        transfer->is_out_of_memory = !transfer->body.over;
        return 0;
    }
    hami_internal_http_nudge_count(transfer);
    return length;
}

/* ---- the pool ------------------------------------------------------------------- */

/* Options of a handle that point at its transfer; everything else that never changes is
 * set elsewhere. */
static bool bind_callbacks(struct hami_internal_http_transfer *transfer)
{
    CURL *easy = transfer->easy;

    return curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION,
                            hami_internal_http_delivery_before_send) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION,
                            hami_internal_http_delivery_open_socket) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION,
                            hami_internal_http_delivery_debug) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_DEBUGDATA, transfer) == CURLE_OK;
}

static struct hami_internal_http_transfer *make_transfer(hami_kubernetes *client)
{
    struct hami_internal_http_transfer *transfer = calloc(1, sizeof(*transfer));

    if (transfer == NULL) {
        return NULL;
    }
    transfer->client = client;
    transfer->body.limit = client->answer_bytes_max;
    transfer->easy = curl_easy_init();
    if (transfer->easy == NULL ||
        !hami_internal_http_options_set(client, transfer->easy) ||
        !bind_callbacks(transfer)) {
        hami_internal_http_transfer_destroy(transfer);
        return NULL;
    }
    return transfer;
}

static struct hami_internal_http_transfer *get_transfer(hami_kubernetes *client)
{
    struct hami_internal_http_transfer *transfer = LIST_FIRST(&client->free_transfers);

    if (transfer == NULL) {
        return make_transfer(client);
    }
    LIST_REMOVE(transfer, entry);
    client->free_count--;
    return transfer;
}

static void reset_results(struct hami_internal_http_transfer *transfer)
{
    transfer->error[0] = '\0';
    transfer->sends = 0;
    transfer->local_port = 0;
    transfer->stream = 0;
    transfer->is_exchanging = false;
    transfer->is_refused = false;
    transfer->is_resend_stopped = false;
    transfer->is_reopen_stopped = false;
    transfer->is_behind_scout = false;
    transfer->is_too_large = false;
    transfer->is_out_of_memory = false;
    transfer->connections = 0;
    transfer->status = 0;
    transfer->header_bytes = 0;
    transfer->server_time_us = 0;
    transfer->has_retry_after = false;
    transfer->retry_after_ms = 0;
    hami_internal_text_clear(&transfer->body);
}

void hami_internal_http_transfer_destroy(struct hami_internal_http_transfer *transfer)
{
    curl_easy_cleanup(transfer->easy);
    hami_internal_http_credentials_free(transfer->credentials);
    hami_internal_text_done(&transfer->body);
    free(transfer);
}

void hami_internal_http_transfer_free(struct hami_internal_http_transfer *transfer)
{
    hami_kubernetes *client = transfer->client;

    hami_internal_http_credentials_free(transfer->credentials);
    transfer->credentials = NULL;
    transfer->job = NULL;
    if (client->free_count >= FREE_TRANSFERS_MAX) {
        hami_internal_http_transfer_destroy(transfer);
        return;
    }
    if (transfer->body.capacity > KEPT_BODY_CAPACITY) {
        hami_internal_text_done(&transfer->body);
    }
    LIST_INSERT_HEAD(&client->free_transfers, transfer, entry);
    client->free_count++;
}

/* ---- start and stop ------------------------------------------------------------- */

/* The headers are a chain of our own nodes: libcurl only reads it, and nothing is
 * allocated. */
static void chain_header(struct hami_internal_http_transfer *transfer, size_t *count,
                         const char *text)
{
    if (text == NULL) {
        return;
    }
    transfer->headers[*count].data = (char *)(uintptr_t)text;
    transfer->headers[*count].next = NULL;
    if (*count > 0) {
        transfer->headers[*count - 1].next = &transfer->headers[*count];
    }
    (*count)++;
}

static CURLcode set_method(CURL *easy, const struct hami_internal_http_exchange *exchange)
{
    static const char *const names[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    CURLcode result;

    if (exchange->body == NULL && exchange->method != HAMI_KUBERNETES_POST &&
        exchange->method != HAMI_KUBERNETES_PUT &&
        exchange->method != HAMI_KUBERNETES_PATCH) {
        result = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, NULL);
        if (result == CURLE_OK) {
            result = curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        }
    } else {
        result = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                  (curl_off_t)exchange->body_length);
        if (result == CURLE_OK) {
            result = curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                                      exchange->body != NULL ? exchange->body : "");
        }
    }
    return result != CURLE_OK
               ? result
               : curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, names[exchange->method]);
}

/* A certificate that changes while the client lives is set each time. libcurl tells
 * connections apart by it: a new one is used by new connections alone. */
static CURLcode set_blob(CURL *easy, CURLoption option, const char *text)
{
    struct curl_blob blob = {.flags = CURL_BLOB_COPY};

    if (text == NULL) {
        return curl_easy_setopt(easy, option, NULL);
    }
    blob.data = (char *)(uintptr_t)text;
    blob.len = strlen(text);
    return curl_easy_setopt(easy, option, &blob);
}

static CURLcode set_certificate(struct hami_internal_http_transfer *transfer)
{
    const struct hami_internal_http_credentials *credentials = transfer->credentials;
    CURLcode result;

    if (!transfer->client->has_live_certificate) {
        return CURLE_OK;
    }
    (void)curl_easy_setopt(transfer->easy, CURLOPT_SSLCERT, NULL);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_SSLKEY, NULL);
    result = set_blob(transfer->easy, CURLOPT_SSLCERT_BLOB,
                      credentials != NULL ? credentials->certificate : NULL);
    return result != CURLE_OK ? result
                              : set_blob(transfer->easy, CURLOPT_SSLKEY_BLOB,
                                         credentials != NULL ? credentials->key : NULL);
}

static CURLcode prepare(struct hami_internal_http_transfer *transfer,
                        const struct hami_internal_http_exchange *exchange)
{
    CURL *easy = transfer->easy;
    size_t count = 0;
    CURLcode result;

    transfer->is_write = exchange->method != HAMI_KUBERNETES_GET;
    chain_header(transfer, &count, exchange->accept_header);
    chain_header(transfer, &count, exchange->content_header);
    chain_header(transfer, &count, transfer->client->host_header);
    chain_header(transfer, &count, "Expect:");
    chain_header(transfer, &count,
                 transfer->credentials != NULL ? transfer->credentials->header : NULL);
    result = set_certificate(transfer);
    if (result == CURLE_OK) {
        result = set_method(easy, exchange);
    }
    if (result == CURLE_OK) {
        result = curl_easy_setopt(easy, CURLOPT_URL, exchange->url);
    }
    if (result == CURLE_OK) {
        result = curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    }
    return result;
}

int hami_internal_http_transfer_start(hami_kubernetes *client,
                                      struct hami_internal_http_job *job,
                                      const struct hami_internal_http_exchange *exchange,
                                      struct hami_internal_http_transfer **ret)
{
    struct hami_internal_http_transfer *transfer;

    hami_internal_http_credentials_look(client, false);
    if (client->login.token_file != NULL && client->credentials == NULL) {
        return HAMI_E_ACCESS;
    }
    transfer = get_transfer(client);
    if (transfer == NULL) {
        return HAMI_E_NOMEM;
    }
    reset_results(transfer);
    transfer->job = job;
    transfer->credentials = hami_internal_http_credentials_get(client);
    if (prepare(transfer, exchange) != CURLE_OK ||
        curl_multi_add_handle(client->multi, transfer->easy) != CURLM_OK) {
        hami_internal_http_transfer_free(transfer);
        return HAMI_E_NOMEM;
    }
    *ret = transfer;
    return 0;
}

void hami_internal_http_transfer_stop(struct hami_internal_http_transfer *transfer)
{
    hami_internal_http_nudge_forget(transfer);
    (void)curl_multi_remove_handle(transfer->client->multi, transfer->easy);
}

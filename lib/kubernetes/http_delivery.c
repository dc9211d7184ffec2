/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a request goes out, and what is known of its fate when no answer came.
 *
 * libcurl sends a request once more by itself when a connection that was in use before
 * ends without a single byte of an answer. For a write that may be one time too many, so
 * it is stopped: libcurl asks before each send, and the second send of a write is allowed
 * only if the server said that it left the first one out. It says so in two ways:
 * REFUSED_STREAM, which libcurl tells for new connections only, and GOAWAY with the last
 * stream that it processes, which libcurl tells to whichever transfer reads the
 * connection at that moment. Both are found in libcurl's debug text alone. Where the text
 * is another one, or says nothing, the outcome is in doubt, which is safe.
 *
 * When a connection that carried many requests is lost, libcurl (7.88 was seen to) opens
 * one for each of them, those that had not gone out included: it knows of the host that
 * one is enough, but not of one that is being made that it will be such a one. So over
 * HTTP/2 one request, the scout, connects ahead of the others, which are put back and
 * follow over its connection; and a request that was sent opens none: what may be sent
 * again is sent as if it were new (http_request.c).
 *
 * Connections are known by their local port; a new connection forgets what was said about
 * the one that had its port before. No lock: everything here runs on the client's thread.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http_client.h"

#define TEXT_MAX 256u

/* ---- GOAWAY --------------------------------------------------------------------- */

static void forget_goaways(hami_kubernetes *client, int local_port)
{
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_GOAWAYS_MAX; i++) {
        if (client->goaways[i].local_port == local_port) {
            client->goaways[i].local_port = 0;
        }
    }
}

/* The last word counts: a server may lower the number. */
static void remember_goaway(hami_kubernetes *client, int local_port, uint32_t last_stream)
{
    forget_goaways(client, local_port);
    client->goaways[client->next_goaway].local_port = local_port;
    client->goaways[client->next_goaway].last_stream = last_stream;
    client->next_goaway = (client->next_goaway + 1) % HAMI_INTERNAL_HTTP_GOAWAYS_MAX;
}

static bool is_left_out(const struct hami_internal_http_transfer *transfer)
{
    const hami_kubernetes *client = transfer->client;

    if (transfer->is_refused) {
        return true;
    }
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_GOAWAYS_MAX; i++) {
        if (transfer->local_port != 0 && transfer->stream != 0 &&
            client->goaways[i].local_port == transfer->local_port) {
            return transfer->stream > client->goaways[i].last_stream;
        }
    }
    return false;
}

bool hami_internal_http_delivery_is_doubtful(
    const struct hami_internal_http_transfer *transfer)
{
    return transfer->sends > 0 && !is_left_out(transfer);
}

/* ---- what libcurl says ---------------------------------------------------------- */

/* The number behind a word in the text; 0 if it is not there. */
static uint32_t number_behind(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at != NULL ? (uint32_t)strtoul(at + strlen(word), NULL, 10) : 0;
}

static void read_text(struct hami_internal_http_transfer *transfer, const char *text)
{
    if (strncmp(text, "REFUSED_STREAM", 14) == 0) {
        transfer->is_refused = true;
    } else if (strncmp(text, "Connection died", 15) == 0) {
        /* From here on it may look at other connections. */
        transfer->is_exchanging = false;
    } else if (strncmp(text, "Using Stream ID: ", 17) == 0) {
        transfer->stream = number_behind(text, "Using Stream ID: ");
    } else if (strncmp(text, "[HTTP/2] [", 10) == 0 &&
               strstr(text, "] OPENED stream") != NULL) {
        transfer->stream = number_behind(text, "[HTTP/2] [");
    } else if (transfer->is_exchanging && strstr(text, "GOAWAY, error=") != NULL &&
               strstr(text, "last_stream=") != NULL) {
        remember_goaway(transfer->client, transfer->local_port,
                        number_behind(text, "last_stream="));
    }
}

int hami_internal_http_delivery_debug(CURL *easy, curl_infotype type, char *bytes,
                                      size_t length, void *data)
{
    char text[TEXT_MAX];

    (void)easy;
    if (type == CURLINFO_TEXT && length < sizeof(text)) {
        memcpy(text, bytes, length);
        text[length] = '\0';
        read_text(data, text);
    }
    return 0;
}

/* ---- before a send -------------------------------------------------------------- */

static void count_connections(struct hami_internal_http_transfer *transfer,
                              int local_port)
{
    hami_kubernetes *client = transfer->client;
    long connections = 0;

    (void)curl_easy_getinfo(transfer->easy, CURLINFO_NUM_CONNECTS, &connections);
    if (connections <= transfer->connections) {
        return;
    }
    forget_goaways(client, local_port);
    pthread_mutex_lock(&client->mutex);
    client->stats.connections += (uint64_t)(connections - transfer->connections);
    pthread_mutex_unlock(&client->mutex);
    transfer->connections = connections;
}

int hami_internal_http_delivery_before_send(void *data, char *remote_address,
                                            char *local_address, int remote_port,
                                            int local_port)
{
    struct hami_internal_http_transfer *transfer = data;

    (void)remote_address;
    (void)local_address;
    (void)remote_port;
    if (transfer->is_write && hami_internal_http_delivery_is_doubtful(transfer)) {
        transfer->is_resend_stopped = true;
        return CURL_PREREQFUNC_ABORT;
    }
    count_connections(transfer, local_port);
    transfer->sends++;
    transfer->local_port = local_port;
    transfer->stream = 0;
    transfer->is_exchanging = true;
    transfer->is_refused = false;
    return CURL_PREREQFUNC_OK;
}

/* ---- before a connection -------------------------------------------------------- */

bool hami_internal_http_delivery_is_scouting(const hami_kubernetes *client)
{
    return client->speaks_http2 && client->scout != NULL && client->scout->sends == 0;
}

static curl_socket_t new_socket(const struct curl_sockaddr *address)
{
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

curl_socket_t hami_internal_http_delivery_open_socket(void *data, curlsocktype purpose,
                                                      struct curl_sockaddr *address)
{
    struct hami_internal_http_transfer *transfer = data;
    hami_kubernetes *client = transfer->client;

    (void)purpose;
    if (transfer->job->kind != HAMI_INTERNAL_HTTP_REQUEST) {
        return new_socket(address);
    }
    if (transfer->sends > 0) {
        transfer->is_reopen_stopped = true;
        return CURL_SOCKET_BAD;
    }
    if (hami_internal_http_delivery_is_scouting(client) && client->scout != transfer) {
        transfer->is_behind_scout = true;
        return CURL_SOCKET_BAD;
    }
    client->scout = transfer;
    return new_socket(address);
}

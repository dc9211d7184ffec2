/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is set on each of libcurl's handles once: TLS, proxy, protocols, sockets. libcurl
 * must take nothing from the environment, follow nothing, and never speak plainly off
 * loopback. No lock.
 */
#include "http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_MS 10000L
#define KEEPALIVE_IDLE_SECONDS 10L
#define KEEPALIVE_INTERVAL_SECONDS 5L
#define UNACKNOWLEDGED_MS_MAX 15000

/* A peer that vanished without a word must not swallow requests for the kernel's 15
 * minutes. */
static int set_socket(void *data, curl_socket_t socket, curlsocktype purpose)
{
    unsigned limit = UNACKNOWLEDGED_MS_MAX;

    (void)data;
    (void)purpose;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof(limit));
    return CURL_SOCKOPT_OK;
}

static bool set_long(CURL *easy, CURLoption option, long value)
{
    return curl_easy_setopt(easy, option, value) == CURLE_OK;
}

static bool set_text(CURL *easy, CURLoption option, const char *value)
{
    return value == NULL || curl_easy_setopt(easy, option, value) == CURLE_OK;
}

/* Borrows PEM text for the client's life. */
static bool set_data(CURL *easy, CURLoption option, char *text)
{
    struct curl_blob blob = {.data = text, .flags = CURL_BLOB_NOCOPY};

    if (text == NULL) {
        return true;
    }
    blob.len = strlen(text);
    return curl_easy_setopt(easy, option, &blob) == CURLE_OK;
}

static bool set_tls(const struct hami_internal_login *login, CURL *easy)
{
    return set_long(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) &&
           set_long(easy, CURLOPT_SSL_VERIFYPEER, login->is_insecure ? 0 : 1) &&
           set_long(easy, CURLOPT_SSL_VERIFYHOST, login->is_insecure ? 0 : 2) &&
           set_text(easy, CURLOPT_CAINFO, login->ca_file) &&
           set_data(easy, CURLOPT_CAINFO_BLOB, login->ca_data)
           /* With a CA of its own the server is known by that alone. */
           && ((login->ca_file == NULL && login->ca_data == NULL) ||
               curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK) &&
           set_text(easy, CURLOPT_SSLCERT, login->certificate_file) &&
           set_data(easy, CURLOPT_SSLCERT_BLOB, login->certificate_data) &&
           set_text(easy, CURLOPT_SSLKEY, login->key_file) &&
           set_data(easy, CURLOPT_SSLKEY_BLOB, login->key_data);
}

static bool set_connection(const hami_kubernetes *client, CURL *easy)
{
    const char *proxy = client->login.proxy_url != NULL ? client->login.proxy_url : "";

    return curl_easy_setopt(easy, CURLOPT_PROXY, proxy) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK &&
           (client->connect_to.data == NULL ||
            curl_easy_setopt(easy, CURLOPT_CONNECT_TO, &client->connect_to) ==
                CURLE_OK) &&
           set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) &&
           set_long(easy, CURLOPT_TCP_NODELAY, 1) &&
           set_long(easy, CURLOPT_TCP_KEEPALIVE, 1) &&
           set_long(easy, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS) &&
           set_long(easy, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS) &&
           curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, set_socket) == CURLE_OK;
}

static bool set_http(const hami_kubernetes *client, CURL *easy)
{
    bool is_plain = client->login.is_plain;

    return set_text(easy, CURLOPT_PROTOCOLS_STR, is_plain ? "http" : "https") &&
           set_long(easy, CURLOPT_HTTP_VERSION,
                    is_plain ? (long)CURL_HTTP_VERSION_1_1
                             : (long)CURL_HTTP_VERSION_2TLS) &&
           set_long(easy, CURLOPT_PIPEWAIT, 1) &&
           set_long(easy, CURLOPT_BUFFERSIZE, client->buffer_bytes) &&
           set_long(easy, CURLOPT_FOLLOWLOCATION, 0) &&
           set_long(easy, CURLOPT_HTTP_CONTENT_DECODING, 0) &&
           set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1) &&
           set_long(easy, CURLOPT_PATH_AS_IS, 1) &&
           set_long(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1) &&
           set_long(easy, CURLOPT_NETRC, CURL_NETRC_IGNORED) &&
           set_text(easy, CURLOPT_USERAGENT, client->user_agent);
}

bool hami_internal_http_options_set(const hami_kubernetes *client, CURL *easy)
{
    bool is_set = set_long(easy, CURLOPT_NOSIGNAL, 1) &&
                  set_long(easy, CURLOPT_NOPROGRESS, 1) &&
                  set_tls(&client->login, easy) && set_connection(client, easy) &&
                  set_http(client, easy);

#if LIBCURL_VERSION_NUM >= 0x075700
    is_set = is_set && set_long(easy, CURLOPT_QUICK_EXIT, 1);
#endif
    return is_set;
}

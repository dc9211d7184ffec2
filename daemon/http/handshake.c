/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a TLS handshake: counted, told of where it failed, and whose certificate it
 * was.
 */
#include "internal.h"

#include <string.h>

#include <openssl/x509.h>

#include "log.h"

void hamid_http_handshake_failed(struct hamid_http_server *server, const char *why)
{
    server->stats.handshakes_failed++;
    if (hamid_http_limits_may_shout(server, HAMID_HTTP_SHOUT_HANDSHAKE)) {
        hamid_log_warning(
            "A TLS handshake failed; others may have since the last such line", "err",
            why, NULL);
    }
}

/* Has the certificate a name that is served? */
static bool is_name_served(const struct hamid_http_config *config, SSL *ssl)
{
    char name[256] = "";
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    int length = certificate != NULL
                     ? X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
                                                 NID_commonName, name, sizeof(name))
                     : -1;
    for (size_t i = 0; i < config->client_name_count && length >= 0; i++) {
        if (strlen(config->client_names[i]) == (size_t)length &&
            strcmp(config->client_names[i], name) == 0) {
            return true;
        }
    }
    return config->client_name_count == 0;
}

void hamid_http_handshake_done(struct hamid_http_exchange *exchange)
{
    struct hamid_http_server *server = exchange->server;
    server->stats.handshakes++;
    exchange->is_stranger = !is_name_served(&server->config, exchange->stream.ssl);
    hamid_http_connection_set_timer(exchange, server->config.idle_ms);
}

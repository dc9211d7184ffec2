/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A CA of the server's own, its certificate, a client certificate, the TLS context. */
#ifndef KUBESIM_TLS_H
#define KUBESIM_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>

struct sim_tls {
    SSL_CTX *context;
    char *ca_pem, *client_certificate_pem, *client_key_pem;
};

/* New; the client certificate names CLIENT. NULL on failure. */
struct sim_tls *sim_tls_new(const char *client, bool http2);
void sim_tls_free(struct sim_tls *tls);
/* The user that a verified client certificate names, new; NULL without one. */
char *sim_tls_user(SSL *ssl);
/* What ALPN chose. */
bool sim_tls_is_http2(SSL *ssl);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's certificate and its rules of TLS: 1.2 and later, HTTP/1.1 alone, no
 * sessions that are taken up again, nothing kept that a waiting connection doesn't need.
 *
 * The files may be replaced while connections are open: hamid_tls_reload() looks whether
 * they have changed, and takes the new ones only where they fit together; new connections
 * get them, the others keep what they began with. One thread.
 */
#ifndef HAMID_HTTP_TLS_H
#define HAMID_HTTP_TLS_H

#include <stdint.h>

#include <openssl/ssl.h>

struct hamid_tls;

struct hamid_tls_config {
    const char *cert_file;      /* PEM: the certificate, then those in between */
    const char *key_file;       /* PEM, without a passphrase */
    const char *client_ca_file; /* PEM: clients must have a certificate of one of these;
                                   NULL = they need none */
};

#define HAMID_TLS_ERROR_MAX 512

/*
 * Loads the files.
 * @config   copied, with its texts
 * @error    HAMID_TLS_ERROR_MAX bytes; one line on failure, which names the file
 * Returns   NULL with a line in error
 */
struct hamid_tls *hamid_tls_new(const struct hamid_tls_config *config, char *error);

/* Connections that have begun are not touched. Takes NULL, returns NULL. */
struct hamid_tls *hamid_tls_free(struct hamid_tls *tls);

/* A server's side of a new connection; NULL without memory. */
SSL *hamid_tls_accept(struct hamid_tls *tls);

enum hamid_tls_reload {
    HAMID_TLS_UNCHANGED = 0,
    HAMID_TLS_RELOADED,
    HAMID_TLS_WRONG /* the old ones stay; said once for each change of the files */
};

/* Looks at the files. @error as above */
enum hamid_tls_reload hamid_tls_reload(struct hamid_tls *tls, char *error);

/* When the certificate begins and ends to be valid, in seconds of the wall clock. */
int64_t hamid_tls_not_before(const struct hamid_tls *tls);
int64_t hamid_tls_not_after(const struct hamid_tls *tls);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One SSL_CTX stands for one state of the files; a reload makes another one and puts it
 * in the old one's place, so that nobody ever sees half of a change. The files are told
 * apart by what stat(2) says of them, which follows the links that kubelet switches over
 * when a Secret changes.
 */
#include "tls.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/x509.h>

#define FILES 3
#define CIPHERS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"

/* Two states of the files are the same where these are. */
struct mark {
    struct {
        dev_t device;
        ino_t inode;
        off_t size;
        struct timespec modified;
        struct timespec changed;
    } files[FILES];
};

struct hamid_tls {
    char *names[FILES]; /* certificate, key, authorities of clients (NULL = none) */
    SSL_CTX *context;
    struct mark seen; /* what was looked at last, good or not */
    int64_t not_before;
    int64_t not_after;
};

/* ---- errors --------------------------------------------------------------------- */

/* One line: which file, and OpenSSL's own reason. */
static void tell(char *error, const char *what, const char *file)
{
    unsigned long code = ERR_peek_error();
    const char *reason = ERR_reason_error_string(code);
    (void)snprintf(error, HAMID_TLS_ERROR_MAX, "%s '%.300s': %s", what, file,
                   reason != NULL ? reason : "unreadable, or not what it should be");
    ERR_clear_error();
}

/* ---- rules ---------------------------------------------------------------------- */

/* HTTP/1.1, or nothing: whoever speaks only another protocol is told at once. */
static int choose_protocol(SSL *ssl, const unsigned char **chosen,
                           unsigned char *chosen_length, const unsigned char *offered,
                           unsigned int offered_length, void *data)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl;
    (void)data;
    unsigned char *found = NULL;
    int status = SSL_select_next_proto(&found, chosen_length, ours, sizeof(ours) - 1,
                                       offered, offered_length);
    *chosen = found;
    return status == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK
                                            : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* A waiting connection keeps no record buffers; an answer may be sent piece by piece. */
static SSL_CTX *new_context(void)
{
    static const unsigned char name[] = "hamid";
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(context, CIPHERS_1_2) != 1 ||
        SSL_CTX_set_num_tickets(context, 0) != 1 ||
        SSL_CTX_set_session_id_context(context, name, sizeof(name) - 1) != 1) {
        SSL_CTX_free(context);
        return NULL;
    }
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_NO_TICKET |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS |
                                        SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return context;
}

static int refuse_passphrase(char *text, int size, int writing, void *data)
{
    (void)text;
    (void)size;
    (void)writing;
    (void)data;
    return -1; /* nobody is there to ask */
}

/* Clients are told which authorities would do. */
static bool want_clients(SSL_CTX *context, const char *file)
{
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(file);
    if (names == NULL || SSL_CTX_load_verify_file(context, file) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return false;
    }
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return true;
}

/* NULL with a line in error. */
static SSL_CTX *load(char *const names[FILES], char *error)
{
    ERR_clear_error();
    SSL_CTX *context = new_context();
    const char *what = NULL;
    const char *file = names[0];
    if (context == NULL) {
        (void)snprintf(error, HAMID_TLS_ERROR_MAX, "TLS could not be set up");
        return NULL;
    }
    SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
    if (SSL_CTX_use_certificate_chain_file(context, names[0]) != 1) {
        what = "the certificate";
    } else if (SSL_CTX_use_PrivateKey_file(context, names[1], SSL_FILETYPE_PEM) != 1) {
        what = "the key";
        file = names[1];
    } else if (SSL_CTX_check_private_key(context) != 1) {
        what = "the key does not belong to the certificate";
        file = names[1];
    } else if (names[2] != NULL && !want_clients(context, names[2])) {
        what = "the authorities of clients";
        file = names[2];
    }
    if (what != NULL) {
        tell(error, what, file);
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

/* ---- the files ------------------------------------------------------------------ */

/* A file that is not there has a mark too. */
static void look(char *const names[FILES], struct mark *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < FILES; i++) {
        struct stat status;
        if (names[i] != NULL && stat(names[i], &status) == 0) {
            ret->files[i].device = status.st_dev;
            ret->files[i].inode = status.st_ino;
            ret->files[i].size = status.st_size;
            ret->files[i].modified = status.st_mtim;
            ret->files[i].changed = status.st_ctim;
        }
    }
}

static int64_t seconds_of(const ASN1_TIME *time)
{
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

static void take(struct hamid_tls *tls, SSL_CTX *context)
{
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    SSL_CTX_free(tls->context);
    tls->context = context;
    tls->not_before = seconds_of(X509_get0_notBefore(certificate));
    tls->not_after = seconds_of(X509_get0_notAfter(certificate));
}

/* ---- public --------------------------------------------------------------------- */

struct hamid_tls *hamid_tls_new(const struct hamid_tls_config *config, char *error)
{
    const char *const names[FILES] = {config->cert_file, config->key_file,
                                      config->client_ca_file};
    struct hamid_tls *tls = calloc(1, sizeof(*tls));
    bool is_whole = tls != NULL;
    for (size_t i = 0; is_whole && i < FILES; i++) {
        tls->names[i] = names[i] != NULL ? strdup(names[i]) : NULL;
        is_whole = names[i] == NULL || tls->names[i] != NULL;
    }
    if (!is_whole) {
        (void)snprintf(error, HAMID_TLS_ERROR_MAX, "out of memory");
        return hamid_tls_free(tls);
    }
    look(tls->names, &tls->seen);
    SSL_CTX *context = load(tls->names, error);
    if (context == NULL) {
        return hamid_tls_free(tls);
    }
    take(tls, context);
    return tls;
}

struct hamid_tls *hamid_tls_free(struct hamid_tls *tls)
{
    if (tls != NULL) {
        for (size_t i = 0; i < FILES; i++) {
            free(tls->names[i]);
        }
        SSL_CTX_free(tls->context);
        free(tls);
    }
    return NULL;
}

SSL *hamid_tls_accept(struct hamid_tls *tls)
{
    return SSL_new(tls->context);
}

enum hamid_tls_reload hamid_tls_reload(struct hamid_tls *tls, char *error)
{
    struct mark now;
    look(tls->names, &now);
    if (memcmp(&now, &tls->seen, sizeof(now)) == 0) {
        return HAMID_TLS_UNCHANGED;
    }
    memcpy(&tls->seen, &now, sizeof(now));
    SSL_CTX *context = load(tls->names, error);
    if (context == NULL) {
        return HAMID_TLS_WRONG;
    }
    take(tls, context);
    return HAMID_TLS_RELOADED;
}

int64_t hamid_tls_not_before(const struct hamid_tls *tls)
{
    return tls->not_before;
}

int64_t hamid_tls_not_after(const struct hamid_tls *tls)
{
    return tls->not_after;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates are made anew at each start and live in memory only: see tls.h. A client
 * certificate that does not verify is let through the handshake and counts as none, so
 * that its owner gets 401 as from the real server. No lock: the context is read-only
 * once it is made.
 */
#include "tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#define LIFE_SECONDS (10L * 365 * 24 * 3600)

struct pair {
    X509 *certificate;
    EVP_PKEY *key;
};

static void pair_clear(struct pair *pair)
{
    X509_free(pair->certificate);
    EVP_PKEY_free(pair->key);
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

static bool set_names(X509 *certificate, X509 *issuer, const char *name,
                      const char *organisation)
{
    X509_NAME *subject = X509_get_subject_name(certificate);
    bool good = X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                           (const unsigned char *)name, -1, -1, 0) == 1;
    if (organisation != NULL) {
        good = good && X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8,
                                                  (const unsigned char *)organisation, -1,
                                                  -1, 0) == 1;
    }
    return good && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1;
}

static bool set_serial(X509 *certificate)
{
    unsigned char noise[8];
    if (RAND_bytes(noise, sizeof(noise)) != 1) {
        return false;
    }
    noise[0] = (unsigned char)((noise[0] & 0x3f) | 0x40);
    BIGNUM *number = BN_bin2bn(noise, sizeof(noise), NULL);
    bool good = number != NULL &&
                BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return good;
}

/* EXTENSIONS: pairs of an extension's number and text, ended by 0. */
struct extension {
    int nid;
    const char *value;
};

/* A key and a certificate signed by ISSUER (NULL: by itself). */
static bool make_pair(struct pair *pair, const struct pair *issuer, const char *name,
                      const char *organisation, const struct extension *extensions)
{
    pair->key = EVP_EC_gen("P-256");
    pair->certificate = X509_new();
    if (pair->key == NULL || pair->certificate == NULL) {
        return false;
    }
    X509 *certificate = pair->certificate;
    X509 *signer = issuer != NULL ? issuer->certificate : certificate;
    bool good = X509_set_version(certificate, 2) == 1 && set_serial(certificate) &&
                X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != NULL &&
                X509_gmtime_adj(X509_getm_notAfter(certificate), LIFE_SECONDS) != NULL &&
                X509_set_pubkey(certificate, pair->key) == 1 &&
                set_names(certificate, signer, name, organisation);
    for (; good && extensions->nid != 0; extensions++) {
        good = add_extension(certificate, signer, extensions->nid, extensions->value);
    }
    return good && X509_sign(certificate, issuer != NULL ? issuer->key : pair->key,
                             EVP_sha256()) > 0;
}

static char *text_of(BIO *memory)
{
    char *data;
    long length = BIO_get_mem_data(memory, &data);
    char *text = length > 0 ? strndup(data, (size_t)length) : NULL;
    BIO_free(memory);
    return text;
}

static char *certificate_text(X509 *certificate)
{
    BIO *memory = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(memory, certificate);
    return text_of(memory);
}

static char *key_text(EVP_PKEY *key)
{
    BIO *memory = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL);
    return text_of(memory);
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *length,
                           const unsigned char *in, unsigned int in_length, void *data)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1";
    const unsigned char *offer = data != NULL ? both : both + 3;
    unsigned int offer_length = (unsigned int)(sizeof(both) - 1 - (data != NULL ? 0 : 3));
    (void)ssl;
    if (SSL_select_next_proto((unsigned char **)out, length, offer, offer_length, in,
                              in_length) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    return SSL_TLSEXT_ERR_OK;
}

static int let_through(int verified, X509_STORE_CTX *context)
{
    (void)verified;
    (void)context;
    return 1; /* the result is looked at by sim_tls_user */
}

static bool set_up(struct sim_tls *tls, const struct pair *ca, const struct pair *server,
                   bool http2)
{
    static const unsigned char session_context[] = "kubesim";
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    tls->context = context;
    if (context == NULL) {
        return false;
    }
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_session_id_context(context, session_context, sizeof(session_context) - 1);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, http2 ? context : NULL);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, let_through);
    SSL_CTX_add_client_CA(context, ca->certificate);
    return SSL_CTX_use_certificate(context, server->certificate) == 1 &&
           SSL_CTX_use_PrivateKey(context, server->key) == 1 &&
           X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca->certificate) == 1;
}

static const struct extension ca_extensions[] = {
    {NID_basic_constraints, "critical,CA:TRUE"},
    {NID_key_usage, "critical,keyCertSign,cRLSign"},
    {NID_subject_key_identifier, "hash"},
    {0, NULL}};
static const struct extension server_extensions[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},
    {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "serverAuth"},
    {NID_subject_alt_name,
     "IP:127.0.0.1,IP:::1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,"
     "DNS:kubernetes.default.svc"},
    {0, NULL}};
static const struct extension client_extensions[] = {
    {NID_basic_constraints, "critical,CA:FALSE"},
    {NID_key_usage, "critical,digitalSignature"},
    {NID_ext_key_usage, "clientAuth"},
    {0, NULL}};

struct sim_tls *sim_tls_new(const char *client, bool http2)
{
    struct sim_tls *tls = calloc(1, sizeof(*tls));
    struct pair ca = {0}, server = {0}, user = {0};
    bool good = tls != NULL && make_pair(&ca, NULL, "kubesim-ca", NULL, ca_extensions) &&
                make_pair(&server, &ca, "kube-apiserver", NULL, server_extensions) &&
                make_pair(&user, &ca, client, "system:masters", client_extensions) &&
                set_up(tls, &ca, &server, http2);
    if (good) {
        tls->ca_pem = certificate_text(ca.certificate);
        tls->client_certificate_pem = certificate_text(user.certificate);
        tls->client_key_pem = key_text(user.key);
        good = tls->ca_pem != NULL && tls->client_certificate_pem != NULL &&
               tls->client_key_pem != NULL;
    }
    pair_clear(&ca);
    pair_clear(&server);
    pair_clear(&user);
    if (!good) {
        sim_tls_free(tls);
        return NULL;
    }
    return tls;
}

void sim_tls_free(struct sim_tls *tls)
{
    if (tls == NULL) {
        return;
    }
    SSL_CTX_free(tls->context);
    free(tls->ca_pem);
    free(tls->client_certificate_pem);
    free(tls->client_key_pem);
    free(tls);
}

char *sim_tls_user(SSL *ssl)
{
    X509 *certificate = SSL_get1_peer_certificate(ssl);
    char name[128];
    char *user = NULL;
    if (certificate != NULL && SSL_get_verify_result(ssl) == X509_V_OK &&
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                  name, sizeof(name)) > 0) {
        user = strdup(name);
    }
    X509_free(certificate);
    return user;
}

bool sim_tls_is_http2(SSL *ssl)
{
    const unsigned char *name = NULL;
    unsigned int length = 0;
    SSL_get0_alpn_selected(ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

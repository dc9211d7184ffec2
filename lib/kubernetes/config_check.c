/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at a login's certificates, key and token before the first connection, so that a
 * mistake is named by its file or field and not by a TLS alert. No state, no lock.
 */
#include "login.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>

#include "support.h"

/* PEM text, from the file if there is one. `text` must be freed as a secret where it is
 * new. */
struct pem {
    const char *what;
    const char *path; /* NULL = inline data */
    char *read;       /* new, or NULL */
    const char *text;
};

static int open_pem(struct pem *pem, const char *path, const char *data, const char *what,
                    struct hami_error *reterr)
{
    size_t length;
    int code;

    pem->what = what;
    pem->path = path;
    pem->text = data;
    if (path == NULL) {
        return 0;
    }
    code = hami_internal_file_read(path, HAMI_INTERNAL_LOGIN_FILE_MAX, what, &pem->read,
                                   &length, reterr);
    pem->text = pem->read;
    return code;
}

static void close_pem(struct pem *pem)
{
    hami_internal_support_free_secret(pem->read);
}

static int fail_pem(const struct pem *pem, const char *problem, struct hami_error *reterr)
{
    return hami_internal_support_fail(reterr, HAMI_E_INVAL, "The %s%s%s %s", pem->what,
                                      pem->path != NULL ? " " : "",
                                      pem->path != NULL ? pem->path : "", problem);
}

/* A key with a passphrase can't be used: nobody is there to be asked. */
static int refuse_passphrase(char *buffer, int size, int writing, void *data)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)data;
    return -1;
}

static X509 *first_certificate(const struct pem *pem)
{
    BIO *bio = BIO_new_mem_buf(pem->text, -1);
    X509 *certificate = NULL;

    if (bio != NULL) {
        certificate = PEM_read_bio_X509(bio, NULL, refuse_passphrase, NULL);
        (void)BIO_free(bio);
    }
    ERR_clear_error();
    return certificate;
}

static EVP_PKEY *private_key(const struct pem *pem)
{
    BIO *bio = BIO_new_mem_buf(pem->text, -1);
    EVP_PKEY *key = NULL;

    if (bio != NULL) {
        key = PEM_read_bio_PrivateKey(bio, NULL, refuse_passphrase, NULL);
        (void)BIO_free(bio);
    }
    ERR_clear_error();
    return key;
}

static int check_ca(const struct hami_internal_login *login, struct hami_error *reterr)
{
    struct pem pem = {0};
    X509 *certificate;
    int code;

    if (login->ca_file == NULL && login->ca_data == NULL) {
        return 0;
    }
    code = open_pem(&pem, login->ca_file, login->ca_data, "CA certificate", reterr);
    if (code != 0) {
        return code;
    }
    certificate = first_certificate(&pem);
    if (certificate == NULL) {
        code = fail_pem(&pem, "holds no PEM certificate", reterr);
    }
    X509_free(certificate);
    close_pem(&pem);
    return code;
}

static int check_pair(const struct pem *certificate_pem, const struct pem *key_pem,
                      struct hami_error *reterr)
{
    X509 *certificate = first_certificate(certificate_pem);
    EVP_PKEY *key = private_key(key_pem);
    int code = 0;

    if (certificate == NULL) {
        code = fail_pem(certificate_pem, "holds no PEM certificate", reterr);
    } else if (key == NULL) {
        code = fail_pem(key_pem, "holds no PEM private key without a passphrase", reterr);
    } else if (X509_check_private_key(certificate, key) != 1) {
        code = fail_pem(key_pem, "does not belong to the client certificate", reterr);
    }
    ERR_clear_error();
    X509_free(certificate);
    EVP_PKEY_free(key);
    return code;
}

static int check_client(const struct hami_internal_login *login,
                        struct hami_error *reterr)
{
    bool has_certificate =
        login->certificate_file != NULL || login->certificate_data != NULL;
    bool has_key = login->key_file != NULL || login->key_data != NULL;
    struct pem certificate = {0};
    struct pem key = {0};
    int code;

    if (has_certificate != has_key) {
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL,
            "A client certificate needs its key, and a key its "
            "certificate: one of the two is missing");
    }
    if (!has_certificate) {
        return 0;
    }
    code = open_pem(&certificate, login->certificate_file, login->certificate_data,
                    "client certificate", reterr);
    if (code == 0) {
        code = open_pem(&key, login->key_file, login->key_data, "client key", reterr);
    }
    if (code == 0) {
        code = check_pair(&certificate, &key, reterr);
    }
    close_pem(&certificate);
    close_pem(&key);
    return code;
}

int hami_internal_login_check(struct hami_internal_login *login,
                              struct hami_error *reterr)
{
    int code;

    if (login->token != NULL && !hami_internal_token_trim(login->token)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "The token has characters that no token has");
    }
    code = check_ca(login, reterr);
    return code != 0 ? code : check_client(login, reterr);
}

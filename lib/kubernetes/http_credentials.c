/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bearer token: read again when its file changes, at most once a second, or at once
 * after a 401. Transfers in flight keep the token that they went out with. A file that
 * can't be read for a moment (it is being replaced) leaves the last good token in use. On
 * the client's thread, but for _open, which runs before there is one; no lock.
 */
#include "http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LOOK_INTERVAL_NS UINT64_C(1000000000)

static bool copy_text(char **target, const char *text)
{
    *target = text != NULL ? strdup(text) : NULL;
    return text == NULL || *target != NULL;
}

static bool copy_header(char **target, const char *token)
{
    if (token == NULL) {
        *target = NULL;
        return true;
    }
    if (asprintf(target, "Authorization: Bearer %s", token) < 0) {
        *target = NULL;
        return false;
    }
    return true;
}

static struct hami_internal_http_credentials *
make_credentials(const char *token, const char *certificate, const char *key)
{
    struct hami_internal_http_credentials *credentials = calloc(1, sizeof(*credentials));

    if (credentials == NULL) {
        return NULL;
    }
    credentials->references = 1;
    if (!copy_header(&credentials->header, token) ||
        !copy_text(&credentials->certificate, certificate) ||
        !copy_text(&credentials->key, key)) {
        hami_internal_http_credentials_free(credentials);
        return NULL;
    }
    return credentials;
}

static bool are_same_texts(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static bool are_same(const struct hami_internal_http_credentials *one,
                     const struct hami_internal_http_credentials *other)
{
    return one != NULL && are_same_texts(one->header, other->header) &&
           are_same_texts(one->certificate, other->certificate) &&
           are_same_texts(one->key, other->key);
}

struct hami_internal_http_credentials *
hami_internal_http_credentials_get(hami_kubernetes *client)
{
    if (client->credentials != NULL) {
        client->credentials->references++;
    }
    return client->credentials;
}

void hami_internal_http_credentials_free(
    struct hami_internal_http_credentials *credentials)
{
    if (credentials != NULL && --credentials->references == 0) {
        hami_internal_support_free_secret(credentials->header);
        free(credentials->certificate);
        hami_internal_support_free_secret(credentials->key);
        free(credentials);
    }
}

int hami_internal_http_credentials_use(hami_kubernetes *client, const char *token,
                                       const char *certificate, const char *key)
{
    struct hami_internal_http_credentials *fresh =
        make_credentials(token, certificate, key);

    if (fresh == NULL) {
        return HAMI_E_NOMEM;
    }
    if (are_same(client->credentials, fresh)) {
        hami_internal_http_credentials_free(fresh);
        return 0;
    }
    hami_internal_http_credentials_free(client->credentials);
    client->credentials = fresh;
    return 0;
}

/* A token of its own; a certificate that came with the last one stays. */
static int use_token(hami_kubernetes *client, const char *token)
{
    const struct hami_internal_http_credentials *now = client->credentials;

    return hami_internal_http_credentials_use(client, token,
                                              now != NULL ? now->certificate : NULL,
                                              now != NULL ? now->key : NULL);
}

static int read_token(hami_kubernetes *client, struct hami_error *reterr)
{
    const char *path = client->login.token_file;
    char *token = NULL;
    size_t length = 0;
    int code;

    code = hami_internal_file_read(path, HAMI_INTERNAL_LOGIN_TOKEN_MAX, "token file",
                                   &token, &length, reterr);
    if (code != 0) {
        return code;
    }
    if (hami_internal_token_trim(token)) {
        code = use_token(client, token);
    } else {
        code = hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "The token file %s holds no token", path);
    }
    hami_internal_support_free_secret(token);
    return code;
}

/* True if the file is another one than last time, or can't be seen. */
static bool has_changed(hami_kubernetes *client)
{
    struct stat status;
    bool same;

    if (stat(client->login.token_file, &status) != 0) {
        return true;
    }
    same = client->token_stamp.device == (uint64_t)status.st_dev &&
           client->token_stamp.inode == (uint64_t)status.st_ino &&
           client->token_stamp.size == (uint64_t)status.st_size &&
           client->token_stamp.seconds == (uint64_t)status.st_mtim.tv_sec &&
           client->token_stamp.nanoseconds == (uint64_t)status.st_mtim.tv_nsec;
    client->token_stamp.device = (uint64_t)status.st_dev;
    client->token_stamp.inode = (uint64_t)status.st_ino;
    client->token_stamp.size = (uint64_t)status.st_size;
    client->token_stamp.seconds = (uint64_t)status.st_mtim.tv_sec;
    client->token_stamp.nanoseconds = (uint64_t)status.st_mtim.tv_nsec;
    return !same;
}

int hami_internal_http_credentials_open(hami_kubernetes *client,
                                        struct hami_error *reterr)
{
    struct hami_error error = HAMI_ERROR_INIT;
    int code = 0;

    if (client->login.token != NULL) {
        code = use_token(client, client->login.token);
    }
    if (code != 0 || client->login.token_file == NULL) {
        return code == 0 ? 0 : hami_internal_support_fail(reterr, code, "Out of memory");
    }
    client->token_looked_ns = hami_kubernetes_now();
    (void)has_changed(client);
    code = read_token(client, &error);
    if (code == 0 || (client->credentials != NULL && code != HAMI_E_NOMEM)) {
        return 0;
    }
    return hami_internal_support_fail(reterr, code, "%s", error.text);
}

void hami_internal_http_credentials_look(hami_kubernetes *client, bool at_once)
{
    struct hami_error error = HAMI_ERROR_INIT;
    uint64_t now;

    if (client->login.token_file == NULL) {
        return;
    }
    now = hami_kubernetes_now();
    if (!at_once && now - client->token_looked_ns < LOOK_INTERVAL_NS) {
        return;
    }
    client->token_looked_ns = now;
    if (!has_changed(client) && !at_once && !client->is_token_bad) {
        return;
    }
    if (read_token(client, &error) == 0) {
        client->is_token_bad = false;
        return;
    }
    if (!client->is_token_bad) {
        client->is_token_bad = true;
        hami_internal_http_log(
            client, HAMI_LOG_WARNING,
            "Kept the last token in use until its file can be read again: %s",
            error.text);
    }
}

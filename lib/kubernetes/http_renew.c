/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A login read again while the client lives: new credentials for the same server. What is
 * read and checked on the caller's thread waits under client->mutex until the client's
 * thread takes it into use between two of its turns, and not while a plugin runs.
 *
 * A certificate comes as PEM text, whatever file it was read from, so that libcurl sees
 * another one and uses it for new connections; the old ones end as they always do.
 */
#include "http_client.h"

#include <stdlib.h>
#include <string.h>

struct hami_internal_http_renewal {
    struct hami_internal_login login;
    char *token; /* secret; NULL = none */
    char *certificate;
    char *key; /* secret */
};

static void free_renewal(struct hami_internal_http_renewal *renewal)
{
    if (renewal != NULL) {
        hami_internal_login_done(&renewal->login);
        hami_internal_support_free_secret(renewal->token);
        free(renewal->certificate);
        hami_internal_support_free_secret(renewal->key);
        free(renewal);
    }
}

/* ---- the config that the client was made with ------------------------------------ */

/* The texts of a config, in their order there. */
static void texts_of(struct hami_kubernetes_config *config,
                     const char **ret[HAMI_INTERNAL_HTTP_CONFIG_TEXTS])
{
    const char **texts[HAMI_INTERNAL_HTTP_CONFIG_TEXTS] = {
        &config->server,
        &config->ca_file,
        &config->token,
        &config->token_file,
        &config->certificate_file,
        &config->key_file,
        &config->kubeconfig,
        &config->context,
        &config->home_directory,
        &config->service_host,
        &config->service_port,
        &config->service_account_directory};

    memcpy(ret, texts, sizeof(texts));
}

int hami_internal_http_renew_keep(hami_kubernetes *client,
                                  const struct hami_kubernetes_config *config)
{
    const char **texts[HAMI_INTERNAL_HTTP_CONFIG_TEXTS];

    client->made_with = *config;
    texts_of(&client->made_with, texts);
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_CONFIG_TEXTS; i++) {
        if (*texts[i] == NULL) {
            continue;
        }
        client->made_with_texts[i] = strdup(*texts[i]);
        *texts[i] = client->made_with_texts[i];
        if (*texts[i] == NULL) {
            return HAMI_E_NOMEM;
        }
    }
    return 0;
}

void hami_internal_http_renew_done(hami_kubernetes *client)
{
    free_renewal(client->renewal);
    client->renewal = NULL;
    for (size_t i = 0; i < HAMI_INTERNAL_HTTP_CONFIG_TEXTS; i++) {
        hami_internal_support_free_secret(client->made_with_texts[i]);
    }
}

/* ---- reading, on the caller's thread --------------------------------------------- */

static bool are_same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

/* What a client can't change; NULL if nothing of it differs. */
static const char *find_difference(const struct hami_internal_login *now,
                                   const struct hami_internal_login *fresh)
{
    if (!are_same(now->server, fresh->server) ||
        !are_same(now->tls_server_name, fresh->tls_server_name)) {
        return "another server";
    }
    if (!are_same(now->ca_file, fresh->ca_file) ||
        !are_same(now->ca_data, fresh->ca_data) ||
        now->is_insecure != fresh->is_insecure) {
        return "another CA";
    }
    if (!are_same(now->proxy_url, fresh->proxy_url)) {
        return "another proxy";
    }
    return NULL;
}

/* PEM text of a file, or of the login's own data. */
static int read_pem(const char *path, const char *data, const char *what, char **ret,
                    struct hami_error *reterr)
{
    size_t length = 0;

    if (path != NULL) {
        return hami_internal_file_read(path, HAMI_INTERNAL_LOGIN_FILE_MAX, what, ret,
                                       &length, reterr);
    }
    *ret = data != NULL ? strdup(data) : NULL;
    return data == NULL || *ret != NULL
               ? 0
               : hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
}

static int read_token(const struct hami_internal_login *login, char **ret,
                      struct hami_error *reterr)
{
    int code = read_pem(login->token_file, login->token, "token file", ret, reterr);

    if (code == 0 && *ret != NULL && !hami_internal_token_trim(*ret)) {
        code = hami_internal_support_fail(
            reterr, HAMI_E_INVAL, "The token file %s holds no token",
            login->token_file != NULL ? login->token_file : "");
    }
    return code;
}

static int read_renewal(const hami_kubernetes *client,
                        struct hami_internal_http_renewal *ret, struct hami_error *reterr)
{
    struct hami_internal_login *login = &ret->login;
    const char *difference;
    int code = hami_internal_login_find(&client->made_with, login, reterr);

    if (code != 0) {
        return code;
    }
    difference = find_difference(&client->login, login);
    if (difference == NULL && client->exec.is_used != (login->exec != NULL)) {
        difference = client->exec.is_used ? "no credential plugin any more"
                                          : "a credential plugin";
    }
    if (difference != NULL) {
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL, "The %s now has %s, which a new client only can use",
            login->source, difference);
    }
    code = read_token(login, &ret->token, reterr);
    if (code == 0) {
        code = read_pem(login->certificate_file, login->certificate_data,
                        "client certificate", &ret->certificate, reterr);
    }
    return code != 0 ? code
                     : read_pem(login->key_file, login->key_data, "client key", &ret->key,
                                reterr);
}

int hami_kubernetes_reload(hami_kubernetes *client, struct hami_error *reterr)
{
    struct hami_internal_http_renewal *renewal;
    struct hami_internal_http_renewal *old;
    int code;

    if (client == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL, "client is NULL");
    }
    if (hami_internal_http_is_forked(client)) {
        return hami_internal_support_fail(reterr, HAMI_E_FORKED,
                                          "Called in a forked child");
    }
    renewal = calloc(1, sizeof(*renewal));
    if (renewal == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    code = read_renewal(client, renewal, reterr);
    if (code != 0) {
        free_renewal(renewal);
        return code;
    }
    pthread_mutex_lock(&client->mutex);
    old = client->renewal;
    client->renewal = renewal;
    pthread_mutex_unlock(&client->mutex);
    free_renewal(old);
    (void)curl_multi_wakeup(client->multi);
    return 0;
}

/* ---- taking into use, on the client's thread -------------------------------------- */

static void swap(char **one, char **other)
{
    char *kept = *one;

    *one = *other;
    *other = kept;
}

/* The plugin of before is freed with the renewal. */
static void use_plugin(hami_kubernetes *client, struct hami_internal_login *fresh)
{
    struct hami_internal_exec *old = client->login.exec;

    client->login.exec = fresh->exec;
    fresh->exec = old;
    client->exec.pause_ms = 0;
    client->exec.refused_ms = 0;
    client->exec.due_ns = 0;
}

static void use(hami_kubernetes *client, struct hami_internal_http_renewal *renewal)
{
    struct hami_internal_login *fresh = &renewal->login;

    if (client->login.exec != NULL) {
        use_plugin(client, fresh);
        return;
    }
    client->has_live_certificate =
        client->has_live_certificate || renewal->certificate != NULL ||
        client->login.certificate_file != NULL || client->login.certificate_data != NULL;
    swap(&client->login.token_file, &fresh->token_file);
    if (hami_internal_http_credentials_use(client, renewal->token, renewal->certificate,
                                           renewal->key) != 0) {
        hami_internal_http_log(client, HAMI_LOG_WARNING,
                               "Kept the last credentials in use: out of memory");
    }
}

void hami_internal_http_renew_look(hami_kubernetes *client)
{
    struct hami_internal_http_renewal *renewal;

    if (client->exec.is_running) {
        return;
    }
    pthread_mutex_lock(&client->mutex);
    renewal = client->renewal;
    client->renewal = NULL;
    pthread_mutex_unlock(&client->mutex);
    if (renewal != NULL) {
        use(client, renewal);
        free_renewal(renewal);
    }
}

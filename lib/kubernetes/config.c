/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which login a config asks for: a server named outright, kubeconfig files, or the
 * cluster that the process runs in. No state, no lock.
 */
#include "login.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exec.h"
#include "support.h"

#define SERVICE_ACCOUNT_DIRECTORY "/var/run/secrets/kubernetes.io/serviceaccount"

/* ---- the environment ------------------------------------------------------------ */

static void fill(const char **field, const char *name)
{
    const char *value;

    if (*field != NULL) {
        return;
    }
    value = getenv(name);
    if (value != NULL && value[0] != '\0') {
        *field = value;
    }
}

int hami_kubernetes_config_from_environment(struct hami_kubernetes_config *config)
{
    struct hami_kubernetes_config copy;
    int code = hami_internal_support_copy_sized(&copy, sizeof(copy), config);

    if (code != 0) {
        return code;
    }
    fill(&copy.kubeconfig, "KUBECONFIG");
    fill(&copy.home_directory, "HOME");
    fill(&copy.service_host, "KUBERNETES_SERVICE_HOST");
    fill(&copy.service_port, "KUBERNETES_SERVICE_PORT");
    return hami_internal_support_give_sized(config, &copy, sizeof(copy));
}

/* ---- the server's URL ----------------------------------------------------------- */

static bool is_loopback(const char *host)
{
    struct in_addr address;

    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, &address) == 1 &&
            ntohl(address.s_addr) >> 24 == 127);
}

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return has;
}

/* A part of the URL in memory of our own; NULL if out of memory. */
static char *copy_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    char *copy;

    if (curl_url_get(url, part, &text, flags) != CURLUE_OK) {
        return NULL;
    }
    copy = strdup(text);
    curl_free(text);
    return copy;
}

static int take_parts(struct hami_internal_login *login, CURLU *url, const char *what,
                      struct hami_error *reterr)
{
    char *scheme = copy_part(url, CURLUPART_SCHEME, 0);
    size_t length;

    login->host = copy_part(url, CURLUPART_HOST, 0);
    login->port = copy_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    login->prefix = copy_part(url, CURLUPART_PATH, 0);
    if (scheme == NULL || login->host == NULL || login->port == NULL ||
        login->prefix == NULL) {
        free(scheme);
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    login->is_plain = strcmp(scheme, "http") == 0;
    free(scheme);
    for (length = strlen(login->prefix); length > 0 && login->prefix[length - 1] == '/';
         length--) {
        login->prefix[length - 1] = '\0';
    }
    if (login->is_plain && !is_loopback(login->host)) {
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL, "%s: http:// is for loopback only; use https://", what);
    }
    if (asprintf(&login->server, "%s://%s:%s%s", login->is_plain ? "http" : "https",
                 login->host, login->port, login->prefix) < 0) {
        login->server = NULL;
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    return 0;
}

int hami_internal_login_set_server(struct hami_internal_login *login, const char *text,
                                   const char *what, struct hami_error *reterr)
{
    CURLU *url;
    int code;

    if (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "%s: a server starts with https://", what);
    }
    url = curl_url();
    if (url == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    if (curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK ||
        !has_part(url, CURLUPART_HOST)) {
        code = hami_internal_support_fail(reterr, HAMI_E_INVAL, "%s is not a URL", what);
    } else if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
               has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT)) {
        code = hami_internal_support_fail(
            reterr, HAMI_E_INVAL, "%s: a server has no user, password, query or fragment",
            what);
    } else {
        code = take_parts(login, url, what, reterr);
    }
    curl_url_cleanup(url);
    return code;
}

/* ---- the three ways ------------------------------------------------------------- */

/* Copies a text that may be absent. Returns false if out of memory. */
static bool copy_text(char **target, const char *text)
{
    if (text == NULL) {
        return true;
    }
    *target = strdup(text);
    return *target != NULL;
}

static int login_by_server(const struct hami_kubernetes_config *config,
                           struct hami_internal_login *login, struct hami_error *reterr)
{
    int code = hami_internal_login_set_server(login, config->server, "server", reterr);

    if (code != 0) {
        return code;
    }
    if (!copy_text(&login->ca_file, config->ca_file) ||
        !copy_text(&login->token, config->token) ||
        !copy_text(&login->token_file, config->token_file) ||
        !copy_text(&login->certificate_file, config->certificate_file) ||
        !copy_text(&login->key_file, config->key_file)) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    (void)snprintf(login->source, sizeof(login->source),
                   "its address in the configuration");
    return 0;
}

static int login_in_cluster(const struct hami_kubernetes_config *config,
                            struct hami_internal_login *login, struct hami_error *reterr)
{
    const char *directory = config->service_account_directory != NULL
                                ? config->service_account_directory
                                : SERVICE_ACCOUNT_DIRECTORY;
    bool is_bare_ipv6 =
        strchr(config->service_host, ':') != NULL && config->service_host[0] != '[';
    char *url = NULL;
    int code;

    if (asprintf(&url, "https://%s%s%s:%s", is_bare_ipv6 ? "[" : "", config->service_host,
                 is_bare_ipv6 ? "]" : "", config->service_port) < 0) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    code = hami_internal_login_set_server(login, url, "service_host and service_port",
                                          reterr);
    free(url);
    if (code != 0) {
        return code;
    }
    if (asprintf(&login->ca_file, "%s/ca.crt", directory) < 0) {
        login->ca_file = NULL;
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    if (asprintf(&login->token_file, "%s/token", directory) < 0) {
        login->token_file = NULL;
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    (void)snprintf(login->source, sizeof(login->source), "the service account in %s",
                   directory);
    return 0;
}

/* home/.kube/config if it exists; NULL without one. */
static int default_kubeconfig(const struct hami_kubernetes_config *config, char **ret)
{
    char *path = NULL;

    *ret = NULL;
    if (config->home_directory == NULL || config->home_directory[0] == '\0') {
        return 0;
    }
    if (asprintf(&path, "%s/.kube/config", config->home_directory) < 0) {
        return HAMI_E_NOMEM;
    }
    if (access(path, F_OK) != 0) {
        free(path);
        return 0;
    }
    *ret = path;
    return 0;
}

static int choose(const struct hami_kubernetes_config *config,
                  struct hami_internal_login *login, struct hami_error *reterr)
{
    char *home = NULL;
    int code;

    if (config->server != NULL) {
        return login_by_server(config, login, reterr);
    }
    if (config->kubeconfig != NULL && config->kubeconfig[0] != '\0') {
        return hami_internal_kubeconfig_login(config->kubeconfig, config->context, login,
                                              reterr);
    }
    if (default_kubeconfig(config, &home) != 0) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    if (home != NULL) {
        code = hami_internal_kubeconfig_login(home, config->context, login, reterr);
        free(home);
        return code;
    }
    if (config->service_host != NULL && config->service_port != NULL) {
        return login_in_cluster(config, login, reterr);
    }
    return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                      "No API server is known: give a server, a "
                                      "kubeconfig, or service_host and service_port");
}

int hami_internal_login_find(const struct hami_kubernetes_config *config,
                             struct hami_internal_login *ret, struct hami_error *reterr)
{
    int code;

    memset(ret, 0, sizeof(*ret));
    ret->allows_exec = (config->flags & HAMI_KUBERNETES_ALLOW_EXEC) != 0;
    code = choose(config, ret, reterr);
    if (code == 0) {
        ret->is_insecure =
            ret->is_insecure || (config->flags & HAMI_KUBERNETES_INSECURE) != 0;
        code = hami_internal_login_check(ret, reterr);
    }
    if (code != 0) {
        hami_internal_login_done(ret);
    }
    return code;
}

void hami_internal_login_done(struct hami_internal_login *login)
{
    free(login->server);
    free(login->host);
    free(login->port);
    free(login->prefix);
    free(login->ca_file);
    free(login->ca_data);
    free(login->certificate_file);
    free(login->certificate_data);
    free(login->key_file);
    hami_internal_support_free_secret(login->key_data);
    hami_internal_support_free_secret(login->token);
    free(login->token_file);
    hami_internal_support_free_secret(login->proxy_url);
    free(login->tls_server_name);
    free(login->namespace_name);
    (void)hami_internal_exec_free(login->exec);
    memset(login, 0, sizeof(*login));
}

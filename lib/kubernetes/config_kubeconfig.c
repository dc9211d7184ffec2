/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a kubeconfig's entries to a login. Relative paths are relative to the file that
 * has them. No state, no lock.
 *
 * What would change who we are and is not supported (auth-provider, user and password,
 * impersonation, exec where it is not allowed) is an error: leaving it out would log in
 * as somebody else, or not at all.
 */
#include "kubeconfig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "login.h"
#include "support.h"

typedef const struct hami_internal_yaml_node yaml_node;

/* ---- values --------------------------------------------------------------------- */

int hami_internal_kubeconfig_copy(const struct hami_internal_kubeconfig *config,
                                  const struct hami_internal_kubeconfig_entry *from,
                                  const char *key, char **ret)
{
    yaml_node *node = hami_internal_yaml_member(from->node, key);

    if (node == NULL) {
        return 0;
    }
    if (node->kind != HAMI_INTERNAL_YAML_SCALAR) {
        return hami_internal_kubeconfig_fail(config, from->path, node, HAMI_E_INVAL,
                                             "a text is expected here");
    }
    if (node->text[0] == '\0') {
        return 0;
    }
    *ret = strdup(node->text);
    return *ret != NULL ? 0 : hami_internal_kubeconfig_fail_memory(config);
}

char *hami_internal_kubeconfig_absolute(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    char *absolute = NULL;

    if (path[0] == '/' || slash == NULL) {
        return strdup(path);
    }
    if (asprintf(&absolute, "%.*s/%s", (int)(slash - file), file, path) < 0) {
        return NULL;
    }
    return absolute;
}

/* The same for a path: relative to the file. */
static int copy_path(const struct hami_internal_kubeconfig *config,
                     const struct hami_internal_kubeconfig_entry *from, const char *key,
                     char **ret)
{
    char *path = NULL;
    int code = hami_internal_kubeconfig_copy(config, from, key, &path);

    if (code != 0 || path == NULL) {
        return code;
    }
    *ret = hami_internal_kubeconfig_absolute(from->path, path);
    free(path);
    return *ret != NULL ? 0 : hami_internal_kubeconfig_fail_memory(config);
}

/* The same for base64: PEM text comes out. */
static int copy_data(const struct hami_internal_kubeconfig *config,
                     const struct hami_internal_kubeconfig_entry *from, const char *key,
                     char **ret)
{
    yaml_node *node = hami_internal_yaml_member(from->node, key);
    size_t length = 0;
    int code;

    if (node == NULL ||
        (node->kind == HAMI_INTERNAL_YAML_SCALAR && node->text[0] == '\0')) {
        return 0;
    }
    if (node->kind != HAMI_INTERNAL_YAML_SCALAR) {
        return hami_internal_kubeconfig_fail(config, from->path, node, HAMI_E_INVAL,
                                             "a text is expected here");
    }
    code = hami_internal_base64_decode(node->text, ret, &length);
    if (code == HAMI_E_NOMEM) {
        return hami_internal_kubeconfig_fail_memory(config);
    }
    if (code != 0 || strlen(*ret) != length) {
        return hami_internal_kubeconfig_fail(config, from->path, node, HAMI_E_INVAL,
                                             "is not the base64 of PEM text");
    }
    return 0;
}

/* Data counts before a file, as kubectl has it. */
static int copy_pem(const struct hami_internal_kubeconfig *config,
                    const struct hami_internal_kubeconfig_entry *from,
                    const char *file_key, const char *data_key, char **ret_file,
                    char **ret_data)
{
    int code = copy_data(config, from, data_key, ret_data);

    if (code != 0 || *ret_data != NULL) {
        return code;
    }
    return copy_path(config, from, file_key, ret_file);
}

int hami_internal_kubeconfig_bool(const struct hami_internal_kubeconfig *config,
                                  const struct hami_internal_kubeconfig_entry *from,
                                  const char *key, bool *ret)
{
    yaml_node *node = hami_internal_yaml_member(from->node, key);

    *ret = false;
    if (node == NULL) {
        return 0;
    }
    if (node->kind == HAMI_INTERNAL_YAML_SCALAR && strcasecmp(node->text, "true") == 0) {
        *ret = true;
        return 0;
    }
    if (node->kind == HAMI_INTERNAL_YAML_SCALAR && strcasecmp(node->text, "false") == 0) {
        return 0;
    }
    return hami_internal_kubeconfig_fail(config, from->path, node, HAMI_E_INVAL,
                                         "true or false is expected here");
}

/* ---- from entries to a login ---------------------------------------------------- */

static int use_proxy(const struct hami_internal_kubeconfig *config,
                     const struct hami_internal_kubeconfig_entry *cluster,
                     struct hami_internal_login *login)
{
    static const char *const schemes[] = {"http://", "https://", "socks5h://",
                                          "socks5://"};
    char *url = NULL;
    int code = hami_internal_kubeconfig_copy(config, cluster, "proxy-url", &url);

    if (code != 0 || url == NULL) {
        return code;
    }
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t length = strlen(schemes[i]);

        if (strncmp(url, schemes[i], length) == 0 && url[length] != '\0') {
            /* As in kubectl the proxy resolves the name, which libcurl calls socks5h. */
            code = asprintf(&login->proxy_url, "%s%s", i == 3 ? schemes[2] : schemes[i],
                            url + length);
            hami_internal_support_free_secret(url);
            if (code < 0) {
                login->proxy_url = NULL;
                return hami_internal_kubeconfig_fail_memory(config);
            }
            return 0;
        }
    }
    hami_internal_support_free_secret(url);
    return hami_internal_kubeconfig_fail(
        config, cluster->path, hami_internal_yaml_member(cluster->node, "proxy-url"),
        HAMI_E_INVAL, "a proxy-url starts with http://, https:// or socks5://");
}

/* What is sent and checked as the server's name: a DNS name, which goes into a URL. */
static int use_server_name(const struct hami_internal_kubeconfig *config,
                           const struct hami_internal_kubeconfig_entry *cluster,
                           struct hami_internal_login *login)
{
    int code = hami_internal_kubeconfig_copy(config, cluster, "tls-server-name",
                                             &login->tls_server_name);
    const char *name = login->tls_server_name;

    if (code == 0 && name != NULL &&
        (strlen(name) > 253 ||
         name[strspn(
             name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-")] !=
             '\0')) {
        return hami_internal_kubeconfig_fail(
            config, cluster->path,
            hami_internal_yaml_member(cluster->node, "tls-server-name"), HAMI_E_INVAL,
            "is not a host name");
    }
    return code;
}

static int use_cluster(const struct hami_internal_kubeconfig *config,
                       const struct hami_internal_kubeconfig_entry *cluster,
                       struct hami_internal_login *login)
{
    yaml_node *server = hami_internal_yaml_member(cluster->node, "server");
    char what[300];
    int code;

    if (server == NULL || server->kind != HAMI_INTERNAL_YAML_SCALAR) {
        return hami_internal_support_fail(config->reterr, HAMI_E_INVAL,
                                          "%s: cluster %s has no server", cluster->path,
                                          cluster->name);
    }
    (void)snprintf(what, sizeof(what), "%s:%u", cluster->path, server->line);
    code = hami_internal_login_set_server(login, server->text, what, config->reterr);
    if (code == 0) {
        code = copy_pem(config, cluster, "certificate-authority",
                        "certificate-authority-data", &login->ca_file, &login->ca_data);
    }
    if (code == 0) {
        code = hami_internal_kubeconfig_bool(config, cluster, "insecure-skip-tls-verify",
                                             &login->is_insecure);
    }
    if (code == 0) {
        code = use_server_name(config, cluster, login);
    }
    return code != 0 ? code : use_proxy(config, cluster, login);
}

/* What a user may have and we can't do. */
static int refuse_unsupported(const struct hami_internal_kubeconfig *config,
                              const struct hami_internal_kubeconfig_entry *user)
{
    static const struct {
        const char *key;
        const char *advice;
    } refused[] = {
        {"auth-provider",
         "an auth-provider is not supported; use a token, a tokenFile or a client "
         "certificate"},
        {"username",
         "user and password are not supported; use a token or a client certificate"},
        {"password",
         "user and password are not supported; use a token or a client certificate"},
        {"as", "impersonation is not supported; log in as the user itself"},
        {"as-uid", "impersonation is not supported; log in as the user itself"},
        {"as-groups", "impersonation is not supported; log in as the user itself"},
        {"as-user-extra", "impersonation is not supported; log in as the user itself"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        yaml_node *node = hami_internal_yaml_member(user->node, refused[i].key);

        if (node != NULL &&
            (node->kind != HAMI_INTERNAL_YAML_SCALAR || node->text[0] != '\0')) {
            return hami_internal_support_fail(config->reterr, HAMI_E_NOTSUP,
                                              "%s:%u: user %s: %s", user->path,
                                              node->line, user->name, refused[i].advice);
        }
    }
    return 0;
}

static int use_user(const struct hami_internal_kubeconfig *config,
                    const struct hami_internal_kubeconfig_entry *cluster,
                    const struct hami_internal_kubeconfig_entry *user,
                    struct hami_internal_login *login)
{
    int code = refuse_unsupported(config, user);

    if (code == 0) {
        code = copy_pem(config, user, "client-certificate", "client-certificate-data",
                        &login->certificate_file, &login->certificate_data);
    }
    if (code == 0) {
        code = copy_pem(config, user, "client-key", "client-key-data", &login->key_file,
                        &login->key_data);
    }
    if (code == 0) {
        code = hami_internal_kubeconfig_copy(config, user, "token", &login->token);
    }
    if (code == 0) {
        code = copy_path(config, user, "tokenFile", &login->token_file);
    }
    return code != 0 ? code : hami_internal_kubeconfig_exec(config, cluster, user, login);
}

static int use_context(const struct hami_internal_kubeconfig *config, const char *name,
                       struct hami_internal_login *login)
{
    struct hami_internal_kubeconfig_entry context = {0};
    struct hami_internal_kubeconfig_entry cluster_entry = {0};
    struct hami_internal_kubeconfig_entry entry = {0};
    char *cluster = NULL;
    char *user = NULL;
    int code;

    code = hami_internal_kubeconfig_find(config, "contexts", "context", name, &context);
    if (code == 0) {
        code = hami_internal_kubeconfig_copy(config, &context, "cluster", &cluster);
    }
    if (code == 0) {
        code = hami_internal_kubeconfig_copy(config, &context, "user", &user);
    }
    if (code == 0) {
        code = hami_internal_kubeconfig_copy(config, &context, "namespace",
                                             &login->namespace_name);
    }
    if (code == 0 && cluster == NULL) {
        code = hami_internal_support_fail(config->reterr, HAMI_E_INVAL,
                                          "%s: context %s names no cluster", context.path,
                                          name);
    }
    if (code == 0) {
        code = hami_internal_kubeconfig_find(config, "clusters", "cluster", cluster,
                                             &cluster_entry);
    }
    if (code == 0) {
        code = use_cluster(config, &cluster_entry, login);
    }
    if (code == 0 && user != NULL) {
        code = hami_internal_kubeconfig_find(config, "users", "user", user, &entry);
        if (code == 0) {
            code = use_user(config, &cluster_entry, &entry, login);
        }
    }
    if (code == 0) {
        (void)snprintf(login->source, sizeof(login->source), "kubeconfig %s, context %s",
                       context.path, name);
    }
    free(cluster);
    free(user);
    return code;
}

int hami_internal_kubeconfig_login(const char *paths, const char *context,
                                   struct hami_internal_login *ret,
                                   struct hami_error *reterr)
{
    struct hami_internal_kubeconfig config = {.reterr = reterr};
    int code = hami_internal_kubeconfig_read(&config, paths);

    if (code == 0 && config.count == 0) {
        code = hami_internal_support_fail(
            reterr, HAMI_E_ACCESS, "None of the kubeconfig files exists: %s", paths);
    }
    if (code == 0 && context == NULL) {
        context = hami_internal_kubeconfig_current(&config);
        if (context == NULL) {
            code = hami_internal_support_fail(
                reterr, HAMI_E_INVAL,
                "%s has no current-context, and no context was asked for",
                config.paths[0]);
        }
    }
    if (code == 0) {
        code = use_context(&config, context, ret);
    }
    hami_internal_kubeconfig_free(&config);
    return code;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kubeconfig user's credential plugin: what is to be run, with which arguments and
 * variables. It is read only where the client may run plugins at all. No state, no lock.
 */
#include "exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/evp.h>

#include "kubeconfig.h"
#include "login.h"
#include "support.h"

#define VERSION_PREFIX "client.authentication.k8s.io/"
#define INFO_NAME "KUBERNETES_EXEC_INFO"
#define EXTENSION_NAME "client.authentication.k8s.io/exec"

typedef const struct hami_internal_yaml_node yaml_node;
typedef const struct hami_internal_kubeconfig_entry kubeconfig_entry;

/* ---- lists of words ------------------------------------------------------------- */

static size_t count_words(char *const *words)
{
    size_t count = 0;

    while (words != NULL && words[count] != NULL) {
        count++;
    }
    return count;
}

static void free_words(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        hami_internal_support_free_secret(words[i]);
    }
    free(words);
}

/* Takes over `word`, also where it fails. */
static bool add_word(char ***words, char *word)
{
    size_t count = count_words(*words);
    char **grown = word != NULL ? realloc(*words, (count + 2) * sizeof(*grown)) : NULL;

    if (grown == NULL) {
        hami_internal_support_free_secret(word);
        return false;
    }
    grown[count] = word;
    grown[count + 1] = NULL;
    *words = grown;
    return true;
}

static bool is_of_name(const char *variable, const char *name)
{
    size_t length = strlen(name);

    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* Replaces one of the same name. */
static bool set_variable(char ***variables, const char *name, const char *value)
{
    char *text = NULL;

    if (asprintf(&text, "%s=%s", name, value) < 0) {
        return false;
    }
    for (char **at = *variables; at != NULL && *at != NULL; at++) {
        if (is_of_name(*at, name)) {
            hami_internal_support_free_secret(*at);
            *at = text;
            return true;
        }
    }
    return add_word(variables, text);
}

/* ---- arguments and variables ---------------------------------------------------- */

static int fail(const struct hami_internal_kubeconfig *config, kubeconfig_entry *exec,
                yaml_node *node, const char *what)
{
    return hami_internal_kubeconfig_fail(config, exec->path, node, HAMI_E_INVAL, what);
}

static int read_arguments(const struct hami_internal_kubeconfig *config,
                          kubeconfig_entry *exec, struct hami_internal_exec *ret)
{
    yaml_node *list = hami_internal_yaml_member(exec->node, "args");
    const struct hami_internal_yaml_entry *entry;

    if (!add_word(&ret->arguments, strdup(ret->command))) {
        return hami_internal_kubeconfig_fail_memory(config);
    }
    if (list != NULL && list->kind != HAMI_INTERNAL_YAML_SEQUENCE) {
        return fail(config, exec, list, "a list of arguments is expected here");
    }
    for (entry = list != NULL ? list->entries : NULL; entry != NULL;
         entry = entry->next) {
        if (entry->node->kind != HAMI_INTERNAL_YAML_SCALAR ||
            count_words(ret->arguments) >= HAMI_INTERNAL_EXEC_WORDS_MAX) {
            return fail(config, exec, entry->node, "is no argument, or one too many");
        }
        if (!add_word(&ret->arguments, strdup(entry->node->text))) {
            return hami_internal_kubeconfig_fail_memory(config);
        }
    }
    return 0;
}

/* The process's own, as they are now: PATH and what plugins of clouds go by. */
static bool copy_environment(struct hami_internal_exec *ret)
{
    bool copied = true;

    for (char **at = environ; copied && at != NULL && *at != NULL; at++) {
        copied = add_word(&ret->variables, strdup(*at));
    }
    return copied;
}

static int read_variables(const struct hami_internal_kubeconfig *config,
                          kubeconfig_entry *exec, struct hami_internal_exec *ret)
{
    yaml_node *list = hami_internal_yaml_member(exec->node, "env");
    const struct hami_internal_yaml_entry *entry;
    size_t count = 0;

    if (!copy_environment(ret)) {
        return hami_internal_kubeconfig_fail_memory(config);
    }
    if (list != NULL && list->kind != HAMI_INTERNAL_YAML_SEQUENCE) {
        return fail(config, exec, list, "a list of name and value is expected here");
    }
    for (entry = list != NULL ? list->entries : NULL; entry != NULL;
         entry = entry->next) {
        yaml_node *name = hami_internal_yaml_member(entry->node, "name");
        yaml_node *value = hami_internal_yaml_member(entry->node, "value");

        if (++count > HAMI_INTERNAL_EXEC_WORDS_MAX || name == NULL ||
            name->kind != HAMI_INTERNAL_YAML_SCALAR || name->text[0] == '\0' ||
            strchr(name->text, '=') != NULL ||
            (value != NULL && value->kind != HAMI_INTERNAL_YAML_SCALAR)) {
            return fail(config, exec, entry->node,
                        "is no variable with name and value, or one too many");
        }
        if (!set_variable(&ret->variables, name->text,
                          value != NULL ? value->text : "")) {
            return hami_internal_kubeconfig_fail_memory(config);
        }
    }
    return 0;
}

/* ---- what the plugin is told ---------------------------------------------------- */

static char *encode(const char *text)
{
    size_t length = strlen(text);
    char *encoded = malloc((length + 2) / 3 * 4 + 1);

    if (encoded != NULL) {
        (void)EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)text,
                              (int)length);
    }
    return encoded;
}

/* The CA as base64; NULL with code 0 if there is none. */
static int encode_ca(const struct hami_internal_kubeconfig *config,
                     const struct hami_internal_login *login, char **ret)
{
    char *read = NULL;
    size_t length;
    int code = 0;

    *ret = NULL;
    if (login->ca_data == NULL && login->ca_file != NULL) {
        code = hami_internal_file_read(login->ca_file, HAMI_INTERNAL_LOGIN_FILE_MAX,
                                       "CA certificate", &read, &length, config->reterr);
    }
    if (code == 0 && (login->ca_data != NULL || read != NULL)) {
        *ret = encode(login->ca_data != NULL ? login->ca_data : read);
        code = *ret != NULL ? 0 : hami_internal_kubeconfig_fail_memory(config);
    }
    free(read);
    return code;
}

/* A cluster's own words for plugins would have to become JSON with their types, which
 * this reader of YAML does not keep. */
static int refuse_extension(const struct hami_internal_kubeconfig *config,
                            kubeconfig_entry *cluster)
{
    yaml_node *list = hami_internal_yaml_member(cluster->node, "extensions");

    for (const struct hami_internal_yaml_entry *entry = list != NULL ? list->entries
                                                                     : NULL;
         entry != NULL; entry = entry->next) {
        yaml_node *name = hami_internal_yaml_member(entry->node, "name");

        if (name != NULL && strcmp(name->text, EXTENSION_NAME) == 0) {
            return hami_internal_kubeconfig_fail(
                config, cluster->path, name, HAMI_E_NOTSUP,
                "this extension can't be handed to a plugin with provideClusterInfo");
        }
    }
    return 0;
}

static int describe_cluster(const struct hami_internal_kubeconfig *config,
                            kubeconfig_entry *cluster,
                            const struct hami_internal_login *login, json_t **ret)
{
    char *ca = NULL;
    int code = refuse_extension(config, cluster);

    if (code == 0) {
        code = encode_ca(config, login, &ca);
    }
    if (code != 0) {
        return code;
    }
    *ret = json_pack("{s:s, s:s*, s:s*, s:s*}", "server", login->server,
                     "tls-server-name", login->tls_server_name,
                     "certificate-authority-data", ca, "proxy-url", login->proxy_url);
    free(ca);
    if (*ret != NULL && login->is_insecure) {
        (void)json_object_set_new(*ret, "insecure-skip-tls-verify", json_true());
    }
    return *ret != NULL ? 0 : hami_internal_kubeconfig_fail_memory(config);
}

static int set_info(const struct hami_internal_kubeconfig *config,
                    kubeconfig_entry *cluster, kubeconfig_entry *exec,
                    const struct hami_internal_login *login,
                    struct hami_internal_exec *ret)
{
    json_t *described = NULL;
    bool wants_cluster = false;
    char *text = NULL;
    json_t *info;
    int code =
        hami_internal_kubeconfig_bool(config, exec, "provideClusterInfo", &wants_cluster);

    if (code == 0 && wants_cluster) {
        code = describe_cluster(config, cluster, login, &described);
    }
    if (code != 0) {
        return code;
    }
    info = json_pack("{s:s, s:s, s:{s:b, s:o*}}", "apiVersion", ret->api_version, "kind",
                     "ExecCredential", "spec", "interactive", 0, "cluster", described);
    text = info != NULL ? json_dumps(info, JSON_COMPACT) : NULL;
    json_decref(info);
    if (text == NULL || !set_variable(&ret->variables, INFO_NAME, text)) {
        code = hami_internal_kubeconfig_fail_memory(config);
    }
    hami_internal_support_free_secret(text);
    return code;
}

/* ---- the whole ------------------------------------------------------------------ */

static int check_version(const struct hami_internal_kubeconfig *config,
                         kubeconfig_entry *exec, const struct hami_internal_exec *ret)
{
    if (ret->api_version == NULL ||
        (strcmp(ret->api_version, VERSION_PREFIX "v1") != 0 &&
         strcmp(ret->api_version, VERSION_PREFIX "v1beta1") != 0)) {
        return fail(config, exec, exec->node,
                    "a plugin's apiVersion is " VERSION_PREFIX "v1 or v1beta1");
    }
    return 0;
}

/* Nobody is there to be asked anything. */
static int check_mode(const struct hami_internal_kubeconfig *config,
                      kubeconfig_entry *exec, const struct hami_internal_exec *ret)
{
    char *mode = NULL;
    int code = hami_internal_kubeconfig_copy(config, exec, "interactiveMode", &mode);

    if (code != 0) {
        return code;
    }
    if (mode == NULL) {
        bool may_be_left_out = strcmp(ret->api_version, VERSION_PREFIX "v1beta1") == 0;

        return may_be_left_out ? 0
                               : fail(config, exec, exec->node,
                                      "a plugin of " VERSION_PREFIX
                                      "v1 has to say its interactiveMode");
    }
    if (strcmp(mode, "Always") == 0) {
        code = hami_internal_kubeconfig_fail(
            config, exec->path, hami_internal_yaml_member(exec->node, "interactiveMode"),
            HAMI_E_NOTSUP, "the plugin wants to ask somebody, and nobody is there");
    } else if (strcmp(mode, "Never") != 0 && strcmp(mode, "IfAvailable") != 0) {
        code = fail(config, exec, exec->node,
                    "an interactiveMode is Never, IfAvailable or Always");
    }
    free(mode);
    return code;
}

static int read_command(const struct hami_internal_kubeconfig *config,
                        kubeconfig_entry *exec, struct hami_internal_exec *ret)
{
    char *command = NULL;
    int code = hami_internal_kubeconfig_copy(config, exec, "command", &command);

    if (code == 0 && command == NULL) {
        code = fail(config, exec, exec->node, "a plugin has a command");
    }
    if (code == 0) {
        ret->command = strchr(command, '/') != NULL
                           ? hami_internal_kubeconfig_absolute(exec->path, command)
                           : strdup(command);
        code = ret->command != NULL ? 0 : hami_internal_kubeconfig_fail_memory(config);
    }
    free(command);
    return code;
}

static int read_plugin(const struct hami_internal_kubeconfig *config,
                       kubeconfig_entry *cluster, kubeconfig_entry *exec,
                       const struct hami_internal_login *login,
                       struct hami_internal_exec *ret)
{
    int code =
        hami_internal_kubeconfig_copy(config, exec, "apiVersion", &ret->api_version);

    if (code == 0) {
        code = check_version(config, exec, ret);
    }
    if (code == 0) {
        code = check_mode(config, exec, ret);
    }
    if (code == 0) {
        code = read_command(config, exec, ret);
    }
    if (code == 0) {
        code = hami_internal_kubeconfig_copy(config, exec, "installHint",
                                             &ret->install_hint);
    }
    if (code == 0) {
        code = read_arguments(config, exec, ret);
    }
    if (code == 0) {
        code = read_variables(config, exec, ret);
    }
    return code != 0 ? code : set_info(config, cluster, exec, login, ret);
}

int hami_internal_kubeconfig_exec(const struct hami_internal_kubeconfig *config,
                                  kubeconfig_entry *cluster, kubeconfig_entry *user,
                                  struct hami_internal_login *login)
{
    kubeconfig_entry exec = {hami_internal_yaml_member(user->node, "exec"), user->path,
                             user->name};
    bool has_more = login->token != NULL || login->token_file != NULL ||
                    login->certificate_file != NULL || login->certificate_data != NULL ||
                    login->key_file != NULL || login->key_data != NULL;

    if (exec.node == NULL) {
        return 0;
    }
    if (!login->allows_exec) {
        return hami_internal_support_fail(
            config->reterr, HAMI_E_NOTSUP,
            "%s:%u: user %s: a credential plugin (exec) is run only where that is "
            "allowed (HAMI_KUBERNETES_ALLOW_EXEC, --allow-exec-credentials); or use a "
            "token, a tokenFile or a client certificate",
            user->path, exec.node->line, user->name);
    }
    if (exec.node->kind != HAMI_INTERNAL_YAML_MAPPING) {
        return fail(config, &exec, exec.node, "a mapping is expected here");
    }
    if (has_more) {
        return fail(config, &exec, exec.node,
                    "this user has a plugin and a token or certificate as well");
    }
    login->exec = calloc(1, sizeof(*login->exec));
    if (login->exec == NULL) {
        return hami_internal_kubeconfig_fail_memory(config);
    }
    return read_plugin(config, cluster, &exec, login, login->exec);
}

struct hami_internal_exec *hami_internal_exec_free(struct hami_internal_exec *exec)
{
    if (exec != NULL) {
        free(exec->command);
        free_words(exec->arguments);
        free_words(exec->variables);
        free(exec->api_version);
        free(exec->install_hint);
        free(exec);
    }
    return NULL;
}

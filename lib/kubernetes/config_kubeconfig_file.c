/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads kubeconfig files, merged as kubectl does: of a scalar the first file that sets it
 * counts, of a named entry (cluster, user, context) the first file that has it, whole. No
 * state, no lock.
 */
#include "kubeconfig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "login.h"
#include "support.h"

typedef const struct hami_internal_yaml_node yaml_node;

int hami_internal_kubeconfig_fail(const struct hami_internal_kubeconfig *config,
                                  const char *path, yaml_node *node, int code,
                                  const char *what)
{
    return hami_internal_support_fail(config->reterr, code, "%s:%u: %s", path, node->line,
                                      what);
}

int hami_internal_kubeconfig_fail_memory(const struct hami_internal_kubeconfig *config)
{
    return hami_internal_support_fail(config->reterr, HAMI_E_NOMEM, "Out of memory");
}

/* ---- files ---------------------------------------------------------------------- */

static int check_list(const struct hami_internal_kubeconfig *config, const char *path,
                      yaml_node *list, const char *member)
{
    if (list == NULL) {
        return 0;
    }
    if (list->kind != HAMI_INTERNAL_YAML_SEQUENCE) {
        return hami_internal_kubeconfig_fail(config, path, list, HAMI_E_INVAL,
                                             "a list is expected here");
    }
    for (const struct hami_internal_yaml_entry *entry = list->entries; entry != NULL;
         entry = entry->next) {
        yaml_node *name = hami_internal_yaml_member(entry->node, "name");
        yaml_node *value = hami_internal_yaml_member(entry->node, member);

        if (name == NULL || name->kind != HAMI_INTERNAL_YAML_SCALAR) {
            return hami_internal_kubeconfig_fail(config, path, entry->node, HAMI_E_INVAL,
                                                 "an entry without a name");
        }
        if (value != NULL && value->kind != HAMI_INTERNAL_YAML_MAPPING) {
            return hami_internal_kubeconfig_fail(config, path, value, HAMI_E_INVAL,
                                                 "a mapping is expected here");
        }
        for (const struct hami_internal_yaml_entry *other = list->entries; other != entry;
             other = other->next) {
            if (strcmp(hami_internal_yaml_member(other->node, "name")->text,
                       name->text) == 0) {
                return hami_internal_kubeconfig_fail(config, path, name, HAMI_E_INVAL,
                                                     "two entries have this name");
            }
        }
    }
    return 0;
}

static int check_file(const struct hami_internal_kubeconfig *config, const char *path,
                      yaml_node *root)
{
    int code;

    if (root == NULL) {
        return 0;
    }
    if (root->kind != HAMI_INTERNAL_YAML_MAPPING) {
        return hami_internal_kubeconfig_fail(config, path, root, HAMI_E_INVAL,
                                             "is no kubeconfig: a mapping is expected");
    }
    code =
        check_list(config, path, hami_internal_yaml_member(root, "clusters"), "cluster");
    if (code == 0) {
        code = check_list(config, path, hami_internal_yaml_member(root, "users"), "user");
    }
    if (code == 0) {
        code = check_list(config, path, hami_internal_yaml_member(root, "contexts"),
                          "context");
    }
    return code;
}

/* Reads one file of the list; one that does not exist is left out. Takes over `path`. */
static int add_file(struct hami_internal_kubeconfig *config, char *path)
{
    struct hami_internal_yaml *yaml = NULL;
    char *text = NULL;
    size_t length;
    int code;

    if (path[0] == '\0' || (access(path, F_OK) != 0 && errno == ENOENT)) {
        free(path);
        return 0;
    }
    if (config->count == HAMI_INTERNAL_KUBECONFIG_FILES_MAX) {
        free(path);
        return hami_internal_support_fail(config->reterr, HAMI_E_INVAL,
                                          "There are more than %u kubeconfig files",
                                          HAMI_INTERNAL_KUBECONFIG_FILES_MAX);
    }
    config->paths[config->count] = path;
    code = hami_internal_file_read(path, HAMI_INTERNAL_LOGIN_FILE_MAX, "kubeconfig",
                                   &text, &length, config->reterr);
    if (code == 0) {
        code = hami_internal_yaml_parse(text, length, path, &yaml, config->reterr);
    }
    hami_internal_support_free_secret(text);
    config->files[config->count++] = yaml;
    return code != 0 ? code : check_file(config, path, yaml->root);
}

int hami_internal_kubeconfig_read(struct hami_internal_kubeconfig *config,
                                  const char *paths)
{
    int code = 0;

    while (code == 0 && paths != NULL) {
        const char *colon = strchr(paths, ':');
        char *path =
            colon != NULL ? strndup(paths, (size_t)(colon - paths)) : strdup(paths);

        if (path == NULL) {
            return hami_internal_kubeconfig_fail_memory(config);
        }
        code = add_file(config, path);
        paths = colon != NULL ? colon + 1 : NULL;
    }
    return code;
}

void hami_internal_kubeconfig_free(struct hami_internal_kubeconfig *config)
{
    for (size_t i = 0; i < config->count; i++) {
        (void)hami_internal_yaml_free(config->files[i]);
        free(config->paths[i]);
    }
}

/* ---- entries -------------------------------------------------------------------- */

/* The first entry of that name in any file's list. */
int hami_internal_kubeconfig_find(const struct hami_internal_kubeconfig *config,
                                  const char *list, const char *member, const char *name,
                                  struct hami_internal_kubeconfig_entry *ret)
{
    for (size_t i = 0; i < config->count; i++) {
        yaml_node *entries = hami_internal_yaml_member(config->files[i]->root, list);

        for (const struct hami_internal_yaml_entry *entry =
                 entries != NULL ? entries->entries : NULL;
             entry != NULL; entry = entry->next) {
            if (strcmp(hami_internal_yaml_member(entry->node, "name")->text, name) == 0) {
                ret->node = hami_internal_yaml_member(entry->node, member);
                ret->path = config->paths[i];
                ret->name = name;
                return 0;
            }
        }
    }
    return hami_internal_support_fail(
        config->reterr, HAMI_E_INVAL, "%s: there is no %s named %s%s", config->paths[0],
        member, name, config->count > 1 ? ", nor in the files after it" : "");
}

const char *
hami_internal_kubeconfig_current(const struct hami_internal_kubeconfig *config)
{
    for (size_t i = 0; i < config->count; i++) {
        yaml_node *node =
            hami_internal_yaml_member(config->files[i]->root, "current-context");

        if (node != NULL && node->kind == HAMI_INTERNAL_YAML_SCALAR &&
            node->text[0] != '\0') {
            return node->text;
        }
    }
    return NULL;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubeconfig files as they were read: a list of trees, and how to find a named entry in
 * it.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_KUBECONFIG_H
#define HAMI_INTERNAL_KUBERNETES_KUBECONFIG_H

#include "yaml_tree.h"

#define HAMI_INTERNAL_KUBECONFIG_FILES_MAX 32u

struct hami_internal_kubeconfig {
    char *paths[HAMI_INTERNAL_KUBECONFIG_FILES_MAX];
    struct hami_internal_yaml *files[HAMI_INTERNAL_KUBECONFIG_FILES_MAX];
    size_t count;
    struct hami_error *reterr;
};

/* A named entry, and the file that it was found in. */
struct hami_internal_kubeconfig_entry {
    const struct hami_internal_yaml_node *node; /* of "cluster", "user", "context" */
    const char *path;
    const char *name;
};

/* Reads and checks the files of `paths`, separated by ':'; those that do not exist are
 * left out. Returns 0, INVAL, ACCESS, NOMEM; to be freed in each case. */
int hami_internal_kubeconfig_read(struct hami_internal_kubeconfig *config,
                                  const char *paths);
void hami_internal_kubeconfig_free(struct hami_internal_kubeconfig *config);

/* The first entry of that name in any file's list: ("clusters", "cluster"), ... Returns
 * 0, INVAL. */
int hami_internal_kubeconfig_find(const struct hami_internal_kubeconfig *config,
                                  const char *list, const char *member, const char *name,
                                  struct hami_internal_kubeconfig_entry *ret);

/* NULL if no file names one. */
const char *
hami_internal_kubeconfig_current(const struct hami_internal_kubeconfig *config);

/* Copies a text member; stays NULL if it is absent or empty. Returns 0, INVAL, NOMEM. */
int hami_internal_kubeconfig_copy(const struct hami_internal_kubeconfig *config,
                                  const struct hami_internal_kubeconfig_entry *from,
                                  const char *key, char **ret);
/* true or false; false if it is absent. Returns 0, INVAL. */
int hami_internal_kubeconfig_bool(const struct hami_internal_kubeconfig *config,
                                  const struct hami_internal_kubeconfig_entry *from,
                                  const char *key, bool *ret);
/* A path as from a file of that path: relative to its folder. New, NULL without memory.
 */
char *hami_internal_kubeconfig_absolute(const char *file, const char *path);

/* config_exec.c: a user's credential plugin. The login has its cluster already. Returns
 * 0, INVAL, NOTSUP, NOMEM. */
struct hami_internal_login;
int hami_internal_kubeconfig_exec(const struct hami_internal_kubeconfig *config,
                                  const struct hami_internal_kubeconfig_entry *cluster,
                                  const struct hami_internal_kubeconfig_entry *user,
                                  struct hami_internal_login *login);

/* Fills config->reterr with file and line. Returns code. */
int hami_internal_kubeconfig_fail(const struct hami_internal_kubeconfig *config,
                                  const char *path,
                                  const struct hami_internal_yaml_node *node, int code,
                                  const char *what);
int hami_internal_kubeconfig_fail_memory(const struct hami_internal_kubeconfig *config);

#endif

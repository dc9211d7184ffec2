/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A YAML document as a tree that is safe to get from anybody: bounded in depth, nodes,
 * aliases; no key twice; an alias is a reference, never a copy. Texts may be secrets and
 * are overwritten when freed.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_YAML_TREE_H
#define HAMI_INTERNAL_KUBERNETES_YAML_TREE_H

#include <hami/nodelock.h>

#define HAMI_INTERNAL_YAML_DEPTH_MAX 32u
#define HAMI_INTERNAL_YAML_NODES_MAX 100000u
#define HAMI_INTERNAL_YAML_ALIASES_MAX 1000u
#define HAMI_INTERNAL_YAML_MEMBERS_MAX 4096u /* of one mapping */

enum hami_internal_yaml_kind {
    HAMI_INTERNAL_YAML_SCALAR = 0,
    HAMI_INTERNAL_YAML_SEQUENCE,
    HAMI_INTERNAL_YAML_MAPPING
};

/* One element of a sequence or member of a mapping. */
struct hami_internal_yaml_entry {
    char *key; /* NULL in a sequence */
    struct hami_internal_yaml_node *node;
    struct hami_internal_yaml_entry *next;
};

struct hami_internal_yaml_node {
    enum hami_internal_yaml_kind kind;
    unsigned line;
    bool is_null; /* a plain scalar that says nothing: empty, ~, null */
    char *text;   /* of a scalar; "" otherwise */
    struct hami_internal_yaml_entry *entries;
    struct hami_internal_yaml_node *allocated_next;
};

struct hami_internal_yaml {
    char *name;                           /* of the file, for errors */
    struct hami_internal_yaml_node *root; /* NULL = an empty document */
    struct hami_internal_yaml_node *allocated;
    size_t node_count;
    struct hami_internal_yaml_anchor *anchors;
    size_t alias_count;
};

/* Parses exactly one document. Returns 0, INVAL (the text has name and line), NOMEM. */
int hami_internal_yaml_parse(const char *text, size_t length, const char *name,
                             struct hami_internal_yaml **ret, struct hami_error *reterr);
/* Takes NULL, returns NULL. */
struct hami_internal_yaml *hami_internal_yaml_free(struct hami_internal_yaml *yaml);

/* A mapping's member that says something; NULL if there is none, or node is NULL or no
 * mapping. */
const struct hami_internal_yaml_node *
hami_internal_yaml_member(const struct hami_internal_yaml_node *node, const char *key);

#endif

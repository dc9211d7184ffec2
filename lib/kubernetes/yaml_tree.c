/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a bounded tree from libyaml's events. No state, no lock.
 *
 * Every node is owned by the document's list, so that an alias may refer to any of them,
 * also to one that contains it: nobody walks the tree without a bound.
 */
#include "yaml_tree.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "support.h"

struct hami_internal_yaml_anchor {
    char *name;
    struct hami_internal_yaml_node *node;
    struct hami_internal_yaml_anchor *next;
};

struct builder {
    yaml_parser_t parser;
    struct hami_internal_yaml *yaml;
    struct hami_error *reterr;
};

static int fail(struct builder *builder, size_t line, const char *what)
{
    return hami_internal_support_fail(builder->reterr, HAMI_E_INVAL, "%s:%zu: %s",
                                      builder->yaml->name, line + 1, what);
}

static int fail_memory(struct builder *builder)
{
    return hami_internal_support_fail(builder->reterr, HAMI_E_NOMEM,
                                      "Out of memory while reading %s",
                                      builder->yaml->name);
}

static int next_event(struct builder *builder, yaml_event_t *event)
{
    if (yaml_parser_parse(&builder->parser, event)) {
        return 0;
    }
    if (builder->parser.error == YAML_MEMORY_ERROR) {
        return fail_memory(builder);
    }
    return fail(builder, builder->parser.problem_mark.line,
                builder->parser.problem != NULL ? builder->parser.problem
                                                : "is not YAML");
}

/* ---- nodes ---------------------------------------------------------------------- */

static int make_node(struct builder *builder, const yaml_event_t *event,
                     struct hami_internal_yaml_node **ret)
{
    struct hami_internal_yaml_node *node;

    if (builder->yaml->node_count >= HAMI_INTERNAL_YAML_NODES_MAX) {
        return fail(builder, event->start_mark.line, "has too many values");
    }
    node = calloc(1, sizeof(*node));
    if (node == NULL) {
        return fail_memory(builder);
    }
    builder->yaml->node_count++;
    node->line = (unsigned)event->start_mark.line + 1;
    node->allocated_next = builder->yaml->allocated;
    builder->yaml->allocated = node;
    *ret = node;
    return 0;
}

static int set_anchor(struct builder *builder, const yaml_char_t *name,
                      struct hami_internal_yaml_node *node)
{
    struct hami_internal_yaml_anchor *anchor;

    if (name == NULL) {
        return 0;
    }
    anchor = calloc(1, sizeof(*anchor));
    if (anchor == NULL) {
        return fail_memory(builder);
    }
    anchor->name = strdup((const char *)name);
    anchor->node = node;
    anchor->next = builder->yaml->anchors;
    builder->yaml->anchors = anchor;
    return anchor->name != NULL ? 0 : fail_memory(builder);
}

static int find_alias(struct builder *builder, const yaml_event_t *event,
                      struct hami_internal_yaml_node **ret)
{
    const char *name = (const char *)event->data.alias.anchor;

    if (++builder->yaml->alias_count > HAMI_INTERNAL_YAML_ALIASES_MAX) {
        return fail(builder, event->start_mark.line, "has too many aliases");
    }
    for (struct hami_internal_yaml_anchor *anchor = builder->yaml->anchors;
         anchor != NULL; anchor = anchor->next) {
        if (strcmp(anchor->name, name) == 0) {
            *ret = anchor->node;
            return 0;
        }
    }
    return fail(builder, event->start_mark.line, "has an alias without an anchor");
}

/* Copies a scalar's text. */
static int copy_scalar(struct builder *builder, const yaml_event_t *event, char **ret)
{
    const char *value = (const char *)event->data.scalar.value;

    if (strlen(value) != event->data.scalar.length) {
        return fail(builder, event->start_mark.line, "has a NUL character inside a text");
    }
    *ret = strdup(value);
    return *ret != NULL ? 0 : fail_memory(builder);
}

static int build_scalar(struct builder *builder, const yaml_event_t *event,
                        struct hami_internal_yaml_node *node)
{
    int code = copy_scalar(builder, event, &node->text);

    if (code == 0 && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        node->is_null = node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
                        strcasecmp(node->text, "null") == 0;
    }
    return code;
}

/* ---- collections ---------------------------------------------------------------- */

static int build_node(struct builder *builder, yaml_event_t *event, unsigned depth,
                      struct hami_internal_yaml_node **ret);

static int check_key(struct builder *builder,
                     const struct hami_internal_yaml_node *mapping, const char *key,
                     size_t line)
{
    size_t count = 0;

    if (strcmp(key, "<<") == 0) {
        return fail(builder, line, "has a merge key (<<), which is not supported");
    }
    for (const struct hami_internal_yaml_entry *entry = mapping->entries; entry != NULL;
         entry = entry->next) {
        if (strcmp(entry->key, key) == 0) {
            return fail(builder, line, "has the same key twice");
        }
        count++;
    }
    return count < HAMI_INTERNAL_YAML_MEMBERS_MAX
               ? 0
               : fail(builder, line, "has too many keys");
}

/* Reads a member's key from its event and goes on to the value's event. */
static int build_key(struct builder *builder,
                     const struct hami_internal_yaml_node *mapping, yaml_event_t *event,
                     char **ret)
{
    size_t line = event->start_mark.line;
    int code;

    if (event->type != YAML_SCALAR_EVENT) {
        yaml_event_delete(event);
        return fail(builder, line, "has a key that is no text");
    }
    code = copy_scalar(builder, event, ret);
    yaml_event_delete(event);
    if (code == 0) {
        code = check_key(builder, mapping, *ret, line);
    }
    return code != 0 ? code : next_event(builder, event);
}

/* Elements up to the end event of the collection; `node` is the collection. */
static int build_entries(struct builder *builder, struct hami_internal_yaml_node *node,
                         yaml_event_type_t end, unsigned depth)
{
    struct hami_internal_yaml_entry **last = &node->entries;
    yaml_event_t event;
    int code;

    while ((code = next_event(builder, &event)) == 0 && event.type != end) {
        struct hami_internal_yaml_entry *entry;
        char *key = NULL;

        if (node->kind == HAMI_INTERNAL_YAML_MAPPING) {
            code = build_key(builder, node, &event, &key);
            if (code != 0) {
                free(key);
                return code;
            }
        }
        entry = calloc(1, sizeof(*entry));
        if (entry == NULL) {
            free(key);
            yaml_event_delete(&event);
            return fail_memory(builder);
        }
        entry->key = key;
        *last = entry;
        last = &entry->next;
        code = build_node(builder, &event, depth + 1, &entry->node);
        if (code != 0) {
            return code;
        }
    }
    if (code == 0) {
        yaml_event_delete(&event);
    }
    return code;
}

static int build_collection(struct builder *builder, const yaml_event_t *event,
                            unsigned depth, struct hami_internal_yaml_node *node)
{
    bool is_mapping = event->type == YAML_MAPPING_START_EVENT;
    int code;

    node->kind = is_mapping ? HAMI_INTERNAL_YAML_MAPPING : HAMI_INTERNAL_YAML_SEQUENCE;
    if (depth >= HAMI_INTERNAL_YAML_DEPTH_MAX) {
        return fail(builder, event->start_mark.line, "is nested too deeply");
    }
    code = set_anchor(builder,
                      is_mapping ? event->data.mapping_start.anchor
                                 : event->data.sequence_start.anchor,
                      node);
    return code != 0 ? code
                     : build_entries(builder, node,
                                     is_mapping ? YAML_MAPPING_END_EVENT
                                                : YAML_SEQUENCE_END_EVENT,
                                     depth);
}

/* Builds what an event begins; the event is consumed. */
static int build_node(struct builder *builder, yaml_event_t *event, unsigned depth,
                      struct hami_internal_yaml_node **ret)
{
    struct hami_internal_yaml_node *node = NULL;
    int code;

    if (event->type == YAML_ALIAS_EVENT) {
        code = find_alias(builder, event, &node);
    } else {
        code = make_node(builder, event, &node);
        if (code == 0 && event->type == YAML_SCALAR_EVENT) {
            code = build_scalar(builder, event, node);
            if (code == 0) {
                code = set_anchor(builder, event->data.scalar.anchor, node);
            }
        } else if (code == 0) {
            code = build_collection(builder, event, depth, node);
        }
    }
    yaml_event_delete(event);
    if (code == 0) {
        *ret = node;
    }
    return code;
}

/* ---- the document --------------------------------------------------------------- */

static int build_document(struct builder *builder)
{
    yaml_event_t event;
    int code;

    do {
        code = next_event(builder, &event);
        if (code != 0) {
            return code;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT && builder->yaml->node_count > 0) {
            code = fail(builder, event.start_mark.line, "has more than one document");
        }
        if (code == 0 && event.type == YAML_STREAM_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        if (event.type == YAML_SCALAR_EVENT || event.type == YAML_SEQUENCE_START_EVENT ||
            event.type == YAML_MAPPING_START_EVENT || event.type == YAML_ALIAS_EVENT) {
            code = build_node(builder, &event, 0, &builder->yaml->root);
        } else {
            yaml_event_delete(&event);
        }
    } while (code == 0);
    return code;
}

int hami_internal_yaml_parse(const char *text, size_t length, const char *name,
                             struct hami_internal_yaml **ret, struct hami_error *reterr)
{
    struct builder builder = {.reterr = reterr};
    int code;

    builder.yaml = calloc(1, sizeof(*builder.yaml));
    if (builder.yaml != NULL) {
        builder.yaml->name = strdup(name);
    }
    if (builder.yaml == NULL || builder.yaml->name == NULL ||
        !yaml_parser_initialize(&builder.parser)) {
        (void)hami_internal_yaml_free(builder.yaml);
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, length);
    code = build_document(&builder);
    yaml_parser_delete(&builder.parser);
    if (code != 0) {
        (void)hami_internal_yaml_free(builder.yaml);
        return code;
    }
    *ret = builder.yaml;
    return 0;
}

static void free_node(struct hami_internal_yaml_node *node)
{
    while (node->entries != NULL) {
        struct hami_internal_yaml_entry *entry = node->entries;

        node->entries = entry->next;
        free(entry->key);
        free(entry);
    }
    hami_internal_support_free_secret(node->text);
    free(node);
}

struct hami_internal_yaml *hami_internal_yaml_free(struct hami_internal_yaml *yaml)
{
    if (yaml == NULL) {
        return NULL;
    }
    while (yaml->allocated != NULL) {
        struct hami_internal_yaml_node *node = yaml->allocated;

        yaml->allocated = node->allocated_next;
        free_node(node);
    }
    while (yaml->anchors != NULL) {
        struct hami_internal_yaml_anchor *anchor = yaml->anchors;

        yaml->anchors = anchor->next;
        free(anchor->name);
        free(anchor);
    }
    free(yaml->name);
    free(yaml);
    return NULL;
}

const struct hami_internal_yaml_node *
hami_internal_yaml_member(const struct hami_internal_yaml_node *node, const char *key)
{
    if (node == NULL || node->kind != HAMI_INTERNAL_YAML_MAPPING) {
        return NULL;
    }
    for (const struct hami_internal_yaml_entry *entry = node->entries; entry != NULL;
         entry = entry->next) {
        if (strcmp(entry->key, key) == 0) {
            return entry->node != NULL && !entry->node->is_null ? entry->node : NULL;
        }
    }
    return NULL;
}

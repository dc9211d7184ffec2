/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See yaml_json.h. Pure. */
#include "yaml_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#define DEPTH_MAX 64
#define VALUES_MAX 100000

struct reading {
    yaml_document_t *document;
    size_t values;
    const char *problem;
};

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(text, *words) == 0) {
            return true;
        }
    }
    return false;
}

static json_t *scalar(const yaml_node_t *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    const char *text = (const char *)node->data.scalar.value;
    size_t length = node->data.scalar.length;
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strlen(text) == length) {
        char *end = NULL;
        if (is_one_of(text, nulls)) {
            return json_null();
        }
        if (is_one_of(text, trues) || is_one_of(text, falses)) {
            return json_boolean(is_one_of(text, trues));
        }
        errno = 0;
        long long number = strtoll(text, &end, 10);
        if (errno == 0 && end != text && *end == '\0') {
            return json_integer(number);
        }
    }
    return json_stringn(text, length);
}

static json_t *convert(struct reading *reading, int index, unsigned depth);

static json_t *sequence(struct reading *reading, const yaml_node_t *node, unsigned depth)
{
    json_t *array = json_array();
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top && reading->problem == NULL; item++) {
        (void)json_array_append_new(array, convert(reading, *item, depth + 1));
    }
    return array;
}

static json_t *mapping(struct reading *reading, const yaml_node_t *node, unsigned depth)
{
    json_t *object = json_object();
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && reading->problem == NULL; pair++) {
        const yaml_node_t *key = yaml_document_get_node(reading->document, pair->key);
        if (key == NULL || key->type != YAML_SCALAR_NODE) {
            reading->problem = "a key that is no text";
        } else {
            (void)json_object_set_new(object, (const char *)key->data.scalar.value,
                                      convert(reading, pair->value, depth + 1));
        }
    }
    return object;
}

/* New; NULL with a problem. */
static json_t *convert(struct reading *reading, int index, unsigned depth)
{
    const yaml_node_t *node = yaml_document_get_node(reading->document, index);
    if (depth > DEPTH_MAX || ++reading->values > VALUES_MAX) {
        reading->problem = "nested too deeply, or too large";
        return NULL;
    }
    switch (node != NULL ? node->type : YAML_NO_NODE) {
    case YAML_SCALAR_NODE:
        return scalar(node);
    case YAML_SEQUENCE_NODE:
        return sequence(reading, node, depth);
    case YAML_MAPPING_NODE:
        return mapping(reading, node, depth);
    default:
        return json_null();
    }
}

/* False at the end, and with a problem. */
static bool read_document(yaml_parser_t *parser, struct reading *reading, json_t *ret)
{
    yaml_document_t document;
    if (!yaml_parser_load(parser, &document)) {
        reading->problem = parser->problem != NULL ? parser->problem : "no YAML";
        return false;
    }
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root != NULL) {
        reading->document = &document;
        (void)json_array_append_new(ret, convert(reading, 1, 0));
    }
    yaml_document_delete(&document);
    return root != NULL && reading->problem == NULL;
}

json_t *yaml_json_read(const char *text, size_t length, char *error, size_t size)
{
    struct reading reading = {.problem = NULL};
    yaml_parser_t parser;
    json_t *documents = json_array();
    if (!yaml_parser_initialize(&parser)) {
        (void)snprintf(error, size, "out of memory");
        json_decref(documents);
        return NULL;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    while (read_document(&parser, &reading, documents)) {
    }
    if (reading.problem != NULL) {
        (void)snprintf(error, size, "line %zu: %s", parser.problem_mark.line + 1,
                       reading.problem);
        json_decref(documents);
        documents = NULL;
    }
    yaml_parser_delete(&parser);
    return documents;
}

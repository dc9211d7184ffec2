/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Field and label selectors: see selector.h. Pure, no lock. */
#include "selector.h"

#include <stdlib.h>
#include <string.h>

static const char *const any_fields[] = {"metadata.name", "metadata.namespace", NULL};
static const char *const pod_fields[] = {"metadata.name",      "metadata.namespace",
                                         "spec.nodeName",      "spec.schedulerName",
                                         "spec.restartPolicy", "spec.serviceAccountName",
                                         "status.phase",       "status.nominatedNodeName",
                                         "status.podIP",       NULL};
static const char *const node_fields[] = {"metadata.name", "spec.unschedulable", NULL};

static bool field_supported(const struct sim_resource *resource, const char *field)
{
    const char *const *list = any_fields;
    if (strcmp(resource->kind, "Pod") == 0) {
        list = pod_fields;
    } else if (strcmp(resource->kind, "Node") == 0) {
        list = node_fields;
    }
    for (; *list != NULL; list++) {
        if (strcmp(*list, field) == 0) {
            return true;
        }
    }
    return false;
}

static char *trimmed(const char *start, size_t length)
{
    while (length > 0 && *start == ' ') {
        start++;
        length--;
    }
    while (length > 0 && start[length - 1] == ' ') {
        length--;
    }
    return strndup(start, length);
}

/* Cut one term: KEY, KEY=VALUE, KEY==VALUE, KEY!=VALUE, !KEY. */
static void parse_term(struct sim_term *term, const char *text, size_t length)
{
    const char *equal = memchr(text, '=', length);
    if (equal == NULL) {
        bool absent = length > 0 && text[0] == '!';
        term->test = absent ? SIM_ABSENT : SIM_EXISTS;
        term->key = trimmed(text + absent, length - absent);
        term->value = strdup("");
        return;
    }
    size_t key_length = (size_t)(equal - text);
    const char *value = equal + 1;
    term->test = SIM_EQUAL;
    if (key_length > 0 && text[key_length - 1] == '!') {
        term->test = SIM_UNEQUAL;
        key_length--;
    } else if (value < text + length && *value == '=') {
        value++;
    }
    term->key = trimmed(text, key_length);
    term->value = trimmed(value, length - (size_t)(value - text));
}

static enum sim_selector_result add_terms(struct sim_selector *selector, bool label,
                                          const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        if (length == 0 || selector->count == SIM_SELECTOR_TERMS ||
            memchr(text, '(', length) != NULL) {
            return SIM_SELECTOR_SYNTAX;
        }
        struct sim_term *term = &selector->terms[selector->count++];
        term->label = label;
        parse_term(term, text, length);
        if (term->key[0] == '\0' || strpbrk(term->value, "=!") != NULL) {
            return SIM_SELECTOR_SYNTAX;
        }
        text += length + (text[length] == ',');
    }
    return SIM_SELECTOR_OK;
}

enum sim_selector_result sim_selector_add_fields(struct sim_selector *selector,
                                                 const struct sim_resource *resource,
                                                 const char *text)
{
    size_t first = selector->count;
    enum sim_selector_result result = add_terms(selector, false, text);
    for (size_t i = first; result == SIM_SELECTOR_OK && i < selector->count; i++) {
        const struct sim_term *term = &selector->terms[i];
        if (term->test == SIM_EXISTS || term->test == SIM_ABSENT) {
            result = SIM_SELECTOR_SYNTAX;
        } else if (!field_supported(resource, term->key)) {
            result = SIM_SELECTOR_FIELD;
        }
    }
    return result;
}

enum sim_selector_result sim_selector_add_labels(struct sim_selector *selector,
                                                 const char *text)
{
    return add_terms(selector, true, text);
}

/* "part.member" of an object as text, "" when absent. */
static const char *field_value(const json_t *object, const char *field)
{
    char part[16];
    const char *dot = strchr(field, '.');
    size_t length = (size_t)(dot - field);
    memcpy(part, field, length);
    part[length] = '\0';
    const json_t *value = json_object_get(json_object_get(object, part), dot + 1);
    if (strcmp(field, "spec.unschedulable") == 0) {
        return json_is_true(value) ? "true" : "false";
    }
    return json_is_string(value) ? json_string_value(value) : "";
}

static bool term_matches(const struct sim_term *term, const json_t *object)
{
    const char *present;
    if (term->label) {
        const json_t *labels =
            json_object_get(json_object_get(object, "metadata"), "labels");
        present = json_string_value(json_object_get(labels, term->key));
    } else {
        present = field_value(object, term->key);
    }
    switch (term->test) {
    case SIM_EXISTS:
        return present != NULL;
    case SIM_ABSENT:
        return present == NULL;
    case SIM_UNEQUAL:
        return present == NULL || strcmp(present, term->value) != 0;
    default:
        return present != NULL && strcmp(present, term->value) == 0;
    }
}

bool sim_selector_matches(const struct sim_selector *selector, const json_t *object)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (!term_matches(&selector->terms[i], object)) {
            return false;
        }
    }
    return true;
}

void sim_selector_clear(struct sim_selector *selector)
{
    for (size_t i = 0; i < selector->count; i++) {
        free(selector->terms[i].key);
        free(selector->terms[i].value);
    }
    memset(selector, 0, sizeof(*selector));
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server refuses to store: names, label and annotation syntax and sizes,
 * immutable fields. Only the checks that a lock client can meet. No lock.
 */
#include "server.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ANNOTATIONS_LIMIT (256 * 1024)

/* Dot-separated labels of lower-case letters, digits and "-" inside. */
static bool is_subdomain(const char *text, size_t limit, bool dots)
{
    size_t length = strlen(text);
    if (length == 0 || length > limit) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool edge = i == 0 || i + 1 == length || text[i - 1] == '.' || text[i + 1] == '.';
        char c = text[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!plain && (edge || !(c == '-' || (c == '.' && dots)))) {
            return false;
        }
    }
    return true;
}

/* Letters, digits at the ends; "-", "_", "." inside; at most 63. */
static bool is_name_part(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > 63 || !isalnum((unsigned char)text[0]) ||
        !isalnum((unsigned char)text[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) && strchr("-_.", text[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_qualified_name(const char *key)
{
    const char *slash = strchr(key, '/');
    if (slash == NULL) {
        return is_name_part(key);
    }
    char prefix[254];
    size_t length = (size_t)(slash - key);
    if (length >= sizeof(prefix)) {
        return false;
    }
    memcpy(prefix, key, length);
    prefix[length] = '\0';
    for (size_t i = 0; i < length; i++) { /* upper case is tolerated in annotations */
        prefix[i] = (char)tolower((unsigned char)prefix[i]);
    }
    return is_subdomain(prefix, 253, true) && is_name_part(slash + 1);
}

static bool invalid_value(struct sim_exchange *exchange, const char *field,
                          const char *value, const char *why)
{
    char message[512];
    snprintf(message, sizeof(message), "Invalid value: \"%.200s\": %s", value, why);
    sim_text_clean(message);
    sim_status_invalid(exchange, field, "FieldValueInvalid", message);
    return false;
}

/* Values of another type don't decode into the typed object. */
static bool all_strings(struct sim_exchange *exchange, const json_t *map,
                        const char *field)
{
    const char *key;
    json_t *value;
    if (map == NULL || json_is_null(map)) {
        return true;
    }
    bool sound = json_is_object(map);
    json_object_foreach((json_t *)map, key, value)
    {
        sound = sound && (json_is_string(value) || json_is_null(value));
    }
    if (!sound && strcmp(exchange->target.verb, "patch") == 0) {
        json_t *causes =
            json_pack("[{s:s,s:s,s:s}]", "reason", "FieldValueInvalid", "message",
                      "Invalid value: json: cannot unmarshal", "field", "patch");
        sim_status(exchange, 422, "Invalid", json_pack("{s:o}", "causes", causes),
                   " \"\" is invalid: patch: Invalid value: cannot unmarshal %s", field);
    } else if (!sound) {
        sim_status_bad_request(exchange,
                               "%s in version \"%s\" cannot be handled as a %s: json: "
                               "cannot unmarshal %s into Go struct field of type string",
                               exchange->target.resource->kind,
                               exchange->target.resource->group_version,
                               exchange->target.resource->kind, field);
    }
    return sound;
}

static bool check_annotations(struct sim_exchange *exchange, const json_t *annotations)
{
    const char *key;
    json_t *value;
    size_t total = 0;
    json_object_foreach((json_t *)annotations, key, value)
    {
        if (!is_qualified_name(key)) {
            return invalid_value(exchange, "metadata.annotations", key,
                                 "name part must consist of alphanumeric characters, "
                                 "'-', '_' or '.', and must start and end with an "
                                 "alphanumeric character");
        }
        total += strlen(key) + json_string_length(value);
    }
    if (total > ANNOTATIONS_LIMIT) {
        sim_status_invalid(exchange, "metadata.annotations", "FieldValueTooLong",
                           "Too long: may not be more than 262144 bytes");
        return false;
    }
    return true;
}

static bool check_labels(struct sim_exchange *exchange, const json_t *labels)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)labels, key, value)
    {
        const char *text = json_is_string(value) ? json_string_value(value) : "";
        if (!is_qualified_name(key)) {
            return invalid_value(exchange, "metadata.labels", key,
                                 "name part must consist of alphanumeric characters");
        }
        if (text[0] != '\0' && strlen(text) > 63) {
            return invalid_value(exchange, "metadata.labels", text,
                                 "must be no more than 63 bytes");
        }
        if (text[0] != '\0' && !is_name_part(text)) {
            return invalid_value(exchange, "metadata.labels", text,
                                 "a valid label must be an empty string or consist of "
                                 "alphanumeric characters, '-', '_' or '.'");
        }
    }
    return true;
}

/* The part of a pod's spec that can't be changed once it is created; new. */
static json_t *fixed_spec(const json_t *object)
{
    json_t *spec = json_deep_copy(json_object_get(object, "spec"));
    json_object_del(spec, "activeDeadlineSeconds");
    json_object_del(spec, "tolerations");
    json_object_del(spec, "terminationGracePeriodSeconds");
    json_object_del(spec, "schedulingGates");
    const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < 2; i++) {
        size_t index;
        json_t *container;
        json_array_foreach(json_object_get(spec, lists[i]), index, container)
        {
            json_object_del(container, "image");
        }
    }
    return spec;
}

static bool check_pod(struct sim_exchange *exchange, const json_t *candidate,
                      const json_t *current)
{
    const json_t *spec = json_object_get(candidate, "spec");
    if (json_array_size(json_object_get(spec, "containers")) == 0) {
        sim_status_invalid(exchange, "spec.containers", "FieldValueRequired",
                           "Required value");
        return false;
    }
    if (current == NULL || json_equal(spec, json_object_get(current, "spec"))) {
        return true;
    }
    json_t *before = fixed_spec(current);
    json_t *after = fixed_spec(candidate);
    bool same = json_equal(before, after);
    json_decref(before);
    json_decref(after);
    if (!same) {
        sim_status_invalid(
            exchange, "spec", "FieldValueForbidden",
            "Forbidden: pod updates may not change fields other than "
            "`spec.containers[*].image`,`spec.initContainers[*].image`,"
            "`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
            "additions to existing tolerations),"
            "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 "
            "if it was previously negative)");
    }
    return same;
}

static bool check_create(struct sim_exchange *exchange, const json_t *candidate)
{
    const char *name = sim_metadata_text(candidate, "name");
    if (name == NULL || name[0] == '\0') {
        sim_status_invalid(exchange, "metadata.name", "FieldValueRequired",
                           "Required value: name or generateName is required");
        return false;
    }
    bool label = strcmp(exchange->target.resource->kind, "Namespace") == 0;
    if (!is_subdomain(name, label ? 63 : 253, !label)) {
        return invalid_value(exchange, "metadata.name", name,
                             "a lowercase RFC 1123 subdomain must consist of lower case "
                             "alphanumeric characters, '-' or '.', and must start and "
                             "end with an alphanumeric character");
    }
    return true;
}

bool sim_validate(struct sim_exchange *exchange, const json_t *candidate,
                  const json_t *current)
{
    const json_t *metadata = json_object_get(candidate, "metadata");
    const json_t *annotations = json_object_get(metadata, "annotations");
    const json_t *labels = json_object_get(metadata, "labels");
    if (!all_strings(exchange, annotations, "annotations") ||
        !all_strings(exchange, labels, "labels")) {
        return false;
    }
    if (current == NULL && !check_create(exchange, candidate)) {
        return false;
    }
    if (current != NULL && strcmp(sim_metadata_text(candidate, "uid"),
                                  sim_metadata_text(current, "uid")) != 0) {
        return invalid_value(exchange, "metadata.uid",
                             sim_metadata_text(candidate, "uid"), "field is immutable");
    }
    if (!check_annotations(exchange, annotations) || !check_labels(exchange, labels)) {
        return false;
    }
    return strcmp(exchange->target.resource->kind, "Pod") != 0 ||
           check_pod(exchange, candidate, current);
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of the bind verb. What comes in is checked to the letter before anything is
 * made of it: these texts end up in API paths and in the lock's value, where a comma or a
 * quote would lie.
 */
#include "request.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

struct field {
    const char *name;
    size_t offset;
    size_t size;
    bool (*is_valid)(const char *text);
    const char *form; /* what it has to be, for people */
};

static bool is_label_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
}

/* RFC 1123: lower case, digits and '-', no '-' at either end; up to `dot`, the end, or
 * bad. */
static size_t label_length(const char *text)
{
    size_t length = 0;
    while (is_label_character(text[length])) {
        length++;
    }
    if (length == 0 || length > 63 || text[0] == '-' || text[length - 1] == '-') {
        return 0;
    }
    return length;
}

static bool is_label(const char *text)
{
    size_t length = label_length(text);
    return length > 0 && text[length] == '\0';
}

/* Labels with dots between them. A pod's or node's label may be longer than 63: only the
 * sum counts. */
static bool is_subdomain(const char *text)
{
    bool is_start = true;
    for (; *text != '\0'; text++) {
        if (*text == '.') {
            if (is_start || text[1] == '\0') {
                return false;
            }
            is_start = true;
            continue;
        }
        bool is_end = text[1] == '.' || text[1] == '\0';
        if (!is_label_character(*text) || (*text == '-' && (is_start || is_end))) {
            return false;
        }
        is_start = false;
    }
    return !is_start;
}

static bool is_uid(const char *text)
{
    return *text != '\0' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._:-") == strlen(text);
}

#define FIELD(name, member, is_valid, form)                                              \
    {                                                                                    \
        name, offsetof(struct bind_request, member),                                     \
            sizeof(((struct bind_request *)0)->member), is_valid, form                   \
    }

static const struct field fields[] = {
    FIELD("PodNamespace", namespace_name, is_label, "a namespace's name"),
    FIELD("PodName", name, is_subdomain, "a pod's name"),
    FIELD("PodUID", uid, is_uid, "a pod's uid"),
    FIELD("Node", node, is_subdomain, "a node's name"),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static const char *type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

static int read_field(const struct field *field, const json_t *value,
                      struct bind_request *ret, char *error)
{
    char *target = (char *)ret + field->offset;
    if (value == NULL || json_is_null(value)) {
        (void)snprintf(error, BIND_ERROR_MAX, "invalid bind request: %s is missing",
                       field->name);
        return -1;
    }
    if (!json_is_string(value)) {
        (void)snprintf(error, BIND_ERROR_MAX,
                       "invalid bind request: %s is %s, not a text", field->name,
                       type_name(value));
        return -1;
    }
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (length == 0) {
        (void)snprintf(error, BIND_ERROR_MAX, "invalid bind request: %s is empty",
                       field->name);
        return -1;
    }
    if (length >= field->size || strlen(text) != length || !field->is_valid(text)) {
        (void)snprintf(error, BIND_ERROR_MAX, "invalid bind request: %s is not %s",
                       field->name, field->form);
        return -1;
    }
    memcpy(target, text, length + 1);
    return 0;
}

/* jansson keeps the order of insertion: of two spellings of one name the last one counts.
 */
static const json_t *find_field(json_t *object, const char *name)
{
    const char *key = NULL;
    json_t *value = NULL;
    const json_t *found = NULL;
    json_object_foreach(object, key, value)
    {
        if (strcasecmp(key, name) == 0) {
            found = value;
        }
    }
    return found;
}

int bind_request_parse(const char *body, size_t length, struct bind_request *ret,
                       char *error)
{
    json_error_t reason;
    int status = 0;
    if (length > BIND_BODY_MAX) {
        (void)snprintf(error, BIND_ERROR_MAX,
                       "invalid bind request: longer than %d bytes", BIND_BODY_MAX);
        return -1;
    }
    json_t *root = json_loadb(body, length, JSON_ALLOW_NUL, &reason);
    if (root == NULL) {
        (void)snprintf(error, BIND_ERROR_MAX,
                       "invalid bind request: not JSON: %s at byte %d", reason.text,
                       reason.position);
        for (char *at = error; *at != '\0'; at++) {
            if ((unsigned char)*at < 0x20 || (unsigned char)*at > 0x7e) {
                *at = '?';
            }
        }
        return -1;
    }
    if (!json_is_object(root)) {
        (void)snprintf(error, BIND_ERROR_MAX, "invalid bind request: %s, not an object",
                       type_name(root));
        status = -1;
    }
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < FIELD_COUNT && status == 0; i++) {
        status = read_field(&fields[i], find_field(root, fields[i].name), ret, error);
    }
    json_decref(root);
    return status;
}

char *bind_answer_format(const char *error)
{
    json_t *answer = json_pack("{s:s}", "Error", error);
    if (answer == NULL) {
        answer = json_pack("{s:s}", "Error", "the reason could not be written as JSON");
    }
    char *text = answer != NULL ? json_dumps(answer, JSON_COMPACT) : NULL;
    json_decref(answer);
    return text;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it was spelled: see rawjson.h. Pure, no lock. */
#include "rawjson.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_MAX 6

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Behind the text that begins here. */
static const char *text_end(const char *at)
{
    for (at++; *at != '"'; at++) {
        at += *at == '\\' ? 1 : 0;
    }
    return at + 1;
}

/* Behind the value that begins here. */
static const char *value_end(const char *at)
{
    int depth = 0;
    do {
        at = skip_space(at);
        if (*at == '"') {
            at = text_end(at);
        } else if (strchr("{}[],:", *at) != NULL) {
            depth += *at == '{' || *at == '[' ? 1 : 0;
            depth -= *at == '}' || *at == ']' ? 1 : 0;
            at++;
        } else {
            at += strcspn(at, "{}[],: \t\r\n");
        }
    } while (depth > 0);
    return at;
}

static struct sim_raw value_at(const char *at)
{
    at = skip_space(at);
    return (struct sim_raw){at, (size_t)(value_end(at) - at)};
}

struct sim_raw sim_raw_of(const char *text)
{
    return value_at(text);
}

bool sim_raw_next(const char **at, struct sim_raw *key, struct sim_raw *value)
{
    bool is_first = **at == '{' || **at == '[';
    const char *next = skip_space(*at + (is_first ? 1 : 0));
    *key = (struct sim_raw){0};
    if (*next == '}' || *next == ']') {
        return false;
    }
    next += *next == ',' ? 1 : 0;
    *value = value_at(next);
    next = skip_space(value->bytes + value->length);
    if (*next == ':') {
        *key = *value;
        *value = value_at(next + 1);
        next = skip_space(value->bytes + value->length);
    }
    *at = next;
    return true;
}

/* The name without its quotes and escapes. New. */
static json_t *name_of(struct sim_raw key)
{
    return json_loadb(key.bytes, key.length, JSON_DECODE_ANY, NULL);
}

struct sim_raw sim_raw_member(struct sim_raw object, const char *name)
{
    struct sim_raw found = {0};
    struct sim_raw key;
    struct sim_raw value;
    const char *at = object.bytes;
    while (sim_raw_next(&at, &key, &value)) {
        json_t *text = name_of(key);
        found = strcmp(json_string_value(text), name) == 0 ? value : found;
        json_decref(text);
    }
    return found;
}

bool sim_raw_same(struct sim_raw one, struct sim_raw other)
{
    return one.length == other.length && memcmp(one.bytes, other.bytes, one.length) == 0;
}

/* ---- how the server writes ------------------------------------------------------- */

/* The escape of what stands here, and how many bytes it stands for; 0: as it is. */
static size_t escape(const char *at, char out[ESCAPE_MAX + 1])
{
    static const char plain[] = "\"\\\n\r\t\b\f";
    static const char letters[] = "\"\\nrtbf";
    const char *found = strchr(plain, *at);
    if (found != NULL) {
        snprintf(out, ESCAPE_MAX + 1, "\\%c", letters[found - plain]);
        return 1;
    }
    if ((unsigned char)*at < 0x20 || strchr("<>&", *at) != NULL) {
        snprintf(out, ESCAPE_MAX + 1, "\\u00%02x", (unsigned char)*at);
        return 1;
    }
    if (strncmp(at, "\xe2\x80\xa8", 3) == 0 || strncmp(at, "\xe2\x80\xa9", 3) == 0) {
        snprintf(out, ESCAPE_MAX + 1, "\\u202%c", at[2] == '\xa8' ? '8' : '9');
        return 3;
    }
    return 0;
}

/* New. */
static char *write_text(const char *text)
{
    char *out = malloc(ESCAPE_MAX * strlen(text) + 3);
    char *to = out;
    if (out == NULL) {
        abort();
    }
    *to++ = '"';
    while (*text != '\0') {
        size_t taken = escape(text, to);
        if (taken > 0) {
            to += strlen(to);
            text += taken;
        } else {
            *to++ = *text++;
        }
    }
    memcpy(to, "\"", 2);
    return out;
}

/* Objects of the API hold whole numbers only. */
static bool is_written(struct sim_raw raw, const json_t *value)
{
    char *text = json_is_string(value) ? write_text(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY);
    bool is_same = sim_raw_same(raw, (struct sim_raw){text, strlen(text)});
    free(text);
    return is_same;
}

static bool is_equal_object(struct sim_raw raw, json_t *value)
{
    struct sim_raw key;
    struct sim_raw member;
    const char *at = raw.bytes;
    size_t count = 0;
    bool is_equal = *at == '{';
    while (is_equal && sim_raw_next(&at, &key, &member)) {
        json_t *name = name_of(key);
        json_t *present = json_object_get(value, json_string_value(name));
        is_equal = present != NULL && sim_raw_equal(member, present);
        json_decref(name);
        count++;
    }
    return is_equal && count == json_object_size(value);
}

static bool is_equal_array(struct sim_raw raw, json_t *value)
{
    struct sim_raw key;
    struct sim_raw member;
    const char *at = raw.bytes;
    size_t count = 0;
    bool is_equal = *at == '[';
    while (is_equal && sim_raw_next(&at, &key, &member)) {
        json_t *present = json_array_get(value, count++);
        is_equal = present != NULL && sim_raw_equal(member, present);
    }
    return is_equal && count == json_array_size(value);
}

bool sim_raw_equal(struct sim_raw raw, json_t *value)
{
    if (json_is_object(value)) {
        return is_equal_object(raw, value);
    }
    if (json_is_array(value)) {
        return is_equal_array(raw, value);
    }
    return is_written(raw, value);
}

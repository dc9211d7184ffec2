/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Patches built from odd texts. Input: a first line `form,version` (version "-" =
 * none), then for each edit three lines: action letter and key, expect, value; where the
 * line is "-" the text is absent. Separated by the byte 0x1f, so that texts may have line
 * ends.
 */
#include "fuzz.h"

#include "jsonpatch.h"

#define EDITS_MAX 8
#define SEPARATOR "\x1f"

/* Undoes a pointer's escapes: what a server makes of it is the key again. */
static void check_pointer(const char *path, const char *key)
{
    static const char prefix[] = "/metadata/annotations/";
    size_t at = 0;

    FUZZ_CHECK(strncmp(path, prefix, sizeof(prefix) - 1) == 0);
    for (path += sizeof(prefix) - 1; *path != '\0'; path++, at++) {
        char c = *path;
        if (c == '~') {
            path++;
            FUZZ_CHECK(*path == '0' || *path == '1');
            c = *path == '0' ? '~' : '/';
        }
        FUZZ_CHECK(c == key[at]);
    }
    FUZZ_CHECK(key[at] == '\0');
}

static const char *text_of(const json_t *operation, const char *member)
{
    return json_string_value(json_object_get(operation, member));
}

/* Does the patch test exactly this value at this path? */
static bool has_test(const json_t *patch, const char *path, const char *expect)
{
    size_t i;
    json_t *operation;

    json_array_foreach(patch, i, operation)
    {
        json_t *value = json_object_get(operation, "value");
        if (strcmp(text_of(operation, "op"), "test") != 0 ||
            strcmp(text_of(operation, "path"), path) != 0) {
            continue;
        }
        if (expect == NULL ? json_is_null(value)
                           : fuzz_is_same(json_string_value(value), expect)) {
            return true;
        }
    }
    return false;
}

/* Tests first, then changes; each operation is whole. Returns how many change something.
 */
static size_t check_order(const json_t *patch)
{
    size_t i, changes = 0;
    json_t *operation;

    json_array_foreach(patch, i, operation)
    {
        const char *verb = text_of(operation, "op");
        FUZZ_CHECK(verb != NULL && text_of(operation, "path") != NULL);
        if (strcmp(verb, "test") == 0) {
            FUZZ_CHECK(changes == 0);
            FUZZ_CHECK(json_object_get(operation, "value") != NULL);
            continue;
        }
        FUZZ_CHECK(strcmp(verb, "add") == 0 || strcmp(verb, "replace") == 0 ||
                   strcmp(verb, "remove") == 0);
        changes++;
    }
    return changes;
}

/* A `put` whose key another edit has too is the caller's fault; so keys are looked for
 * from the back, as the server applies them. */
static void check_by_key(const json_t *patch, const struct hami_transport_edit *edits,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char path[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
        if (edits[i].action == HAMI_EDIT_READ) {
            continue;
        }
        FUZZ_CHECK(hami_internal_jsonpatch_pointer(edits[i].key, path, sizeof(path)) ==
                   0);
        check_pointer(path, edits[i].key);
        FUZZ_CHECK(has_test(patch, path, edits[i].expect));
    }
}

static void check_new_map(const json_t *patch, const struct hami_transport_edit *edits,
                          size_t count)
{
    const json_t *last = json_array_get(patch, json_array_size(patch) - 1);
    const json_t *map = json_object_get(last, "value");

    FUZZ_CHECK(has_test(patch, "/metadata/annotations", NULL));
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action == HAMI_EDIT_PUT && edits[i].value != NULL) {
            FUZZ_CHECK(fuzz_is_same(text_of(last, "path"), "/metadata/annotations"));
            FUZZ_CHECK(json_is_string(json_object_get(map, edits[i].key)));
        }
    }
}

/* As Go's encoder writes it: nothing but printable ASCII and UTF-8, none of < > &. */
static void check_text(const char *text)
{
    FUZZ_CHECK(strpbrk(text, "<>&") == NULL);
    for (const char *c = text; *c != '\0'; c++) {
        FUZZ_CHECK((unsigned char)*c >= 0x20);
    }
}

static void check_patch(const struct hami_transport_edit *edits, size_t count,
                        const char *version, enum hami_internal_jsonpatch_form form)
{
    char *text = NULL;
    int code = hami_internal_jsonpatch_edits(edits, count, version, form, &text);

    FUZZ_CHECK((code == 0) == (text != NULL));
    FUZZ_CHECK(code == 0 || code == HAMI_E_PROTO || code == HAMI_E_LIMIT);
    if (code != 0) {
        return;
    }
    check_text(text);
    json_t *patch = json_loads(text, 0, NULL);
    FUZZ_CHECK(json_is_array(patch));
    size_t changes = check_order(patch);
    FUZZ_CHECK(changes == 0 || json_array_size(patch) > changes);
    FUZZ_CHECK(version == NULL || has_test(patch, "/metadata/resourceVersion", version));
    if (form == HAMI_INTERNAL_JSONPATCH_BY_KEY) {
        check_by_key(patch, edits, count);
    } else if (form == HAMI_INTERNAL_JSONPATCH_NEW_MAP) {
        check_new_map(patch, edits, count);
    }
    json_decref(patch);
    free(text);
}

static void check_revocation(const struct hami_transport_edit *edit, const char *uid,
                             enum hami_internal_jsonpatch_form form)
{
    char *text = NULL;

    if (edit->value == NULL || form == HAMI_INTERNAL_JSONPATCH_BY_VERSION) {
        return;
    }
    int code = hami_internal_jsonpatch_unbound_pod(uid, "42", edit->key, edit->value,
                                                   form, &text);
    FUZZ_CHECK((code == 0) == (text != NULL));
    if (code != 0) {
        return;
    }
    json_t *patch = json_loads(text, 0, NULL);
    FUZZ_CHECK(json_is_array(patch) && check_order(patch) == 1);
    FUZZ_CHECK(has_test(patch, "/metadata/uid", uid));
    FUZZ_CHECK(has_test(patch, "/spec/nodeName", NULL));
    FUZZ_CHECK(has_test(patch, "/metadata/resourceVersion", "42"));
    json_decref(patch);
    free(text);
}

static char *absent(char *text)
{
    if (text != NULL && strcmp(text, "-") == 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The manager takes no other keys than these; here they may have odd characters too. */
static bool is_key(const char *text)
{
    size_t length = strlen(text);

    for (size_t i = 0; i < length; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return length > 0 && length <= HAMI_NODELOCK_KEY_MAX;
}

/* One edit; false at the end of the input. */
static bool read_edit(struct fuzz_input *input, struct hami_transport_edit *ret)
{
    char *line = fuzz_take(input, SEPARATOR, NULL);

    if (line == NULL || line[0] == '\0' || !is_key(line + 1)) {
        free(line);
        return false;
    }
    ret->action = line[0] == 'p'   ? HAMI_EDIT_PUT
                  : line[0] == 't' ? HAMI_EDIT_TEST
                                   : HAMI_EDIT_READ;
    ret->key = fuzz_copy(line + 1, strlen(line + 1));
    free(line);
    ret->expect = absent(fuzz_take(input, SEPARATOR, NULL));
    ret->value = absent(fuzz_take(input, SEPARATOR, NULL));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    struct hami_transport_edit edits[EDITS_MAX];
    size_t count = 0;
    enum hami_internal_jsonpatch_form form = fuzz_byte(&input) % 3;
    char *version = absent(fuzz_take(&input, SEPARATOR, NULL));

    while (count < EDITS_MAX && read_edit(&input, &edits[count])) {
        count++;
    }
    if (form == HAMI_INTERNAL_JSONPATCH_BY_VERSION && version == NULL) {
        form = HAMI_INTERNAL_JSONPATCH_BY_KEY;
    }
    if (form != HAMI_INTERNAL_JSONPATCH_NEW_MAP ||
        hami_internal_jsonpatch_fits_new_map(edits, count)) {
        check_patch(edits, count, version, form);
    }
    if (count > 0) {
        (void)hami_internal_jsonpatch_is_odd(edits, count);
        check_revocation(&edits[0], version != NULL ? version : "uid", form);
    }
    while (count > 0) {
        count--;
        free((void *)(uintptr_t)edits[count].key);
        free((void *)(uintptr_t)edits[count].expect);
        free((void *)(uintptr_t)edits[count].value);
    }
    free(version);
    return 0;
}

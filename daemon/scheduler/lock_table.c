/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock table. Of several rows that fit a resource a choice counts before HAMi's rows,
 * then the longer name before the shorter one: a row with '*' is a short one.
 */
#include "lock_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#define EXEMPT "exempt"
#define RESOURCE_MAX 317

struct row {
    const char *resource;
    const char *key; /* EXEMPT = none */
};

/* As HAMi v2.10 has it: one key for all vendors that lock, Cambricon's own, and those
 * that hand out whole devices by themselves and take no lock. */
static const struct row standard[] = {
    {"nvidia.com/gpu", HAMI_NODELOCK_KEY},
    {"nvidia.com/gpumem", HAMI_NODELOCK_KEY},
    {"nvidia.com/gpumem-percentage", HAMI_NODELOCK_KEY},
    {"nvidia.com/gpucores", HAMI_NODELOCK_KEY},
    {"nvidia.com/priority", HAMI_NODELOCK_KEY},
    {"hygon.com/*", HAMI_NODELOCK_KEY},
    {"huawei.com/Ascend*", HAMI_NODELOCK_KEY},
    {"iluvatar.ai/*", HAMI_NODELOCK_KEY},
    {"kunlunxin.com/vxpu*", HAMI_NODELOCK_KEY},
    {"metax-tech.com/sgpu", HAMI_NODELOCK_KEY},
    {"metax-tech.com/vcore", HAMI_NODELOCK_KEY},
    {"metax-tech.com/vmemory", HAMI_NODELOCK_KEY},
    {"amd.com/gpu*", HAMI_NODELOCK_KEY},
    {"vastaitech.com/*", HAMI_NODELOCK_KEY},
    {"birentech.com/*", HAMI_NODELOCK_KEY},
    {"cambricon.com/*", HAMI_NODELOCK_CAMBRICON_KEY},
    {"metax-tech.com/gpu", EXEMPT},
    {"mthreads.com/*", EXEMPT},
    {"enflame.com/*", EXEMPT},
    {"kunlunxin.com/xpu", EXEMPT},
    {"aws.amazon.com/neuron*", EXEMPT},
};

#define STANDARD_COUNT (sizeof(standard) / sizeof(standard[0]))

/* Amounts of the devices that are asked for beside them. No device plugin serves them, so
 * the kubelet makes no call for them. */
static const char *const amounts[] = {
    "nvidia.com/gpumem",   "nvidia.com/gpumem-percentage",
    "nvidia.com/gpucores", "nvidia.com/priority",
    "hygon.com/dcumem",    "hygon.com/dcucores",
};

struct lock_table {
    unsigned references;
    size_t choice_count;
    size_t managed_count;
    size_t key_count;
    const char *keys[HAMI_NODELOCK_KEYS_MAX];
    struct row choices[HAMID_FLAG_LIST_MAX];
    char *managed[HAMID_FLAG_LIST_MAX];
    char *texts[HAMID_FLAG_LIST_MAX]; /* of the choices */
};

/* ---- rows ----------------------------------------------------------------------- */

/* How many characters of a row's name fit; 0 = it doesn't. */
static size_t fit(const struct row *row, const char *resource)
{
    size_t length = strlen(row->resource);
    if (row->resource[length - 1] == '*') {
        return strncmp(row->resource, resource, length - 1) == 0 ? length : 0;
    }
    return strcmp(row->resource, resource) == 0 ? length + 1 : 0;
}

static const struct row *find_in(const struct row *rows, size_t count,
                                 const char *resource)
{
    const struct row *best = NULL;
    size_t best_fit = 0;
    for (size_t i = 0; i < count; i++) {
        size_t this_fit = fit(&rows[i], resource);
        if (this_fit > best_fit) {
            best = &rows[i];
            best_fit = this_fit;
        }
    }
    return best;
}

static const struct row *find_row(const struct lock_table *table, const char *resource)
{
    const struct row *row = find_in(table->choices, table->choice_count, resource);
    return row != NULL ? row : find_in(standard, STANDARD_COUNT, resource);
}

static bool is_exempt(const struct row *row)
{
    return strcmp(row->key, EXEMPT) == 0;
}

/* False where they are too many. */
static bool add_key(const char **keys, size_t *count, const char *key)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    if (*count == HAMI_NODELOCK_KEYS_MAX) {
        return false;
    }
    keys[(*count)++] = key;
    return true;
}

/* ---- making one ----------------------------------------------------------------- */

/* prefix/name, as Kubernetes has it: letters, digits and a few others. */
static bool is_resource(const char *text, size_t length)
{
    static const char others[] = "._-/";
    size_t slashes = 0;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool is_star = c == '*' && i + 1 == length && i > 0;
        if (!is_letter && !(c >= '0' && c <= '9') && !is_star &&
            strchr(others, c) == NULL) {
            return false;
        }
        slashes += c == '/' ? 1 : 0;
    }
    return length > 0 && length <= RESOURCE_MAX && slashes <= 1 && text[0] != '/';
}

/* Takes "RESOURCE=KEY" apart, in a copy. */
static bool add_choice(struct lock_table *table, const char *given, char *error)
{
    char lease_key[HAMI_NODELOCK_KEY_MAX + 8];
    char *text = strdup(given);
    if (text == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "out of memory");
        return false;
    }
    size_t length = strcspn(text, "=");
    struct row *row = &table->choices[table->choice_count];
    table->texts[table->choice_count] = text;
    row->resource = text;
    row->key = text + length + (text[length] == '=' ? 1 : 0);
    text[length] = '\0';
    table->choice_count++;
    bool is_key =
        is_exempt(row) || hami_lease_key(row->key, lease_key, sizeof(lease_key)) == 0;
    if (!is_resource(row->resource, length) || !is_key) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "'%.128s' is no RESOURCE=KEY such as "
                       "example.com/gpu=" HAMI_NODELOCK_KEY " or RESOURCE=exempt",
                       given);
        return false;
    }
    for (size_t i = 0; i + 1 < table->choice_count; i++) {
        if (strcmp(table->choices[i].resource, row->resource) == 0) {
            (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "%.128s is given twice",
                           row->resource);
            return false;
        }
    }
    return true;
}

static bool add_managed(struct lock_table *table, const char *resource, char *error)
{
    if (find_row(table, resource) == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "nothing says which lock '%.128s' needs: choose by --lock "
                       "%.128s=" HAMI_NODELOCK_KEY ", or by =exempt that it needs none",
                       resource, resource);
        return false;
    }
    table->managed[table->managed_count] = strdup(resource);
    if (table->managed[table->managed_count] == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "out of memory");
        return false;
    }
    table->managed_count++;
    return true;
}

/* What pods can come to need. Without a list of what is served, that is the standard key
 * and whatever the rows name, once a choice makes the pods being read. */
static bool collect_keys(struct lock_table *table)
{
    bool fits = true;
    for (size_t i = 0; i < table->managed_count; i++) {
        const struct row *row = find_row(table, table->managed[i]);
        fits =
            fits && (is_exempt(row) || add_key(table->keys, &table->key_count, row->key));
    }
    if (table->managed_count > 0) {
        return fits;
    }
    fits = add_key(table->keys, &table->key_count, HAMI_NODELOCK_KEY);
    for (size_t i = 0; i < table->choice_count; i++) {
        const struct row *row = &table->choices[i];
        fits =
            fits && (is_exempt(row) || add_key(table->keys, &table->key_count, row->key));
    }
    return fits && (table->choice_count == 0 ||
                    add_key(table->keys, &table->key_count, HAMI_NODELOCK_CAMBRICON_KEY));
}

static bool fill(struct lock_table *table, const struct hamid_flag_list *choices,
                 const struct hamid_flag_list *managed, char *error,
                 const struct hamid_flag_list **ret_wrong)
{
    *ret_wrong = choices;
    for (size_t i = 0; i < choices->count; i++) {
        if (!add_choice(table, choices->values[i], error)) {
            return false;
        }
    }
    *ret_wrong = managed;
    for (size_t i = 0; i < managed->count; i++) {
        if (!add_managed(table, managed->values[i], error)) {
            return false;
        }
    }
    if (!collect_keys(table)) {
        *ret_wrong = choices;
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "more than %d locks",
                       HAMI_NODELOCK_KEYS_MAX);
        return false;
    }
    return true;
}

/* ---- public --------------------------------------------------------------------- */

struct lock_table *lock_table_new(const struct hamid_flag_list *choices,
                                  const struct hamid_flag_list *managed, char *error,
                                  const struct hamid_flag_list **ret_wrong)
{
    struct lock_table *table = calloc(1, sizeof(*table));
    *ret_wrong = choices;
    if (table == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "out of memory");
        return NULL;
    }
    table->references = 1;
    return fill(table, choices, managed, error, ret_wrong) ? table
                                                           : lock_table_unref(table);
}

struct lock_table *lock_table_ref(struct lock_table *table)
{
    if (table != NULL) {
        table->references++;
    }
    return table;
}

struct lock_table *lock_table_unref(struct lock_table *table)
{
    if (table == NULL || --table->references > 0) {
        return NULL;
    }
    for (size_t i = 0; i < table->choice_count; i++) {
        free(table->texts[i]);
    }
    for (size_t i = 0; i < table->managed_count; i++) {
        free(table->managed[i]);
    }
    free(table);
    return NULL;
}

bool lock_table_wants_pod(const struct lock_table *table)
{
    return table != NULL && (table->managed_count > 0 || table->choice_count > 0);
}

static bool is_managed(const struct lock_table *table, const char *resource)
{
    for (size_t i = 0; i < table->managed_count; i++) {
        if (strcmp(table->managed[i], resource) == 0) {
            return true;
        }
    }
    return table->managed_count == 0;
}

void lock_table_judge(const struct lock_table *table, const char *const *resources,
                      size_t resource_count, struct lock_needs *ret)
{
    bool knows_one = false;
    memset(ret, 0, sizeof(*ret));
    if (!lock_table_wants_pod(table)) {
        ret->is_managed = true;
        ret->keys[ret->key_count++] = HAMI_NODELOCK_KEY;
        return;
    }
    for (size_t i = 0; i < resource_count; i++) {
        bool counts = is_managed(table, resources[i]);
        const struct row *row = counts ? find_row(table, resources[i]) : NULL;
        knows_one = knows_one || row != NULL;
        if (row != NULL && !is_exempt(row)) {
            (void)add_key(ret->keys, &ret->key_count, row->key);
        }
    }
    ret->is_managed = knows_one || table->managed_count == 0;
    ret->is_exempt = knows_one && ret->key_count == 0;
    if (!knows_one) {
        ret->keys[ret->key_count++] = HAMI_NODELOCK_KEY;
    }
}

/* ---- calls ---------------------------------------------------------------------- */

static bool is_amount(const char *resource)
{
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
        if (strcmp(amounts[i], resource) == 0) {
            return true;
        }
    }
    return false;
}

enum call_kind { CALL_NONE, CALL_OURS, CALL_UNCLEAR };

/* What "RESOURCE=COUNT" means to a pod that needs this key. Where no list says what is
 * served a resource that no row names may be a node side's all the same: it counts. */
static enum call_kind kind_of(const struct lock_table *table, const char *call,
                              const char *key)
{
    char resource[RESOURCE_MAX + 1];
    size_t length = strcspn(call, "=");
    if (call[length] == '\0' || length > RESOURCE_MAX) {
        return CALL_UNCLEAR;
    }
    memcpy(resource, call, length);
    resource[length] = '\0';
    if (!is_managed(table, resource) || is_amount(resource)) {
        return CALL_NONE;
    }
    const struct row *row = find_row(table, resource);
    if (row != NULL && is_exempt(row)) {
        return CALL_NONE;
    }
    bool is_number = strcmp(call + length, "=?") != 0;
    bool has_key = row == NULL || strcmp(row->key, key) == 0;
    return is_number && has_key ? CALL_OURS : CALL_UNCLEAR;
}

/* Puts a text where it belongs by its bytes. */
static void insert_sorted(const char **sorted, size_t count, const char *text)
{
    while (count > 0 && strcmp(sorted[count - 1], text) > 0) {
        sorted[count] = sorted[count - 1];
        count--;
    }
    sorted[count] = text;
}

/* With commas between them. False where they don't fit. */
static bool join_calls(const char *const *sorted, size_t count, char *buffer)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(sorted[i]);
        if (at + (i > 0) + length > HAMI_NODELOCK_CALLS_MAX) {
            return false;
        }
        if (i > 0) {
            buffer[at++] = ',';
        }
        memcpy(buffer + at, sorted[i], length + 1);
        at += length;
    }
    return count > 0;
}

bool lock_table_calls(const struct lock_table *table, const struct lock_needs *needs,
                      const char *const *calls, size_t count, char *buffer)
{
    const char *sorted[HAMI_NODELOCK_CALL_COUNT_MAX];
    size_t sorted_count = 0;
    bool is_clear = table != NULL && needs->key_count == 1 && !needs->is_exempt;
    for (size_t i = 0; i < count && is_clear; i++) {
        enum call_kind kind = kind_of(table, calls[i], needs->keys[0]);
        is_clear = kind == CALL_NONE ||
                   (kind == CALL_OURS && sorted_count < HAMI_NODELOCK_CALL_COUNT_MAX);
        if (is_clear && kind == CALL_OURS) {
            insert_sorted(sorted, sorted_count++, calls[i]);
        }
    }
    if (is_clear && join_calls(sorted, sorted_count, buffer)) {
        return true;
    }
    buffer[0] = '\0';
    return false;
}

/* ---- keys ----------------------------------------------------------------------- */

size_t lock_table_keys(const struct lock_table *table, const char **ret)
{
    memcpy(ret, table->keys, sizeof(table->keys));
    return table->key_count;
}

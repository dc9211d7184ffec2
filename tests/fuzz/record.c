/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock value and lease annotation. Input: the lock's value up to the first line end, the
 * lease behind it; the first line is taken for calls, too. The JSON reader is held against jansson: what that takes, ours takes
 * too and reads the same.
 */
#include "fuzz.h"

#include <errno.h>

#include <jansson.h>

#include "json.h"
#include "names.h"
#include "record.h"

/* ---- the record ---- */

static void check_owner(const struct hami_lock_record *record, const char *lock)
{
    char tail[sizeof(record->namespace_name) + sizeof(record->name) + 2];

    if (record->kind != HAMI_LOCK_OWNED) {
        FUZZ_CHECK(record->namespace_name[0] == '\0' && record->name[0] == '\0');
        return;
    }
    FUZZ_CHECK(hami_internal_names_is_label(record->namespace_name));
    FUZZ_CHECK(hami_internal_names_is_subdomain(record->name));
    int length =
        snprintf(tail, sizeof(tail), ",%s,%s", record->namespace_name, record->name);
    FUZZ_CHECK(strlen(lock) > (size_t)length);
    FUZZ_CHECK(strcmp(lock + strlen(lock) - (size_t)length, tail) == 0);
}

static void check_lease(const struct hami_lock_record *record, const char *lock)
{
    if (!record->has_lease) {
        FUZZ_CHECK(record->uid[0] == '\0' && record->holder[0] == '\0');
        FUZZ_CHECK(record->attempt == 0 && record->hold_ms == 0 && record->fence == 0);
        FUZZ_CHECK(!record->free_by_scheduler);
        return;
    }
    FUZZ_CHECK(lock != NULL && lock[0] != '\0' && strlen(lock) < HAMI_LOCK_VALUE_MAX);
    FUZZ_CHECK(hami_internal_names_is_uid(record->uid));
    FUZZ_CHECK(record->holder[0] != '\0');
    FUZZ_CHECK(strnlen(record->holder, sizeof(record->holder)) < sizeof(record->holder));
    FUZZ_CHECK(record->hold_ms <= 600000);
    FUZZ_CHECK(record->fence == record->last_fence);
    FUZZ_CHECK(record->calls[0] == '\0' || hami_internal_names_is_calls(record->calls));
}

/* What is written from a record reads as that record. */
static void check_round_trip(const struct hami_lock_record *record, const char *lock)
{
    struct hami_lock_record again = HAMI_LOCK_RECORD_INIT;
    struct hami_internal_lease_text text = {.value = lock,
                                            .uid = record->uid,
                                            .holder = record->holder,
                                            .fence = record->fence,
                                            .attempt = record->attempt,
                                            .hold_ms = record->hold_ms,
                                            .calls =
                                                record->calls[0] ? record->calls : NULL};

    if (!record->has_lease || record->kind != HAMI_LOCK_OWNED ||
        !hami_internal_names_is_uid(record->holder)) {
        return;
    }
    size_t size = hami_internal_record_lease_size(
        strlen(lock), strlen(record->uid), strlen(record->holder), strlen(record->calls));
    char *lease = malloc(size);
    FUZZ_CHECK(lease != NULL);
    hami_internal_record_lease(lease, size, &text);
    FUZZ_CHECK(strlen(lease) + 1 < size || lease[strlen(lease) - 1] == '}');
    FUZZ_CHECK(hami_lock_record_parse(lock, lease, &again) == 0);
    FUZZ_CHECK(again.kind == record->kind && again.has_lease);
    FUZZ_CHECK(strcmp(again.uid, record->uid) == 0);
    FUZZ_CHECK(strcmp(again.holder, record->holder) == 0);
    FUZZ_CHECK(again.fence == record->fence && again.attempt == record->attempt);
    FUZZ_CHECK(again.hold_ms == record->hold_ms);
    FUZZ_CHECK(again.free_by_scheduler == (record->calls[0] != '\0'));
    FUZZ_CHECK(strcmp(again.calls, record->calls) == 0);
    free(lease);
}

static void check_memory(const struct hami_lock_record *record)
{
    struct hami_lock_record again = HAMI_LOCK_RECORD_INIT;
    char text[64];

    FUZZ_CHECK(hami_lease_memory_format(record->last_fence, text, sizeof(text)) == 0);
    FUZZ_CHECK(hami_lock_record_parse(NULL, text, &again) == 0);
    FUZZ_CHECK(again.last_fence == record->last_fence && !again.has_lease);
    FUZZ_CHECK(hami_lease_memory_format(record->last_fence, text, strlen(text)) ==
               HAMI_E_LIMIT);
}

/* A caller with an older, shorter struct gets its members and nothing behind them. */
static void check_short_struct(const char *lock, const char *lease,
                               const struct hami_lock_record *record)
{
    struct hami_lock_record older;
    size_t size = offsetof(struct hami_lock_record, has_lease);

    memset(&older, 0x5a, sizeof(older));
    older.size = size;
    FUZZ_CHECK(hami_lock_record_parse(lock, lease, &older) == 0);
    FUZZ_CHECK(older.kind == record->kind && older.size == size);
    FUZZ_CHECK(strcmp(older.name, record->name) == 0);
    for (size_t i = size; i < sizeof(older); i++) {
        FUZZ_CHECK(((unsigned char *)&older)[i] == 0x5a);
    }
}

static void check_record(const char *lock, const char *lease)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    FUZZ_CHECK(hami_lock_record_parse(lock, lease, &record) == 0);
    FUZZ_CHECK((record.kind == HAMI_LOCK_FREE) == (lock == NULL || lock[0] == '\0'));
    check_owner(&record, lock);
    check_lease(&record, lock);
    check_round_trip(&record, lock);
    check_memory(&record);
    check_short_struct(lock, lease, &record);
}

/* ---- calls ---- */

/* RESOURCE=COUNT, said in another way than the library does: the number is read and
 * written again. */
static bool is_plain_call(char *call)
{
    char *equals = strchr(call, '='), again[24];

    if (equals == NULL) {
        return false;
    }
    errno = 0;
    unsigned long long count = strtoull(equals + 1, NULL, 10);
    (void)snprintf(again, sizeof(again), "%llu", count);
    bool is_number =
        errno == 0 && count >= 1 && count <= INT64_MAX && strcmp(again, equals + 1) == 0;
    *equals = '\0';
    bool is_plain = is_number && hami_internal_names_is_key(call);
    *equals = '=';
    return is_plain;
}

static void check_calls(const char *text)
{
    bool is_canonical =
        text != NULL && text[0] != '\0' && strlen(text) <= HAMI_NODELOCK_CALLS_MAX;
    char *copy = strdup(is_canonical ? text : ""), *rest = copy, *before = NULL;
    size_t count = 0;

    FUZZ_CHECK(copy != NULL);
    for (char *call; is_canonical && (call = strsep(&rest, ",")) != NULL; before = call) {
        is_canonical = is_plain_call(call) && ++count <= HAMI_NODELOCK_CALL_COUNT_MAX &&
                       (before == NULL || strcmp(before, call) < 0);
    }
    FUZZ_CHECK(hami_internal_names_is_calls(text) == is_canonical);
    free(copy);
}

/* ---- the key ---- */

static void check_key(const char *key)
{
    size_t size = key != NULL ? strlen(key) + 7 : 0;
    char *buffer = malloc(size + 1);

    FUZZ_CHECK(buffer != NULL);
    int code = hami_lease_key(key, buffer, size);
    FUZZ_CHECK((code == 0) == hami_internal_names_is_key(key));
    if (code == 0) {
        size_t length = strlen(buffer);
        FUZZ_CHECK(length > 6 && strcmp(buffer + length - 6, ".lease") == 0);
        FUZZ_CHECK(hami_lease_key(key, buffer, length + 1) == 0);
        FUZZ_CHECK(hami_lease_key(key, buffer, length) == HAMI_E_LIMIT);
    }
    free(buffer);
}

/* ---- the JSON reader ---- */

struct reading {
    json_t *object; /* as jansson read it */
    void *at;
};

static int compare_member(void *data, const struct hami_internal_json_member *member)
{
    struct reading *reading = data;

    FUZZ_CHECK(reading->at != NULL);
    const char *name = json_object_iter_key(reading->at);
    json_t *value = json_object_iter_value(reading->at);
    bool is_ascii = true;
    for (const char *c = name; *c != '\0'; c++) {
        is_ascii = is_ascii && (unsigned char)*c < 0x80;
    }
    bool is_cut = strlen(name) > 63;
    if (member->name[0] == '\0') {
        FUZZ_CHECK(name[0] == '\0' || !is_ascii || is_cut);
    } else {
        FUZZ_CHECK(strncmp(member->name, name, 63) == 0);
        FUZZ_CHECK(strlen(member->name) == (is_cut ? 63 : strlen(name)));
    }
    if (member->text != NULL) {
        FUZZ_CHECK(json_is_string(value));
        FUZZ_CHECK(json_string_length(value) == member->length);
        FUZZ_CHECK(memcmp(json_string_value(value), member->text, member->length) == 0);
    }
    FUZZ_CHECK(!member->is_number ||
               (json_is_integer(value) &&
                (uint64_t)json_integer_value(value) == member->number));
    FUZZ_CHECK(!json_is_integer(value) || json_integer_value(value) <= 0 ||
               member->is_number);
    reading->at = json_object_iter_next(reading->object, reading->at);
    return 0;
}

static size_t depth_of(const char *text, size_t length)
{
    size_t depth = 0, most = 0;

    for (size_t i = 0; i < length; i++) {
        depth += text[i] == '{' || text[i] == '[' ? 1 : 0;
        most = depth > most ? depth : most;
    }
    return most; /* never below the true one */
}

static int ignore_member(void *data, const struct hami_internal_json_member *member)
{
    (void)data;
    FUZZ_CHECK(strlen(member->name) <= 63);
    return 0;
}

static void check_json(const char *text, size_t length)
{
    struct reading reading = {
        .object =
            json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)};

    /* jansson passes over some NULs between values; RFC 8259 does not. */
    if (!json_is_object(reading.object) || depth_of(text, length) > 16 ||
        memchr(text, '\0', length) != NULL) {
        (void)hami_internal_json_object(text, length, ignore_member, NULL);
    } else {
        reading.at = json_object_iter(reading.object);
        FUZZ_CHECK(hami_internal_json_object(text, length, compare_member, &reading) ==
                   0);
        FUZZ_CHECK(reading.at == NULL);
    }
    json_decref(reading.object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {(const char *)data, size};
    size_t length = 0;
    char *lock = fuzz_take(&input, "\n", NULL);
    char *lease = fuzz_take(&input, "\x1e", &length);

    check_record(lock, lease);
    check_key(lock);
    check_calls(lock);
    if (lease != NULL) {
        check_json(lease, length);
    }
    free(lock);
    free(lease);
    return 0;
}

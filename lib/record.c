/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock value and lease annotation, in and out. Pure. Everything that comes in may be
 * hostile: lengths are bounded first, the JSON reader neither recurses deeper than its
 * limit nor allocates.
 */
#include "record.h"

#include <string.h>

#include "errors.h"
#include "json.h"
#include "names.h"
#include "pen.h"

#define HOLD_MS_MAX 600000

/* ---- the lock value ---- */

static int two_digits(const char *text)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
        return -1;
    }
    return (text[0] - '0') * 10 + (text[1] - '0');
}

static bool is_date(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int century = two_digits(text), year = two_digits(text + 2);

    if (century < 0 || year < 0 || text[4] != '-' || text[7] != '-') {
        return false;
    }
    int month = two_digits(text + 5), day = two_digits(text + 8);
    if (month < 1 || month > 12 || day < 1) {
        return false;
    }
    year += century * 100;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Hours and minutes of a day or of an offset: "hh:mm". */
static bool is_hours_minutes(const char *text)
{
    int hours = two_digits(text);
    int minutes = hours < 0 || text[2] != ':' ? -1 : two_digits(text + 3);

    return hours >= 0 && hours <= 23 && minutes >= 0 && minutes <= 59;
}

/* RFC 3339 with an upper-case T, and Z or a numeric offset; fractional seconds are fine.
 */
static bool is_time(const char *text, size_t length)
{
    if (length < 20 || length > 40 || !is_date(text) || text[10] != 'T' ||
        !is_hours_minutes(text + 11) || text[16] != ':') {
        return false;
    }
    int seconds = two_digits(text + 17);
    if (seconds < 0 || seconds > 59) {
        return false;
    }
    size_t at = 19;
    if (text[at] == '.') {
        size_t digits = at + 1;
        while (digits < length && text[digits] >= '0' && text[digits] <= '9') {
            digits++;
        }
        if (digits == at + 1) {
            return false;
        }
        at = digits;
    }
    if (length == at + 1) {
        return text[at] == 'Z';
    }
    return length == at + 6 && (text[at] == '+' || text[at] == '-') &&
           is_hours_minutes(text + at + 1);
}

static void copy_part(char *to, const char *from, size_t length)
{
    memcpy(to, from, length);
    to[length] = '\0';
}

static enum hami_lock_kind parse_lock(const char *lock, struct hami_lock_record *ret)
{
    size_t length = lock ? strnlen(lock, HAMI_LOCK_VALUE_MAX) : 0;

    if (length == 0) {
        return HAMI_LOCK_FREE;
    }
    if (length == HAMI_LOCK_VALUE_MAX) {
        return HAMI_LOCK_MALFORMED;
    }
    const char *first = strchr(lock, ',');
    if (!first) {
        return is_time(lock, length) ? HAMI_LOCK_LEGACY : HAMI_LOCK_MALFORMED;
    }
    const char *second = strchr(first + 1, ',');
    if (!second || strchr(second + 1, ',') || !is_time(lock, (size_t)(first - lock))) {
        return HAMI_LOCK_MALFORMED;
    }
    size_t namespace_length = (size_t)(second - first) - 1;
    size_t name_length = strlen(second + 1);
    if (namespace_length == 0 || name_length == 0) {
        return HAMI_LOCK_UNOWNED;
    }
    if (namespace_length >= sizeof(ret->namespace_name) ||
        name_length >= sizeof(ret->name)) {
        return HAMI_LOCK_MALFORMED;
    }
    copy_part(ret->namespace_name, first + 1, namespace_length);
    copy_part(ret->name, second + 1, name_length);
    if (!hami_internal_names_is_label(ret->namespace_name) ||
        !hami_internal_names_is_subdomain(ret->name)) {
        ret->namespace_name[0] = ret->name[0] = '\0';
        return HAMI_LOCK_MALFORMED;
    }
    return HAMI_LOCK_OWNED;
}

/* ---- the lease annotation ---- */

struct lease_members {
    char lock[HAMI_LOCK_VALUE_MAX];
    char uid[HAMI_NODELOCK_UID_MAX + 1];
    char holder[320];
    char fence[24], attempt[24], free[16];
    char calls[HAMI_NODELOCK_CALLS_MAX + 1];
    uint64_t version, hold_ms;
};

/* Calls that make no sense are none, of a lease that is one all the same. */
static void take_calls(struct lease_members *members,
                       const struct hami_internal_json_member *member)
{
    bool fits = member->text && member->length < sizeof(members->calls);

    copy_part(members->calls, fits ? member->text : "", fits ? member->length : 0);
}

static int take_member(void *data, const struct hami_internal_json_member *member)
{
    struct lease_members *members = data;
    struct {
        const char *name;
        char *text;
        size_t size;
    } texts[] = {
        {"lock", members->lock, sizeof(members->lock)},
        {"uid", members->uid, sizeof(members->uid)},
        {"holder", members->holder, sizeof(members->holder)},
        {"fence", members->fence, sizeof(members->fence)},
        {"attempt", members->attempt, sizeof(members->attempt)},
        {"free", members->free, sizeof(members->free)},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(member->name, texts[i].name) == 0) {
            if (!member->text || member->length >= texts[i].size) {
                return -1;
            }
            copy_part(texts[i].text, member->text, member->length);
            return 0;
        }
    }
    if (strcmp(member->name, "calls") == 0) {
        take_calls(members, member);
        return 0;
    }
    if (strcmp(member->name, "version") == 0) {
        members->version = member->number;
        return member->is_number ? 0 : -1;
    }
    if (strcmp(member->name, "hold_ms") == 0) {
        members->hold_ms = member->number;
        return member->is_number ? 0 : -1;
    }
    return 0; /* unknown members are ignored */
}

static bool parse_decimal(const char *text, uint64_t *ret)
{
    uint64_t number = 0;

    if (!*text || (text[0] == '0' && text[1])) {
        return false;
    }
    for (const char *c = text; *c; c++) {
        uint64_t digit = (uint64_t)(*c - '0');
        if (*c < '0' || *c > '9' || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *ret = number;
    return true;
}

static void parse_lease(const char *lock, const char *lease, struct hami_lock_record *ret)
{
    struct lease_members members = {.version = 0};
    uint64_t fence = 0, attempt = 0;
    size_t length = lease ? strnlen(lease, HAMI_LEASE_TEXT_MAX) : 0;

    if (length == 0 || length == HAMI_LEASE_TEXT_MAX ||
        hami_internal_json_object(lease, length, take_member, &members) < 0 ||
        members.version != 1 || !parse_decimal(members.fence, &fence)) {
        return;
    }
    ret->last_fence = fence;
    if (!lock || !*lock || strcmp(lock, members.lock) != 0 ||
        !hami_internal_names_is_uid(members.uid) || !*members.holder ||
        !parse_decimal(members.attempt, &attempt)) {
        return;
    }
    ret->has_lease = true;
    ret->fence = fence;
    ret->attempt = attempt;
    ret->hold_ms = members.hold_ms < HOLD_MS_MAX ? members.hold_ms : HOLD_MS_MAX;
    ret->free_by_scheduler = strcmp(members.free, "scheduler") == 0;
    memcpy(ret->uid, members.uid, sizeof(ret->uid));
    memcpy(ret->holder, members.holder, sizeof(ret->holder));
    if (members.calls[0] && hami_internal_names_is_calls(members.calls)) {
        memcpy(ret->calls, members.calls, sizeof(ret->calls));
    }
}

int hami_lock_record_parse(const char *lock, const char *lease,
                           struct hami_lock_record *ret)
{
    if (!ret || ret->size < sizeof(ret->size)) {
        return HAMI_E_INVAL;
    }
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    size_t size = ret->size;
    if (!hami_internal_errors_is_struct_known(ret, size, sizeof(record))) {
        return HAMI_E_ABI;
    }
    record.kind = parse_lock(lock, &record);
    parse_lease(lock, lease, &record);
    memcpy(ret, &record, size < sizeof(record) ? size : sizeof(record));
    ret->size = size;
    return 0;
}

/* ---- out ---- */

/* Days since 1970-01-01 to a date of the proleptic Gregorian calendar. */
static void civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
    days += 719468; /* to 0000-03-01, so that leap days end a year */
    int64_t era = days / 146097;
    unsigned of_era = (unsigned)(days - era * 146097);
    unsigned year_of_era =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * of_year + 2) / 153;

    *day = of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = (int64_t)year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

static void put_two_digits(char *to, unsigned number)
{
    to[0] = (char)('0' + number / 10);
    to[1] = (char)('0' + number % 10);
}

void hami_internal_record_date(char *date, int64_t seconds)
{
    static const char form[HAMI_INTERNAL_RECORD_DATE] = "yyyy-mm-ddThh:mm:ssZ,";
    const int64_t first = INT64_C(-62135596800), last = INT64_C(253402300799);
    int64_t year;
    unsigned month, day;

    seconds = seconds < first ? first : seconds > last ? last : seconds;
    int64_t days = seconds >= 0 ? seconds / 86400 : -((86399 - seconds) / 86400);
    unsigned of_day = (unsigned)(seconds - days * 86400);
    civil_from_days(days, &year, &month, &day);
    memcpy(date, form, sizeof(form));
    put_two_digits(date, (unsigned)year / 100);
    put_two_digits(date + 2, (unsigned)year % 100);
    put_two_digits(date + 5, month);
    put_two_digits(date + 8, day);
    put_two_digits(date + 11, of_day / 3600);
    put_two_digits(date + 14, of_day / 60 % 60);
    put_two_digits(date + 17, of_day % 60);
}

size_t hami_internal_record_value(char *buffer, const char *date,
                                  const char *namespace_name, const char *name)
{
    struct hami_internal_pen pen = pen_on(buffer, HAMI_LOCK_VALUE_MAX);

    pen_known(&pen, date, HAMI_INTERNAL_RECORD_DATE - 1);
    pen_text(&pen, namespace_name);
    pen_literal(&pen, ",");
    pen_text(&pen, name);
    return (size_t)(pen.at - buffer);
}

/* What stands before and between a lease's texts and numbers, and at its end. */
#define LEASE_LOCK "{\"version\":1,\"lock\":\""
#define LEASE_UID "\",\"uid\":\""
#define LEASE_FENCE "\",\"fence\":\""
#define LEASE_HOLDER "\",\"holder\":\""
#define LEASE_ATTEMPT "\",\"attempt\":\""
#define LEASE_HOLD_MS "\",\"hold_ms\":"
#define LEASE_END_NODE ",\"free\":\"node\"}"
#define LEASE_END_SCHEDULER ",\"free\":\"scheduler\"}"
#define LEASE_CALLS ",\"free\":\"scheduler\",\"calls\":\""
#define LEASE_END_CALLS "\"}"

size_t hami_internal_record_lease_size(size_t value, size_t uid, size_t holder,
                                       size_t calls)
{
    return sizeof(LEASE_LOCK LEASE_UID LEASE_FENCE LEASE_HOLDER LEASE_ATTEMPT
                      LEASE_HOLD_MS LEASE_END_SCHEDULER) +
           3 * 20 + value + uid + holder +
           (calls > 0 ? sizeof(LEASE_CALLS LEASE_END_CALLS) + calls : 0);
}

size_t hami_internal_record_lease(char *buffer, size_t size,
                                  const struct hami_internal_lease_text *lease)
{
    struct hami_internal_pen pen = pen_on(buffer, size);

    pen_literal(&pen, LEASE_LOCK);
    pen_text(&pen, lease->value);
    pen_literal(&pen, LEASE_UID);
    pen_text(&pen, lease->uid);
    pen_literal(&pen, LEASE_FENCE);
    pen_number(&pen, lease->fence);
    pen_literal(&pen, LEASE_HOLDER);
    pen_text(&pen, lease->holder);
    pen_literal(&pen, LEASE_ATTEMPT);
    pen_number(&pen, lease->attempt);
    pen_literal(&pen, LEASE_HOLD_MS);
    pen_number(&pen, lease->hold_ms);
    if (lease->calls) {
        pen_literal(&pen, LEASE_CALLS);
        pen_text(&pen, lease->calls);
        pen_literal(&pen, LEASE_END_CALLS);
    } else if (lease->free_by_scheduler) {
        pen_literal(&pen, LEASE_END_SCHEDULER);
    } else {
        pen_literal(&pen, LEASE_END_NODE);
    }
    return (size_t)(pen.at - buffer);
}

void hami_internal_record_freed(uint64_t fence, struct hami_lock_record *ret)
{
    ret->kind = HAMI_LOCK_FREE;
    ret->namespace_name[0] = ret->name[0] = ret->uid[0] = ret->holder[0] = '\0';
    ret->calls[0] = '\0';
    ret->has_lease = ret->free_by_scheduler = false;
    ret->attempt = ret->hold_ms = ret->fence = 0;
    ret->last_fence = fence;
}

void hami_internal_record_taken(const struct hami_owner *owner,
                                const struct hami_internal_lease_text *lease,
                                struct hami_lock_record *ret)
{
    ret->kind = HAMI_LOCK_OWNED;
    pen_copy(ret->namespace_name, sizeof(ret->namespace_name), owner->namespace_name);
    pen_copy(ret->name, sizeof(ret->name), owner->name);
    ret->has_lease = true;
    pen_copy(ret->uid, sizeof(ret->uid), lease->uid);
    pen_copy(ret->holder, sizeof(ret->holder), lease->holder);
    ret->attempt = lease->attempt;
    ret->hold_ms = lease->hold_ms < HOLD_MS_MAX ? lease->hold_ms : HOLD_MS_MAX;
    ret->fence = ret->last_fence = lease->fence;
    ret->free_by_scheduler = lease->free_by_scheduler || lease->calls;
    pen_copy(ret->calls, sizeof(ret->calls), lease->calls ? lease->calls : "");
}

int hami_lease_memory_format(uint64_t fence, char *buffer, size_t size)
{
    char text[64];
    struct hami_internal_pen pen = pen_on(text, sizeof(text));

    if (!buffer) {
        return HAMI_E_INVAL;
    }
    pen_literal(&pen, "{\"version\":1,\"fence\":\"");
    pen_number(&pen, fence);
    pen_literal(&pen, "\"}");
    size_t bytes = (size_t)(pen.at - text) + 1;
    if (bytes > size) {
        return HAMI_E_LIMIT;
    }
    memcpy(buffer, text, bytes);
    return 0;
}

int hami_lease_key(const char *lock_key, char *buffer, size_t size)
{
    static const char lock_suffix[] = ".lock", lease_suffix[] = ".lease";

    if (!buffer || !hami_internal_names_is_key(lock_key)) {
        return HAMI_E_INVAL;
    }
    size_t length = strlen(lock_key), suffix = sizeof(lock_suffix) - 1;
    if (length > suffix && strcmp(lock_key + length - suffix, lock_suffix) == 0) {
        length -= suffix;
    }
    if (length + sizeof(lease_suffix) > size) {
        return HAMI_E_LIMIT;
    }
    memcpy(buffer, lock_key, length);
    memcpy(buffer + length, lease_suffix, sizeof(lease_suffix));
    return 0;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See proxy_faults.h. */
#include "proxy_faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 9
#define WORD_SIZE 24
#define NUMBER_MAX (UINT64_C(1) << 40)

const char proxy_faults_commands[] =
    "  cut before|after bytes N [times K]\n"
    "      cut the connection whose bytes fill each N bytes of requests, before these\n"
    "      bytes go on or once they have gone (so that the answer is lost)\n"
    "  cut before|after connections N [offset BYTES] [times K]\n"
    "      cut each N-th new connection, once BYTES of its requests have passed\n"
    "  delay requests|answers|both MS   hold up whatever comes from now on; 0: no more\n"
    "  stall requests|answers|both MS   let nothing pass for so long; 0: until resumed\n"
    "  resume                           end stalls\n"
    "  clear                            end all faults; cut connections stay cut\n"
    "  status                           counts, as a line of JSON\n";

struct words {
    char text[WORDS_MAX][WORD_SIZE];
    size_t count;
};

static const char *split(const char *line, struct words *ret)
{
    ret->count = 0;
    for (;;) {
        line += strspn(line, " \t\r");
        size_t length = strcspn(line, " \t\r");
        if (length == 0) {
            return ret->count == 0 ? "no command" : NULL;
        }
        if (ret->count == WORDS_MAX || length >= WORD_SIZE) {
            return "too long";
        }
        memcpy(ret->text[ret->count], line, length);
        ret->text[ret->count][length] = '\0';
        ret->count++;
        line += length;
    }
}

static bool is_word(const struct words *words, size_t index, const char *text)
{
    return index < words->count && strcmp(words->text[index], text) == 0;
}

static bool read_number(const struct words *words, size_t index, uint64_t *ret)
{
    if (index >= words->count || words->text[index][0] < '0' ||
        words->text[index][0] > '9') {
        return false;
    }
    char *end;
    *ret = strtoull(words->text[index], &end, 10);
    return *end == '\0' && *ret <= NUMBER_MAX;
}

/* The pairs of name and number at the end of a rule. */
static const char *read_limits(const struct words *words, struct proxy_rule *rule)
{
    for (size_t i = 4; i < words->count; i += 2) {
        uint64_t number;
        if (!read_number(words, i + 1, &number)) {
            return "a number is missing at the end";
        }
        if (is_word(words, i, "times") && number > 0) {
            rule->times_left = number;
        } else if (is_word(words, i, "offset") && rule->by_connection) {
            rule->offset = number;
        } else {
            return "neither times nor the offset of a connection";
        }
    }
    return NULL;
}

static const char *obey_cut(struct proxy_faults *faults, const struct words *words)
{
    struct proxy_rule rule = {.times_left = UINT64_MAX};
    if (is_word(words, 1, "before")) {
        rule.cut = PROXY_CUT_BEFORE;
    } else if (is_word(words, 1, "after")) {
        rule.cut = PROXY_CUT_AFTER;
    } else {
        return "cut before or after?";
    }
    rule.by_connection = is_word(words, 2, "connections");
    if (!rule.by_connection && !is_word(words, 2, "bytes")) {
        return "cut by connections or by bytes?";
    }
    if (!read_number(words, 3, &rule.every) || rule.every == 0) {
        return "cut each how many?";
    }
    const char *problem = read_limits(words, &rule);
    if (problem == NULL) {
        faults->rule = rule;
    }
    return problem;
}

/* VALUE into those of the two numbers that the way in words[1] means. */
static const char *set_ways(const struct words *words, int64_t value, int64_t *numbers)
{
    bool is_both = is_word(words, 1, "both");
    if (!is_both && !is_word(words, 1, "requests") && !is_word(words, 1, "answers")) {
        return "requests, answers or both?";
    }
    if (words->count > 3) {
        return "too many words";
    }
    if (is_both || is_word(words, 1, "requests")) {
        numbers[PROXY_REQUESTS] = value;
    }
    if (is_both || is_word(words, 1, "answers")) {
        numbers[PROXY_ANSWERS] = value;
    }
    return NULL;
}

const char *proxy_faults_obey(struct proxy_faults *faults, const char *line,
                              int64_t now_ms)
{
    struct words words;
    uint64_t number;
    const char *problem = split(line, &words);
    if (problem != NULL) {
        return problem;
    }
    if (is_word(&words, 0, "cut")) {
        return obey_cut(faults, &words);
    }
    if (is_word(&words, 0, "delay") || is_word(&words, 0, "stall")) {
        if (!read_number(&words, 2, &number)) {
            return "how many milliseconds?";
        }
        if (is_word(&words, 0, "delay")) {
            return set_ways(&words, (int64_t)number, faults->delay_ms);
        }
        return set_ways(&words, number == 0 ? INT64_MAX : now_ms + (int64_t)number,
                        faults->stalled_until_ms);
    }
    bool is_clear = is_word(&words, 0, "clear");
    if ((!is_clear && !is_word(&words, 0, "resume")) || words.count != 1) {
        return "not a command";
    }
    memset(faults->stalled_until_ms, 0, sizeof(faults->stalled_until_ms));
    if (is_clear) {
        memset(faults->delay_ms, 0, sizeof(faults->delay_ms));
        faults->rule.cut = PROXY_CUT_NONE;
    }
    return NULL;
}

bool proxy_faults_connected(struct proxy_faults *faults)
{
    struct proxy_rule *rule = &faults->rule;
    faults->connections++;
    if (rule->cut == PROXY_CUT_NONE || !rule->by_connection) {
        return false;
    }
    rule->seen++;
    if (rule->seen < rule->every) {
        return false;
    }
    rule->seen = 0;
    return true;
}

enum proxy_cut proxy_faults_request(struct proxy_faults *faults, bool is_meant,
                                    uint64_t before, size_t size)
{
    struct proxy_rule *rule = &faults->rule;
    faults->bytes[PROXY_REQUESTS] += size;
    if (rule->cut == PROXY_CUT_NONE || rule->times_left == 0) {
        return PROXY_CUT_NONE;
    }
    if (rule->by_connection) {
        if (!is_meant || before + size <= rule->offset) {
            return PROXY_CUT_NONE;
        }
    } else {
        rule->seen += size;
        if (rule->seen < rule->every) {
            return PROXY_CUT_NONE;
        }
        rule->seen = 0;
    }
    if (rule->times_left != UINT64_MAX) {
        rule->times_left--;
    }
    faults->cuts[rule->cut]++;
    return rule->cut;
}

int64_t proxy_faults_due(const struct proxy_faults *faults, enum proxy_way way,
                         int64_t now_ms)
{
    return now_ms + faults->delay_ms[way];
}

void proxy_faults_status(const struct proxy_faults *faults, char *text, size_t size)
{
    snprintf(text, size,
             "{\"connections\":%" PRIu64 ",\"requests_bytes\":%" PRIu64
             ",\"answers_bytes\":%" PRIu64 ",\"cuts_before\":%" PRIu64
             ",\"cuts_after\":%" PRIu64 "}",
             faults->connections, faults->bytes[PROXY_REQUESTS],
             faults->bytes[PROXY_ANSWERS], faults->cuts[PROXY_CUT_BEFORE],
             faults->cuts[PROXY_CUT_AFTER]);
}

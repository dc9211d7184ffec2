/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a credential plugin answers: an ExecCredential with a token, or a client
 * certificate with its key, or both. Pure; no state, no lock.
 */
#include "exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "login.h"
#include "support.h"

/* ---- times ---------------------------------------------------------------------- */

/* `count` digits; -1 if they are not all there. */
static int read_digits(const char **text, int count)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        if ((*text)[i] < '0' || (*text)[i] > '9') {
            return -1;
        }
        value = value * 10 + ((*text)[i] - '0');
    }
    *text += count;
    return value;
}

static bool skip(const char **text, char c)
{
    if (**text != c) {
        return false;
    }
    (*text)++;
    return true;
}

/* "Z" or "+01:30", to the end of the text. */
static bool read_zone(const char *text, int64_t *ret)
{
    bool is_negative = *text == '-';
    int hours;
    int minutes;

    *ret = 0;
    if (*text == 'Z' || *text == 'z') {
        return text[1] == '\0';
    }
    if (*text != '+' && *text != '-') {
        return false;
    }
    text++;
    hours = read_digits(&text, 2);
    if (hours < 0 || hours > 23 || !skip(&text, ':')) {
        return false;
    }
    minutes = read_digits(&text, 2);
    if (minutes < 0 || minutes > 59 || *text != '\0') {
        return false;
    }
    *ret = (is_negative ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

/* Seconds may have a fraction, which is left out. */
static bool read_fraction(const char **text)
{
    if (!skip(text, '.')) {
        return true;
    }
    if (**text < '0' || **text > '9') {
        return false;
    }
    while (**text >= '0' && **text <= '9') {
        (*text)++;
    }
    return true;
}

static bool is_in_range(const struct tm *parts)
{
    return parts->tm_year >= 1970 && parts->tm_mon >= 1 && parts->tm_mon <= 12 &&
           parts->tm_mday >= 1 && parts->tm_mday <= 31 && parts->tm_hour >= 0 &&
           parts->tm_hour <= 23 && parts->tm_min >= 0 && parts->tm_min <= 59 &&
           parts->tm_sec >= 0 && parts->tm_sec <= 60;
}

bool hami_internal_exec_time(const char *text, int64_t *ret)
{
    struct tm parts = {0};
    int64_t zone_s;

    parts.tm_year = read_digits(&text, 4);
    parts.tm_mon = skip(&text, '-') ? read_digits(&text, 2) : -1;
    parts.tm_mday = parts.tm_mon >= 0 && skip(&text, '-') ? read_digits(&text, 2) : -1;
    if (parts.tm_mday < 0 || (*text != 'T' && *text != 't')) {
        return false;
    }
    text++;
    parts.tm_hour = read_digits(&text, 2);
    parts.tm_min = parts.tm_hour >= 0 && skip(&text, ':') ? read_digits(&text, 2) : -1;
    parts.tm_sec = parts.tm_min >= 0 && skip(&text, ':') ? read_digits(&text, 2) : -1;
    if (!is_in_range(&parts) || !read_fraction(&text) || !read_zone(text, &zone_s)) {
        return false;
    }
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *ret = (int64_t)timegm(&parts) - zone_s;
    return true;
}

/* ---- members -------------------------------------------------------------------- */

static int fail(struct hami_error *reterr, const char *what)
{
    return hami_internal_support_fail(reterr, HAMI_E_INVAL, "Its answer %s", what);
}

/* A text of the object; NULL where it is absent, null or empty. */
static int text_member(const json_t *object, const char *key, const char **ret,
                       struct hami_error *reterr)
{
    const json_t *value = json_object_get(object, key);
    char what[96];

    *ret = NULL;
    if (value == NULL || json_is_null(value)) {
        return 0;
    }
    if (!json_is_string(value) ||
        strlen(json_string_value(value)) != json_string_length(value)) {
        (void)snprintf(what, sizeof(what), "has a %s that is no text", key);
        return fail(reterr, what);
    }
    if (json_string_length(value) > 0) {
        *ret = json_string_value(value);
    }
    return 0;
}

static int check_kind(const json_t *root, const char *api_version,
                      struct hami_error *reterr)
{
    const char *kind = NULL;
    const char *version = NULL;
    char what[128];
    int code = text_member(root, "kind", &kind, reterr);

    if (code == 0) {
        code = text_member(root, "apiVersion", &version, reterr);
    }
    if (code != 0) {
        return code;
    }
    if (kind == NULL || strcmp(kind, "ExecCredential") != 0) {
        return fail(reterr, "is no ExecCredential");
    }
    if (version == NULL || strcmp(version, api_version) != 0) {
        (void)snprintf(what, sizeof(what), "is not of apiVersion %s, which was asked for",
                       api_version);
        return fail(reterr, what);
    }
    return 0;
}

static int take_token(const json_t *status, struct hami_internal_exec_credential *ret,
                      struct hami_error *reterr)
{
    const char *token = NULL;
    int code = text_member(status, "token", &token, reterr);

    if (code != 0 || token == NULL) {
        return code;
    }
    ret->token = strdup(token);
    if (ret->token == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
    }
    return hami_internal_token_trim(ret->token)
               ? 0
               : fail(reterr, "has a token with characters that no token has");
}

static int take_certificate(const json_t *status,
                            struct hami_internal_exec_credential *ret,
                            struct hami_error *reterr)
{
    const char *certificate = NULL;
    const char *key = NULL;
    int code = text_member(status, "clientCertificateData", &certificate, reterr);

    if (code == 0) {
        code = text_member(status, "clientKeyData", &key, reterr);
    }
    if (code != 0 || (certificate == NULL && key == NULL)) {
        return code;
    }
    if (certificate == NULL || key == NULL) {
        return fail(reterr, "has one of clientCertificateData and clientKeyData only");
    }
    ret->certificate = strdup(certificate);
    ret->key = strdup(key);
    return ret->certificate != NULL && ret->key != NULL
               ? 0
               : hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory");
}

static int take_status(const json_t *root, struct hami_internal_exec_credential *ret,
                       struct hami_error *reterr)
{
    const json_t *status = json_object_get(root, "status");
    const char *expires = NULL;
    int code;

    if (!json_is_object(status)) {
        return fail(reterr, "has no status");
    }
    code = take_token(status, ret, reterr);
    if (code == 0) {
        code = take_certificate(status, ret, reterr);
    }
    if (code == 0 && ret->token == NULL && ret->certificate == NULL) {
        code = fail(reterr, "has neither a token nor a client certificate");
    }
    if (code == 0) {
        code = text_member(status, "expirationTimestamp", &expires, reterr);
    }
    if (code == 0 && expires != NULL) {
        ret->expires = true;
        code = hami_internal_exec_time(expires, &ret->expires_s)
                   ? 0
                   : fail(reterr, "has an expirationTimestamp that is no time");
    }
    return code;
}

/* ---- the whole ------------------------------------------------------------------ */

int hami_internal_exec_credential_parse(const char *text, size_t length,
                                        const char *api_version,
                                        struct hami_internal_exec_credential *ret,
                                        struct hami_error *reterr)
{
    json_error_t error;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    int code;

    memset(ret, 0, sizeof(*ret));
    if (root == NULL) {
        /* The parser's own words may quote what it met. */
        return json_error_code(&error) == json_error_out_of_memory
                   ? hami_internal_support_fail(reterr, HAMI_E_NOMEM, "Out of memory")
                   : fail(reterr, "is not JSON");
    }
    code = json_is_object(root) ? check_kind(root, api_version, reterr)
                                : fail(reterr, "is no ExecCredential");
    if (code == 0) {
        code = take_status(root, ret, reterr);
    }
    json_decref(root);
    if (code != 0) {
        hami_internal_exec_credential_done(ret);
    }
    return code;
}

void hami_internal_exec_credential_done(struct hami_internal_exec_credential *credential)
{
    hami_internal_support_free_secret(credential->token);
    free(credential->certificate);
    hami_internal_support_free_secret(credential->key);
    memset(credential, 0, sizeof(*credential));
}

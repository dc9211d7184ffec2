/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See etcd_txn.h. Pure: no I/O, no state.
 *
 * A value's key is `hami/NODE/KEY`. `hami/NODE/` itself is the node's mark: whoever
 * changes a value puts it in the same transaction, so that a removal shows as well. The
 * node's version is the largest mod_revision below `hami/NODE/`, and it still stands if
 * no key there has a larger one.
 */
#include "etcd_txn.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys and values travel in base64 ---- */

static json_t *encoded(const char *text)
{
    size_t length = strlen(text);
    unsigned char *buffer = malloc(length / 3 * 4 + 5);
    if (!buffer) {
        return NULL;
    }
    EVP_EncodeBlock(buffer, (const unsigned char *)text, (int)length);
    json_t *json = json_string((char *)buffer);
    free(buffer);
    return json;
}

/* New text; NULL if it is no base64 or holds a NUL. */
static char *decoded(const char *base64)
{
    size_t length = strlen(base64);
    unsigned char *buffer = malloc(length / 4 * 3 + 4);
    int count =
        buffer ? EVP_DecodeBlock(buffer, (const unsigned char *)base64, (int)length) : -1;
    for (size_t i = length; count > 0 && i > 0 && base64[i - 1] == '='; i--) {
        count--;
    }
    if (count < 0 || memchr(buffer, '\0', (size_t)count)) {
        free(buffer);
        return NULL;
    }
    buffer[count] = '\0';
    return (char *)buffer;
}

static json_t *key_of(const char *node, const char *key)
{
    char text[1024];
    snprintf(text, sizeof(text), "hami/%s/%s", node, key);
    return encoded(text);
}

/* The first key behind all those of the node: '0' follows '/'. */
static json_t *end_of(const char *node)
{
    char text[512];
    snprintf(text, sizeof(text), "hami/%s0", node);
    return encoded(text);
}

/* ---- the transaction ---- */

static json_t *compare_version(const char *node, const char *version)
{
    char next[24];
    snprintf(next, sizeof(next), "%llu", strtoull(version, NULL, 10) + 1);
    return json_pack("{s:o, s:o, s:s, s:s, s:s}", "key", key_of(node, ""), "range_end",
                     end_of(node), "target", "MOD", "result", "LESS", "mod_revision",
                     next);
}

static json_t *compare(const char *node, const struct hami_transport_edit *edit)
{
    if (!edit->expect) {
        return json_pack("{s:o, s:s, s:s, s:s}", "key", key_of(node, edit->key), "target",
                         "VERSION", "result", "EQUAL", "version", "0");
    }
    return json_pack("{s:o, s:s, s:s, s:o}", "key", key_of(node, edit->key), "target",
                     "VALUE", "result", "EQUAL", "value", encoded(edit->expect));
}

static json_t *change(const char *node, const char *key, const char *value)
{
    if (!value) {
        return json_pack("{s:{s:o}}", "request_delete_range", "key", key_of(node, key));
    }
    return json_pack("{s:{s:o, s:o}}", "request_put", "key", key_of(node, key), "value",
                     encoded(value));
}

/* A transaction that lacks a comparison would be a blind write: nothing may go missing.
 */
static bool add(json_t *list, json_t *item)
{
    return json_array_append_new(list, item) == 0;
}

/* Both branches end with the values, and then with the key that was changed last. */
static bool add_reads(json_t *branch, const char *node,
                      const struct hami_transport_edit *edits, size_t count)
{
    bool whole = true;
    for (size_t i = 0; i < count; i++) {
        whole &= add(branch, json_pack("{s:{s:o}}", "request_range", "key",
                                       key_of(node, edits[i].key)));
    }
    return whole &&
           add(branch,
               json_pack("{s:{s:o, s:o, s:s, s:s, s:s, s:b}}", "request_range", "key",
                         key_of(node, ""), "range_end", end_of(node), "limit", "1",
                         "sort_order", "DESCEND", "sort_target", "MOD", "keys_only", 1));
}

json_t *etcd_txn_new(const hami_call *call)
{
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);
    const char *node = hami_call_node(call);
    const char *version = hami_call_version(call);
    json_t *compares = json_array();
    json_t *success = json_array();
    json_t *failure = json_array();
    bool changes = false;
    bool whole = !version || add(compares, compare_version(node, version));
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action != HAMI_EDIT_READ) {
            whole &= add(compares, compare(node, &edits[i]));
        }
        if (edits[i].action == HAMI_EDIT_PUT) {
            whole &= add(success, change(node, edits[i].key, edits[i].value));
            changes = true;
        }
    }
    whole &= !changes || add(success, change(node, "", ""));
    whole &= add_reads(success, node, edits, count);
    whole &= add_reads(failure, node, edits, count);
    json_t *txn = json_pack("{s:o, s:o, s:o}", "compare", compares, "success", success,
                            "failure", failure);
    if (!whole) {
        json_decref(txn);
        txn = NULL;
    }
    return txn;
}

/* ---- the answer ---- */

static const json_t *kept(const json_t *responses, size_t index)
{
    const json_t *range =
        json_object_get(json_array_get(responses, index), "response_range");
    return range ? json_array_get(json_object_get(range, "kvs"), 0) : NULL;
}

static int read_values(const json_t *responses, size_t count, struct etcd_values *ret)
{
    size_t first = json_array_size(responses) - count - 1;
    ret->texts = calloc(count, sizeof(*ret->texts));
    if (!ret->texts) {
        return HAMI_E_NOMEM;
    }
    ret->count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = kept(responses, first + i);
        const char *value = json_string_value(json_object_get(pair, "value"));
        /* An empty value is left out of the answer, an absent key has no pair. */
        ret->texts[i] = pair ? decoded(value ? value : "") : NULL;
        if (pair && !ret->texts[i]) {
            return HAMI_E_PROTO;
        }
    }
    const char *revision = json_string_value(
        json_object_get(kept(responses, first + count), "mod_revision"));
    snprintf(ret->version, sizeof(ret->version), "%s", revision ? revision : "0");
    return 0;
}

static int judge(int status, const json_t *responses, size_t count)
{
    if (status == 401 || status == 403) {
        return HAMI_E_ACCESS;
    }
    if (status >= 500) {
        return HAMI_E_IN_DOUBT; /* etcd may carry out what it gave up waiting for */
    }
    return status == 200 && json_array_size(responses) > count ? 0 : HAMI_E_PROTO;
}

void etcd_txn_answer(const hami_call *call, int status, const json_t *body,
                     struct etcd_values *values, struct hami_transport_result *ret)
{
    size_t count;
    const json_t *responses = json_object_get(body, "responses");
    bool refused = !json_is_true(json_object_get(body, "succeeded"));
    (void)hami_call_edits(call, &count);
    ret->status = status;
    ret->code = judge(status, responses, count);
    if (ret->code != 0) {
        return;
    }
    ret->code = refused ? HAMI_E_HELD : 0;
    if (read_values(responses, count, values) == 0) {
        ret->values = (const char *const *)values->texts;
        ret->value_count = values->count;
        ret->version = values->version;
    } else if (!refused) {
        ret->code = HAMI_E_PROTO;
    }
}

void etcd_values_done(struct etcd_values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        free(values->texts[i]);
    }
    free(values->texts);
    memset(values, 0, sizeof(*values));
}

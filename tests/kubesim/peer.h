/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server as a plain HTTP client sees it, for tests: libcurl and nothing of ours.
 * It is a kubesim, or the server of a kubeconfig. One thread at a time per peer.
 */
#ifndef KUBESIM_PEER_H
#define KUBESIM_PEER_H

#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "kubesim.h"

#define JSON_TYPE "application/json"
#define JSON_PATCH "application/json-patch+json"
#define MERGE_PATCH "application/merge-patch+json"
#define METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
#define METADATA_LIST "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

struct peer {
    char *url, *ca_pem, *token, *certificate_pem, *key_pem;
    long http_version; /* CURL_HTTP_VERSION_... */
    CURL *easy;        /* reused: one connection is kept alive */
};

struct reply {
    CURLcode result; /* CURLE_OK, or why there is no whole answer */
    long code;
    long http_version;
    long retry_after; /* -1: no such header */
    char content_type[128];
    char date[64];
    char *body;
    size_t length;
    json_t *json; /* NULL: no JSON, or several values (a watch) */
};

/* One request of several that are sent at the same time. */
struct shot {
    const char *method, *path, *content_type, *body;
    struct reply reply;
};

/* Point it at a running kubesim, as USER (its token). */
void peer_open_sim(struct peer *peer, const struct kubesim *sim, const char *user);
/* Point it at the current context of a kubeconfig. False: it can't be read. */
bool peer_open_kubeconfig(struct peer *peer, const char *path);
void peer_close(struct peer *peer);

/* CONTENT_TYPE, BODY and ACCEPT may be NULL. Waits at most 20 s. */
struct reply peer_send(struct peer *peer, const char *method, const char *path,
                       const char *content_type, const char *body, const char *accept);
/* All of them at once, over one HTTP/2 connection. */
void peer_send_all(struct peer *peer, struct shot *shots, size_t count);
void reply_clear(struct reply *reply);
/* A handle that is set up for the peer, for tests that need more of libcurl. */
CURL *peer_handle(const struct peer *peer);
/* Watch PATH until COUNT events have come or the server ended it; a new array of them. */
json_t *peer_watch(struct peer *peer, const char *path, const char *accept, size_t count);

/* The string at a JSON pointer of the reply, "" when absent (borrowed). */
const char *reply_text(const struct reply *reply, const char *pointer);
const char *json_text_at(json_t *value, const char *pointer);

#endif

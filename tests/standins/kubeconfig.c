/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the current context of a kubeconfig with libyaml. One thread at a time; once
 * read, a configuration is never changed and may be used by any thread.
 */
#include "kubeconfig.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static yaml_node_t *member(yaml_document_t *document, yaml_node_t *map, const char *name)
{
    if (map == NULL || map->type != YAML_MAPPING_NODE) {
        return NULL;
    }
    yaml_node_pair_t *pair = map->data.mapping.pairs.start;
    for (; pair < map->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(document, pair->key);
        if (key != NULL && key->type == YAML_SCALAR_NODE &&
            strcmp((const char *)key->data.scalar.value, name) == 0) {
            return yaml_document_get_node(document, pair->value);
        }
    }
    return NULL;
}

static const char *text(yaml_document_t *document, yaml_node_t *map, const char *name)
{
    yaml_node_t *node = member(document, map, name);
    if (node == NULL || node->type != YAML_SCALAR_NODE || node->data.scalar.length == 0) {
        return NULL;
    }
    return (const char *)node->data.scalar.value;
}

/* Of a list like users: the entry called NAME, and of that the map called KIND. */
static yaml_node_t *entry(yaml_document_t *document, const char *list, const char *kind,
                          const char *name)
{
    yaml_node_t *root = yaml_document_get_root_node(document);
    yaml_node_t *sequence = member(document, root, list);
    if (name == NULL || sequence == NULL || sequence->type != YAML_SEQUENCE_NODE) {
        return NULL;
    }
    yaml_node_item_t *item = sequence->data.sequence.items.start;
    for (; item < sequence->data.sequence.items.top; item++) {
        yaml_node_t *node = yaml_document_get_node(document, *item);
        const char *found = text(document, node, "name");
        if (found != NULL && strcmp(found, name) == 0) {
            return member(document, node, kind);
        }
    }
    return NULL;
}

static int read_whole_file(const char *path, struct kubeconfig_text *ret)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    char *bytes = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&bytes, &length);
    char chunk[4096];
    size_t got;
    while (memory != NULL && (got = fread(chunk, 1, sizeof(chunk), file)) > 0) {
        fwrite(chunk, 1, got, memory);
    }
    fclose(file);
    if (memory == NULL || fclose(memory) != 0) {
        free(bytes);
        return -1;
    }
    *ret = (struct kubeconfig_text){bytes, length};
    return 0;
}

static int decode(const char *base64, struct kubeconfig_text *ret)
{
    size_t length = strlen(base64);
    unsigned char *bytes = malloc(length + 1);
    if (bytes == NULL) {
        return -1;
    }
    int decoded = EVP_DecodeBlock(bytes, (const unsigned char *)base64, (int)length);
    if (decoded < 0) {
        free(bytes);
        return -1;
    }
    /* EVP_DecodeBlock counts the padding as zero bytes. */
    for (size_t i = length; i > 0 && base64[i - 1] == '=' && decoded > 0; i--) {
        decoded--;
    }
    bytes[decoded] = '\0';
    *ret = (struct kubeconfig_text){(char *)bytes, (size_t)decoded};
    return 0;
}

/* NAME-data holds it inline, NAME is a file (relative to the kubeconfig's folder). */
static int read_material(struct kubeconfig *config, yaml_document_t *document,
                         yaml_node_t *map, const char *name, const char *folder,
                         struct kubeconfig_text *ret)
{
    char inline_name[64];
    snprintf(inline_name, sizeof(inline_name), "%s-data", name);
    const char *base64 = text(document, map, inline_name);
    const char *file = text(document, map, name);
    char path[4096];
    if (base64 != NULL) {
        if (decode(base64, ret) == 0) {
            return 0;
        }
        snprintf(config->problem, sizeof(config->problem), "%s is not base64",
                 inline_name);
        return -1;
    }
    if (file == NULL) {
        return 0;
    }
    snprintf(path, sizeof(path), "%s%s", file[0] == '/' ? "" : folder, file);
    if (read_whole_file(path, ret) < 0) {
        snprintf(config->problem, sizeof(config->problem), "%s can't be read: %.180s",
                 name, path);
        return -1;
    }
    return 0;
}

static int read_token(struct kubeconfig *config, yaml_document_t *document,
                      yaml_node_t *user)
{
    struct kubeconfig_text from_file = {0};
    const char *token = text(document, user, "token");
    const char *file = text(document, user, "tokenFile");
    if (token == NULL && file != NULL) {
        if (read_whole_file(file, &from_file) < 0) {
            snprintf(config->problem, sizeof(config->problem),
                     "tokenFile can't be read: %.180s", file);
            return -1;
        }
        from_file.bytes[strcspn(from_file.bytes, "\r\n")] = '\0';
        token = from_file.bytes;
    }
    if (token != NULL &&
        asprintf(&config->bearer, "Authorization: Bearer %s", token) < 0) {
        config->bearer = NULL;
    }
    free(from_file.bytes);
    return 0;
}

static int read_context(struct kubeconfig *config, yaml_document_t *document,
                        const char *folder)
{
    yaml_node_t *root = yaml_document_get_root_node(document);
    const char *name = text(document, root, "current-context");
    yaml_node_t *context = entry(document, "contexts", "context", name);
    yaml_node_t *cluster =
        entry(document, "clusters", "cluster", text(document, context, "cluster"));
    yaml_node_t *user = entry(document, "users", "user", text(document, context, "user"));
    const char *server = text(document, cluster, "server");
    if (server == NULL) {
        snprintf(config->problem, sizeof(config->problem),
                 "no server in the current context");
        return -1;
    }
    config->server = strdup(server);
    size_t length = strlen(config->server);
    if (length > 0 && config->server[length - 1] == '/') {
        config->server[length - 1] = '\0';
    }
    if (read_material(config, document, cluster, "certificate-authority", folder,
                      &config->ca) < 0 ||
        read_material(config, document, user, "client-certificate", folder,
                      &config->certificate) < 0 ||
        read_material(config, document, user, "client-key", folder, &config->key) < 0) {
        return -1;
    }
    return read_token(config, document, user);
}

int kubeconfig_read(struct kubeconfig *config, const char *path)
{
    yaml_parser_t parser;
    yaml_document_t document;
    char folder[2048] = "";
    const char *slash = strrchr(path, '/');
    memset(config, 0, sizeof(*config));
    if (slash != NULL) {
        snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path);
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(config->problem, sizeof(config->problem), "can't be read: %m");
        return -1;
    }
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_file(&parser, file);
    int code = -1;
    if (yaml_parser_load(&parser, &document)) {
        code = read_context(config, &document, folder);
        yaml_document_delete(&document);
    } else {
        snprintf(config->problem, sizeof(config->problem), "line %zu: %s",
                 parser.problem_mark.line + 1, parser.problem);
    }
    yaml_parser_delete(&parser);
    fclose(file);
    return code;
}

void kubeconfig_free(struct kubeconfig *config)
{
    free(config->server);
    free(config->ca.bytes);
    free(config->certificate.bytes);
    free(config->key.bytes);
    free(config->bearer);
    memset(config, 0, sizeof(*config));
}

static void set_blob(CURL *handle, CURLoption option, const struct kubeconfig_text *value)
{
    if (value->bytes == NULL) {
        return;
    }
    struct curl_blob blob = {value->bytes, value->length, CURL_BLOB_NOCOPY};
    curl_easy_setopt(handle, option, &blob);
}

void kubeconfig_apply(const struct kubeconfig *config, CURL *handle)
{
    set_blob(handle, CURLOPT_CAINFO_BLOB, &config->ca);
    set_blob(handle, CURLOPT_SSLCERT_BLOB, &config->certificate);
    set_blob(handle, CURLOPT_SSLKEY_BLOB, &config->key);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
}

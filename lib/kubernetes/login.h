/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A login: where the API server is and how to be let in, whatever file or setting said
 * so.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_LOGIN_H
#define HAMI_INTERNAL_KUBERNETES_LOGIN_H

#include <hami/kubernetes.h>

#define HAMI_INTERNAL_LOGIN_TOKEN_MAX 65536u
#define HAMI_INTERNAL_LOGIN_FILE_MAX (1024u * 1024)

/* All texts are new, or NULL. Of each pair at most one is set: a file is read by each new
 * connection (so that a rotated one counts), data is PEM text. */
struct hami_internal_login {
    char *server; /* https://host[:port][/prefix], without a slash at the end */
    char *host;   /* of the server, as in the URL: an IPv6 address has its brackets */
    char *port;
    char *prefix;  /* path before every request's path; "" if none */
    bool is_plain; /* http, on loopback */
    bool is_insecure;
    char *ca_file;
    char *ca_data;
    char *certificate_file;
    char *certificate_data;
    char *key_file;
    char *key_data; /* secret */
    char *token;    /* secret */
    char *token_file;
    char *proxy_url; /* may hold a secret */
    char *tls_server_name;
    char *namespace_name;
    bool allows_exec;                /* said by whoever made the client, not by a file */
    struct hami_internal_exec *exec; /* NULL = none */
    char source[300]; /* for the log: "kubeconfig /home/u/.kube/config, context x" */
};

/* Finds the login that the config asks for. Codes as hami_kubernetes_new(). */
int hami_internal_login_find(const struct hami_kubernetes_config *config,
                             struct hami_internal_login *ret, struct hami_error *reterr);

/* Overwrites and frees what a login holds. Takes a half-filled one. */
void hami_internal_login_done(struct hami_internal_login *login);

/* Takes a server's URL apart into login. @what names it in the error. Returns 0, INVAL,
 * NOMEM. */
int hami_internal_login_set_server(struct hami_internal_login *login, const char *url,
                                   const char *what, struct hami_error *reterr);

/* Checks that certificates, key and token can be used, as far as that can be seen without
 * the server. Returns 0, INVAL, ACCESS, NOMEM. */
int hami_internal_login_check(struct hami_internal_login *login,
                              struct hami_error *reterr);

/* A kubeconfig: `paths` separated by ':'; context NULL = current-context. */
int hami_internal_kubeconfig_login(const char *paths, const char *context,
                                   struct hami_internal_login *ret,
                                   struct hami_error *reterr);

/*
 * Reads a regular file of at most `limit` bytes; the text is new, ended with NUL, and has
 * none inside.
 * @what     names it in the error
 * Returns   0, ACCESS (can't be read), INVAL (too large, not a regular file, NUL inside),
 * NOMEM
 */
int hami_internal_file_read(const char *path, size_t limit, const char *what, char **ret,
                            size_t *ret_length, struct hami_error *reterr);

/* Decodes base64 (blanks and line ends inside are skipped). Returns 0, INVAL, NOMEM. */
int hami_internal_base64_decode(const char *text, char **ret, size_t *ret_length);

/* Trims blanks and line ends, checks that a token can stand in a header. Returns false if
 * not. */
bool hami_internal_token_trim(char *token);

#endif

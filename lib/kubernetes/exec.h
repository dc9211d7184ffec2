/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credential plugins of kubeconfigs (`exec`, client.authentication.k8s.io/v1 and
 * v1beta1): what a kubeconfig says about one, one run of its program, and what it
 * answers. No state.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_EXEC_H
#define HAMI_INTERNAL_KUBERNETES_EXEC_H

#include <hami/kubernetes.h>

#define HAMI_INTERNAL_EXEC_OUTPUT_MAX (256u * 1024)
#define HAMI_INTERNAL_EXEC_WORDS_MAX 256u /* arguments, and likewise variables */

/* All texts are new. */
struct hami_internal_exec {
    char *command;     /* as the kubeconfig has it; a path with '/' is made absolute */
    char **arguments;  /* command first, NULL last */
    char **variables;  /* the process's own as they were, the kubeconfig's, and
                          KUBERNETES_EXEC_INFO, NULL last. Secret */
    char *api_version; /* that is asked for and has to be answered */
    char *install_hint;
};

/* Takes NULL, returns NULL. */
struct hami_internal_exec *hami_internal_exec_free(struct hami_internal_exec *exec);

/* What a plugin gave. All texts are new; NULL = none. Certificate and key come together.
 */
struct hami_internal_exec_credential {
    char *token;       /* secret; can stand in a header */
    char *certificate; /* PEM */
    char *key;         /* PEM; secret */
    bool expires;
    int64_t expires_s; /* seconds since 1970 */
};

void hami_internal_exec_credential_done(struct hami_internal_exec_credential *credential);

/* ---- exec_run.c ----------------------------------------------------------------- */

/*
 * Runs the program in a process group of its own, with nothing to read, its errors thrown
 * away, and waits for its end. Whatever it started is killed with it.
 * @cancel_fd    the run ends as soon as this can be read; -1 = none
 * @ret          what it wrote, ended with NUL; secret
 * Returns       0, or ACCESS (can't be started, ended with another status than 0, was
 *               killed), TIMEDOUT, LIMIT (wrote too much), CANCELED, NOMEM
 */
int hami_internal_exec_run(const struct hami_internal_exec *exec, uint64_t deadline_ns,
                           int cancel_fd, char **ret, size_t *ret_length,
                           struct hami_error *reterr);

/* ---- exec_credential.c ---------------------------------------------------------- */

/*
 * Reads an ExecCredential. Pure. No text of it ever gets into the error.
 * Returns   0, INVAL, NOMEM
 */
int hami_internal_exec_credential_parse(const char *text, size_t length,
                                        const char *api_version,
                                        struct hami_internal_exec_credential *ret,
                                        struct hami_error *reterr);

/* Seconds of an RFC 3339 time; false if it is none. */
bool hami_internal_exec_time(const char *text, int64_t *ret);

#endif

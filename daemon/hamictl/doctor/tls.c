/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who can be sure of whom: on the way from kube-scheduler to hamid, from hamid to HAMi,
 * and to the API server. On loopback plain HTTP is as good.
 */
#include <string.h>
#include <strings.h>

#include "doctor.h"
#include "sources.h"

static bool is_true(const char *flag)
{
    return flag != NULL && strcmp(flag, "false") != 0;
}

/* ---- kube-scheduler's extenders --------------------------------------------------- */

static void check_extender(struct doctor *doctor, const char *from, size_t index,
                           const json_t *extender)
{
    const char *url = source_text(extender, "urlPrefix");
    const json_t *tls = json_object_get(extender, "tlsConfig");
    if (!doctor_is_remote(url)) {
        return;
    }
    if (strncasecmp(url, "https://", 8) != 0) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("%s: extenders[%zu] is reached at %s, in plain HTTP "
                                 "over the network",
                                 from, index, url),
                    json_string("Whoever stands between can bind pods anywhere, and "
                                "read what is scheduled."),
                    json_string("Run hamid as a container of kube-scheduler's pod, on "
                                "127.0.0.1; or serve HTTPS with a client certificate."));
    } else if (json_is_true(json_object_get(tls, "insecure"))) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("%s: extenders[%zu].tlsConfig.insecure is true for %s",
                                 from, index, url),
                    json_string("kube-scheduler verifies no certificate there: whoever "
                                "stands between can bind pods anywhere."),
                    json_sprintf("extenders[%zu].tlsConfig: remove 'insecure: true', add "
                                 "caData, certFile and keyFile.",
                                 index));
    }
}

static void check_extenders(struct doctor *doctor)
{
    size_t i = 0;
    size_t k = 0;
    const json_t *entry = NULL;
    const json_t *extender = NULL;
    json_array_foreach(doctor->configs, i, entry)
    {
        const json_t *extenders =
            json_object_get(json_object_get(entry, "config"), "extenders");
        json_array_foreach(extenders, k, extender)
        {
            check_extender(doctor, source_text(entry, "from"), k, extender);
        }
    }
}

/* ---- hamid's flags ---------------------------------------------------------------- */

static void check_flags(struct doctor *doctor)
{
    const char *filter = doctor_hamid_flag(doctor, "filter-url");
    if (is_true(doctor_hamid_flag(doctor, "insecure-skip-tls-verify"))) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_string("hamid runs with --insecure-skip-tls-verify"),
                    json_string("It verifies no certificate of the API server: whoever "
                                "stands between gets its token and decides about every "
                                "lock."),
                    json_string("Remove that flag; 'certificate-authority' of the "
                                "kubeconfig, or the service account's ca.crt, verifies "
                                "the server."));
    }
    if (filter != NULL && doctor_is_remote(filter) &&
        (strncasecmp(filter, "https://", 8) != 0 ||
         is_true(doctor_hamid_flag(doctor, "filter-insecure")))) {
        doctor_find(
            doctor, SEVERITY_WARNING,
            json_sprintf("hamid passes filter on to %s without verifying it", filter),
            json_string("Whoever stands between decides on which nodes pods "
                        "may run."),
            json_string("Run HAMi's extender in the same pod, on loopback, or "
                        "replace --filter-insecure by --filter-ca-file."));
    }
    if (is_true(doctor_hamid_flag(doctor, "allow-remote")) &&
        doctor_hamid_flag(doctor, "client-ca-file") == NULL) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_string("hamid runs with --allow-remote, and checks no client "
                                "certificate"),
                    json_string("Whoever reaches its port can bind pods anywhere."),
                    json_string("Remove --allow-remote and listen on 127.0.0.1, in "
                                "kube-scheduler's pod; or ask for client certificates by "
                                "--client-ca-file."));
    }
}

/* ---- the login -------------------------------------------------------------------- */

/* The cluster of a name, in the first file that has it, as kubectl merges them. */
static const json_t *find_part(const struct doctor *doctor, const char *list,
                               const char *part, const char *name)
{
    size_t i = 0;
    size_t k = 0;
    const json_t *file = NULL;
    const json_t *entry = NULL;
    json_array_foreach(doctor->kubeconfig, i, file)
    {
        json_array_foreach(json_object_get(file, list), k, entry)
        {
            if (strcmp(source_text(entry, "name"), name) == 0) {
                return json_object_get(entry, part);
            }
        }
    }
    return NULL;
}

static const char *current_context(const struct doctor *doctor)
{
    size_t index = 0;
    const json_t *file = NULL;
    if (doctor->options->context != NULL) {
        return doctor->options->context;
    }
    json_array_foreach(doctor->kubeconfig, index, file)
    {
        const char *name = source_text(file, "current-context");
        if (name[0] != '\0') {
            return name;
        }
    }
    return "";
}

static void check_login(struct doctor *doctor)
{
    const json_t *context =
        find_part(doctor, "contexts", "context", current_context(doctor));
    const char *name = source_text(context, "cluster");
    const json_t *cluster = find_part(doctor, "clusters", "cluster", name);
    if (json_is_true(json_object_get(cluster, "insecure-skip-tls-verify"))) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("the kubeconfig says insecure-skip-tls-verify: true for "
                                 "cluster %s",
                                 name),
                    json_string("No certificate of the API server is verified: whoever "
                                "stands between gets the token that is sent."),
                    json_sprintf("clusters[name=%s].cluster: replace "
                                 "'insecure-skip-tls-verify: true' by "
                                 "'certificate-authority: FILE'.",
                                 name));
    }
}

void doctor_check_tls(struct doctor *doctor)
{
    doctor_begin(doctor, "tls", "what leaves this host is encrypted and verified");
    check_extenders(doctor);
    check_flags(doctor);
    check_login(doctor);
}

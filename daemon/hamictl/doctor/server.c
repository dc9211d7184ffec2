/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server itself, and the ways to it and to hamid: version, clock, admission
 * policies, TLS.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "doctor.h"
#include "sources.h"

#define MINOR_SUPPORTED 24
#define MINOR_POLICIES 30
#define SKEW_MAX_S 60
#define POLICIES "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"

/* ---- URLs ----------------------------------------------------------------------- */

/* Host and port of a URL; false where it has neither. */
static bool take_apart(const char *url, char *host, size_t size, long *ret_port)
{
    bool is_tls = strncasecmp(url, "https://", 8) == 0;
    const char *start = strstr(url, "://");
    start = start != NULL ? start + 3 : url;
    size_t length = start[0] == '[' ? strcspn(start, "]") + 1 : strcspn(start, ":/?#");
    if (length == 0 || length >= size) {
        return false;
    }
    (void)snprintf(host, size, "%.*s", (int)length, start);
    *ret_port = start[length] == ':' ? strtol(start + length + 1, NULL, 10)
                : is_tls             ? 443
                                     : 80;
    return true;
}

static bool is_loopback(const char *host)
{
    struct in_addr address;
    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, &address) == 1 &&
            (ntohl(address.s_addr) >> 24) == 127);
}

bool doctor_is_remote(const char *url)
{
    char host[256];
    long port = 0;
    return take_apart(url, host, sizeof(host), &port) && !is_loopback(host);
}

bool doctor_is_same_place(const char *one, const char *other)
{
    char hosts[2][256];
    long ports[2];
    return take_apart(one, hosts[0], sizeof(hosts[0]), &ports[0]) &&
           take_apart(other, hosts[1], sizeof(hosts[1]), &ports[1]) &&
           ports[0] == ports[1] &&
           (strcasecmp(hosts[0], hosts[1]) == 0 ||
            (is_loopback(hosts[0]) && is_loopback(hosts[1])));
}

/* ---- version and clock ---------------------------------------------------------- */

static void check_version(struct doctor *doctor)
{
    doctor_begin(doctor, "server-version", "the API server is new enough");
    doctor_note(doctor, "1.%u", doctor->minor);
    if (doctor->minor == 0) {
        doctor_skip(doctor, "its version is no number");
    } else if (doctor->minor < MINOR_SUPPORTED) {
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("the API server is version 1.%u", doctor->minor),
                    json_string("hamid is made for 1.24 and later: older servers don't "
                                "refuse a Binding with a stale version, so a lock could "
                                "be taken from a pod that is bound a moment later."),
                    json_string("Upgrade the control plane to 1.24 at least; better to "
                                "1.30, which has admission policies."));
    } else if (doctor->minor < MINOR_POLICIES) {
        doctor_find(
            doctor, SEVERITY_WARNING,
            json_sprintf("the API server is version 1.%u, which has no stable "
                         "ValidatingAdmissionPolicies",
                         doctor->minor),
            json_string("Whoever may write pods or nodes may forge HAMi's annotations."),
            json_string("Upgrade the control plane to 1.30 or later and apply "
                        "deploy/admission/."));
    }
}

static void check_clock(struct doctor *doctor)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct hami_kubernetes_answer *answer = NULL;
    doctor_begin(doctor, "clock", "this machine's clock is the API server's");
    request.path = "/version";
    request.deadline_ns = hami_kubernetes_in_ms(10000);
    int code = hami_kubernetes_request(doctor->client, &request, &answer, NULL);
    if (code != 0 || answer->server_time_us == 0) {
        doctor_skip(doctor, "it told no time");
    } else {
        long long skew =
            (long long)time(NULL) - (long long)(answer->server_time_us / 1000000);
        doctor_note(doctor, "they differ by %lld s", skew < 0 ? -skew : skew);
        if (skew > SKEW_MAX_S || skew < -SKEW_MAX_S) {
            doctor_find(doctor, SEVERITY_ERROR,
                        json_sprintf("this machine's clock is %lld s %s the API "
                                     "server's",
                                     skew < 0 ? -skew : skew,
                                     skew < 0 ? "behind" : "ahead of"),
                        json_string("HAMi's schedulers and plugins go by the time that "
                                    "is written in a lock: behind a wrong clock they "
                                    "take locks that are young, or leave old ones."),
                        json_string("Let both machines follow one time server "
                                    "(chronyc tracking, timedatectl); run doctor where "
                                    "hamid runs."));
        }
    }
    (void)hami_kubernetes_answer_free(answer);
}

void doctor_check_server(struct doctor *doctor)
{
    check_version(doctor);
    check_clock(doctor);
}

/* ---- hamid itself ----------------------------------------------------------------- */

void doctor_check_hamid(struct doctor *doctor)
{
    char error[SOURCE_ERROR_MAX] = "";
    long status = 0;
    doctor_begin(doctor, "hamid-ready", "hamid can serve binds");
    if (doctor->options->hamid.url == NULL) {
        doctor_skip(doctor, "none is named by --hamid");
        return;
    }
    char *text = source_hamid_text(&doctor->options->hamid, "/readyz", &status, error);
    if (text == NULL) {
        doctor_find(doctor, SEVERITY_ERROR, json_sprintf("%s", error),
                    json_string("While hamid is down every bind fails."),
                    json_string("Look at its pod's log, or name another address."));
    } else if (status != 200) {
        text[strcspn(text, "\n")] = '\0';
        doctor_find(doctor, SEVERITY_ERROR,
                    json_sprintf("hamid is not ready: %.300s", text),
                    json_string("While it isn't, binds are refused and pods wait."),
                    json_string("Look at its log, and at the other findings."));
    }
    free(text);
}

/* ---- admission policies --------------------------------------------------------- */

static const json_t *find_named(const json_t *items, const char *name)
{
    size_t index = 0;
    const json_t *item = NULL;
    json_array_foreach(items, index, item)
    {
        if (strcmp(source_text(json_object_get(item, "metadata"), "name"), name) == 0) {
            return item;
        }
    }
    return NULL;
}

static bool is_denying(const json_t *bindings, const char *policy)
{
    size_t i = 0;
    size_t k = 0;
    const json_t *binding = NULL;
    const json_t *action = NULL;
    json_array_foreach(bindings, i, binding)
    {
        const json_t *spec = json_object_get(binding, "spec");
        if (strcmp(source_text(spec, "policyName"), policy) != 0) {
            continue;
        }
        json_array_foreach(json_object_get(spec, "validationActions"), k, action)
        {
            if (json_is_string(action) &&
                strcmp(json_string_value(action), "Deny") == 0) {
                return true;
            }
        }
    }
    return false;
}

static void check_policy(struct doctor *doctor, const json_t *policies,
                         const json_t *bindings, const char *name)
{
    const json_t *policy = find_named(policies, name);
    const json_t *spec = json_object_get(policy, "spec");
    if (policy == NULL) {
        doctor_find(doctor, SEVERITY_WARNING,
                    json_sprintf("ValidatingAdmissionPolicy %s is missing", name),
                    json_string("Whoever may write pods or nodes may forge HAMi's "
                                "annotations: free another pod's lock, or say that "
                                "devices were handed out."),
                    json_string("kubectl apply -f deploy/admission/"));
    } else if (!is_denying(bindings, name)) {
        doctor_find(doctor, SEVERITY_WARNING,
                    json_sprintf("ValidatingAdmissionPolicy %s is bound nowhere with "
                                 "validationActions [Deny]",
                                 name),
                    json_string("A policy without such a binding refuses nothing."),
                    json_sprintf("ValidatingAdmissionPolicyBinding %s: 'policyName: %s' "
                                 "and 'validationActions: [Deny]', as in "
                                 "deploy/admission/.",
                                 name, name));
    } else if (strcmp(source_text(spec, "failurePolicy"), "Ignore") == 0) {
        doctor_find(
            doctor, SEVERITY_WARNING,
            json_sprintf("ValidatingAdmissionPolicy %s has failurePolicy Ignore", name),
            json_string("What it can't judge it lets pass."),
            json_string("'failurePolicy: Fail'."));
    }
}

void doctor_check_policies(struct doctor *doctor)
{
    static const char *const names[] = {"hami-nodelock-nodes", "hami-nodelock-pods",
                                        "hami-nodelock-bindings", "hami-nodelock-leases"};
    char error[SOURCE_ERROR_MAX] = "";
    const char *store = doctor_hamid_flag(doctor, "lock-store");
    bool has_leases = store != NULL && strncmp(store, "lease", 5) == 0;
    doctor_begin(doctor, "admission-policies",
                 "admission policies guard HAMi's annotations");
    if (doctor->minor != 0 && doctor->minor < MINOR_POLICIES) {
        doctor_skip(doctor, "this API server has none");
        return;
    }
    json_t *policies = source_list(doctor->client, POLICIES "ies", true, error);
    json_t *bindings =
        policies != NULL ? source_list(doctor->client, POLICIES "ybindings", true, error)
                         : NULL;
    if (bindings == NULL) {
        doctor_skip(doctor, "%s", error);
    }
    for (size_t i = 0; bindings != NULL && i < (has_leases ? 4 : 3); i++) {
        check_policy(doctor, policies, bindings, names[i]);
    }
    json_decref(policies);
    json_decref(bindings);
}

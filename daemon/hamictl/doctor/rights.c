/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the account that hamid runs as may do: each rule of its role asked for by itself,
 * and a few that it must not have. The API server is the judge, whatever grants them.
 */
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "sources.h"

#define GROUP "authorization.k8s.io"

struct rule {
    const char *verb, *group, *resource, *subresource;
    enum doctor_severity severity; /* of its lack */
    const char *why;
};

#define LOCKS "hamid can neither see nor keep locks: every bind fails."
#define OWNERS "hamid can't look at the pods that hold locks, and no stale lock falls."

static const struct rule scheduler_rules[] = {
    {"get", "", "nodes", NULL, SEVERITY_ERROR, LOCKS},
    {"list", "", "nodes", NULL, SEVERITY_ERROR, LOCKS},
    {"watch", "", "nodes", NULL, SEVERITY_ERROR, LOCKS},
    {"patch", "", "nodes", NULL, SEVERITY_ERROR, LOCKS},
    {"get", "", "pods", NULL, SEVERITY_ERROR, OWNERS},
    {"list", "", "pods", NULL, SEVERITY_ERROR, OWNERS},
    {"watch", "", "pods", NULL, SEVERITY_ERROR, OWNERS},
    {"patch", "", "pods", NULL, SEVERITY_ERROR,
     "hamid can't revoke the binding of a pod that stays unbound: its lock stands for "
     "good."},
    {"create", "", "pods", "binding", SEVERITY_ERROR, "hamid can't bind any pod."},
    {"create", "", "events", NULL, SEVERITY_WARNING,
     "Pods that wait get no event that says for whom."},
    {"patch", "", "events", NULL, SEVERITY_WARNING,
     "Events of one pod are not counted together."},
};

static const struct rule lease_rules[] = {
#define LEASES "hamid can't keep locks in Lease objects: every bind fails."
    {"get", "coordination.k8s.io", "leases", NULL, SEVERITY_ERROR, LEASES},
    {"list", "coordination.k8s.io", "leases", NULL, SEVERITY_ERROR, LEASES},
    {"watch", "coordination.k8s.io", "leases", NULL, SEVERITY_ERROR, LEASES},
    {"create", "coordination.k8s.io", "leases", NULL, SEVERITY_ERROR, LEASES},
    {"patch", "coordination.k8s.io", "leases", NULL, SEVERITY_ERROR, LEASES},
    {"delete", "coordination.k8s.io", "leases", NULL, SEVERITY_ERROR, LEASES},
};

static const struct rule node_rules[] = {
#define SERVES "hamid's node side can't serve Allocate: pods of its node fail to start."
    {"get", "", "nodes", NULL, SEVERITY_ERROR, SERVES},
    {"patch", "", "nodes", NULL, SEVERITY_ERROR, SERVES},
    {"get", "", "pods", NULL, SEVERITY_ERROR, SERVES},
    {"list", "", "pods", NULL, SEVERITY_ERROR, SERVES},
    {"patch", "", "pods", NULL, SEVERITY_ERROR, SERVES},
};

/* With the policies of deploy/admission/ on. */
static const struct rule policy_rules[] = {
    {"schedule", "nodelock.hami.io", "locks", NULL, SEVERITY_ERROR,
     "The admission policies refuse whatever hamid writes: every bind fails."},
};

/* More than it needs, and dangerous in the hands of whoever gets its token. */
static const struct rule excess_rules[] = {
    {"delete", "", "pods", NULL, SEVERITY_WARNING, NULL}, /* the first one: see below */
    {"get", "", "secrets", NULL, SEVERITY_WARNING, NULL},
    {"create", "", "pods", NULL, SEVERITY_WARNING, NULL},
    {"delete", "", "nodes", NULL, SEVERITY_WARNING, NULL},
    {"create", "", "pods", "exec", SEVERITY_WARNING, NULL},
    {"bind", "rbac.authorization.k8s.io", "clusterroles", NULL, SEVERITY_WARNING, NULL},
};

#define COUNT(rules) (sizeof(rules) / sizeof((rules)[0]))

/* Whose rights are asked about. */
struct account {
    struct doctor *doctor;
    char user[400]; /* "" = one's own */
    char groups[2][160];
    const char *lease_namespace;
    bool is_broken; /* the question itself was refused: said once */
};

static void describe(const struct rule *rule, char *buffer, size_t size)
{
    (void)snprintf(buffer, size, "%s %s%s%s%s%s", rule->verb, rule->resource,
                   rule->subresource != NULL ? "/" : "",
                   rule->subresource != NULL ? rule->subresource : "",
                   rule->group[0] != '\0' ? "." : "", rule->group);
}

static json_t *review_of(const struct account *account, const struct rule *rule,
                         const char *namespace_name)
{
    json_t *spec = json_pack("{s:{s:s, s:s, s:s, s:s, s:s*, s:s*}}", "resourceAttributes",
                             "verb", rule->verb, "group", rule->group, "version", "*",
                             "resource", rule->resource, "subresource", rule->subresource,
                             "namespace", namespace_name);
    bool is_self = account->user[0] == '\0';
    if (!is_self) {
        (void)json_object_set_new(spec, "user", json_string(account->user));
        (void)json_object_set_new(spec, "groups",
                                  account->groups[0][0] != '\0'
                                      ? json_pack("[s, s, s]", "system:authenticated",
                                                  account->groups[0], account->groups[1])
                                      : json_pack("[s]", "system:authenticated"));
    }
    return json_pack("{s:s, s:s, s:o}", "apiVersion", GROUP "/v1", "kind",
                     is_self ? "SelfSubjectAccessReview" : "SubjectAccessReview", "spec",
                     spec);
}

/* False where it is not allowed; true, and broken, where nobody could say. */
static bool is_allowed(struct account *account, const struct rule *rule,
                       const char *namespace_name)
{
    char error[SOURCE_ERROR_MAX] = "";
    char path[128];
    int status = 0;
    json_t *review = review_of(account, rule, namespace_name);
    (void)snprintf(path, sizeof(path), "/apis/" GROUP "/v1/%s",
                   account->user[0] == '\0' ? "selfsubjectaccessreviews"
                                            : "subjectaccessreviews");
    json_t *answer = account->is_broken ? NULL
                                        : source_post(account->doctor->client, path,
                                                      review, &status, error);
    const json_t *allowed = json_object_get(json_object_get(answer, "status"), "allowed");
    bool is = !json_is_false(allowed);
    if (allowed == NULL && !account->is_broken) {
        account->is_broken = true;
        doctor_skip(account->doctor, "%s", error[0] != '\0' ? error : "no answer");
    }
    json_decref(review);
    json_decref(answer);
    return is;
}

static const char *name_of(const struct account *account)
{
    return account->user[0] != '\0' ? account->user : "your own account";
}

static void check_rules(struct account *account, const struct rule *rules, size_t count,
                        const char *namespace_name, const char *file)
{
    char text[128];
    for (size_t i = 0; i < count; i++) {
        if (!is_allowed(account, &rules[i], namespace_name)) {
            describe(&rules[i], text, sizeof(text));
            doctor_find(
                account->doctor, rules[i].severity,
                json_sprintf("%s may not %s%s%s", name_of(account), text,
                             namespace_name != NULL ? " in namespace " : "",
                             namespace_name != NULL ? namespace_name : ""),
                json_string(rules[i].why),
                json_sprintf("Apply deploy/%s, or add '- apiGroups: "
                             "[\"%s\"], resources: [%s%s%s], verbs: [%s]' to the "
                             "account's role.",
                             file, rules[i].group, rules[i].resource,
                             rules[i].subresource != NULL ? "/" : "",
                             rules[i].subresource != NULL ? rules[i].subresource : "",
                             rules[i].verb));
        }
    }
}

static void set_account(struct account *account, const char *user)
{
    static const char prefix[] = "system:serviceaccount:";
    size_t length = sizeof(prefix) - 1;
    (void)snprintf(account->user, sizeof(account->user), "%s", user);
    if (strncmp(user, prefix, length) == 0) {
        (void)snprintf(account->groups[0], sizeof(account->groups[0]),
                       "system:serviceaccounts");
        (void)snprintf(account->groups[1], sizeof(account->groups[1]),
                       "system:serviceaccounts:%.*s", (int)strcspn(user + length, ":"),
                       user + length);
    }
}

/* The service account of a pod; "" without one. */
static void account_of(const json_t *pod, char *buffer, size_t size)
{
    const json_t *spec = json_object_get(pod, "spec");
    const char *name = source_text(spec, "serviceAccountName");
    buffer[0] = '\0';
    if (pod != NULL) {
        (void)snprintf(buffer, size, "system:serviceaccount:%s:%s",
                       source_text(json_object_get(pod, "metadata"), "namespace"),
                       name[0] != '\0' ? name : "default");
    }
}

static bool has_policies(struct doctor *doctor)
{
    static const char path[] = "/apis/admissionregistration.k8s.io/v1/"
                               "validatingadmissionpolicies/hami-nodelock-nodes";
    char error[SOURCE_ERROR_MAX];
    int status = 0;
    json_decref(source_get(doctor->client, path, NULL, &status, error));
    return status == 200;
}

static void check_scheduler(struct doctor *doctor, struct account *account)
{
    const char *store = doctor_hamid_flag(doctor, "lock-store");
    const char *where = doctor_hamid_flag(doctor, "lease-namespace");
    doctor_begin(doctor, "scheduler-rights", "hamid scheduler may do what it has to");
    doctor_note(doctor, "as %s", name_of(account));
    check_rules(account, scheduler_rules, COUNT(scheduler_rules), NULL,
                "rbac/scheduler.yaml");
    if (store != NULL && strncmp(store, "lease", 5) == 0) {
        check_rules(account, lease_rules, COUNT(lease_rules),
                    where != NULL ? where : "hami-nodelock",
                    "rbac/scheduler-leases.yaml");
    }
    if (has_policies(doctor)) {
        check_rules(account, policy_rules, COUNT(policy_rules), NULL,
                    "admission/writers.yaml");
    }
}

static void check_excess(struct doctor *doctor, struct account *account)
{
    char text[128];
    doctor_begin(doctor, "excess-rights", "hamid may not do what it need not");
    if (account->user[0] == '\0') {
        doctor_skip(doctor, "hamid's account is not known; name it by --as");
        return;
    }
    /* Beside kube-scheduler in one pod it has that one's account, which preempts. */
    bool preempts = doctor_runs(doctor->hamid_pod, doctor_is_kube_scheduler);
    for (size_t i = preempts ? 1 : 0; i < COUNT(excess_rules) && !account->is_broken;
         i++) {
        if (is_allowed(account, &excess_rules[i], NULL) && !account->is_broken) {
            describe(&excess_rules[i], text, sizeof(text));
            doctor_find(doctor, SEVERITY_WARNING,
                        json_sprintf("%s may %s", name_of(account), text),
                        json_string("Whoever gets hold of its token may do so as well."),
                        json_string("Give hamid the role of deploy/rbac/scheduler.yaml "
                                    "and no other."));
        }
    }
}

void doctor_check_rights(struct doctor *doctor)
{
    char found[400];
    struct account account = {.doctor = doctor};
    struct account node = {.doctor = doctor};
    account_of(doctor->hamid_pod, found, sizeof(found));
    set_account(&account, doctor->options->as != NULL ? doctor->options->as : found);
    check_scheduler(doctor, &account);
    check_excess(doctor, &account);
    if (doctor->hamid_node_pod != NULL) {
        account_of(doctor->hamid_node_pod, found, sizeof(found));
        set_account(&node, found);
        doctor_begin(doctor, "node-rights", "hamid node may do what it has to");
        doctor_note(doctor, "as %s", name_of(&node));
        check_rules(&node, node_rules, COUNT(node_rules), NULL, "rbac/node.yaml");
    }
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl doctor`: facts are gathered first, then each check looks at them and says what
 * it found. A check ends well, finds something, or says why it could not look. Nothing is
 * changed.
 */
#ifndef HAMICTL_DOCTOR_H
#define HAMICTL_DOCTOR_H

#include <stdbool.h>

#include <hami/kubernetes.h>
#include <jansson.h>

#include "command.h"

enum doctor_severity { SEVERITY_INFO = 0, SEVERITY_WARNING, SEVERITY_ERROR };

/* Facts and report. JSON members are owned, NULL where they could not be learned. */
struct doctor {
    const struct options *options;
    hami_kubernetes *client;
    json_t *report; /* array of checks: {"check","title","result","note","findings"} */
    json_t *check;  /* the one that looks just now; borrowed from the report */

    json_t *configs; /* array of {"from","config"}: kube-scheduler's configurations */
    json_t *pods;    /* array of pods that may be hamid's, HAMi's or kube-scheduler's */
    json_t *nodes;   /* array of the metadata of all nodes */
    json_t *kubeconfig;   /* the files that hamictl logged in by: array of mappings */
    char pods_error[256]; /* why there are none */
    char nodes_error[256];
    const json_t *hamid_pod;       /* borrowed from pods */
    const json_t *hamid_container; /* the scheduler's */
    const json_t *hamid_node_pod;  /* a node's side; NULL = none was seen */
    unsigned minor;                /* the API server's 1.MINOR; 0 = not known */
    const char *extender;          /* how kube-scheduler reaches hamid */
};

/* ---- saying what was found ------------------------------------------------------ */

/* Begins a check. @name stable, for programs; @title for people */
void doctor_begin(struct doctor *doctor, const char *name, const char *title);
/* What a check saw that is well; the last one counts. */
void doctor_note(struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The check could not look. */
void doctor_skip(struct doctor *doctor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/*
 * Something is wrong. All three consumed.
 * @what  what is wrong, and where   @why  why it matters   @fix  what to do, to the line
 */
void doctor_find(struct doctor *doctor, enum doctor_severity severity, json_t *what,
                 json_t *why, json_t *fix);

/* ---- gathering ------------------------------------------------------------------ */

/* Reads --scheduler-config and ConfigMaps; what can't be read is found by the check
 * "scheduler-config", which it begins. */
void doctor_read_configs(struct doctor *doctor);
void doctor_read_pods(struct doctor *doctor);
void doctor_read_nodes(struct doctor *doctor);
void doctor_read_kubeconfig(struct doctor *doctor);

/*
 * The value of a flag of hamid's scheduler as its pod has it, "" for one without a value;
 * NULL where it is not given, or no pod was seen.
 */
const char *doctor_hamid_flag(const struct doctor *doctor, const char *name);

/* Likewise the age at which a lock is old, in milliseconds. */
uint64_t doctor_lock_expire_ms(const struct doctor *doctor);
/* hamid's patience in milliseconds, and where it is from; 0 = only its file knows. */
uint64_t doctor_patience_ms(const struct doctor *doctor, const char **ret_from);

/* True if this container runs the role of hamid ("scheduler", "node"). */
bool doctor_is_hamid(const json_t *container, const char *role);
/* True if it runs HAMi's own scheduler extender. */
bool doctor_is_hami_scheduler(const json_t *container);
bool doctor_is_kube_scheduler(const json_t *container);
/* True if one of the pod's containers is it. */
bool doctor_runs(const json_t *pod, bool (*is_it)(const json_t *container));

/* True for http:// on another address than the loopback's; for any scheme: is_remote. */
bool doctor_is_remote(const char *url);
/* True if both URLs name the same host and port. */
bool doctor_is_same_place(const char *one, const char *other);

/* ---- the checks ----------------------------------------------------------------- */

void doctor_check_extenders(struct doctor *doctor); /* kube-scheduler's configuration */
void doctor_check_rights(struct doctor *doctor);
void doctor_check_tls(struct doctor *doctor);
void doctor_check_server(struct doctor *doctor); /* version, clock */
void doctor_check_hamid(struct doctor *doctor);  /* where --hamid names one */
void doctor_check_policies(struct doctor *doctor);
void doctor_check_schedulers(struct doctor *doctor); /* one that binds, plugins */
void doctor_check_locks(struct doctor *doctor);      /* and what nodes say */

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What command line, configuration file and environment of `hamid scheduler` say.
 */
#ifndef HAMID_SCHEDULER_OPTIONS_H
#define HAMID_SCHEDULER_OPTIONS_H

#include "config.h"
#include "login.h"
#include "lock_table.h"

#define OPTIONS_HOSTS_MAX (HAMID_FLAG_LIST_MAX + 5)

struct scheduler_options {
    const char *listen;
    const char *metrics_given;  /* as it was said; NULL = not at all */
    const char *metrics_listen; /* what that comes to; NULL = none */
    const char *address_file;   /* NULL = none */
    bool allow_remote;
    bool metrics_allow_plain;
    const char *tls_cert_file;  /* NULL = plain HTTP */
    const char *tls_key_file;   /* NULL exactly where tls_cert_file is */
    const char *client_ca_file; /* NULL = clients need no certificate */
    struct hamid_flag_list client_names;
    struct hamid_flag_list hosts;
    struct hamid_login login;
    const char *filter_url; /* NULL = none */
    bool filter_insecure;
    const char *filter_ca_file;
    uint64_t filter_timeout_ms;
    uint64_t patience_ms;
    uint64_t hold_limit_ms;
    uint64_t lock_expire_ms;
    bool expire_bound_owners;
    uint64_t stall_limit_ms; /* 0 = none */
    const char *admission;   /* "patience" or "wait" */
    uint64_t waiters_per_node;
    uint64_t waiters_per_namespace; /* 0 = no bound of its own */
    uint64_t overtaken_max;
    uint64_t side_by_side;       /* pods in flight on a node at the most; 0 = one */
    bool lanes;                  /* pods are read for priority and group alone, too */
    uint64_t event_after_ms;     /* 0 = no events */
    bool keeps_leases;           /* locks are kept in Leases, mirrored to the Node */
    const char *lease_namespace; /* NULL without Leases */
    struct hamid_flag_list scheduler_names;
    struct hamid_flag_list managed_resources;
    struct hamid_flag_list lock_choices;
    struct lock_table *locks; /* what the two come to; one reference; NULL on WRONG */
    uint64_t verbosity;
    const char *log_format;
    bool log_json;
    const char *lock_store;
    struct hamid_flag_list
        ignored; /* names of HAMi's flags that were given and mean nothing here */
    struct hamid_config config; /* the table, and where each value is from */
};

/*
 * Reads them all. The environment is HAMI_NODELOCK_EXPIRE.
 * @problems  gets each thing that is wrong
 * Returns    OK, HELP, WRONG; in each case scheduler_options_done() frees
 */
enum hamid_flags_result scheduler_options_read(struct scheduler_options *ret, int argc,
                                               char *const *argv,
                                               struct hamid_problems *problems);

/* May this address be listened on? For --listen, or for the listener of metrics. */
bool scheduler_options_allow(const struct scheduler_options *options, bool is_extender,
                             const char *address);

void scheduler_options_done(struct scheduler_options *options);

/* options_hami.c: rows for flags of HAMi's own that are ignored. */
void scheduler_options_add_hamis(struct hamid_config *config,
                                 struct hamid_flag_list *ignored);

/* The --help text; to be freed. */
char *scheduler_options_help(void);

#endif

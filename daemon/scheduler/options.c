/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `hamid scheduler`: their table, their defaults, and what must fit
 * together.
 *
 * hamid stands where HAMi's scheduler extender stood: its flag names are aliases where
 * hamid has the same thing, and the others (device resource names, policies, its client's
 * rate) are taken and ignored, so that a deployment can be switched over by its image
 * alone.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

#include "http/server.h"

#define MINUTE_MS 60000u
#define EXPIRE_DEFAULT_MS (5 * MINUTE_MS)

#define METRICS_LISTEN_DEFAULT "127.0.0.1:9397"
#define LEASE_NAMESPACE_DEFAULT "hami-nodelock"

static void add_places(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"listen", "http_bind", HAMID_FLAG_TEXT, &o->listen, "HOST:PORT",
         "Where the extender's verbs are served. Default 127.0.0.1:8080. Port 0 takes a "
         "free one. Beyond the loopback it wants --tls-cert-file and --client-ca-file.",
         0, 0, NULL},
        {"metrics-listen", NULL, HAMID_FLAG_TEXT, &o->metrics_given, "HOST:PORT",
         "A second listener: the status page, its API, metrics and probes; none of them "
         "changes anything. Beyond the loopback, where whoever reaches it reads names of "
         "nodes and pods, it wants --tls-cert-file. 'none' opens none. "
         "Default " METRICS_LISTEN_DEFAULT ", or a free port where --listen has port 0.",
         0, 0, NULL},
        {"address-file", NULL, HAMID_FLAG_TEXT, &o->address_file, "FILE",
         "Receives the bound addresses, one a line, when all listeners are open.", 0, 0,
         NULL},
        {"allow-remote", NULL, HAMID_FLAG_BOOLEAN, &o->allow_remote, NULL,
         "Let --listen be an address beyond the loopback without checking who calls. "
         "Whoever reaches it can bind pods: something else must keep strangers out.",
         0, 0, NULL},
        {"metrics-allow-plain", NULL, HAMID_FLAG_BOOLEAN, &o->metrics_allow_plain, NULL,
         "Let --metrics-listen be an address beyond the loopback without TLS.", 0, 0,
         NULL},
        {"host", NULL, HAMID_FLAG_LIST, &o->hosts, "NAME",
         "A further name that requests may have in their Host header.", 0, 0, NULL},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
    hamid_login_add(table, &o->login);
}

static void add_tls(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"tls-cert-file", "cert_file", HAMID_FLAG_TEXT, &o->tls_cert_file, "FILE",
         "PEM file with the certificate that both listeners show, and those between it "
         "and its authority. They speak HTTPS then, TLS 1.2 and later. Read again when "
         "it changes.",
         0, 0, NULL},
        {"tls-key-file", "key_file", HAMID_FLAG_TEXT, &o->tls_key_file, "FILE",
         "PEM file with its private key.", 0, 0, NULL},
        {"client-ca-file", NULL, HAMID_FLAG_TEXT, &o->client_ca_file, "FILE",
         "PEM file with authorities. Callers of --listen must have a certificate of one "
         "of them.",
         0, 0, NULL},
        {"client-name", NULL, HAMID_FLAG_LIST, &o->client_names, "NAME",
         "Serve only callers whose certificate has this common name, such as "
         "system:kube-scheduler. Give it where the authority signs for others as well.",
         0, 0, NULL},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

static void add_filter(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"filter-url", NULL, HAMID_FLAG_TEXT, &o->filter_url, "URL",
         "An extender (HAMi's) that filter, prioritize and preempt are passed on to, "
         "unread; its "
         "urlPrefix.",
         0, 0, NULL},
        {"filter-insecure", NULL, HAMID_FLAG_BOOLEAN, &o->filter_insecure, NULL,
         "Do not verify that extender's certificate: HAMi's chart makes one that signs "
         "itself.",
         0, 0, NULL},
        {"filter-ca-file", NULL, HAMID_FLAG_TEXT, &o->filter_ca_file, "FILE",
         "PEM file that verifies that extender's certificate.", 0, 0, NULL},
        {"filter-timeout", NULL, HAMID_FLAG_DURATION, &o->filter_timeout_ms, "TIME",
         "How long one passed-on request may take. Default 30s.", 1, 3600000, NULL},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

static void add_limits(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"patience", NULL, HAMID_FLAG_DURATION, &o->patience_ms, "TIME",
         "The extender's httpTimeout in kube-scheduler's configuration: each bind is "
         "answered a "
         "little before it is over. Default 30s; minutes are better.",
         100, 24 * 3600000ull, NULL, NULL, NULL, HAMID_FLAG_RELOADABLE},
        {"hold-limit", NULL, HAMID_FLAG_DURATION, &o->hold_limit_ms, "TIME",
         "How long a lock's owner may stay unbound before its Binding is revoked and the "
         "lock is taken; and how long hamid waits for the answer to one, 2s at least. "
         "Default 15s.",
         1, 600000, NULL},
        {"lock-expire", "node-lock-timeout", HAMID_FLAG_DURATION, &o->lock_expire_ms,
         "TIME",
         "Age at which a lock falls whose owner can't be judged otherwise. Default 5m, "
         "or what "
         "HAMI_NODELOCK_EXPIRE says.",
         1000, 7 * 24 * 3600000ull, NULL, NULL, "HAMI_NODELOCK_EXPIRE"},
        {"expire-bound-owners", NULL, HAMID_FLAG_BOOLEAN, &o->expire_bound_owners, NULL,
         "Also take a lock of that age from a pod that is bound and still waits for "
         "Allocate. Two "
         "pods can get one another's devices by that; without it such a pod is an alarm.",
         0, 0, NULL},
        {"stall-limit", NULL, HAMID_FLAG_DURATION, &o->stall_limit_ms, "TIME",
         "Waiters behind a holder that stands this long without progress are answered at "
         "once. "
         "0 lets them wait. Default 5s.",
         0, 3600000, NULL},
        {"event-after", NULL, HAMID_FLAG_DURATION, &o->event_after_ms, "TIME",
         "A pod that has waited this long for its turn gets an Event that says for whom. "
         "0 writes none. Default 30s.",
         0, 3600000, NULL},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

static void add_queue(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"admission", NULL, HAMID_FLAG_TEXT, &o->admission, "patience|wait",
         "What happens to a bind whose turn can't come within --patience, by the "
         "measured "
         "pace of its node: answered at once, with its position and the expected time, "
         "or "
         "left to wait all the same. Its place is kept for the next try either way. "
         "Default patience.",
         0, 0, NULL, "patience|wait"},
        {"waiters-per-node", NULL, HAMID_FLAG_NUMBER, &o->waiters_per_node, "N",
         "Binds that may wait for one node. Default 20000.", 1, 1000000, NULL},
        {"waiters-per-namespace", NULL, HAMID_FLAG_NUMBER, &o->waiters_per_namespace, "N",
         "Binds of one namespace that may wait for one node, so that no namespace shuts "
         "out the others. 0 sets no bound of its own. Default 10000.",
         0, 1000000, NULL},
        {"overtaken-max", NULL, HAMID_FLAG_NUMBER, &o->overtaken_max, "N",
         "How often one bind may be overtaken by pods that came later and have a higher "
         "priority, or join their pod group. Default 4.",
         1, 1000000, NULL},
        {"side-by-side", NULL, HAMID_FLAG_NUMBER, &o->side_by_side, "N",
         "Let up to N pods of a node be between bind and Allocate at the same time, "
         "where "
         "no two of them can be taken for one another: each asks for other counts of "
         "devices, or for other resources. Equal pods still take turns. It counts on "
         "nodes whose 'hamid node' runs with --side-by-side, wants --scheduler-name, and "
         "locks that are kept on the Node. 0 is off. Default 0.",
         0, HAMI_NODELOCK_SIDE_BY_SIDE_MAX, NULL},
        {"lanes", NULL, HAMID_FLAG_BOOLEAN, &o->lanes, NULL,
         "Read each pod before it queues, for its priority and pod group: one read a "
         "bind. "
         "With --scheduler-name or --managed-resource pods are read anyway, and both "
         "count "
         "without this.",
         0, 0, NULL},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

static void add_store(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"lock-store", NULL, HAMID_FLAG_TEXT, &o->lock_store, "annotation|lease+mirror",
         "Where locks are kept: on the Node; or in a Lease object a node and, for the "
         "device plugins that read and remove them, on the Node as well. All schedulers "
         "must say the same. Default annotation.",
         0, 0, NULL, "annotation|lease+mirror"},
        {"lease-namespace", NULL, HAMID_FLAG_TEXT, &o->lease_namespace, "NAME",
         "The namespace of the Leases; it must exist, and be used for nothing else. "
         "Default " LEASE_NAMESPACE_DEFAULT ".",
         0, 0, NULL},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

static void add_rest(struct hamid_config *table, struct scheduler_options *o)
{
    const struct hamid_flag rows[] = {
        {"scheduler-name", NULL, HAMID_FLAG_LIST, &o->scheduler_names, "NAME",
         "Serve only pods of this schedulerName, and watch them.", 0, 0, NULL},
        {"managed-resource", NULL, HAMID_FLAG_LIST, &o->managed_resources, "NAME",
         "Serve only pods that ask for this resource, such as nvidia.com/gpu. It must "
         "have a lock, or be exempt on purpose: see --lock.",
         0, 0, NULL, NULL, NULL, HAMID_FLAG_RELOADABLE},
        {"lock", NULL, HAMID_FLAG_PAIRS, &o->lock_choices, "RESOURCE=KEY|exempt",
         "Which lock a pod needs that asks for this resource: an annotation key, or "
         "none. "
         "RESOURCE may end with '*'. HAMi's vendors are known: " HAMI_NODELOCK_KEY
         " for those that lock, " HAMI_NODELOCK_CAMBRICON_KEY " for Cambricon.",
         0, 0, NULL, NULL, NULL, HAMID_FLAG_RELOADABLE},
        {"v", NULL, HAMID_FLAG_NUMBER, &o->verbosity, "N",
         "How much is logged: 0 little, 2 each bind (default), 3 its steps, 4 debug, 5 "
         "trace.",
         0, 10, NULL, NULL, NULL, HAMID_FLAG_RELOADABLE},
        {"logging-format", NULL, HAMID_FLAG_TEXT, &o->log_format, "text|json",
         "How log lines look. Default text.", 0, 0, NULL, "text|json"},
    };
    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

static void set_defaults(struct scheduler_options *options)
{
    memset(options, 0, sizeof(*options));
    options->listen = "127.0.0.1:8080";
    options->filter_timeout_ms = 30000;
    options->patience_ms = 30000;
    options->hold_limit_ms = 15000;
    options->lock_expire_ms = EXPIRE_DEFAULT_MS;
    options->stall_limit_ms = 5000;
    options->event_after_ms = 30000;
    options->admission = "patience";
    options->waiters_per_node = 20000;
    options->waiters_per_namespace = 10000;
    options->overtaken_max = HAMI_NODELOCK_OVERTAKEN;
    hamid_login_init(&options->login);
    options->verbosity = 2;
    options->log_format = "text";
    options->lock_store = "annotation";
}

static void fill_table(struct scheduler_options *o)
{
    const struct hamid_command command = {
        .name = "hamid scheduler",
        .usage = "[flags]",
        .summary =
            "Serves kube-scheduler's extender verbs: binds pods one at a time per node "
            "under "
            "HAMi's node lock, lets the others wait in the order of their arrival, and "
            "passes filter on to HAMi.",
        .closing = "HAMi's other flags (vendor resource names, policies, client rates) "
                   "are accepted and "
                   "ignored.\n'hamictl locks' shows who holds a node and who waits.",
    };
    hamid_config_begin(&o->config, &command);
    add_places(&o->config, o);
    add_tls(&o->config, o);
    add_filter(&o->config, o);
    add_limits(&o->config, o);
    add_queue(&o->config, o);
    add_store(&o->config, o);
    add_rest(&o->config, o);
    scheduler_options_add_hamis(&o->config, &o->ignored);
}

/* ---- what must fit together ----------------------------------------------------- */

#define LABEL "abcdefghijklmnopqrstuvwxyz0123456789-"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define PLACE(options, member, buffer)                                                   \
    hamid_config_place(&(options)->config, &(options)->member, buffer, sizeof(buffer))

static void check_store(struct scheduler_options *options,
                        struct hamid_problems *problems)
{
    char place[512];
    options->keeps_leases = strcmp(options->lock_store, "lease+mirror") == 0;
    if (!options->keeps_leases && options->lease_namespace != NULL) {
        hamid_problems_add(problems, "%s: means nothing without lock-store lease+mirror",
                           PLACE(options, lease_namespace, place));
    }
    if (options->keeps_leases && options->lease_namespace == NULL) {
        options->lease_namespace = LEASE_NAMESPACE_DEFAULT;
    }
}

static void check_side_by_side(const struct scheduler_options *options,
                               struct hamid_problems *problems)
{
    char place[512];
    if (options->side_by_side == 0) {
        return;
    }
    if (options->scheduler_names.count == 0) {
        hamid_problems_add(problems,
                           "%s: wants scheduler-name as well, the schedulerName of the "
                           "pods that are bound here: their watch tells when one of "
                           "several has its devices",
                           PLACE(options, side_by_side, place));
    }
    if (options->keeps_leases) {
        hamid_problems_add(problems,
                           "%s: wants lock-store annotation: what a node side can do is "
                           "said on the Node, where lease+mirror does not look",
                           PLACE(options, side_by_side, place));
    }
}

static void make_locks(struct scheduler_options *options, struct hamid_problems *problems)
{
    const struct hamid_flag_list *wrong = NULL;
    char error[HAMID_FLAG_ERROR_MAX] = "";
    char place[512];
    options->locks = lock_table_new(&options->lock_choices, &options->managed_resources,
                                    error, &wrong);
    if (options->locks == NULL) {
        (void)hamid_config_place(&options->config, wrong, place, sizeof(place));
        hamid_problems_add(problems, "%s: %s", place, error);
    }
}

/* Several on one machine, each with a free port, must not meet at the default one. */
static void settle_metrics_listen(struct scheduler_options *options)
{
    size_t length = strlen(options->listen);
    bool takes_any_port = length >= 2 && strcmp(options->listen + length - 2, ":0") == 0;
    options->metrics_listen = options->metrics_given;
    if (options->metrics_listen == NULL) {
        options->metrics_listen = takes_any_port ? "127.0.0.1:0" : METRICS_LISTEN_DEFAULT;
    }
    if (strcmp(options->metrics_listen, "none") == 0) {
        options->metrics_listen = NULL;
    }
}

static void check_tls(const struct scheduler_options *options,
                      struct hamid_problems *problems)
{
    char place[512];
    if (options->tls_cert_file != NULL && options->tls_key_file == NULL) {
        hamid_problems_add(problems, "%s: wants tls-key-file as well",
                           PLACE(options, tls_cert_file, place));
    }
    if (options->tls_cert_file == NULL && options->tls_key_file != NULL) {
        hamid_problems_add(problems, "%s: wants tls-cert-file as well",
                           PLACE(options, tls_key_file, place));
    }
    if (options->client_ca_file != NULL && options->tls_cert_file == NULL) {
        hamid_problems_add(problems, "%s: means nothing without tls-cert-file",
                           PLACE(options, client_ca_file, place));
    }
    if (options->client_names.count > 0 && options->client_ca_file == NULL) {
        hamid_problems_add(problems, "%s: means nothing without client-ca-file",
                           PLACE(options, client_names, place));
    }
}

bool scheduler_options_allow(const struct scheduler_options *options, bool is_extender,
                             const char *address)
{
    if (hamid_http_is_loopback(address)) {
        return true;
    }
    return is_extender ? options->client_ca_file != NULL || options->allow_remote
                       : options->tls_cert_file != NULL || options->metrics_allow_plain;
}

static void check_listeners(const struct scheduler_options *options,
                            struct hamid_problems *problems)
{
    char place[512];
    if (!scheduler_options_allow(options, true, options->listen)) {
        hamid_problems_add(
            problems,
            "%s: '%.128s' is no loopback address such as 127.0.0.1:8080; beyond it give "
            "--tls-cert-file, --tls-key-file and --client-ca-file, or --allow-remote "
            "where something else keeps strangers out",
            PLACE(options, listen, place), options->listen);
    }
    if (options->metrics_listen != NULL &&
        !scheduler_options_allow(options, false, options->metrics_listen)) {
        hamid_problems_add(
            problems,
            "%s: '%.128s' is no loopback address such as 127.0.0.1:9397; beyond it give "
            "--tls-cert-file and --tls-key-file, or --metrics-allow-plain",
            PLACE(options, metrics_given, place), options->metrics_listen);
    }
}

static void check_places(const struct scheduler_options *options,
                         struct hamid_problems *problems)
{
    const char *url = options->filter_url;
    char place[512];
    if (url != NULL && strncmp(url, "http://", 7) != 0 &&
        strncmp(url, "https://", 8) != 0) {
        hamid_problems_add(problems,
                           "%s: '%.128s' begins with neither http:// nor https://",
                           PLACE(options, filter_url, place), url);
    } else if (url != NULL && strchr(url, '@') != NULL) {
        hamid_problems_add(problems, "%s: has a user or password, or another '@' in it",
                           PLACE(options, filter_url, place));
    } else if (url != NULL && strpbrk(url, "?# ") != NULL) {
        hamid_problems_add(problems,
                           "%s: '%.128s' has a query, a fragment or a space: the verbs' "
                           "names go behind it",
                           PLACE(options, filter_url, place), url);
    }
}

/* Up to `most` characters, all of those allowed. */
static bool is_made_of(const char *text, const char *allowed, size_t most)
{
    size_t length = strlen(text);
    return length > 0 && length <= most && strspn(text, allowed) == length;
}

static void check_list(const struct scheduler_options *options,
                       const struct hamid_flag_list *list, const char *allowed,
                       const char *what, struct hamid_problems *problems)
{
    char place[512];
    for (size_t i = 0; i < list->count; i++) {
        if (!is_made_of(list->values[i], allowed, 253)) {
            (void)hamid_config_place(&options->config, list, place, sizeof(place));
            hamid_problems_add(problems, "%s: '%.128s' is no %s", place, list->values[i],
                               what);
        }
    }
}

/* What the API server or a request can't be called would be told late, or never match. */
static void check_names(const struct scheduler_options *options,
                        struct hamid_problems *problems)
{
    const char *namespace_name = options->lease_namespace;
    char place[512];
    if (options->scheduler_names.count > 16) {
        hamid_problems_add(problems, "%s: given more than 16 times",
                           PLACE(options, scheduler_names, place));
    }
    check_list(options, &options->scheduler_names, LETTERS LABEL "._", "schedulerName",
               problems);
    check_list(options, &options->hosts, LETTERS LABEL "._:", "host, without a port",
               problems);
    if (namespace_name != NULL &&
        (!is_made_of(namespace_name, LABEL, 63) || namespace_name[0] == '-' ||
         namespace_name[strlen(namespace_name) - 1] == '-')) {
        hamid_problems_add(problems, "%s: '%.128s' is no namespace's name",
                           PLACE(options, lease_namespace, place), namespace_name);
    }
}

/* ---- public --------------------------------------------------------------------- */

enum hamid_flags_result scheduler_options_read(struct scheduler_options *ret, int argc,
                                               char *const *argv,
                                               struct hamid_problems *problems)
{
    set_defaults(ret);
    fill_table(ret);
    if (hamid_config_read(&ret->config, argc, argv, problems) == HAMID_FLAGS_HELP) {
        return HAMID_FLAGS_HELP;
    }
    if (ret->login.kubeconfig != NULL && *ret->login.kubeconfig == '\0') {
        ret->login.kubeconfig = NULL;
    }
    ret->log_json = strcmp(ret->log_format, "json") == 0;
    settle_metrics_listen(ret);
    check_store(ret, problems);
    check_side_by_side(ret, problems);
    check_tls(ret, problems);
    check_listeners(ret, problems);
    check_places(ret, problems);
    check_names(ret, problems);
    make_locks(ret, problems);
    return problems->count == 0 ? HAMID_FLAGS_OK : HAMID_FLAGS_WRONG;
}

void scheduler_options_done(struct scheduler_options *options)
{
    options->locks = lock_table_unref(options->locks);
    hamid_config_done(&options->config);
}

char *scheduler_options_help(void)
{
    static struct scheduler_options options;
    set_defaults(&options);
    fill_table(&options);
    return hamid_flags_help(&options.config.command);
}

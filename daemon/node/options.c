/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `hamid node`: their table, their defaults, and what must fit together.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>

/* As daemon/kubelet has it, which is not there in every build. */
#define HAMID_NODE_POD_RESOURCES "/var/lib/kubelet/pod-resources/kubelet.sock"

#define HAMID_NODE_KUBELET_PLUGINS "/var/lib/kubelet/device-plugins"

static const char summary[] = "The node's side of HAMi's lock. Device plugins ask it, "
                              "over a unix socket, for which pod the "
                              "kubelet's Allocate call is (the call itself does not "
                              "say), and tell it when the devices are "
                              "handed out; it then marks the pod and frees the lock of "
                              "the node, each by one guarded write.";

static const char closing[] =
    "A device plugin's Allocate, by hand:\n"
    "  curl --unix-socket /run/hamid/agent.sock http://hamid/v1/allocations \\\n"
    "       -d '{\"resource\":\"nvidia.com/gpu\",\"containers\":[[\"GPU-0fc3-0\"]]}'\n"
    "  answers the allocation's id, the pod and its devices. Then, with that id:\n"
    "  curl --unix-socket /run/hamid/agent.sock -X POST "
    "http://hamid/v1/allocations/ID/done -d '{}'\n"
    "  or .../ID/failed -d '{\"reason\":\"no such device\"}'.\n"
    "Its service account needs: pods list, get, patch; nodes get, patch; events "
    "create.\n";

/* Node, socket and API server. */
static void add_own(struct hamid_config *table, struct node_options *o)
{
    const struct hamid_flag rows[] = {
        {"node", NULL, HAMID_FLAG_TEXT, &o->node, "NAME",
         "The Node object that this agent serves. Default: the variable NODE_NAME.", 0, 0,
         NULL, NULL, "NODE_NAME"},
        {"socket", NULL, HAMID_FLAG_TEXT, &o->socket, "PATH",
         "The unix socket for device plugins; made with mode 0600, for this user and "
         "root. Default "
         "/run/hamid/agent.sock.",
         0, 0, NULL},
    };

    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
    hamid_login_add(table, &o->login);
}

/* Device plugins, and whom they are served for. */
static void add_allocations(struct hamid_config *table, struct node_options *o)
{
    const struct hamid_flag rows[] = {
        {"allocate-timeout", NULL, HAMID_FLAG_DURATION, &o->allocate_timeout_ms, "TIME",
         "How long one request of a device plugin may take. The kubelet starts no other "
         "pod "
         "meanwhile. Default 2s.",
         50, 60000, NULL},
        {"allocation-lifetime", NULL, HAMID_FLAG_DURATION, &o->allocation_lifetime_ms,
         "TIME",
         "How long an allocation waits for done or failed before it is forgotten; "
         "nothing is "
         "written then, and the lock stays with the pod. Default 1m.",
         1000, 3600000, NULL},
        {"require-fence", NULL, HAMID_FLAG_BOOLEAN, &o->require_fence, NULL,
         "Refuse pods whose lock has no lease of its own, as locks of HAMi's own "
         "scheduler have "
         "none.",
         0, 0, NULL},
        {"free", NULL, HAMID_FLAG_TEXT, &o->free, "node|scheduler",
         "Who frees the lock of a pod that is served. node: this agent, by a write of "
         "its "
         "own. scheduler: hamid scheduler, which sees the success on the pod and passes "
         "the lock on; one write less for each pod. It is written onto the Node object, "
         "and each lock says which way it was granted. Default node.",
         0, 0, NULL, "node|scheduler"},
        {"side-by-side", NULL, HAMID_FLAG_BOOLEAN, &o->side_by_side, NULL,
         "Let hamid scheduler bind pods whose containers ask for different counts or "
         "resources at the same time: an Allocate of the one can't be taken for the "
         "other's. Needs --free scheduler, and that no plugin on this node goes by the "
         "lock's name, as HAMi's does.",
         0, 0, NULL},
        {"key", NULL, HAMID_FLAG_TEXT, &o->key, "KEY",
         "The lock's annotation key; the same as on the scheduler's side. "
         "Default " HAMI_NODELOCK_KEY ".",
         0, 0, NULL},
        {"vendor", NULL, HAMID_FLAG_PAIRS, &o->vendor_list, "RESOURCE=ANNOTATION",
         "Which pod annotation holds the devices of a resource; may be given more than "
         "once. Default "
         "nvidia.com/gpu=hami.io/vgpu-devices-to-allocate.",
         0, 0, NULL},
    };

    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

#ifdef HAMID_WITH_KUBELET
/* What has to do with the kubelet. */
static void add_kubelet(struct hamid_config *table, struct node_options *o)
{
    const struct hamid_flag rows[] = {
        {"pod-resources", NULL, HAMID_FLAG_TEXT, &o->pod_resources, "PATH",
         "The kubelet's PodResources socket, by which each Allocate is checked. Where "
         "this "
         "is given, "
         "an Allocate is refused while it can't be read; an empty PATH turns the checks "
         "off. "
         "Default " HAMID_NODE_POD_RESOURCES
         ", and to go on without where it is not there.",
         0, 0, &o->is_pod_resources_given},
#ifdef HAMID_WITH_GATEWAY
        {"gateway", NULL, HAMID_FLAG_TEXT, &o->gateway, "FOLDER",
         "Stand between the kubelet and device plugins that know nothing of this agent: "
         "a "
         "socket "
         "kubelet.sock in FOLDER takes them as the kubelet would. Mount FOLDER into the "
         "plugin's "
         "container as /var/lib/kubelet/device-plugins. Only resources with a --vendor "
         "are "
         "taken.",
         0, 0, NULL},
        {"kubelet-plugins", NULL, HAMID_FLAG_TEXT, &o->kubelet_plugins, "FOLDER",
         "The kubelet's own folder of device plugins. "
         "Default " HAMID_NODE_KUBELET_PLUGINS ".",
         0, 0, NULL},
        {"vendor-timeout", NULL, HAMID_FLAG_DURATION, &o->vendor_timeout_ms, "TIME",
         "How long a device plugin behind the gateway may take for its own part of a "
         "call. "
         "Default 10s.",
         50, 600000, NULL},
#endif
    };

    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

#endif

/* What is logged. */
static void add_log(struct hamid_config *table, struct node_options *o)
{
    const struct hamid_flag rows[] = {
        {"v", "log-level", HAMID_FLAG_NUMBER, &o->verbosity, "N",
         "How much is logged: 0 little, 2 each allocation (default), 4 debug, 5 trace.",
         0, 10, NULL, NULL, NULL, HAMID_FLAG_RELOADABLE},
        {"logging-format", NULL, HAMID_FLAG_TEXT, &o->log_format, "text|json",
         "How log lines look. Default text.", 0, 0, NULL, "text|json"},
    };

    hamid_config_add(table, rows, sizeof(rows) / sizeof(rows[0]));
}

/* ---- what must fit together ----------------------------------------------------- */

/* "a=b" into the vendor's texts. False where it is too long or its resource was there. */
static bool read_vendor(struct node_options *options, size_t number)
{
    char *text = options->vendor_texts[number];
    const char *given = options->vendor_list.values[number];
    size_t name_length = strcspn(given, "=");

    if (strlen(given) >= sizeof(options->vendor_texts[number])) {
        return false;
    }
    memcpy(text, given, strlen(given) + 1);
    text[name_length] = '\0';
    options->vendors[number].resource = text;
    options->vendors[number].to_allocate_key = text + name_length + 1;
    for (size_t i = 0; i < number; i++) {
        if (strcmp(options->vendors[i].resource, text) == 0) {
            return false;
        }
    }
    return true;
}

static void read_vendors(struct node_options *options, struct hamid_problems *problems)
{
    const struct hamid_flag_list *list = &options->vendor_list;
    char place[512];

    for (size_t i = 0; i < list->count; i++) {
        if (!read_vendor(options, i)) {
            (void)hamid_config_place(&options->config, list, place, sizeof(place));
            hamid_problems_add(problems, "%s: '%.128s' is too long, or given twice",
                               place, list->values[i]);
            return;
        }
    }
    options->vendor_count = list->count;
}

/* What is no name would be told only when a request with it fails. */
static void check_names(struct node_options *options, struct hamid_problems *problems)
{
    char lease_key[HAMI_NODELOCK_KEY_MAX + 8];
    char place[512];

    if (options->node == NULL || *options->node == '\0') {
        hamid_problems_add(
            problems,
            "--node: say which Node object this agent serves, here or in NODE_NAME");
    } else if (strspn(options->node, "abcdefghijklmnopqrstuvwxyz0123456789-.") !=
                   strlen(options->node) ||
               strlen(options->node) > HAMI_NODELOCK_NODE_MAX) {
        (void)hamid_config_place(&options->config, &options->node, place, sizeof(place));
        hamid_problems_add(problems, "%s: '%.128s' is no node's name", place,
                           options->node);
    }
    if (hami_lease_key(options->key, lease_key, sizeof(lease_key)) != 0) {
        (void)hamid_config_place(&options->config, &options->key, place, sizeof(place));
        hamid_problems_add(problems, "%s: '%.128s' is no lock's key such as %s", place,
                           options->key, HAMI_NODELOCK_KEY);
    }
}

/* Whoever finds its pod by the lock's name finds one of several, and not the caller. */
static void check_side_by_side(const struct node_options *options,
                               struct hamid_problems *problems)
{
    char place[512];

    if (!options->side_by_side) {
        return;
    }
    (void)hamid_config_place(&options->config, &options->side_by_side, place,
                             sizeof(place));
    if (strcmp(options->free, "scheduler") != 0) {
        hamid_problems_add(
            problems,
            "%s: needs --free scheduler, for the scheduler side is the one "
            "that passes such locks on",
            place);
    }
    if (options->gateway != NULL) {
        hamid_problems_add(
            problems,
            "%s: not together with --gateway: a device plugin behind it may "
            "look for its pod by the lock's name, which is only one of "
            "several pods then",
            place);
    }
}

static void set_defaults(struct node_options *options)
{
    memset(options, 0, sizeof(*options));
    options->socket = "/run/hamid/agent.sock";
    options->key = HAMI_NODELOCK_KEY;
    options->free = "node";
    options->pod_resources = HAMID_NODE_POD_RESOURCES;
    options->kubelet_plugins = HAMID_NODE_KUBELET_PLUGINS;
    options->vendor_timeout_ms = 10000;
    options->allocate_timeout_ms = 2000;
    options->allocation_lifetime_ms = 60000;
    hamid_login_init(&options->login);
    options->verbosity = 2;
    options->log_format = "text";
}

/* ---- public --------------------------------------------------------------------- */

enum hamid_flags_result node_options_read(struct node_options *ret, int argc,
                                          char *const *argv,
                                          struct hamid_problems *problems)
{
    const struct hamid_command command = {"hamid node", "[flags]", summary, closing,
                                          NULL};

    set_defaults(ret);
    hamid_config_begin(&ret->config, &command);
    add_own(&ret->config, ret);
    add_allocations(&ret->config, ret);
#ifdef HAMID_WITH_KUBELET
    add_kubelet(&ret->config, ret);
#endif
    add_log(&ret->config, ret);
    if (hamid_config_read(&ret->config, argc, argv, problems) == HAMID_FLAGS_HELP) {
        return HAMID_FLAGS_HELP;
    }
    check_names(ret, problems);
    check_side_by_side(ret, problems);
    if (ret->login.kubeconfig != NULL && *ret->login.kubeconfig == '\0') {
        ret->login.kubeconfig = NULL;
    }
    ret->log_json = strcmp(ret->log_format, "json") == 0;
    ret->needs_pod_resources = ret->is_pod_resources_given && *ret->pod_resources != '\0';
    read_vendors(ret, problems);
    return problems->count == 0 ? HAMID_FLAGS_OK : HAMID_FLAGS_WRONG;
}

const char *node_options_mark(const struct node_options *options)
{
    if (options->side_by_side) {
        return HAMI_HANDSHAKE_AGENT_SIDE_BY_SIDE;
    }
    return strcmp(options->free, "scheduler") == 0 ? HAMI_HANDSHAKE_AGENT_FREE_SCHEDULER
                                                   : HAMI_HANDSHAKE_AGENT_FREE_NODE;
}

void node_options_done(struct node_options *options)
{
    hamid_config_done(&options->config);
}

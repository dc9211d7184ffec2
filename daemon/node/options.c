/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command line of `hamid node` says. Writes to standard output and error only
 * for --help and for a wrong command line.
 */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define FLAGS_MAX 24

/* As daemon/kubelet has it, which is not there in every build. */
#define HAMID_NODE_POD_RESOURCES "/var/lib/kubelet/pod-resources/kubelet.sock"

#define HAMID_NODE_KUBELET_PLUGINS "/var/lib/kubelet/device-plugins"

static const char default_pod_resources[] = HAMID_NODE_POD_RESOURCES;

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

/* Node, API server and lock. Each of these answers how many it filled. */
static size_t fill_own(struct node_options *o, struct hamid_flag_list *vendors,
                       struct hamid_flag *ret)
{
    const struct hamid_flag flags[] = {
        {"node", NULL, HAMID_FLAG_TEXT, &o->node, "NAME",
         "The Node object that this agent serves. Default: the variable NODE_NAME.", 0, 0,
         NULL},
        {"socket", NULL, HAMID_FLAG_TEXT, &o->socket, "PATH",
         "The unix socket for device plugins; made with mode 0600, for this user and "
         "root. Default "
         "/run/hamid/agent.sock.",
         0, 0, NULL},
        {"kubeconfig", NULL, HAMID_FLAG_TEXT, &o->kubeconfig, "FILE",
         "How to reach the API server. Default: KUBECONFIG, ~/.kube/config, or the pod's "
         "service "
         "account.",
         0, 0, NULL},
        {"context", NULL, HAMID_FLAG_TEXT, &o->context, "NAME",
         "The kubeconfig's context.", 0, 0, NULL},
        {"insecure-skip-tls-verify", NULL, HAMID_FLAG_BOOLEAN, &o->insecure, NULL,
         "Do not verify the API server's certificate. For trials only.", 0, 0, NULL},
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
        {"key", NULL, HAMID_FLAG_TEXT, &o->key, "KEY",
         "The lock's annotation key; the same as on the scheduler's side. "
         "Default " HAMI_NODELOCK_KEY ".",
         0, 0, NULL},
        {"vendor", NULL, HAMID_FLAG_LIST, vendors, "RESOURCE=ANNOTATION",
         "Which pod annotation holds the devices of a resource; may be given more than "
         "once. Default "
         "nvidia.com/gpu=hami.io/vgpu-devices-to-allocate.",
         0, 0, NULL},
    };

    memcpy(ret, flags, sizeof(flags));
    return sizeof(flags) / sizeof(flags[0]);
}

#ifdef HAMID_WITH_KUBELET
/* What has to do with the kubelet. */
static size_t fill_kubelet(struct node_options *o, struct hamid_flag *ret)
{
    const struct hamid_flag flags[] = {
        {"pod-resources", NULL, HAMID_FLAG_TEXT, &o->pod_resources, "PATH",
         "The kubelet's PodResources socket, by which each Allocate is checked. Where "
         "this "
         "is given, "
         "an Allocate is refused while it can't be read; an empty PATH turns the checks "
         "off. "
         "Default " HAMID_NODE_POD_RESOURCES
         ", and to go on without where it is not there.",
         0, 0, NULL},
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

    memcpy(ret, flags, sizeof(flags));
    return sizeof(flags) / sizeof(flags[0]);
}

#endif

/* What is logged. */
static size_t fill_log(struct node_options *o, const char **log_format,
                       struct hamid_flag *ret)
{
    const struct hamid_flag flags[] = {
        {"v", "log-level", HAMID_FLAG_NUMBER, &o->verbosity, "N",
         "How much is logged: 0 little, 2 each allocation (default), 4 debug, 5 trace.",
         0, 10, NULL},
        {"logging-format", NULL, HAMID_FLAG_TEXT, log_format, "text|json",
         "How log lines look. Default text.", 0, 0, NULL},
    };

    memcpy(ret, flags, sizeof(flags));
    return sizeof(flags) / sizeof(flags[0]);
}

static void fill_flags(struct node_options *o, struct hamid_flag_list *vendors,
                       const char **log_format, struct hamid_flag *ret)
{
    size_t count = fill_own(o, vendors, ret);

#ifdef HAMID_WITH_KUBELET
    count += fill_kubelet(o, ret + count);
#endif
    count += fill_log(o, log_format, ret + count);
    memset(&ret[count], 0, sizeof(ret[count])); /* the end of the table */
}

static bool read_vendors(struct node_options *options,
                         const struct hamid_flag_list *vendors, char *error)
{
    for (size_t i = 0; i < vendors->count; i++) {
        char *text = options->vendor_texts[i];
        const char *given = vendors->values[i];
        const char *equals = strchr(given, '=');

        if (i >= HAMID_NODE_VENDORS_MAX || equals == NULL || equals == given ||
            equals[1] == '\0' || strlen(given) >= sizeof(options->vendor_texts[i])) {
            (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                           "--vendor: '%.128s' is no RESOURCE=ANNOTATION such as "
                           "nvidia.com/gpu=hami.io/vgpu-devices-to-allocate",
                           given);
            return false;
        }
        memcpy(text, given, strlen(given) + 1);
        text[equals - given] = '\0';
        options->vendors[i].resource = text;
        options->vendors[i].to_allocate_key = text + (equals - given) + 1;
        for (size_t j = 0; j < i; j++) {
            if (strcmp(options->vendors[j].resource, text) == 0) {
                (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                               "--vendor: %.128s is given twice", text);
                return false;
            }
        }
    }
    options->vendor_count = vendors->count;
    return true;
}

static bool check(struct node_options *options, const struct hamid_flag_list *vendors,
                  const char *log_format, char *error)
{
    if (options->node == NULL || *options->node == '\0') {
        (void)snprintf(
            error, HAMID_FLAG_ERROR_MAX,
            "--node: say which Node object this agent serves, here or in NODE_NAME");
        return false;
    }
    if (!hamid_log_format_parse(log_format, &options->log_json)) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "--logging-format: '%.64s' is neither text nor json", log_format);
        return false;
    }
    /* The default's own text tells whether the flag was given. */
    options->needs_pod_resources = options->pod_resources != default_pod_resources &&
                                   *options->pod_resources != '\0';
    return read_vendors(options, vendors, error);
}

enum hamid_flags_result node_options_read(int argc, char *const *argv,
                                          struct node_options *ret)
{
    struct hamid_flag flags[FLAGS_MAX];
    struct hamid_flag_list vendors = {0};
    struct hamid_command command = {"hamid node", "[flags]", summary, closing, flags};
    const char *log_format = "text";
    char error[HAMID_FLAG_ERROR_MAX] = "";
    enum hamid_flags_result result;

    memset(ret, 0, sizeof(*ret));
    ret->node = getenv("NODE_NAME");
    ret->socket = "/run/hamid/agent.sock";
    ret->key = HAMI_NODELOCK_KEY;
    ret->pod_resources = default_pod_resources;
    ret->kubelet_plugins = HAMID_NODE_KUBELET_PLUGINS;
    ret->vendor_timeout_ms = 10000;
    ret->allocate_timeout_ms = 2000;
    ret->allocation_lifetime_ms = 60000;
    ret->verbosity = 2;
    fill_flags(ret, &vendors, &log_format, flags);
    result = hamid_flags_parse(&command, argc, argv, NULL, error);
    if (result == HAMID_FLAGS_HELP) {
        char *help = hamid_flags_help(&command);

        (void)fputs(help != NULL ? help : "out of memory\n", stdout);
        free(help);
    } else if (result == HAMID_FLAGS_OK && !check(ret, &vendors, log_format, error)) {
        result = HAMID_FLAGS_WRONG;
    }
    if (result == HAMID_FLAGS_WRONG) {
        (void)fprintf(stderr, "hamid node: %s\n'hamid node --help' lists the flags.\n",
                      error);
    }
    return result;
}

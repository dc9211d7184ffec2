/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line, and a --help from which the plugin can be run.
 */
#include "options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/nodelock.h>

#include "kubelet.h"
#include "log.h"

#define FLAGS_MAX 24

static const char summary[] = "A device plugin for HAMi's way of sharing devices. It "
                              "tells the kubelet of the shares of "
                              "each device in a file, and HAMi's scheduler of the "
                              "devices, by the Node's annotations. "
                              "When the kubelet calls Allocate it finds out whose call "
                              "that is, answers exactly the "
                              "devices in that pod's annotation, writes that to the pod, "
                              "and frees the node's lock.";

static const char closing[] =
    "A devices file, as small as it can be (README.md has all of it):\n"
    "  devices:\n"
    "    - uuid: GPU-4f1c\n"
    "      shares: 10\n"
    "      memory-mib: 24576\n"
    "  environment:\n"
    "    NVIDIA_VISIBLE_DEVICES: \"{uuids}\"\n"
    "\n"
    "On a node, as root, with the kubelet's own login:\n"
    "  hami-device-plugin --node $(hostname) --devices devices.yaml --kubeconfig "
    "/etc/kubernetes/kubelet.conf\n"
    "As a DaemonSet nothing but --devices need be said: NODE_NAME and the service "
    "account give "
    "the rest.\n"
    "Try a file without a cluster:\n"
    "  hami-device-plugin --check --devices devices.yaml\n"
    "\n"
    "What can go wrong, and is then said in the log and in the pod's event:\n"
    "  no pod can be the caller      its author set nodeName, or the pod has gone: it is "
    "failed\n"
    "  several pods can be           more than one was bound here at once: is every "
    "scheduler\n"
    "                                that binds them behind hamid or HAMi?\n"
    "  the lock names another pod    see `hamictl locks` and `hamictl explain "
    "NAMESPACE/POD`\n"
    "None of these writes anything to any pod.";

/* What the plugin does. Returns how many flags. */
static size_t fill_own_flags(struct plugin_options *o, struct hamid_flag *ret)
{
    const struct hamid_flag flags[] = {
        {"devices", NULL, HAMID_FLAG_TEXT, &o->devices, "FILE",
         "The devices of this node.", 0, 0, NULL},
        {"node", NULL, HAMID_FLAG_TEXT, &o->node, "NAME",
         "Name of the Node object. Default: NODE_NAME.", 0, 0, NULL},
        {"plugin-folder", NULL, HAMID_FLAG_TEXT, &o->folder, "FOLDER",
         "Where the kubelet has its kubelet.sock for plugins. "
         "Default " HAMID_KUBELET_PLUGINS ".",
         0, 0, NULL},
        {"endpoint", NULL, HAMID_FLAG_TEXT, &o->endpoint, "NAME",
         "Name of this plugin's socket there. Default: hami- and the resource's name, "
         "such as "
         "hami-nvidia.com-gpu.sock.",
         0, 0, NULL},
        {"allocate-timeout", NULL, HAMID_FLAG_DURATION, &o->allocate_timeout_ms,
         "DURATION",
         "An Allocate is answered after so long at the latest: the kubelet starts no pod "
         "meanwhile. Default 2s.",
         50, 30000, NULL},
        {"report-every", NULL, HAMID_FLAG_DURATION, &o->report_period_ms, "DURATION",
         "How often the Node's annotations are written again. HAMi takes a handshake "
         "older "
         "than 60s for a dead node. Default 30s.",
         100, 3600000, NULL},
        {"pod-resources", NULL, HAMID_FLAG_TEXT, &o->pod_resources, "PATH",
         "The kubelet's PodResources socket: after each Allocate, and before a container "
         "starts, the kubelet must say that the devices are that pod's. Given here, an "
         "Allocate is refused while it can't be read; an empty PATH turns this off. "
         "Default " HAMID_KUBELET_POD_RESOURCES ", and to go on without.",
         0, 0, &o->needs_pod_resources},
        {"require-fence", NULL, HAMID_FLAG_BOOLEAN, &o->require_fence, NULL,
         "Serve only pods whose lock was taken by hamid: refuses what HAMi's own "
         "scheduler "
         "binds, and whatever a pod's author writes.",
         0, 0, NULL},
        {"without-handshake", NULL, HAMID_FLAG_BOOLEAN, &o->without_handshake, NULL,
         "Answer the devices that the kubelet's ids name, and read and write nothing in "
         "the "
         "cluster: a plain plugin, to compare with.",
         0, 0, NULL},
        {"check", NULL, HAMID_FLAG_BOOLEAN, &o->check_only, NULL,
         "Read the devices file, print what the Node would be told, and end.", 0, 0,
         NULL},
    };

    memcpy(ret, flags, sizeof(flags));
    return sizeof(flags) / sizeof(flags[0]);
}

/* How it speaks with the cluster and with people; the table's end. */
static size_t fill_common_flags(struct plugin_options *o, const char **log_format,
                                struct hamid_flag *ret)
{
    const struct hamid_flag flags[] = {
        {"key", NULL, HAMID_FLAG_TEXT, &o->key, "KEY",
         "The lock's annotation key; the same as on the scheduler's side. "
         "Default " HAMI_NODELOCK_KEY ".",
         0, 0, NULL},
        {"kubeconfig", NULL, HAMID_FLAG_TEXT, &o->kubeconfig, "FILE",
         "How to log in. Default: KUBECONFIG, ~/.kube/config, or the service account.", 0,
         0, NULL},
        {"context", NULL, HAMID_FLAG_TEXT, &o->context, "NAME",
         "Of the kubeconfig. Default: its current one.", 0, 0, NULL},
        {"insecure-skip-tls-verify", NULL, HAMID_FLAG_BOOLEAN, &o->insecure, NULL,
         "Do not verify the API server's certificate.", 0, 0, NULL},
        {"v", "log-level", HAMID_FLAG_NUMBER, &o->verbosity, "N",
         "How much is logged: 0 little, 2 each Allocate (default), 4 debug, 5 trace.", 0,
         10, NULL},
        {"logging-format", NULL, HAMID_FLAG_TEXT, log_format, "text|json",
         "How log lines look. Default text.", 0, 0, NULL},
        {NULL, NULL, HAMID_FLAG_TEXT, NULL, NULL, NULL, 0, 0, NULL},
    };

    memcpy(ret, flags, sizeof(flags));
    return sizeof(flags) / sizeof(flags[0]);
}

static bool check(struct plugin_options *options, const char *log_format, char *error)
{
    if (options->devices == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "--devices: say which file names this node's devices");
        return false;
    }
    if (options->endpoint != NULL &&
        (strchr(options->endpoint, '/') != NULL || *options->endpoint == '\0' ||
         strcmp(options->endpoint, HAMID_KUBELET_SOCKET_NAME) == 0)) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "--endpoint: '%.64s' is no name for a socket in the plugin folder",
                       options->endpoint);
        return false;
    }
    if (!options->check_only && !options->without_handshake &&
        (options->node == NULL || *options->node == '\0')) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "--node: say which Node object this is, here or in NODE_NAME");
        return false;
    }
    if (!hamid_log_format_parse(log_format, &options->log_json)) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "--logging-format: '%.64s' is neither text nor json", log_format);
        return false;
    }
    return true;
}

enum hamid_flags_result plugin_options_read(int argc, char *const *argv,
                                            struct plugin_options *ret)
{
    struct hamid_flag flags[FLAGS_MAX];
    struct hamid_command command = {"hami-device-plugin", "--devices FILE [flags]",
                                    summary, closing, flags};
    const char *log_format = "text";
    char error[HAMID_FLAG_ERROR_MAX] = "";
    enum hamid_flags_result result;

    memset(ret, 0, sizeof(*ret));
    ret->node = getenv("NODE_NAME");
    ret->folder = HAMID_KUBELET_PLUGINS;
    ret->key = HAMI_NODELOCK_KEY;
    ret->pod_resources = HAMID_KUBELET_POD_RESOURCES;
    ret->allocate_timeout_ms = 2000;
    ret->report_period_ms = 30000;
    ret->verbosity = 2;
    size_t count = fill_own_flags(ret, flags);
    count += fill_common_flags(ret, &log_format, flags + count);
    assert(count <= FLAGS_MAX);
    result = hamid_flags_parse(&command, argc, argv, NULL, error);
    if (result == HAMID_FLAGS_HELP) {
        char *help = hamid_flags_help(&command);

        (void)fputs(help != NULL ? help : "out of memory\n", stdout);
        free(help);
    } else if (result == HAMID_FLAGS_OK && !check(ret, log_format, error)) {
        result = HAMID_FLAGS_WRONG;
    }
    if (result == HAMID_FLAGS_WRONG) {
        (void)fprintf(
            stderr,
            "hami-device-plugin: %s\n'hami-device-plugin --help' lists the flags.\n",
            error);
    }
    return result;
}

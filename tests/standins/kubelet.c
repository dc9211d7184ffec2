/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin-kubelet: the kubelet of one or more nodes with a device plugin in it, towards
 * the API server and the agent. Runs until SIGTERM or SIGINT.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "duration.h"
#include "kubelet_node.h"

static volatile sig_atomic_t stop;

static const char help[] =
    "usage: standin-kubelet --kubeconfig FILE --node NAME --socket PATH [--node .. "
    "--socket ..]\n"
    "\n"
    "Watches the pods bound to each node and admits them as a kubelet does: one after\n"
    "another, in the order in which it sees them (of one list, the oldest first), "
    "asking\n"
    "the agent for each container's devices. Sets them Running, or Failed when the "
    "agent\n"
    "refuses.\n"
    "\n"
    "  --kubeconfig FILE  how to reach the API server\n"
    "  --node NAME        a node; may be given more than once\n"
    "  --socket PATH      the agent's socket of the node at the same place\n"
    "  --resource NAME    what the device plugin serves; may be given more than once;\n"
    "                     default nvidia.com/gpu\n"
    "  --allocate-ms N    how long the plugin takes for an Allocate; default 20\n"
    "  --start-ms N       from the last Allocate to Running; default 0\n"
    "  --heartbeat-ms N   write node status that often; default never\n"
    "  --patience TIME    of one call to the agent, and of asking again while it is not\n"
    "                     there; default 10s\n"
    "  --record FILE      append a line of JSON for each Allocate: whom it was for, what "
    "was\n"
    "                     answered, and how long it took\n"
    "  --progress         a line of JSON for each step\n";

static int complain(const char *text, const char *word)
{
    fprintf(stderr, "standin-kubelet: %s%s (--help tells more)\n", text, word);
    return 2;
}

static int read_ms(const char *text, int64_t *ret)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < 0 || value > 3600000) {
        return complain("no number of milliseconds: ", text);
    }
    *ret = value;
    return 0;
}

static int open_record(struct kubelet_options *options, const char *path)
{
    options->record = options->record == NULL ? fopen(path, "ae") : NULL;
    return options->record == NULL ? complain("can't append to ", path) : 0;
}

static int read_option(struct kubelet_options *options, int option)
{
    switch (option) {
    case 'k':
        options->kubeconfig = optarg;
        return 0;
    case 'n':
    case 's':
        if ((option == 'n' ? options->node_count : options->socket_count) >= 256) {
            return complain("too many nodes", "");
        }
        if (option == 'n') {
            options->nodes[options->node_count++] = optarg;
        } else {
            options->sockets[options->socket_count++] = optarg;
        }
        return 0;
    case 'r':
        if (options->resource_count >= KUBELET_RESOURCES_MAX) {
            return complain("too many resources", "");
        }
        options->resources[options->resource_count++] = optarg;
        return 0;
    case 'a':
        return read_ms(optarg, &options->allocate_ms);
    case 'b':
        return read_ms(optarg, &options->start_ms);
    case 'h':
        return read_ms(optarg, &options->heartbeat_ms);
    case 'p':
        options->patience_ms = duration_parse_ms(optarg);
        return options->patience_ms < 0 ? complain("no time: ", optarg) : 0;
    case 'g':
        options->progress = true;
        return 0;
    case 'R':
        return open_record(options, optarg);
    default:
        return 2;
    }
}

/* Returns -1 to go on, or the exit status. */
static int read_options(struct kubelet_options *options, int argc, char **argv)
{
    static const struct option table[] = {
        {"kubeconfig", required_argument, NULL, 'k'},
        {"node", required_argument, NULL, 'n'},
        {"socket", required_argument, NULL, 's'},
        {"resource", required_argument, NULL, 'r'},
        {"allocate-ms", required_argument, NULL, 'a'},
        {"start-ms", required_argument, NULL, 'b'},
        {"heartbeat-ms", required_argument, NULL, 'h'},
        {"patience", required_argument, NULL, 'p'},
        {"record", required_argument, NULL, 'R'},
        {"progress", no_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'H'},
        {NULL, 0, NULL, 0},
    };
    int option;
    options->allocate_ms = 20;
    options->patience_ms = 10000;
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'H') {
            fputs(help, stdout);
            return 0;
        }
        if (read_option(options, option) != 0) {
            return 2;
        }
    }
    if (optind < argc) {
        return complain("unexpected word: ", argv[optind]);
    }
    if (options->kubeconfig == NULL || options->node_count == 0 ||
        options->node_count != options->socket_count) {
        return complain("wants --kubeconfig, and a --socket for each --node", "");
    }
    if (options->resource_count == 0) {
        options->resources[options->resource_count++] = "nvidia.com/gpu";
    }
    return -1;
}

static void asked_to_stop(int number)
{
    (void)number;
    stop = 1;
}

static void run(const struct kubelet_options *options, struct requests *requests,
                struct kubelet_status *status, struct kubelet_node **nodes)
{
    while (!stop) {
        int64_t now = duration_now_ms();
        /* A signal does not always wake the wait: look for one every so often. */
        int64_t next = now + 200;
        for (size_t i = 0; i < options->node_count; i++) {
            int64_t due = kubelet_node_turn(nodes[i], now);
            next = due < next ? due : next;
        }
        int64_t again = kubelet_status_turn(status, now);
        next = again < next ? again : next;
        requests_turn(requests, next > now ? (int)(next - now) : 0);
    }
}

static int start(const struct kubelet_options *options, struct requests *requests,
                 struct kubelet_status *status)
{
    struct kubelet_node **nodes =
        calloc(options->node_count, sizeof(struct kubelet_node *));
    unsigned admitted = 0;
    unsigned failed = 0;
    bool is_good = nodes != NULL;
    for (size_t i = 0; is_good && i < options->node_count; i++) {
        nodes[i] = kubelet_node_new(options, requests, status, i);
        is_good = nodes[i] != NULL;
    }
    if (is_good) {
        run(options, requests, status, nodes);
    }
    for (size_t i = 0; nodes != NULL && i < options->node_count; i++) {
        if (nodes[i] != NULL) {
            kubelet_node_totals(nodes[i], &admitted, &failed);
            kubelet_node_free(nodes[i]);
        }
    }
    free(nodes);
    fprintf(stderr, "standin-kubelet: stopped, %u pods admitted, %u failed\n", admitted,
            failed);
    return is_good ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct kubelet_options options = {0};
    struct kubeconfig config = {0};
    struct sigaction action = {.sa_handler = asked_to_stop};
    int status = read_options(&options, argc, argv);
    if (status >= 0) {
        return status;
    }
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    status = 1;
    if (kubeconfig_read(&config, options.kubeconfig) < 0) {
        fprintf(stderr, "standin-kubelet: %s\n", config.problem);
    } else {
        struct requests *requests = requests_new(&config, "standin-kubelet/0.1");
        struct kubelet_status *writes =
            requests != NULL ? kubelet_status_new(requests) : NULL;
        if (writes != NULL) {
            status = start(&options, requests, writes);
        }
        if (requests != NULL) {
            requests_free(requests);
        }
        kubelet_status_free(writes);
    }
    kubeconfig_free(&config);
    curl_global_cleanup();
    if (options.record != NULL) {
        fclose(options.record);
    }
    return status;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Words to options. Texts are borrowed from the command line. */
#include "scheduler_options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "duration.h"
#include "objects.h"

#define DEVICES_IN_TURN 8

static const char help[] =
    "usage: standin-scheduler --kubeconfig FILE --binder URL --nodes NAME [NAME..]\n"
    "\n"
    "Creates a burst of pods and has them bound, as kube-scheduler would: one call to\n"
    "URL/bind for each pod, never waiting for an earlier one.\n"
    "\n"
    "  --kubeconfig FILE     how to reach the API server\n"
    "  --binder URL          http://127.0.0.1:PORT of the extender\n"
    "  --nodes NAME [NAME..] nodes that the pods go to, in turn; they must exist\n"
    "  --pods N              default 40\n"
    "  --namespace NAME      default \"default\"\n"
    "  --scheduler-name NAME default hami-scheduler\n"
    "  --resource NAME       what each pod asks for; default nvidia.com/gpu\n"
    "  --devices N[,N..]     how many of it, in turn; up to 8 numbers, default 1\n"
    "  --patience TIME       a bind call is given up after this; default 30s\n"
    "  --stuck-after TIME    give up when nothing moves for this long; default 60s\n"
    "  --spacing-ms N        between two bind calls for one node; default 5\n"
    "  --progress            a line of JSON for each change of state\n"
    "\n"
    "Exit status: 0 all pods served, 3 pods stuck or failed, 1 no use going on, 2 "
    "usage.\n";

static int complain(const char *text, const char *word)
{
    fprintf(stderr, "standin-scheduler: %s%s (--help tells more)\n", text, word);
    return 2;
}

static int read_count(const char *text, long least, long most, long *ret)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || value < least || value > most) {
        return -1;
    }
    *ret = value;
    return 0;
}

static int add_node(struct scheduler_options *options, const char *name)
{
    const char **longer =
        realloc(options->nodes, (options->node_count + 1) * sizeof(*longer));
    if (longer == NULL) {
        return -1;
    }
    longer[options->node_count++] = name;
    options->nodes = longer;
    return 0;
}

static int read_devices(struct scheduler_options *options, const char *text)
{
    options->device_count = 0;
    for (const char *at = text;; at++) {
        char *end;
        unsigned long count = strtoul(at, &end, 10);
        if (*at < '1' || *at > '9' || count > OBJECT_DEVICES_MAX ||
            (*end != ',' && *end != '\0') || options->device_count == DEVICES_IN_TURN) {
            return complain("--devices wants numbers from 1 to 8, not ", text);
        }
        options->devices[options->device_count++] = (unsigned)count;
        if (*end == '\0') {
            return -1;
        }
        at = end;
    }
}

static int read_number(struct scheduler_options *options, int option)
{
    long number = 0;
    switch (option) {
    case 'p':
        if (read_count(optarg, 1, 10000, &number) < 0) {
            return complain("--pods wants a number from 1 to 10000, not ", optarg);
        }
        options->pods = (size_t)number;
        return -1;
    case 'm':
        if (read_count(optarg, 0, 10000, &number) < 0) {
            return complain("--spacing-ms wants a number up to 10000, not ", optarg);
        }
        options->spacing_ms = number;
        return -1;
    default: {
        int64_t time = duration_parse_ms(optarg);
        if (time < 0) {
            return complain("a time is a number with ms, s or m, not ", optarg);
        }
        *(option == 't' ? &options->patience_ms : &options->stuck_after_ms) = time;
        return -1;
    }
    }
}

static int read_option(struct scheduler_options *options, int option)
{
    switch (option) {
    case 'k':
        options->kubeconfig = optarg;
        return -1;
    case 'b':
        options->binder = optarg;
        return -1;
    case 'n':
        return add_node(options, optarg) < 0 ? complain("out of memory", "") : -1;
    case 's':
        options->namespace_name = optarg;
        return -1;
    case 'c':
        options->scheduler_name = optarg;
        return -1;
    case 'r':
        options->resource = optarg;
        return -1;
    case 'd':
        return read_devices(options, optarg);
    case 'g':
        options->progress = true;
        return -1;
    case 'h':
        fputs(help, stdout);
        return 0;
    case 'p':
    case 'm':
    case 't':
    case 'u':
        return read_number(options, option);
    default:
        return complain("that is not understood", "");
    }
}

static int check(const struct scheduler_options *options)
{
    if (options->kubeconfig == NULL) {
        return complain("--kubeconfig is missing", "");
    }
    if (options->binder == NULL) {
        return complain("--binder is missing", "");
    }
    if (options->node_count == 0) {
        return complain("--nodes is missing", "");
    }
    return -1;
}

int scheduler_options_read(struct scheduler_options *options, int count, char **words)
{
    static const struct option table[] = {
        {"kubeconfig", required_argument, NULL, 'k'},
        {"binder", required_argument, NULL, 'b'},
        {"nodes", required_argument, NULL, 'n'},
        {"pods", required_argument, NULL, 'p'},
        {"namespace", required_argument, NULL, 's'},
        {"scheduler-name", required_argument, NULL, 'c'},
        {"resource", required_argument, NULL, 'r'},
        {"devices", required_argument, NULL, 'd'},
        {"patience", required_argument, NULL, 't'},
        {"stuck-after", required_argument, NULL, 'u'},
        {"spacing-ms", required_argument, NULL, 'm'},
        {"progress", no_argument, NULL, 'g'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *options = (struct scheduler_options){
        .namespace_name = "default",
        .scheduler_name = "hami-scheduler",
        .resource = "nvidia.com/gpu",
        .pods = 40,
        .devices = {1},
        .device_count = 1,
        .patience_ms = 30000,
        .stuck_after_ms = 60000,
        .spacing_ms = 5,
    };
    int option;
    /* "-" hands out words without a dash in their place: the further names of --nodes. */
    while ((option = getopt_long(count, words, "-h", table, NULL)) != -1) {
        int code = read_option(options, option == 1 ? 'n' : option);
        if (code >= 0) {
            return code;
        }
    }
    return check(options);
}

void scheduler_options_done(struct scheduler_options *options)
{
    free(options->nodes);
    options->nodes = NULL;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid: chooses the role. Everything else is the role's own.
 */
#include "roles.h"

#include <stdio.h>
#include <string.h>

#include <hami/version.h>

struct role {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct role roles[] = {
#ifdef HAMID_WITH_SCHEDULER
    {"scheduler", "a kube-scheduler extender that binds pods, one at a time per node",
     hamid_scheduler_main},
#endif
#ifdef HAMID_WITH_NODE
    {"node",
     "the agent that tells a device plugin whose Allocate this is, and frees the lock",
     hamid_node_main},
#endif
    {"probe", "asks whether a hamid on this computer is ready, for a container's probes",
     hamid_probe_main},
};

static void show_help(FILE *out)
{
    (void)fputs("usage: hamid ROLE [flags]\n\n"
                "Keeps the lock that lets one GPU pod at a time pass between bind and "
                "Allocate on\n"
                "a node, and the others wait in line instead of failing. Roles:\n\n",
                out);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        (void)fprintf(out, "  %-10s %s\n", roles[i].name, roles[i].summary);
    }
    (void)fputs("\n'hamid ROLE --help' lists a role's flags; 'hamid --version' tells the "
                "version.\n"
                "'hamictl locks' shows who holds a node and who waits.\n",
                out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        show_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        show_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        (void)printf("hamid %s\n", hami_version());
        return 0;
    }
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(argv[1], roles[i].name) == 0) {
            return roles[i].run(argc - 2, argv + 2);
        }
    }
    (void)fprintf(stderr, "hamid: no role '%s' here; 'hamid --help' lists them\n",
                  argv[1]);
    return 2;
}

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in the containers of the tests with a real kubelet: prints its environment,
 * the evidence of what a device plugin gave it, and stays until it is told to end. With
 * the word "once" it ends at once, as an init container has to; without an environment
 * worth a line it is the pod's pause container. Linked statically: its image holds
 * nothing else.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

extern char **environ;

int main(int argc, char **argv)
{
    sigset_t signals;
    int number;

    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    /* The first process of a container is sent no signal that it does not wait for. */
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    for (char **one = environ; *one != NULL; one++) {
        puts(*one);
    }
    puts("environment ends");
    (void)fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "once") == 0) {
        return 0;
    }
    return sigwait(&signals, &number) == 0 ? 0 : 1;
}

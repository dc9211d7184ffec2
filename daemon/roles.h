/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roles of hamid. Each takes the words after its name and gives the exit status: 0
 * after a clean stop, 1 where it could not run, 2 for a wrong command line.
 */
#ifndef HAMID_ROLES_H
#define HAMID_ROLES_H

int hamid_scheduler_main(int argc, char **argv);
int hamid_node_main(int argc, char **argv);
int hamid_probe_main(int argc, char **argv);

#endif

/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of the agent's tests. */
#include "agent_fixture.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>

struct world world;
struct agent_process agent;

void set_up(void)
{
    world_start(&world);
    agent_start(&agent, &world, NULL);
}

void tear_down(void)
{
    ck_assert_int_eq(agent_end(&agent), 0);
    world_stop(&world);
}

/* Asks for one device, and fills in the id. */
struct reply ask(char *id, size_t size)
{
    struct reply reply = agent_request(&agent, "/v1/allocations", ASK);

    reply_text(&reply, "allocation", id, size);
    return reply;
}

struct reply end(const char *id, const char *verb, const char *body)
{
    char path[128];

    snprintf(path, sizeof(path), "/v1/allocations/%s/%s", id, verb);
    return agent_request(&agent, path, body);
}

int agent_main(int argc, char **argv, const char *title, TCase *cases)
{
    Suite *suite = suite_create(title);
    SRunner *runner = srunner_create(suite);
    int failed;

    if (argc != 3) {
        fprintf(stderr, "usage: %s HAMID STANDIN-KUBELET\n", argv[0]);
        return 99;
    }
    hamid_path = argv[1];
    kubelet_path = argv[2];
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    curl_global_cleanup();
    return failed == 0 ? 0 : 1;
}

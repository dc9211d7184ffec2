/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarded patches by libcurl alone: one thread, one multi handle, one HTTP/2 connection,
 * one handle for each lane, used again and again. The yardstick of the Kubernetes client;
 * shares no code with the libraries.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "floor_lines.h"
#include "patches.h"

/* A lane's handle; what floor_lines calls a node is the lane. */
struct node {
    struct lane *lane;
    struct line line;
};

struct sender {
    struct run run;
    struct login login;
    CURLM *multi;
    struct node *nodes;
    size_t open;
};

static void send_patch(struct sender *sender, struct node *node)
{
    memcpy(node->line.body, node->lane->body, sizeof(node->line.body));
    lines_send(sender->multi, &sender->login, &node->line, "PATCH", node->lane->path,
               true);
    sender->open++;
}

static void take_answers(struct sender *sender, bool goes_on)
{
    struct line *line;
    while ((line = lines_take(sender->multi)) != NULL) {
        sender->open--;
        if (!goes_on) {
            continue;
        }
        lane_end(line->node->lane);
        if (lane_begin(&sender->run, line->node->lane)) {
            send_patch(sender, line->node);
        }
    }
}

static void wait_for_all(struct sender *sender, bool goes_on)
{
    int running;
    while (sender->open > 0) {
        curl_multi_perform(sender->multi, &running);
        take_answers(sender, goes_on);
        if (sender->open > 0) {
            curl_multi_poll(sender->multi, NULL, 0, 1000, NULL);
        }
    }
}

static void one_round(struct sender *sender)
{
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        if (lane_begin(&sender->run, sender->nodes[i].lane)) {
            send_patch(sender, &sender->nodes[i]);
        }
    }
    wait_for_all(sender, true);
}

static void open_sender(struct sender *sender)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    login_open(&sender->login, sender->run.kubeconfig);
    sender->multi = lines_open(0);
    sender->nodes = calloc(sender->run.lane_count, sizeof(*sender->nodes));
    if (sender->nodes == NULL) {
        die("no handles", "out of memory");
    }
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        sender->nodes[i].lane = &sender->run.lanes[i];
        line_open(&sender->login, &sender->nodes[i].line, &sender->nodes[i]);
        lane_text_begin(sender->nodes[i].lane);
        send_patch(sender, &sender->nodes[i]);
    }
    wait_for_all(sender, false);
}

static void close_sender(struct sender *sender)
{
    for (size_t i = 0; i < sender->run.lane_count; i++) {
        curl_easy_cleanup(sender->nodes[i].line.handle);
    }
    free(sender->nodes);
    curl_multi_cleanup(sender->multi);
    login_close(&sender->login);
    curl_global_cleanup();
}

int main(int argc, char **argv)
{
    static struct sender sender;
    run_open(&sender.run, argc, argv);
    open_sender(&sender);
    one_round(&sender);
    run_begin(&sender.run);
    one_round(&sender);
    close_sender(&sender);
    run_end(&sender.run);
    return 0;
}

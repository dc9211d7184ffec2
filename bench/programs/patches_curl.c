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
    line_request(&sender->login, &node->line, "PATCH", node->lane->path, true);
    if (curl_multi_add_handle(sender->multi, node->line.handle) != CURLM_OK) {
        die("PATCH", node->lane->path);
    }
    sender->open++;
}

static void take_answers(struct sender *sender, bool goes_on)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(sender->multi, &left)) != NULL) {
        struct line *line;
        long status = 0;
        CURLcode code = message->data.result;
        CURL *handle = message->easy_handle;
        curl_easy_getinfo(handle, CURLINFO_PRIVATE, &line);
        curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(sender->multi, handle);
        if (code != CURLE_OK || status != 200) {
            char text[32];
            fits(snprintf(text, sizeof(text), "answer %ld", status), sizeof(text));
            die(text, code != CURLE_OK ? curl_easy_strerror(code) : line->body);
        }
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
    sender->multi = curl_multi_init();
    sender->nodes = calloc(sender->run.lane_count, sizeof(*sender->nodes));
    if (sender->multi == NULL || sender->nodes == NULL) {
        die("no handles", "out of memory");
    }
    curl_multi_setopt(sender->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(sender->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
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

# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""The judge of parked binds finds what it is there to find."""

import random
import unittest

from parked import judge

NODES = [f"node-{number}" for number in range(10)]
SENT = [(NODES[number % 10], f"pod-{number}") for number in range(400)]


def answers_of(pods):
    return [(moment, pod, "") for moment, pod in enumerate(pods)]


def audit_of(pods, code=201):
    lines = [{"verb": "create", "objectRef": {"subresource": "binding", "name": pod},
              "responseStatus": {"code": code},
              "annotations": {"kubesim/sequence": str(number)}}
             for number, pod in enumerate(pods, start=1)]
    return lines + [{"verb": "patch", "objectRef": {"resource": "nodes", "name": "node-0"},
                     "responseStatus": {"code": 200}, "annotations": {}}]


class JudgeTest(unittest.TestCase):
    """Logs made by hand, one fault each."""

    def setUp(self):
        self.pods = [pod for _, pod in SENT]

    def judge(self, answered=None, bound=None):
        answered = self.pods if answered is None else answered
        bound = self.pods if bound is None else bound
        return judge.figures(SENT, answers_of(answered), audit_of(bound))

    def test_all_served_in_the_order_of_sending_is_good(self):
        self.assertEqual(self.judge(),
                         {"served": 400, "failed": 0, "order_violations": 0})

    def test_nodes_that_go_at_different_speeds_are_no_violation(self):
        by_node = sorted(SENT, key=lambda pair: pair[0])
        ended = [pod for _, pod in by_node]
        self.assertEqual(self.judge(ended, ended)["order_violations"], 0)

    def test_two_neighbours_of_one_node_that_change_places_are_one_violation(self):
        ended = list(self.pods)
        ended[5], ended[15] = ended[15], ended[5]
        self.assertEqual(self.judge(answered=ended)["order_violations"], 1)

    def test_an_order_that_only_the_server_saw_broken_counts(self):
        ended = list(self.pods)
        ended[5], ended[15] = ended[15], ended[5]
        self.assertEqual(self.judge(bound=ended)["order_violations"], 1)

    def test_a_shuffled_log_is_found_out(self):
        ended = list(self.pods)
        random.Random(7).shuffle(ended)
        self.assertGreater(self.judge(ended, ended)["order_violations"], 200)

    def test_one_that_jumps_the_whole_queue_makes_each_that_it_passed_a_violation(self):
        ended = ["pod-399", *self.pods[:-1]]
        self.assertEqual(self.judge(answered=ended)["order_violations"], 39)

    def test_the_order_of_reading_answers_means_nothing(self):
        answers = answers_of(self.pods)
        random.Random(8).shuffle(answers)
        found = judge.figures(SENT, answers, audit_of(self.pods))
        self.assertEqual(found["order_violations"], 0)

    def test_an_answer_with_an_error_is_a_failure(self):
        answers = answers_of(self.pods)
        answers[3] = (3, "pod-3", "node lock contention")
        found = judge.figures(SENT, answers, audit_of(self.pods))
        self.assertEqual((found["served"], found["failed"]), (399, 1))

    def test_an_answer_without_a_binding_is_a_failure(self):
        found = self.judge(bound=self.pods[:-1])
        self.assertEqual((found["served"], found["failed"]), (399, 1))

    def test_a_binding_that_was_refused_is_none(self):
        found = judge.figures(SENT, answers_of(self.pods), audit_of(self.pods, code=409))
        self.assertEqual((found["served"], found["failed"]), (0, 400))

    def test_a_caller_without_an_answer_is_a_failure(self):
        found = self.judge(answered=self.pods[1:])
        self.assertEqual((found["served"], found["failed"]), (399, 1))


if __name__ == "__main__":
    unittest.main()

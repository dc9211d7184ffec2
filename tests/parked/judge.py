# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""What came of binds that were sent in a known order. Pure: lists in, figures out."""

import collections


def _violations(numbers):
    """How many of them came after one that was sent later."""
    count, highest = 0, -1
    for number in numbers:
        count += number < highest
        highest = max(highest, number)
    return count


def order_violations(sent, ended):
    """Pods that had their turn after one of their node that was sent later than they.

    SENT is [(node, pod)] in the order of sending, ENDED the pods in the order of their turns.
    """
    places = {pod: (node, number) for number, (node, pod) in enumerate(sent)}
    by_node = collections.defaultdict(list)
    for pod in ended:
        if pod in places:
            node, number = places[pod]
            by_node[node].append(number)
    return sum(_violations(numbers) for numbers in by_node.values())


def bound_order(audit):
    """Names of the pods that an API server's audit log saw bound, in the store's order."""
    bound = []
    for line in audit:
        thing = line.get("objectRef") or {}
        if (line.get("verb") == "create" and thing.get("subresource") == "binding"
                and line["responseStatus"]["code"] == 201):
            bound.append((int(line["annotations"]["kubesim/sequence"]), thing["name"]))
    return [name for _, name in sorted(bound)]


def figures(sent, answers, audit):
    """The sum of a run.

    ANSWERS is [(moment, pod, error)], error "" for success. The order is judged twice, by what
    the callers got and by what the API server stored; the worse one counts.
    """
    served = [pod for _, pod, error in sorted(answers) if error == ""]
    bound = bound_order(audit)
    expected = {pod for _, pod in sent}
    both = len(expected & set(served) & set(bound))
    return {"served": both, "failed": len(expected) - both,
            "order_violations": max(order_violations(sent, served),
                                    order_violations(sent, bound))}

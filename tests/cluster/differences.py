# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Where older servers were seen to answer differently from 1.37.2.

The facts suite states what 1.37.2 answers, and what the simulated server does as well. The
library lives with each of these: where there is no WatchList it lists and watches, and it
needs nothing of the others. docs/kubernetes-versions.md has the table.
"""

# Test -> (the newest minor version that was seen to differ, what it does instead).
FACTS = {
    "annotations_and_labels_of_the_binding_go_onto_the_pod_with_the_node":
        (30, "labels of a Binding are not copied; annotations are"),
    "a_watch_list_ends_its_first_part_with_a_marked_bookmark":
        (30, "no WatchList: 422, or the parameter is not known"),
    "a_watch_list_needs_its_version_match":
        (24, "sendInitialEvents is not known and ignored"),
    "a_gated_pod_gives_409_about_the_binding": (24, "no scheduling gates"),
    "media_types_and_bodies_that_are_none_give_415_and_400":
        (24, "a body that is no JSON gets 422"),
}


def known(minor, point):
    """What a server of this minor version does instead, or None if it should not differ."""
    for test, (newest, text) in FACTS.items():
        if f":{test}:" in point and minor <= newest:
            return text
    return None

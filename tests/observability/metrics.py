# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Prometheus' text, read."""

import re

SAMPLE = re.compile(r"^([a-z_:]+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)",?')


class Metrics:
    """One answer of /metrics. Each metric has its HELP and TYPE before its samples."""

    def __init__(self, text):
        self.samples = {}
        self.types = {}
        helped = set()
        for line in text.splitlines():
            if line.startswith("# HELP "):
                helped.add(line.split(" ")[2])
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name in helped and name not in self.types, f"{name} without HELP, or twice"
                self.types[name] = kind
            else:
                name, labels, value = SAMPLE.match(line).groups()
                assert self.base(name) in self.types, f"{name} without TYPE"
                key = (name, frozenset(LABEL.findall(labels or "")))
                assert key not in self.samples, f"{key} twice"
                self.samples[key] = float(value)

    def base(self, name):
        """The metric that a sample's name is of."""
        stem = re.sub(r"_(bucket|sum|count)$", "", name)
        return stem if self.types.get(stem) == "histogram" else name

    def value(self, name, **labels):
        return self.samples.get((name, frozenset(labels.items())), 0.0)

    def names(self):
        """All that an expression may name."""
        found = set()
        for name, kind in self.types.items():
            ends = ("_bucket", "_sum", "_count") if kind == "histogram" else ("",)
            found.update(name + end for end in ends)
        return found

    def label_names(self):
        return {label for _, labels in self.samples for label, _ in labels}

# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""run.py INCLUDE FILE: which listed errors of public functions no test has produced, by the file that
the tests wrote (recorder.py). scripts/test asks after each whole run."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import listed  # noqa: E402

# Listed, since a caller has to expect them, but no test can bring them about within the rules.
OUT_OF_REACH = {
    # _new makes no client without credentials, and the last ones that were read are kept.
    ("hami_kubernetes_request", "ACCESS"),
    # A blocking call may not run while the client is being freed; a callback of then may not block.
    ("hami_kubernetes_request", "CLOSED"),
    # A handshake has gone before its client is (rule K1).
    *((function, "CLOSED") for function in (
        "hami_handshake_begin", "hami_handshake_begin_start", "hami_handshake_call_start",
        "hami_handshake_finish", "hami_handshake_finish_start", "hami_handshake_fail",
        "hami_handshake_fail_start", "hami_handshake_recover_start")),
}
# These answer whatever the transport does.
PASS_ON = ("hami_transport_call", "hami_transport_call_owner")


def numbers(include):
    text = (include / "hami/nodelock.h").read_text(encoding="utf-8")
    return {-int(number): name for name, number in re.findall(r"^    X\((\w+), (\d+),", text, re.M)}


def seen(include, path):
    """{function: set of codes} that tests got."""
    names, found = numbers(include), {}
    for line in path.read_text(encoding="utf-8").splitlines():
        function, code = line.split()
        found.setdefault(function, set()).add(names.get(int(code), code))
    return found


def missing(include, path):
    got = seen(include, path)
    return [f"no test makes {function}() answer {code}"
            for function, codes in listed.listed(include).items()
            for code in sorted(codes - got.get(function, set()))
            if (function, code) not in OUT_OF_REACH]


def unlisted(include, path):
    codes = listed.listed(include)
    return [f"{function}() answered {code}, which its comment does not list"
            for function, got in seen(include, path).items() if function not in PASS_ON
            for code in sorted(got - codes.get(function, set()))]


def of_run(include, path):
    """Problems, and the number of pairs of function and error that are looked for."""
    pairs = sum(len(codes) for codes in listed.listed(include).values()) - len(OUT_OF_REACH)
    if not path.exists():
        return ["no test noted an error"], pairs
    return missing(include, path) + unlisted(include, path), pairs


if __name__ == "__main__":
    TEXTS, _ = of_run(*map(pathlib.Path, sys.argv[1:]))
    print("\n".join(TEXTS))
    sys.exit(1 if TEXTS else 0)

# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a folder's unit tests and prints TAP: tap.py PACKAGE_FOLDER."""

import pathlib
import sys
import unittest


class TapResult(unittest.TestResult):
    """One TAP line a test, with the traceback of a failure as its comment."""

    def __init__(self, stream):
        super().__init__()
        self.stream = stream

    def line(self, test, is_good, note=""):
        name = test.id().split(".", 1)[-1].replace("#", "")
        self.stream.write(f"{'ok' if is_good else 'not ok'} {self.testsRun} - {name}{note}\n")

    def comment(self, error, test):
        for text in self._exc_info_to_string(error, test).splitlines():
            self.stream.write(f"# {text}\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(test, True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(test, True, f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, False)
        self.comment(err, test)

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, False)
        self.comment(err, test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.line(test, False)
            self.comment(err, test)


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    top = folder.parent
    while (top / "__init__.py").exists():
        top = top.parent
    suite = unittest.defaultTestLoader.discover(str(folder), top_level_dir=str(top))
    result = TapResult(sys.stdout)
    suite.run(result)
    sys.stdout.write(f"1..{result.testsRun}\n")
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    sys.exit(main())

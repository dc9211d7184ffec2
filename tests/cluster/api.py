# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A small client of the API server for tests, one connection a thread."""

import http.client
import json
import ssl
import threading
import time

JSON_PATCH = "application/json-patch+json"
YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
TIMEOUT = 30
IDLE_SECONDS = 45  # an API server ends connections that are idle for 90 s


class Answer:
    """Status code and body of one answer; the body is an object where it was JSON."""

    def __init__(self, code, text):
        self.code = code
        self.text = text
        try:
            self.body = json.loads(text)
        except ValueError:
            self.body = {}

    @property
    def metadata(self):
        return self.body.get("metadata") or {}

    def __str__(self):
        return f"{self.code} {self.body.get('message') or self.text[:200]}"


class Refused(Exception):
    """The server said no where a test needed a yes."""


class Client:
    """Requests with a token to one server on loopback; each thread has its connection."""

    def __init__(self, port, authority, token, agent="cluster-test"):
        self.port = port
        self.token = token
        self.agent = agent
        self.context = ssl.create_default_context(cafile=str(authority))
        self._local = threading.local()

    def _connection(self):
        """This thread's; a new one where it has been idle for long."""
        now = time.monotonic()
        if now - getattr(self._local, "used", now) > IDLE_SECONDS:
            self.close()
        self._local.used = now
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=TIMEOUT, context=self.context)
            self._local.connection = connection
        return connection

    def request(self, method, path, body=None, kind="application/json"):
        """A body that is text already goes out as it is."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json",
                   "User-Agent": self.agent}
        data = None
        if body is not None:
            data = body if isinstance(body, str) else json.dumps(body)
            headers["Content-Type"] = kind
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException):
            self._local.connection = None
            connection.close()
            raise

    def close(self):
        """Drops this thread's connection; the next request makes another."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            connection.close()

    def need(self, method, path, body=None, kind="application/json"):
        answer = self.request(method, path, body, kind)
        if not 200 <= answer.code < 300:
            raise Refused(f"{method} {path}: {answer}")
        return answer

    def is_ready(self, path="/readyz"):
        try:
            return self.request("GET", path).code == 200
        except (OSError, http.client.HTTPException):
            return False


def pointer(key):
    """JSON pointer of an annotation."""
    return "/metadata/annotations/" + key.replace("~", "~0").replace("/", "~1")

# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the filter of HAMi's extender, as a program of its own.

It picks one node for the pod, assigns devices of each vendor that the pod's containers ask for,
writes HAMi's annotations onto the pod, and answers with that node alone. A pod that comes again, as
after a bind that failed, is sent to another node where there is one: whatever still binds it to the
first one is then seen.
"""

import argparse
import http.client
import http.server
import json
import pathlib
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from cluster import api, mixed  # noqa: E402


class Books:
    """Which pod was sent where; filters are serial, as HAMi's are."""

    def __init__(self, client):
        self.client = client
        self.mutex = threading.Lock()
        self.places = {}
        self.counts = {}

    def place(self, pod, names):
        """The node with the fewest pods, but not the one that the pod had before."""
        uid = pod["metadata"]["uid"]
        before = self.places.get(uid)
        others = [name for name in names if name != before] or names
        chosen = min(others, key=lambda name: (self.counts.get(name, 0), names.index(name)))
        if before is not None:
            self.counts[before] -= 1
        self.counts[chosen] = self.counts.get(chosen, 0) + 1
        self.places[uid] = chosen
        return chosen

    def _patch(self, path, body):
        """Once more where the connection was lost: the same again changes nothing."""
        try:
            return self.client.request("PATCH", path, body, api.MERGE_PATCH)
        except (OSError, http.client.HTTPException):
            return self.client.request("PATCH", path, body, api.MERGE_PATCH)

    def filter(self, request):
        pod, names = request["Pod"], request.get("NodeNames") or []
        metadata = pod["metadata"]
        if not names:
            return {"NodeNames": [], "FailedNodes": {}, "Error": ""}
        with self.mutex:
            chosen = self.place(pod, names)
            answer = self._patch(
                f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}",
                {"metadata": {"uid": metadata["uid"], "annotations": mixed.annotations(
                    pod["spec"], chosen, metadata["uid"][:8])}})
        if answer.code != 200:
            return {"NodeNames": None, "Error": f"the pod could not be written: {answer}"}
        failed = {name: "another node was chosen" for name in names if name != chosen}
        return {"NodeNames": [chosen], "FailedNodes": failed, "Error": ""}


def handler(books):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                answer = books.filter(json.loads(body))
            except (OSError, http.client.HTTPException) as error:
                answer = {"NodeNames": None, "Error": f"no answer: {error!r}"}
            text = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    return Handler


def client_of(path):
    """Of a kubeconfig that the control plane of these tests wrote."""
    words = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    cluster = words["clusters"][0]["cluster"]
    return api.Client(urllib.parse.urlsplit(cluster["server"]).port,
                      cluster["certificate-authority"], words["users"][0]["user"]["token"],
                      "hami-filter-stand-in")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--address-file", required=True, type=pathlib.Path)
    asked = parser.parse_args()
    books = Books(client_of(asked.kubeconfig))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(books))
    server.daemon_threads = True
    # Whoever waits for the file finds it whole.
    unfinished = asked.address_file.with_suffix(".new")
    unfinished.write_text(f"127.0.0.1:{server.server_port}\n", encoding="ascii")
    unfinished.rename(asked.address_file)
    server.serve_forever()


if __name__ == "__main__":
    main()

# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""TLS of a real hamid: who is let in, who leaves, what happens when its files change."""

import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import unittest
import warnings

from cluster import certificates
from http_faults import world

FAILED = 'hamid_tls_handshakes_total{listener="extender",outcome="failed"}'
TAKEN = 'hamid_tls_reloads_total{outcome="taken"}'
WRONG = 'hamid_tls_reloads_total{outcome="wrong"}'
LIVE = world.request("GET", "/livez")


class Case(unittest.TestCase):
    """One hamid with TLS for all tests of a class."""

    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.world = world.World(*cls.flags, has_tls=True)
        cls.world.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.world.__exit__(None, None, None)

    def context(self, name="admin"):
        """Of a client that trusts the server, with this certificate or none."""
        folder = self.world.certificates
        made = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        if name:
            made.load_cert_chain(folder / f"{name}.crt", folder / f"{name}.key")
        return made

    def status(self, context, metrics=False):
        """Of a request; with TLS 1.3 a client hears only then whether it is let in."""
        with self.world.secure(context, metrics) as caller:
            caller.send(LIVE)
            return caller.answer()[0]

    def refused(self, context, metrics=False):
        before = self.world.metric(FAILED)
        with self.assertRaises((OSError, EOFError)):
            self.status(context, metrics)
        self.world.until(lambda: self.world.metric(FAILED) > before)


class ClientsTest(Case):
    """Who is let in."""

    def test_tls_1_2_and_1_3_are_spoken_and_nothing_older(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = self.context()
            context.minimum_version = context.maximum_version = version
            self.assertEqual(self.status(context), 200)
        context = self.context()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        self.refused(context)

    def test_only_http_1_1_is_agreed_on(self):
        context = self.context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        with self.world.secure(context) as caller:
            self.assertEqual(caller.socket.selected_alpn_protocol(), "http/1.1")
        context.set_alpn_protocols(["h2"])
        self.refused(context)

    def test_a_caller_without_a_certificate_is_refused(self):
        self.refused(self.context(None))
        self.assertIn("peer did not return a certificate", self.world.log())

    def test_a_certificate_of_another_authority_is_refused(self):
        other = certificates.make(self.world.folder / "other")
        context = ssl.create_default_context(cafile=str(self.world.certificates / "ca.crt"))
        context.load_cert_chain(other / "admin.crt", other / "admin.key")
        self.refused(context)

    def test_a_servers_certificate_is_none_of_a_client(self):
        self.refused(self.context("server"))

    def test_probes_and_metrics_are_served_without_a_certificate(self):
        self.assertEqual(self.status(self.context(None), metrics=True), 200)

    def test_plain_http_is_told_that_this_is_https(self):
        for metrics in (False, True):
            with self.world.connect(metrics) as caller:
                caller.send(LIVE)
                status, body = caller.answer()
                self.assertEqual(status, 400)
                self.assertIn(b"speaks HTTPS", body)
                self.assertTrue(caller.is_closed())

    def test_no_session_is_taken_up_again(self):
        context = self.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.world.secure(context) as caller:
            session = caller.socket.session
        self.assertFalse(session.has_ticket)
        raw = self.world.connect().socket
        with context.wrap_socket(raw, server_hostname="127.0.0.1", session=session) as again:
            self.assertFalse(again.session_reused)

    def test_noise_in_a_handshake_harms_nobody_else(self):
        for noise in (b"\x16\x03\x01\x40\x00" + b"\x01" * 5000, b"\x80\x2e\x01\x00\x02" * 100,
                      b"\x15\x03\x03\x00\x02\x02\x28", os.urandom(3000), b"\x16\x03\x01\x00\x00"):
            with self.world.connect() as caller:
                caller.send(noise)
                caller.socket.shutdown(socket.SHUT_WR)
                try:
                    while caller.socket.recv(4096):
                        pass
                except ConnectionError:
                    pass
        self.assertTrue(self.world.is_fine())


class NamesTest(Case):
    """An authority that signs for others as well."""

    flags = ("--client-name=system:kube-scheduler",)

    def test_only_certificates_with_a_listed_name_are_served(self):
        certificates.sign(self.world.certificates, "scheduler", "/CN=system:kube-scheduler",
                          "extendedKeyUsage=clientAuth\n")
        self.assertEqual(self.status(self.context("scheduler")), 200)
        self.assertEqual(self.status(self.context("admin")), 403)
        certificates.sign(self.world.certificates, "longer", "/CN=system:kube-scheduler-2",
                          "extendedKeyUsage=clientAuth\n")
        self.assertEqual(self.status(self.context("longer")), 403)


class GoneTest(Case):
    """Clients that leave a parked bind over TLS, each in its own way."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world.hold()

    def gone(self, leave):
        caller = self.world.park()[0]
        leave(caller.socket)
        self.world.until(lambda: self.world.gauge("hamid_lock_waiters") == 0)

    def test_one_that_says_goodbye_takes_its_bind_along(self):
        self.gone(lambda secure: secure.unwrap())

    def test_one_that_just_closes_takes_its_bind_along(self):
        self.gone(lambda secure: secure.close())

    def test_one_that_resets_takes_its_bind_along(self):
        def reset(secure):
            secure.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            secure.close()
        self.gone(reset)

    def test_one_that_breaks_its_encryption_takes_its_bind_along(self):
        def disturb(secure):
            plain = socket.socket(fileno=os.dup(secure.fileno()))
            plain.sendall(b"\x17\x03\x03\x00\x20" + b"x" * 32)
            plain.close()
        self.gone(disturb)


class SlowTest(Case):
    """Handshakes that don't end, and requests that don't behind one that did."""

    def test_both_are_ended_by_their_time(self):
        silent = self.world.connect()
        half = self.world.connect()
        half.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        slow = self.world.secure()
        slow.send(b"GET /livez HTTP/1.1\r\nHost: ")
        before = self.world.metric(FAILED)
        self.assertTrue(self.world.is_fine())
        self.assertEqual(slow.answer()[0], 408)
        self.assertTrue(slow.is_closed())
        self.assertTrue(silent.is_closed())
        self.assertTrue(half.is_closed())
        self.world.until(lambda: self.world.metric(FAILED) == before + 2)
        for caller in (silent, half, slow):
            caller.close()


class ReloadTest(Case):
    """The files change while callers are there."""

    def shown(self):
        """The certificate that a new caller is shown."""
        context = self.context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with self.world.secure(context, metrics=True) as caller:
            return caller.socket.getpeercert(True)

    def put(self, source, *names):
        """As an editor does: each file appears whole."""
        for name in names:
            new = self.world.certificates / f"{name}.new"
            shutil.copy(source / name, new)
            os.replace(new, self.world.certificates / name)

    def other(self, name):
        """Signed anew by the same authority."""
        folder = self.world.folder / name
        shutil.copytree(self.world.certificates, folder)
        certificates.sign(folder, "server", "/CN=hamid",
                          "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        return folder

    def test_a_new_pair_is_taken_and_parked_callers_keep_their_connection(self):
        self.world.hold()
        parked = self.world.park()[0]
        before, taken = self.shown(), self.world.metric(TAKEN)
        self.put(self.other("second"), "server.key", "server.crt")
        self.world.until(lambda: self.shown() != before)
        self.assertGreater(self.world.metric(TAKEN), taken)
        self.assertTrue(parked.is_silent())
        self.free_node()
        self.assertEqual(parked.answer()[0], 200)
        parked.close()

    def free_node(self):
        """As a device plugin does."""
        client = self.world.client()
        client.need("PATCH", "/api/v1/nodes/node-0", {"metadata": {"annotations": {
            "hami.io/mutex.lock": None}}}, "application/merge-patch+json")
        client.close()

    def test_a_pair_that_does_not_fit_leaves_the_old_one_until_it_is_put_right(self):
        before, wrong = self.shown(), self.world.metric(WRONG)
        other = self.other("third")
        self.put(other, "server.crt")
        self.world.until(lambda: self.world.metric(WRONG) > wrong)
        self.assertEqual(self.shown(), before)
        self.assertIn("the old ones stay until they are put right", self.world.log())
        self.assertIn("key", self.world.log())
        self.put(other, "server.key")
        self.world.until(lambda: self.shown() != before)

    def test_a_file_that_is_no_certificate_leaves_the_old_one(self):
        before, wrong = self.shown(), self.world.metric(WRONG)
        kept = (self.world.certificates / "server.crt").read_bytes()
        (self.world.certificates / "server.crt").write_bytes(b"noise\n")
        self.world.until(lambda: self.world.metric(WRONG) > wrong)
        self.assertEqual(self.shown(), before)
        (self.world.certificates / "server.crt").write_bytes(kept)
        self.world.until(lambda: self.world.metric(TAKEN) > 0)

    def test_sighup_looks_at_once(self):
        # The look of each second may have been quicker, once.
        for name in ("fourth", "fifth", "sixth"):
            before = self.shown()
            self.put(self.other(name), "server.key", "server.crt")
            self.world.hamid.send_signal(signal.SIGHUP)
            self.world.until(lambda: self.shown() != before)
            if "certificate of the listeners" in self.world.log():
                return
        self.fail(self.world.log())

    def test_the_metric_tells_when_the_certificate_ends(self):
        text = subprocess.run(
            ["openssl", "x509", "-enddate", "-noout", "-in",
             self.world.certificates / "server.crt"], check=True, text=True,
            stdout=subprocess.PIPE).stdout.strip().partition("=")[2]
        self.assertEqual(
            self.world.metric("hamid_tls_certificate_expiration_timestamp_seconds"),
            ssl.cert_time_to_seconds(text))


class ToolsTest(Case):
    """Our own programs that ask a hamid."""

    def call(self, program, *words):
        done = subprocess.run([world.run.building.program(program), *map(str, words)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=world.PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def test_hamid_probe_asks_over_tls(self):
        probe = ("daemon/hamid", "probe")
        self.assertEqual(self.call(*probe, f"https://{self.world.metrics}"), (0, "200 ok\n"))
        self.assertEqual(self.call(*probe, f"https://{self.world.metrics}", "/none")[0], 1)
        code, text = self.call(*probe, self.world.metrics)
        self.assertEqual((code, text[:3]), (1, "400"))

    def test_hamid_probe_does_not_wait_for_ever_for_tls(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            code, text = self.call("daemon/hamid", "probe",
                                   f"https://127.0.0.1:{silent.getsockname()[1]}")
        self.assertEqual(code, 1)
        self.assertIn("within 2000 ms", text)

    def test_hamictl_verifies_the_certificate(self):
        words = ("daemon/hamictl/hamictl", "locks", "--hamid", f"https://{self.world.metrics}")
        code, text = self.call(*words, "--hamid-ca-file", self.world.certificates / "ca.crt")
        self.assertEqual(code, 0, text)
        code, text = self.call(*words)
        self.assertNotEqual(code, 0)
        self.assertIn("certificate", text)


class StartTest(unittest.TestCase):
    """What hamid says of files that are no use."""

    def start(self, *flags):
        done = subprocess.run(
            [world.run.building.program("daemon/hamid"), "scheduler", "--listen=127.0.0.1:0",
             *flags], text=True, stderr=subprocess.PIPE, timeout=world.PATIENCE, check=False,
            env={**os.environ, "KUBECONFIG": str(self.running.folder / "kubeconfig")})
        return done.returncode, done.stderr

    def test_a_wrong_file_is_named_and_nothing_starts(self):
        with world.World(has_tls=True) as self.running:
            folder = self.running.certificates
            for cert, key, authority, word in (
                    ("none.crt", "server.key", "ca.crt", "none.crt"),
                    ("server.crt", "none.key", "ca.crt", "none.key"),
                    ("server.crt", "admin.key", "ca.crt", "admin.key"),
                    ("server.crt", "server.key", "server.key", "authorities of clients")):
                code, text = self.start(
                    f"--tls-cert-file={folder / cert}", f"--tls-key-file={folder / key}",
                    f"--client-ca-file={folder / authority}")
                self.assertEqual(code, 1)
                self.assertIn("Could not set up TLS", text)
                self.assertIn(word, text)

    def test_an_expired_certificate_is_warned_of(self):
        with world.World(has_tls=True) as self.running:
            folder = self.running.certificates
            before = self.running.log()
            self.assertNotIn("expire", before)
            certificates.sign(folder, "server", "/CN=hamid", "subjectAltName=IP:127.0.0.1\n",
                              days="-1")
            self.running.until(lambda: "The certificate has expired" in self.running.log())


if __name__ == "__main__":
    unittest.main()

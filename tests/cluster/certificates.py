# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates of a control plane that lives for minutes, made by openssl."""

import os
import pathlib
import subprocess

DAYS = "2"
# They are valid since an hour ago, for programs whose clock is behind. openssl can't be asked
# for that before 3.4, but its clock can be set.
CLOCK = pathlib.Path(__file__).resolve().parents[2] / "build/tests/standins/skewed-clock.so"
AGO = {"LD_PRELOAD": str(CLOCK), "SKEWED_CLOCK_SECONDS": "-3600"}


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                   env={**os.environ, **(AGO if CLOCK.exists() else {})})


def _key(path):
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)
    path.chmod(0o600)


def make(folder):
    """A CA, a server certificate for loopback, an administrator's and the token key."""
    folder = pathlib.Path(folder)
    folder.mkdir(mode=0o700, exist_ok=True)
    _key(folder / "ca.key")
    _openssl("req", "-x509", "-new", "-key", folder / "ca.key", "-subj", "/CN=test-ca",
             "-days", DAYS, "-out", folder / "ca.crt")
    sign(folder, "server", "/CN=kube-apiserver",
          "subjectAltName=DNS:localhost,DNS:kubernetes.default,IP:127.0.0.1\n"
          "extendedKeyUsage=serverAuth\n")
    sign(folder, "admin", "/O=system:masters/CN=admin-certificate",
          "extendedKeyUsage=clientAuth\n")
    _key(folder / "token.key")
    _openssl("ec", "-in", folder / "token.key", "-pubout", "-out", folder / "token.pub")
    return folder


def sign(folder, name, subject, extensions, days=DAYS):
    """A key and a certificate of the folder's authority."""
    _key(folder / f"{name}.key")
    request, extra = folder / f"{name}.csr", folder / f"{name}.ext"
    extra.write_text(extensions)
    _openssl("req", "-new", "-key", folder / f"{name}.key", "-subj", subject, "-out", request)
    _openssl("x509", "-req", "-in", request, "-CA", folder / "ca.crt", "-CAkey",
             folder / "ca.key", "-CAcreateserial", "-days", days, "-extfile", extra,
             "-out", folder / f"{name}.crt")

# SPDX-FileCopyrightText: 2026 The libhaminodelock authors
# SPDX-License-Identifier: Apache-2.0
"""A load balancer in front of some API servers, as a program of its own.

It passes TCP on and looks at nothing that goes through. A new connection goes to the next
server in turn whose /readyz was good when it was last asked; to none, and it is closed.
Connections that are open stay where they are: a server that ends has to end them itself.
"""

import argparse
import asyncio
import pathlib
import ssl

ASK_SECONDS = 0.2
CHUNK = 65536


class Server:
    """One server, and whether it takes connections."""

    def __init__(self, port, authority, token):
        self.port = port
        self.token = token
        self.context = ssl.create_default_context(cafile=authority)
        self.is_ready = False

    async def _ask(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context,
                                                       server_hostname="localhost")
        try:
            writer.write(b"GET /readyz HTTP/1.0\r\nAuthorization: Bearer "
                         + self.token.encode() + b"\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()

    async def watch(self):
        while True:
            try:
                self.is_ready = await asyncio.wait_for(self._ask(), 2)
            except (OSError, asyncio.TimeoutError):
                self.is_ready = False
            await asyncio.sleep(ASK_SECONDS)


class Balancer:
    def __init__(self, servers):
        self.servers = servers
        self.next = 0

    def _choose(self):
        """The next one that is ready."""
        for _ in self.servers:
            self.next = (self.next + 1) % len(self.servers)
            if self.servers[self.next].is_ready:
                return self.servers[self.next]
        return None

    async def serve(self, reader, writer):
        server = self._choose()
        try:
            if server is not None:
                theirs = await asyncio.open_connection("127.0.0.1", server.port)
                await asyncio.gather(_relay(reader, theirs[1]), _relay(theirs[0], writer))
        except OSError:
            server.is_ready = False
        finally:
            writer.close()


async def _relay(reader, writer):
    """One way of a connection, until its sender ends or breaks off."""
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def run(asked):
    token = asked.token_file.read_text(encoding="ascii").strip()
    servers = [Server(port, asked.authority, token) for port in asked.server]
    watches = [asyncio.create_task(server.watch()) for server in servers]
    listener = await asyncio.start_server(Balancer(servers).serve, "127.0.0.1", 0)
    unfinished = asked.address_file.with_suffix(".new")
    port = listener.sockets[0].getsockname()[1]
    unfinished.write_text(f"127.0.0.1:{port}\n", encoding="ascii")
    unfinished.rename(asked.address_file)
    await asyncio.gather(listener.serve_forever(), *watches)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=int, action="append", required=True, metavar="PORT")
    parser.add_argument("--authority", required=True, help="PEM file of the servers' CA")
    parser.add_argument("--token-file", required=True, type=pathlib.Path)
    parser.add_argument("--address-file", required=True, type=pathlib.Path)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""The lab of scripts/run: daemon, two application servers, traffic both ways, and a live view."""
import argparse
import os
import pathlib
import signal
import socket
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts'))

from lab import (
    gateway,
    network,
    peer,
    private_namespaces,
    view,
)  # noqa: E402  (the path comes first)

CONFIG = ROOT / 'config/lab.yaml'
GATEWAY = '10.77.0.3'
# What config/lab.yaml says of the two: keep in step with it.
SERVERS = (
    {'name': 'asp1', 'local': '10.77.0.11', 'asp_id': 1, 'rc': 1, 'opc': '2-2-1', 'dpc': '2-2-2'},
    {'name': 'asp2', 'local': '10.77.0.12', 'asp_id': 2, 'rc': 2, 'opc': '2-2-2', 'dpc': '2-2-1'},
)
TAP = 'sbtap0'
DAY_S = 86400


def listen_outside():
    """The metrics port outside the namespaces; any free one where the usual one is taken."""
    for port in (gateway.HTTP[1], 0):
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind(('127.0.0.1', port))
        except OSError:
            server.close()
            continue
        server.listen(16)
        return server
    raise network.LabError('no free port on 127.0.0.1')


def _pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # either end may go at any time


def forward(server):
    """A socket stays in the namespace where it was made: this one listens outside."""
    while True:
        client, _ = server.accept()
        try:
            inner = socket.create_connection(gateway.HTTP, timeout=5)
        except OSError:
            client.close()
            continue
        for pair in ((client, inner), (inner, client)):
            threading.Thread(target=_pump, args=pair, daemon=True).start()


class Stopped(Exception):
    pass


def _stop(*_):
    raise Stopped


def start(directory, build, rate):
    """(daemon, application servers), traffic on its way."""
    switch = network.Switch('lab')
    daemon = gateway.Gateway(f'{build}/daemon/signalboxd', str(CONFIG), f'{directory}/daemon.log')
    try:
        switch.attach_tap(TAP)
        daemon.wait_ready()
    except network.LabError as error:
        raise network.LabError(f'{error}\n{daemon.log()}') from None
    servers = []
    for entry in SERVERS:
        options = dict(entry)
        host = network.Host(options.pop('name'))
        host.plug(switch, options['local'] + '/24')
        servers.append(
            peer.Peer(
                f'{build}/tests/interop/usrsctp_asp',
                host,
                directory,
                remote=GATEWAY,
                send='unlimited',
                rate=rate,
                timeout=DAY_S,
                progress=True,
                **options,
            )
        )
    return daemon, servers


def end(daemon, servers):
    """Application servers first, then the daemon. True when all went well to the last message."""
    for server in servers:
        server.stop()
    well = True
    for server in servers:
        result = server.result(20)
        well = well and result['ok']
        print(
            f"{server.name}: sent {result['sent']}, received {result['received']}, "
            f"lost {result['lost']}, duplicated {result['duplicated']}, "
            f"reordered {result['reordered']}, corrupt {result['corrupt']}"
        )
    code = daemon.stop(15)
    print(f'signalboxd ended with {code}')
    return well and code == 0


def watch(screen, daemon, servers, seconds):
    deadline = time.monotonic() + seconds if seconds else None
    while deadline is None or time.monotonic() < deadline:
        time.sleep(1)
        if not daemon.alive():
            raise network.LabError(
                f'the daemon ended with {daemon.process.returncode}:\n{daemon.log()}'
            )
        screen.show(gateway.scrape(), servers, daemon.log(3))


def run(arguments, outside):
    url = f'http://127.0.0.1:{outside.getsockname()[1]}/metrics'
    threading.Thread(target=forward, args=(outside,), daemon=True).start()
    with tempfile.TemporaryDirectory(dir='/run') as directory:
        daemon, servers = start(directory, arguments.build, arguments.rate)
        print(f'metrics: {url}', flush=True)
        try:
            watch(view.Screen(url), daemon, servers, arguments.seconds)
        except Stopped:
            print()  # what follows begins below the terminal's ^C
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # once is enough: the end is on its way
        return end(daemon, servers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--build', required=True)
    parser.add_argument('--seconds', type=int, default=0)
    parser.add_argument('--rate', type=int, default=2000)
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    reason = private_namespaces.why_not()
    if reason:
        print(f'run: {reason}', file=sys.stderr)
        sys.exit(1)
    outside = listen_outside()
    private_namespaces.enter()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        code = 0 if run(arguments, outside) else 1
    except Stopped:
        code = 1
    except (network.LabError, OSError) as error:
        print(f'run: {error}', file=sys.stderr)
        code = 1
    sys.stdout.flush()
    os._exit(code)  # as the first process here it takes all the others with it


main()

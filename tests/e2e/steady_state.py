#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker in traffic makes no system calls but its port driver's and the idle sleep."""
import pathlib
import re
import signal
import subprocess
import time

import configuration as conf
import story

RATE = 5000
WATCH_S = 2
DRIVER = {
    'sendto',
    'sendmsg',
    'recvfrom',
    'recvmsg',
    'poll',
    'ppoll',
    'read',
    'readv',
    'write',
    'writev',
}
# net_tap learns of packets by SIGIO, so that it need not ask the kernel when there are none.
DRIVER |= {'rt_sigreturn'}
SLEEP = {'nanosleep', 'clock_nanosleep', 'restart_syscall'}


def workers(process):
    tasks = pathlib.Path(f'/proc/{process.pid}/task').iterdir()
    names = {task.name: (task / 'comm').read_text().strip() for task in tasks}
    found = [tid for tid, name in names.items() if name.startswith(('lcore-worker', 'rte-worker'))]
    story.require(found, f'no worker among the threads {sorted(names.values())}')
    return found


def system_calls(tid, path):
    tracer = subprocess.Popen(['strace', '-c', '-p', tid, '-o', path], stderr=subprocess.DEVNULL)
    time.sleep(WATCH_S)
    tracer.send_signal(signal.SIGINT)
    tracer.wait(10)
    lines = pathlib.Path(path).read_text().splitlines()
    calls = {}
    for line in lines:
        match = re.match(r'\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$', line)
        if match and match.group(2) != 'total':
            calls[match.group(2)] = int(match.group(1))
    return calls


def a_worker_is_watched(stage):
    switch = story.network.Switch('br0')
    servers = [
        conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11'])),
        conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12'])),
    ]
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    daemon = stage.start_gateway(conf.write([port], servers), [(switch, 'sbtap0')])
    peers = []
    for server in servers:
        host = story.network.Host(server.peers[0].name)
        host.plug(switch, server.peers[0].addresses[0] + '/24')
        peers.append(
            stage.peer(
                host,
                **conf.options(
                    server,
                    server.peers[0],
                    remote='10.77.0.3',
                    send='unlimited',
                    rate=RATE,
                    timeout=60,
                ),
            )
        )
    routed = lambda: story.lab_gateway.scrape().total('signalbox_routed_messages_total')
    story.network.until(lambda: routed() > RATE, 60, 'traffic flows')
    before = routed()
    for tid in workers(daemon.process):
        calls = system_calls(tid, f'{stage.directory}/strace.{tid}')
        print(f'worker {tid} in {WATCH_S} s: {calls}')
        story.equal(
            set(calls) - DRIVER - SLEEP, set(), 'system calls of a worker beside its driver'
        )
        story.require(calls, 'strace saw nothing')
    story.require(routed() > before + RATE // 2, 'no traffic went on while the worker was watched')
    for asp in peers:
        asp.stop()


story.tell(a_worker_is_watched, (story.DAEMON, story.ASP), ('strace',))

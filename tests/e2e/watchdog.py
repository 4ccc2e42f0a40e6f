#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""REL-42: systemd is told of readiness and fed while every worker turns; a worker thread that is
held by ptrace makes /-/healthy fail and leaves the watchdog unfed. The unit file keeps its sandbox.
"""
import ctypes
import os
import re
import shutil
import socket
import subprocess
import time

import configuration as conf
import story

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
DETECTED_WITHIN_S = 30  # the limit is 2 s; the rest is for a busy machine
EXPOSURE_MAX = 2.5


def worker_thread(pid):
    """DPDK names its worker lcores lcore-worker-N."""
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/comm', encoding='ascii') as comm:
            if comm.read().startswith(('lcore-worker', 'lcore-slave', 'rte-worker')):
                return int(task)
    raise AssertionError('no worker thread')


class Held:
    """A thread that stands still while this lives."""

    def __init__(self, thread):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.thread = thread
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            done = self.libc.ptrace(request, thread, None, None)
            if done != 0:
                story.skip(f'ptrace: {os.strerror(ctypes.get_errno())}')
        os.waitpid(thread, 0x40000000)  # __WALL

    def release(self):
        self.libc.ptrace(PTRACE_DETACH, self.thread, None, None)


def messages(manager, seconds):
    """What comes in that time."""
    got = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        manager.settimeout(max(0.01, end - time.monotonic()))
        try:
            got.append(manager.recv(256).decode())
        except TimeoutError:
            break
    return got


def check_sandbox():
    if shutil.which('systemd-analyze') is None:
        return
    unit = story.ROOT / 'daemon/signalboxd.service'
    done = subprocess.run(
        ['systemd-analyze', 'security', '--offline=true', '--no-pager', str(unit)],
        capture_output=True,
        text=True,
    )
    found = re.search(r'Overall exposure level.*: ([0-9.]+)', done.stdout)
    story.require(found, f'systemd-analyze: {done.stderr}')
    story.require(float(found[1]) <= EXPOSURE_MAX, f'exposure {found[1]}')
    print(f'exposure {found[1]}')


def a_worker_stands_still(stage):
    check_sandbox()
    path = f'{stage.directory}/notify'
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(path)
    os.environ['NOTIFY_SOCKET'] = path
    os.environ['WATCHDOG_USEC'] = '1000000'
    os.environ.pop('WATCHDOG_PID', None)
    switch = story.network.Switch('br0')
    entries = [conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']))]
    text = conf.write([conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])], entries)
    gateway = stage.start_gateway(text, [(switch, 'sbtap0')])
    del os.environ['NOTIFY_SOCKET'], os.environ['WATCHDOG_USEC']
    got = messages(manager, 2)
    story.require('READY=1' in got, f'no READY=1: {got}')
    story.require(got.count('WATCHDOG=1') >= 2, f'not fed: {got}')

    held = Held(worker_thread(gateway.process.pid))
    begin = time.monotonic()

    def sick():
        return story.lab_gateway.get('/-/healthy')[0] == 503

    story.network.until(sick, DETECTED_WITHIN_S, '/-/healthy fails')
    print(f'detected after {time.monotonic() - begin:.1f} s')
    messages(manager, 0.1)
    story.equal(messages(manager, 2), [], 'fed while a worker stands still')
    held.release()
    story.network.until(lambda: not sick(), 60, '/-/healthy recovers')
    story.require('WATCHDOG=1' in messages(manager, 2), 'not fed again')
    story.equal(gateway.stop(), 0, 'exit code')
    story.require('STOPPING=1' in messages(manager, 1), 'no STOPPING=1')


story.tell(a_worker_stands_still)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A log that takes nothing, be it a full disk or a reader that stands still, costs log lines: no
message, no turn of a worker, not the orderly end. What was lost is told when there is room again.

Usage: log_disk.py [full|stuck]
"""
import fcntl
import json
import os
import subprocess
import sys

import configuration as conf
import control
import story

HOW = sys.argv[1] if len(sys.argv) > 1 else 'full'
MESSAGES = 2000
COMMANDS = 150  # each is a line of some 100 bytes, whole when it is lost
SPACE_BYTES = 16 * 1024
PIPE_BYTES = 4096
END_SECONDS = 60  # its own deadlines are 5 s for the drain and 2 s for the last lines


class FullDisk:
    """A file system with room for the first lines."""

    def __init__(self, _directory):
        self.folder = '/run/full-disk'  # it goes with the private namespaces
        os.mkdir(self.folder)
        size = f'size={SPACE_BYTES}'
        subprocess.run(['mount', '-t', 'tmpfs', '-o', size, 'none', self.folder], check=True)
        self.path = f'{self.folder}/log'

    def block(self):
        with open(f'{self.folder}/junk', 'wb', buffering=0) as junk:
            try:
                while junk.write(b'x' * 512):
                    pass
            except OSError:
                pass

    def release(self):
        os.unlink(f'{self.folder}/junk')

    def text(self):
        with open(self.path, encoding='utf-8', errors='replace') as log:
            return log.read()


class StuckReader:
    """A pipe of one page that nobody reads."""

    def __init__(self, directory):
        self.path = f'{directory}/pipe'
        os.mkfifo(self.path)
        self.end = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self.end, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def block(self):
        try:
            while os.write(self.end, b'x'):
                pass
        except BlockingIOError:
            pass


def servers_of(switch):
    servers = [
        conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11'])),
        conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12'])),
    ]
    hosts = [story.network.Host(server.peers[0].name) for server in servers]
    for host, server in zip(hosts, servers):
        host.plug(switch, server.peers[0].addresses[0] + '/24')
    return servers, hosts


def exchange(stage, servers, hosts):
    peers = [
        stage.peer(
            host,
            **conf.options(
                server,
                server.peers[0],
                remote='10.77.0.3',
                send=MESSAGES,
                expect=MESSAGES,
                timeout=120,
            ),
        )
        for host, server in zip(hosts, servers)
    ]
    for peer in peers:
        result = peer.result(130)
        story.require(result['ok'], f'{peer.name}: {result}')


def turns():
    return story.lab_gateway.scrape().by_label('signalbox_turns_total', 'worker')


def all_turned(before):
    """Every worker went on since."""
    return all(now > before[worker] for worker, now in turns().items() if worker != 'control')


def operate_without_a_log(stage):
    switch = story.network.Switch('br0')
    servers, hosts = servers_of(switch)
    disk = (FullDisk if HOW == 'full' else StuckReader)(stage.directory)
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    socket = f'{stage.directory}/control.sock'
    own = f'log: {{format: json}}\ncontrol: {{socket: {socket}}}\n'
    path = stage.file('signalbox.yaml', conf.write([port], servers, patient=True) + own)
    stage.gateway = gateway = story.lab_gateway.Gateway(story.DAEMON, path, disk.path)
    gateway.log = lambda lines=0: '(its log is what the test blocks)'
    switch.attach_tap('sbtap0')
    gateway.wait_ready(60)

    disk.block()
    ctl = control.Control(socket)
    before = turns()
    for _ in range(COMMANDS):
        ctl.text('log', 'level', 'debug')
    exchange(stage, servers, hosts)
    story.equal(story.lab_gateway.get('/-/healthy')[0], 200, 'health')
    story.network.until(lambda: all_turned(before), 30, 'every worker turned')
    if HOW == 'full':
        disk.release()
        story.network.until(lambda: '"log_lost"' in disk.text(), 120, 'the loss is told')
    story.equal(gateway.stop(END_SECONDS), 0, 'exit code of the daemon')
    if HOW == 'full':
        lines = disk.text().splitlines()
        print([line for line in lines if '"log_lost"' in line][:1])
        story.equal(json.loads(lines[-1])['event'], 'stopped', 'last line')
        cut = [line for line in lines if not line.endswith('}')]
        story.require(len(cut) <= 1, f'more than the line that filled the disk is cut: {cut}')


if __name__ == '__main__':
    story.tell(operate_without_a_log, (story.DAEMON, story.ASP, control.CTL), ('mount',))

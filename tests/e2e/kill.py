#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""L05: the daemon is killed at many instants, from its first milliseconds to traffic; what it
leaves behind hinders no next start, which serves its peers as the first one did.

KILLS=N kill.py: that many kills (REL-44 asks for 1,000)."""
import os
import random
import signal
import time

import configuration as conf
import story
from control import CTL, Control

KILLS = int(os.environ.get('KILLS', '12'))
SEED = int(os.environ.get('SEED', '44'))
EARLY_S = 0.6  # a start takes about as long: kills fall on every part of it


class Scene:
    def __init__(self, stage):
        self.stage = stage
        self.switch = story.network.Switch('br0')
        self.servers = [
            conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11'])),
            conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12'])),
        ]
        self.hosts = {}
        for server in self.servers:
            entry = server.peers[0]
            self.hosts[entry.name] = story.network.Host(entry.name)
            self.hosts[entry.name].plug(self.switch, f'{entry.addresses[0]}/24')
        self.socket = f'{stage.directory}/control.sock'
        port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
        self.text = conf.write([port], self.servers) + f'control: {{socket: {self.socket}}}\n'

    def start(self):
        return self.stage.start_gateway(self.text, [(self.switch, 'sbtap0')])

    def asp(self, server, **more):
        entry = server.peers[0]
        options = conf.options(server, entry, remote='10.77.0.3', timeout=120, **more)
        return self.stage.peer(self.hosts[entry.name], **options)

    def start_blindly(self):
        """Nobody waits for it to be ready."""
        path = self.stage.file('signalbox.yaml', self.text)
        log = f'{self.stage.directory}/daemon.log'
        return story.lab_gateway.Gateway(story.DAEMON, path, log)


def kill(gateway):
    story.require(gateway.alive(), f'ended by itself:\n{gateway.log()}')
    gateway.process.send_signal(signal.SIGKILL)
    story.equal(gateway.process.wait(60), -signal.SIGKILL, 'how it ended')


def kill_while_it_starts(scene, instants):
    for _ in range(KILLS // 2):
        gateway = scene.start_blindly()
        time.sleep(instants.uniform(0, EARLY_S))
        kill(gateway)


def kill_in_traffic(scene, instants):
    """New ASPs each time, from the same addresses and ports."""
    longest_s = 0
    for _ in range(KILLS - KILLS // 2):
        begin = time.monotonic()
        gateway = scene.start()
        longest_s = max(longest_s, time.monotonic() - begin)
        asps = [scene.asp(s, send='unlimited', rate=2000) for s in scene.servers]

        def routed():
            samples = story.lab_gateway.scrape()
            return samples.total('signalbox_routed_messages_total') > 100

        story.network.until(routed, 120, 'traffic after a kill')
        time.sleep(instants.uniform(0, 0.3))
        kill(gateway)
        for asp in asps:
            asp.kill()
    print(f'{KILLS} kills (seed {SEED}); the slowest start took {longest_s:.1f} s')


def nothing_hinders(stage):
    scene = Scene(stage)
    instants = random.Random(SEED)
    kill_while_it_starts(scene, instants)
    kill_in_traffic(scene, instants)
    story.require(os.path.exists(scene.socket), 'the socket of a killed daemon stays')

    gateway = scene.start()
    count = 2000
    near, far = scene.servers
    asps = [scene.asp(near, send=count, rate=2000), scene.asp(far, expect=count)]
    for asp in asps:
        result = asp.result(120)
        story.require(result['ok'], f'{asp.name}: {result}')
    states = Control(scene.socket).rows('show', 'as')
    story.equal(len(states), 2, 'the control socket is the new daemon\'s')
    story.equal(gateway.stop(60), 0, 'exit code')
    story.require(not os.path.exists(scene.socket), 'the socket is left behind')


if __name__ == '__main__':
    story.tell(nothing_hinders, programs=(story.DAEMON, story.ASP, CTL))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reloads of a live gateway with two foreign ASPs in traffic: a dry run changes nothing, a wrong
file is refused, what takes a restart is refused, a new peer is served, a removal needs
--allow-reset, and the traffic of those that are not concerned arrives whole."""
import signal
import time

import configuration as conf
import story
from control import CTL, Control

COUNT = 20000
RATE = 4000
RELOADS = 40


class Scene:
    def __init__(self, stage):
        self.stage = stage
        self.switch = story.network.Switch('br0')
        self.near = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']))
        self.far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
        self.socket = f'{stage.directory}/control.sock'
        self.ctl = Control(self.socket)
        self.gateway = stage.start_gateway(self.text(), [(self.switch, 'sbtap0')])

    def text(self, more=(), level='info', port='sbtap0'):
        entries = [self.near, self.far, *more]
        text = conf.write([conf.Port('lab', port, ['10.77.0.3/24'])], entries)
        return text + f'control: {{socket: {self.socket}}}\nlog: {{level: {level}}}\n'

    def write(self, text):
        self.stage.file('signalbox.yaml', text)

    def peer(self, server, **more):
        entry = server.peers[0]
        host = story.network.Host(entry.name)
        host.plug(self.switch, f'{entry.addresses[0]}/24')
        options = conf.options(server, entry, remote='10.77.0.3', timeout=60, **more)
        return self.stage.peer(host, **options)

    def until_active(self, *names):
        def active():
            states = {row['as']: row['state'] for row in self.ctl.rows('show', 'as')}
            return all(states.get(name) == 'AS_ACTIVE' for name in names)

        story.network.until(active, 60, f'{names} active')


def refused(scene, what, *words):
    code, _, err = scene.ctl.run('reload', *words)
    story.equal(code, 1, f'{what}: exit code')
    return err


def refusals(scene):
    scene.write(scene.text() + 'lisetners: []\n')
    story.require("did you mean 'listeners'" in refused(scene, 'a wrong file'), 'no suggestion')
    scene.write(scene.text(port='other0'))
    err = refused(scene, 'another port device')
    story.require('restart' in err and 'ports[lab].device' in err, err)
    scene.write(scene.text(level='debug'))
    rows = scene.ctl.rows('reload', '--dry-run')
    story.equal(rows[0]['name'], 'log.level', 'dry run')
    story.require('log_level' not in scene.gateway.log(), 'a dry run changed something')
    story.require('level: info' in scene.ctl.text('show', 'config'), 'a dry run is in force')


def a_new_peer(scene):
    """Added by SIGHUP, served, removed."""
    third = conf.Server([conf.PeerEntry('asp3', 13, ['10.77.0.13'])], 'third', 3, '4-4-4')
    scene.write(scene.text([third]))
    scene.gateway.process.send_signal(signal.SIGHUP)

    def known():
        return any(row['as'] == 'third' for row in scene.ctl.rows('show', 'as'))

    story.network.until(known, 60, 'the new application server is known')
    scene.peer(third, share=True)
    scene.until_active('third')
    scene.write(scene.text())
    err = refused(scene, 'a removal without --allow-reset')
    story.require('asp3: removed' in err, err)
    rows = scene.ctl.rows('reload', '--allow-reset')
    story.require({'of': 'peer', 'name': 'asp3', 'what': 'removed', 'why': None} in rows, rows)
    names = {row['asp'] for row in scene.ctl.rows('show', 'peers')}
    story.equal(names, {'asp1', 'asp2'}, 'peers after the removal')


def reloads(stage):
    scene = Scene(stage)
    start = f'{stage.directory}/start'
    sender = scene.peer(scene.near, send=COUNT, rate=RATE, start_file=start)
    taker = scene.peer(scene.far, expect=COUNT)
    scene.until_active('near', 'far')
    stage.file('start', '')
    refusals(scene)
    a_new_peer(scene)
    begin = time.monotonic()
    for i in range(RELOADS):
        scene.write(scene.text(level='debug' if i % 2 else 'info'))
        scene.ctl.text('reload')
    print(f'{RELOADS} reloads in {time.monotonic() - begin:.1f} s')
    for asp in (sender, taker):
        result = asp.result(60)
        story.require(result['ok'], f'{asp.name}: {result}')
    samples = story.lab_gateway.scrape()
    story.equal(samples.total('signalbox_associations_lost_total'), 0, 'lost associations')
    story.equal(samples.total('signalbox_associations_aborted_total'), 0, 'aborted associations')
    story.require(scene.gateway.alive(), 'the daemon is gone')
    story.equal(scene.gateway.stop(), 0, 'exit code')


if __name__ == '__main__':
    story.tell(reloads, programs=(story.DAEMON, story.ASP, CTL))

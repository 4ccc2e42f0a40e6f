#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""signalboxctl against a live gateway with two ASPs: every reading verb, route explain, peer drop,
log level, and the end by `drain node`."""
import json
import os
import stat
import subprocess

import configuration as conf
import story

CTL = os.environ.get('SIGNALBOXCTL', str(story.ROOT / 'build/daemon/signalboxctl'))


class Control:
    def __init__(self, socket):
        self.socket = socket

    def run(self, *words):
        done = subprocess.run(
            [CTL, '-s', self.socket, *words], capture_output=True, text=True, timeout=30
        )
        return done.returncode, done.stdout, done.stderr

    def text(self, *words):
        code, out, err = self.run(*words)
        story.equal((code, err), (0, ''), ' '.join(words))
        return out

    def rows(self, *words):
        answer = json.loads(self.text('-o', 'json', *words))
        story.require(answer['schema'].startswith('signalbox.'), answer['schema'])
        return answer['rows']


def looks_around(ctl):
    states = {row['asp']: row['state'] for row in ctl.rows('show', 'peers')}
    story.equal(states, {'asp1': 'ASP_ACTIVE', 'asp2': 'ASP_ACTIVE'}, 'states of the ASPs')
    table = ctl.text('show', 'as')
    story.require('AS_ACTIVE' in table and 'Traffic Mode' in table, f'show as:\n{table}')
    associations = ctl.rows('show', 'associations')
    story.equal(sorted(row['peer'] for row in associations), ['asp1', 'asp2'], 'associations')
    paths = ctl.rows('show', 'paths', 'asp1')
    story.equal([row['remote'] for row in paths], ['10.77.0.11'], 'paths of asp1')
    story.equal(paths[0]['state'], 'active', 'state of the path')
    story.equal({row['as'] for row in ctl.rows('show', 'routes')}, {'near', 'far'}, 'routes')
    story.equal({row['peer'] for row in ctl.rows('show', 'bindings', 'far')}, {'asp2'}, 'bindings')
    story.require(ctl.rows('show', 'workers')[0]['turns'] > 0, 'a worker that does not turn')
    memory = {row['what']: row['value'] for row in ctl.rows('show', 'memory')}
    story.equal(memory['associations_established'], 2, 'associations in memory')
    story.require(len(ctl.rows('show', 'drops', '--all')) > 50, 'drop reasons')
    story.equal(len(ctl.rows('show', 'rates')), 7, 'rates')
    story.require('routing_context: 1' in ctl.text('show', 'config'), 'show config')
    story.require('PASS' in ctl.text('doctor'), 'doctor')


def asks_for_a_route(ctl):
    def verdict(*words):
        return {row['step']: row['result'] for row in ctl.rows('route', 'explain', *words)}

    story.equal(verdict('near', '3-3-3')['verdict'], 'sent', 'near to far')
    story.equal(verdict('near', '3-3-3')['asp'], 'asp2', 'near to far')
    story.equal(verdict('near', '2-2-2')['verdict'], 'discarded: mtp3_loop', 'near to itself')
    code, _, err = ctl.run('route', 'explain', 'near', '9-9-9-9')
    story.equal(code, 1, f'a wrong point code: {err}')
    story.equal(ctl.run('show', 'peers', 'nobody')[0], 1, 'a peer that is not there')
    story.equal(ctl.run('fly')[0], 64, 'a command that is none')


def an_operator_works(stage):
    switch = story.network.Switch('br0')
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    first = conf.PeerEntry('asp1', 11, ['10.77.0.11'])
    second = conf.PeerEntry('asp2', 12, ['10.77.0.12'])
    entries = [conf.near(first), conf.far(second)]
    socket = f'{stage.directory}/control.sock'
    text = conf.write([port], entries) + f'control: {{socket: {socket}}}\n'
    gateway = stage.start_gateway(text, [(switch, 'sbtap0')])
    ctl = Control(socket)
    story.equal(stat.S_IMODE(os.stat(socket).st_mode), 0o660, 'mode of the socket')
    for entry, server in ((first, entries[0]), (second, entries[1])):
        host = story.network.Host(entry.name)
        host.plug(switch, f'{entry.addresses[0]}/24')
        stage.peer(host, **conf.options(server, entry, remote='10.77.0.3', share=True, timeout=60))

    def all_active():
        rows = ctl.rows('show', 'as')
        return all(row['state'] == 'AS_ACTIVE' for row in rows)

    story.network.until(all_active, 60, 'both application servers are active')
    looks_around(ctl)
    asks_for_a_route(ctl)
    ctl.text('peer', 'block', 'asp1')

    def down():
        return ctl.rows('show', 'peers', 'asp1')[0]['state'] == 'ASP_DOWN'

    story.network.until(down, 60, 'the blocked ASP is down')
    row = ctl.rows('show', 'peers', 'asp1')[0]
    story.equal((row['admin'], row['associated']), ('blocked', True), 'a blocked peer')
    ctl.text('peer', 'unblock', 'asp1')
    ctl.text('log', 'level', 'debug')
    ctl.text('peer', 'drop', 'asp1')
    story.require('peer drop asp1' in gateway.log(), 'the command is not in the log')
    story.require('uid=' in gateway.log(), 'the log does not say who gave a command')
    ctl.text('drain', 'node')
    story.equal(gateway.process.wait(15), 0, 'exit code after drain node')
    story.require(not os.path.exists(socket), 'the socket is left behind')
    story.equal(ctl.run('version')[0], 69, 'exit code without a daemon')


if __name__ == '__main__':
    story.tell(an_operator_works, programs=(story.DAEMON, story.ASP, CTL))

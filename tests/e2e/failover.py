#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ASPs share an application server; one dies in traffic: the other takes its SLS over, and only
those move. When it comes back, they return to it.

Order stays within each SLS through both changes. Lost may be only what the dead process's own stack
had acknowledged and not handed on; twice may come only what was on its way at that moment. The
return costs nothing.
"""
import time

import configuration as conf
import story

RATE = 4000
SECONDS = 12
KILL_AFTER_S = 2
RETURN_AFTER_S = 3
SLS = set(range(16))
EACH = RATE * SECONDS // len(SLS)  # messages per SLS
LOST_MAX = 200  # in the dead process's receive buffer: 50 ms of traffic
TWICE_MAX = RATE  # sent and not acknowledged when it died: one send buffer


def by_sls(path):
    flows = {}
    for _, sls, sequence in story.peer.records(path):
        flows.setdefault(sls, []).append(sequence)
    return flows


def require_run(sequences, what):
    story.require(sequences, f'{what}: nothing')
    for a, b in zip(sequences, sequences[1:]):
        story.require(b == a + 1, f'{what}: {b} after {a}')


def check_shares(first, second):
    """Both carry traffic, no SLS is on both, all are on one."""
    story.require(first and second, f'no traffic: {sorted(first)} and {sorted(second)}')
    story.equal(first & second, set(), 'SLS on both ASPs')
    story.equal(first | second, SLS, 'SLS on either ASP')


def check_unmoved(sls, died, stayed, returned):
    story.require(sls not in died and sls not in returned, f'SLS {sls} moved and should not')
    require_run(stayed[sls], f'SLS {sls}')
    story.equal((stayed[sls][0], stayed[sls][-1]), (0, EACH - 1), f'first and last of SLS {sls}')


def check_moved(sls, died, stayed, returned):
    """(lost, twice) at the takeover of one SLS."""
    for part, name in ((died, 'before'), (stayed, 'taken over'), (returned, 'returned')):
        require_run(part.get(sls), f'SLS {sls} {name}')
    story.equal(died[sls][0], 0, f'first of SLS {sls}')
    story.equal(returned[sls][0], stayed[sls][-1] + 1, f'first of SLS {sls} after the return')
    story.equal(returned[sls][-1], EACH - 1, f'last of SLS {sls}')
    step = stayed[sls][0] - died[sls][-1] - 1
    return max(0, step), max(0, -step)


class Scene:
    """Gateway, two sharing ASPs and a sender, each on a host of its own."""

    def __init__(self, stage):
        self.stage = stage
        switch = story.network.Switch('br0')
        self.near = conf.near(
            conf.PeerEntry('asp1', 11, ['10.77.0.11']), conf.PeerEntry('asp3', 13, ['10.77.0.13'])
        )
        self.far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
        self.hosts = {}
        for entry in self.near.peers + self.far.peers:
            self.hosts[entry.name] = story.network.Host(entry.name)
            self.hosts[entry.name].plug(switch, entry.addresses[0] + '/24')
        port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
        stage.start_gateway(conf.write([port], [self.near, self.far]), [(switch, 'sbtap0')])

    def sharing(self, which, record):
        entry = self.near.peers[which]
        more = {'share': True, 'record': record, 'timeout': 60}
        options = conf.options(self.near, entry, remote='10.77.0.3', **more)
        return self.stage.peer(self.hosts[entry.name], **options)

    def sender(self, start):
        more = {'send': EACH * len(SLS), 'rate': RATE, 'timeout': 60, 'start_file': start}
        options = conf.options(self.far, self.far.peers[0], remote='10.77.0.3', **more)
        return self.stage.peer(self.hosts['asp2'], **options)

    def until_active(self, count):
        def active():
            samples = story.lab_gateway.scrape()
            return samples.total('signalbox_as_active_asps', **{'as': 'near'}) == count

        story.network.until(active, 60, f'{count} ASPs active')


def one_of_two_dies(stage):
    scene = Scene(stage)
    files = {name: f'{stage.directory}/{name}.rec' for name in ('died', 'stayed', 'returned')}
    dies, stays = scene.sharing(0, files['died']), scene.sharing(1, files['stayed'])
    sender = scene.sender(f'{stage.directory}/start')
    scene.until_active(2)
    stage.file('start', '')
    time.sleep(KILL_AFTER_S)
    seen = lambda *names: set().union(*(by_sls(files[name]) for name in names))
    story.network.until(lambda: seen('died', 'stayed') == SLS, 60, 'each SLS carries traffic')
    moved, unmoved = set(by_sls(files['died'])), set(by_sls(files['stayed']))
    check_shares(moved, unmoved)
    dies.kill()
    time.sleep(RETURN_AFTER_S)
    story.network.until(lambda: seen('stayed') == SLS, 60, 'each SLS is on the survivor')
    returns = scene.sharing(0, files['returned'])

    sent = sender.result(60)
    story.require(sent['ok'], f'sender: {sent}')
    time.sleep(1)
    for asp in (returns, stays):
        asp.stop()
        result = asp.result(20)
        story.require(result['ok'], f'{asp.name}: {result}')
    parts = [by_sls(files[name]) for name in ('died', 'stayed', 'returned')]
    for sls in unmoved:
        check_unmoved(sls, *parts)
    costs = [check_moved(sls, *parts) for sls in sorted(moved)]
    lost, twice = sum(cost[0] for cost in costs), sum(cost[1] for cost in costs)
    print(f'{len(moved)} of {len(SLS)} SLS moved and returned; {lost} lost in the dead process,')
    print(f'{twice} received twice')
    story.require(lost <= LOST_MAX and twice <= TWICE_MAX, 'more lost or doubled than may be')


story.tell(one_of_two_dies, (story.DAEMON, story.ASP))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two ASPs share an application server; one dies in traffic: the other takes its SLS over, and only those move.

Order stays within each SLS on either side of the change. Lost may be only what the dead process's own stack had
acknowledged and not handed on; twice may come only what was on its way at that moment.
"""
import time

import configuration as conf
import story

RATE = 4000
SECONDS = 6
KILL_AFTER_S = 2
SLS = set(range(16))
AT_STAKE = RATE  # messages at most about a change: what a second holds


def by_sls(path):
    flows = {}
    for _, sls, sequence in story.peer.records(path):
        flows.setdefault(sls, []).append(sequence)
    return flows


def in_order(sequences):
    return all(b == a + 1 for a, b in zip(sequences, sequences[1:]))


def check_before(first, second):
    """Both carry traffic, no SLS is on both, all are on one."""
    story.require(first and second, f'one of the two had no traffic: {sorted(first)} and {sorted(second)}')
    story.equal(first & second, set(), 'SLS on both ASPs')
    story.equal(first | second, SLS, 'SLS on either ASP')


def check_takeover(dead, alive, moved, each):
    lost = twice = 0
    for sls in sorted(SLS):
        got = alive.get(sls, [])
        story.require(got and got[-1] == each - 1, f'SLS {sls} does not run to its end: {got[-1:]}, wanted {each - 1}')
        story.require(in_order(got), f'SLS {sls} has gaps or is out of order on the survivor')
        if sls not in moved:
            story.equal(got[0], 0, f'first message of SLS {sls}, which did not move')
            continue
        story.require(in_order(dead[sls]) and dead[sls][0] == 0, f'SLS {sls} out of order before the change')
        lost += max(0, got[0] - dead[sls][-1] - 1)
        twice += max(0, dead[sls][-1] - got[0] + 1)
    print(f'lost with the dead process {lost}, received twice {twice}')
    story.require(lost <= AT_STAKE // 20 and twice <= AT_STAKE, f'{lost} lost, {twice} twice')


def one_of_two_dies(stage):
    switch = story.network.Switch('br0')
    near = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']), conf.PeerEntry('asp3', 13, ['10.77.0.13']))
    far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
    hosts = {}
    for entry in near.peers + far.peers:
        hosts[entry.name] = story.network.Host(entry.name)
        hosts[entry.name].plug(switch, entry.addresses[0] + '/24')
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    stage.start_gateway(conf.write([port], [near, far]), [(switch, 'sbtap0')])

    count = RATE * SECONDS
    start = f'{stage.directory}/start'
    record = {entry.name: f'{stage.directory}/{entry.name}.rec' for entry in near.peers}
    sharing = {entry.name: stage.peer(hosts[entry.name], **conf.options(
        near, entry, remote='10.77.0.3', share=True, timeout=60, record=record[entry.name], progress=True))
        for entry in near.peers}
    sender = stage.peer(hosts['asp2'], **conf.options(far, far.peers[0], remote='10.77.0.3', send=count, rate=RATE,
                                                      timeout=60, start_file=start))
    active = lambda: story.lab_gateway.scrape().total('signalbox_as_active_asps', **{'as': 'near'}) == 2
    story.network.until(active, 10, 'two ASPs active')
    stage.file('start', '')
    time.sleep(KILL_AFTER_S)
    before = {name: set(by_sls(path)) for name, path in record.items()}
    check_before(before['asp1'], before['asp3'])
    sharing['asp1'].kill()

    sent = sender.result(60)
    story.require(sent['ok'], f'sender: {sent}')
    done = lambda: all(by_sls(record['asp3']).get(sls, [-1])[-1] == count // len(SLS) - 1 for sls in SLS)
    story.network.until(done, 15, 'the survivor has the last message of each SLS')
    sharing['asp3'].stop()
    survivor = sharing['asp3'].result(20)
    story.require(survivor['ok'], f'survivor: {survivor}')
    check_takeover(by_sls(record['asp1']), by_sls(record['asp3']), before['asp1'], count // len(SLS))


story.tell(one_of_two_dies, (story.DAEMON, story.ASP))

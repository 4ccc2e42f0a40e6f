#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four pairs of application servers over a worker on every CPU: messages cross between the workers,
in order within each SLS, none lost or doubled."""
import os

import configuration as conf
import story

PAIRS = 4


def server(index):
    """0..7; server 2n talks to 2n + 1."""
    entry = conf.PeerEntry(f'asp{index}', 11 + index, [f'10.77.0.{11 + index}'])
    return conf.Server(peers=[entry], name=f'as{index}', rc=1 + index, dpc=f'2-{1 + index}-1')


def options(servers, index, count):
    mine, other = servers[index], servers[index ^ 1]
    entry = mine.peers[0]
    return {
        'local': entry.addresses[0],
        'remote': '10.77.0.3',
        'asp_id': entry.asp_id,
        'rc': mine.rc,
        'opc': mine.dpc,
        'dpc': other.dpc,
        'send': count,
        'expect': count,
        'timeout': 60 + count / 500,
    }


def by_worker(name):
    values = story.lab_gateway.scrape().by_label(f'signalbox_{name}_total', 'worker')
    values.pop('control', None)
    return values


def pairs_cross_the_workers(stage):
    switch = story.network.Switch('br0')
    servers = [server(index) for index in range(2 * PAIRS)]
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    stage.start_gateway(conf.write([port], servers, every_cpu=True), [(switch, 'sbtap0')])
    count = story.COUNT // PAIRS
    peers = []
    for index, entry in enumerate(servers):
        host = story.network.Host(entry.peers[0].name)
        host.plug(switch, entry.peers[0].addresses[0] + '/24')
        peers.append(stage.peer(host, **options(servers, index, count)))
    for asp in peers:
        result = asp.result(130 + count / 500)
        story.require(result['ok'], f'{asp.name}: {result}')
    for name in ('routed_messages', 'handoff_packets', 'handoff_messages', 'tag_hint_misses'):
        print(name, by_worker(name))
    routed = by_worker('routed_messages')
    story.equal(sum(routed.values()), 2 * PAIRS * count, 'messages routed')
    story.require(all(routed.values()), f'a worker had nothing to do: {routed}')


if (os.cpu_count() or 1) < 2:
    story.skip('one CPU has one worker')
story.tell(pairs_cross_the_workers, (story.DAEMON, story.ASP))

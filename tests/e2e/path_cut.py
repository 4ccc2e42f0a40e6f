#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An association of two addresses loses a path in traffic and gets it back: no message
is lost, twice or out of order."""
import time

import configuration as conf
import story

RATE = 4000
SECONDS = 8


def counter(name):
    return story.lab_gateway.scrape().total(f'signalbox_{name}_total')


def a_path_is_cut(stage):
    switches = [story.network.Switch('br0'), story.network.Switch('br1')]
    near = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11', '10.77.1.11']))
    far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
    first, second = story.network.Host('asp1'), story.network.Host('asp2')
    wire = first.plug(switches[0], '10.77.0.11/24')
    first.plug(switches[1], '10.77.1.11/24')
    second.plug(switches[0], '10.77.0.12/24')
    ports = [
        conf.Port('left', 'sbtap0', ['10.77.0.3/24']),
        conf.Port('right', 'sbtap1', ['10.77.1.3/24']),
    ]
    stage.start_gateway(
        conf.write(ports, [near, far]), [(s, p.device) for s, p in zip(switches, ports)]
    )

    count = RATE * SECONDS
    common = {
        'send': count,
        'expect': count,
        'rate': RATE,
        'timeout': 80,
        'rto_max': 400,
        'path_retransmits': 2,
        'heartbeat': 500,
        'linger': 3,
    }
    peers = [
        stage.peer(
            first, **conf.options(near, near.peers[0], remote='10.77.0.3,10.77.1.3', **common)
        ),
        stage.peer(second, **conf.options(far, far.peers[0], remote='10.77.0.3', **common)),
    ]
    established = lambda: counter('routed_messages') > RATE
    story.network.until(established, 15, 'traffic flows')
    switches[0].detach(wire)
    story.network.until(lambda: counter('paths_failed') >= 1, 10, 'the daemon finds the path dead')
    routed = counter('routed_messages')
    story.network.until(
        lambda: counter('routed_messages') > routed + RATE // 2,
        5,
        'traffic goes on over the other path',
    )
    time.sleep(0.5)
    switches[0].attach(wire)
    story.network.until(lambda: counter('paths_restored') >= 1, 10, 'the path comes back')
    for asp in peers:
        result = asp.result(90)
        print(asp.name, {key: result[key] for key in result if key != 'flows'})
        story.require(result['ok'], f'{asp.name}: {result}')
    story.equal(counter('associations_lost'), 0, 'associations lost')


story.tell(a_path_is_cut, (story.DAEMON, story.ASP))

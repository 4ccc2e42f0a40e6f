#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An association of two addresses loses a path in traffic and gets it back: no message
is lost, twice or out of order.

Usage: path_cut.py [usrsctp|kernel] [4|6]       the stack of the peer with two addresses
"""
import sys
import time

import configuration as conf
import guest
import story

STACK = sys.argv[1] if len(sys.argv) > 1 else 'usrsctp'
FAMILY = sys.argv[2] if len(sys.argv) > 2 else '4'

RATE = 4000 if STACK == 'usrsctp' else 2000
SECONDS = 8
LENGTH = {'4': '/24', '6': '/64'}[FAMILY]


def address(network, host):
    return f'10.77.{network}.{host}' if FAMILY == '4' else f'fd77:{network}::{host}'


def counter(name):
    return story.lab_gateway.scrape().total(f'signalbox_{name}_total')


def a_path_is_cut(stage):
    switches = [story.network.Switch('br0'), story.network.Switch('br1')]
    near = conf.near(conf.PeerEntry('asp1', 11, [address(0, 11), address(1, 11)]))
    far = conf.far(conf.PeerEntry('asp2', 12, [address(0, 12)]))
    first, second = guest.host(STACK, 'asp1', stage), story.network.Host('asp2')
    wire = first.plug(switches[0], address(0, 11) + LENGTH)
    first.plug(switches[1], address(1, 11) + LENGTH)
    second.plug(switches[0], address(0, 12) + LENGTH)
    ports = [
        conf.Port('left', 'sbtap0', [address(0, 3) + LENGTH]),
        conf.Port('right', 'sbtap1', [address(1, 3) + LENGTH]),
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
    both = f'{address(0, 3)},{address(1, 3)}'
    peers = [
        guest.peer(stage, first, **conf.options(near, near.peers[0], remote=both, **common)),
        stage.peer(second, **conf.options(far, far.peers[0], remote=address(0, 3), **common)),
    ]
    established = lambda: counter('routed_messages') > RATE
    story.network.until(established, 60, 'traffic flows')
    switches[0].detach(wire)
    story.network.until(lambda: counter('paths_failed') >= 1, 60, 'the daemon finds the path dead')
    routed = counter('routed_messages')
    story.network.until(
        lambda: counter('routed_messages') > routed + RATE // 2,
        5,
        'traffic goes on over the other path',
    )
    time.sleep(0.5)
    switches[0].attach(wire)
    story.network.until(lambda: counter('paths_restored') >= 1, 60, 'the path comes back')
    for asp in peers:
        result = asp.result(90)
        print(asp.name, {key: result[key] for key in result if key != 'flows'})
        story.require(result['ok'], f'{asp.name}: {result}')
    story.equal(counter('associations_lost'), 0, 'associations lost')


guest.require(STACK)
story.tell(a_path_is_cut, (story.DAEMON, story.ASP))

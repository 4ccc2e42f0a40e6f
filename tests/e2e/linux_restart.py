#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Linux peer loses its power and comes back at the same address and port while the daemon still
holds its association: RFC 9260 5.2.4.1, a restart. What was on its way to the one that is gone
goes to the new one; nothing is lost, twice or out of order.

Usage: linux_restart.py [4|6]
"""
import sys

import configuration as conf
import guest
import story

FAMILY = sys.argv[1] if len(sys.argv) > 1 else '4'
COUNT = 900  # all of it is within the default queue of an AS, however long the guest takes to boot
RATE = 200
NETWORKS = {'4': ('10.77.0.', '/24'), '6': ('fd77::', '/64')}


def address(host):
    return f'{NETWORKS[FAMILY][0]}{host}'


def counter(name):
    return story.lab_gateway.scrape().total(f'signalbox_{name}_total')


def a_peer_restarts(stage):
    switch = story.network.Switch('br0')
    length = NETWORKS[FAMILY][1]
    near = conf.near(conf.PeerEntry('kernel', 11, [address(11)]))
    far = conf.far(conf.PeerEntry('asp2', 12, [address(12)]))
    port = conf.Port('lab', 'sbtap0', [address(3) + length])
    # RFC 9260's timers: the boot takes some seconds, and the loss is not to be found out meanwhile.
    stage.start_gateway(conf.write([port], [near, far], patient=True), [(switch, port.device)])
    machine = guest.host('kernel', 'kernel', stage)
    machine.plug(switch, address(11) + length)
    other = story.network.Host('asp2')
    other.plug(switch, address(12) + length)

    common = {'remote': address(3), 'timeout': 60, 'path_retransmits': 10}
    first = guest.peer(
        stage,
        machine,
        **conf.options(near, near.peers[0], audit=False, linger=60, **common),
    )
    active = lambda: story.lab_gateway.scrape().by_label('signalbox_as_active_asps', 'as')
    story.network.until(lambda: active().get('near') == 1, 60, 'the first one is active')
    first.kill()

    traffic = {'send': COUNT, 'expect': COUNT, 'rate': RATE, **common}
    # The other one begins at once, while the daemon still sends to the one that is gone.
    peers = [
        guest.peer(stage, machine, **conf.options(near, near.peers[0], **traffic)),
        stage.peer(other, **conf.options(far, far.peers[0], **traffic)),
    ]
    for asp in peers:
        result = asp.result(80)
        print(asp.name, {key: result[key] for key in result if key != 'flows'})
        story.require(result['ok'], f'{asp.name}: {result}')
    story.equal(counter('associations_restarted'), 1, 'restarts')
    story.equal(counter('associations_lost'), 0, 'associations lost')
    story.equal(stage.gateway.stop(), 0, 'exit code of the daemon after SIGTERM')


guest.require('kernel')
story.tell(a_peer_restarts, (story.DAEMON, story.ASP))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""2,500 associations from 2,500 addresses on one port: a process at the other end of a memif port
brings them all up on our own SCTP client, and each sends and receives routed traffic.

many_peers.py [PEERS [VLAN]]: that many, in frames with that 802.1Q tag."""
import sys

import configuration as conf
import fleet
import story

PEERS = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
VLAN = int(sys.argv[2]) if len(sys.argv) > 2 else 0


def all_come_up_and_talk(stage):
    story.network.run('ip', 'link', 'set', 'lo', 'up')
    socket = f'{stage.directory}/memif'
    port = conf.Port('memif', socket, ['10.77.0.3/16'], driver='memif', vlan=VLAN)
    fleets = []
    gateway = stage.start_gateway(
        conf.write([port], [fleet.server(i) for i in range(PEERS)], patient=True),
        far_end=lambda: fleets.append(fleet.start(stage, socket, PEERS, VLAN)),
    )
    result = fleet.result(fleets[0])
    story.equal(result['associated'], PEERS, 'associations at once')
    story.equal(result['received'], PEERS * fleet.MESSAGES, 'messages')
    scrape = story.lab_gateway.scrape()
    story.equal(scrape.total('signalbox_associations_up_total'), PEERS, 'associations up')
    story.equal(
        scrape.total('signalbox_routed_messages_total'), PEERS * fleet.MESSAGES, 'routed'
    )
    story.require(gateway.alive(), 'the daemon ended')


story.tell(all_come_up_and_talk, (story.DAEMON, fleet.PROGRAM))

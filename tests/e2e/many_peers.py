#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""2,500 associations from 2,500 addresses on one port: a process at the other end of a memif port
brings them all up on our own SCTP client, and each sends and receives routed traffic.

many_peers.py [PEERS [VLAN]]: that many, in frames with that 802.1Q tag."""
import json
import os
import subprocess
import sys

import configuration as conf
import story

FLEET = os.environ.get('ASP_FLEET', str(story.ROOT / 'build/tests/fleet/asp_fleet'))
PEERS = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
VLAN = int(sys.argv[2]) if len(sys.argv) > 2 else 0
MESSAGES = 40
SECONDS = 90


def server(index):
    """As tests/fleet/fleet.h names process `index`."""
    address = f'10.77.{16 + index // 250}.{1 + index % 250}'
    entry = conf.PeerEntry(f'asp{index}', index + 1, [address])
    code = 3000 + index
    dpc = f'{code >> 11}-{code >> 3 & 255}-{code & 7}'
    return conf.Server(peers=[entry], name=f'as{index}', rc=100 + index, dpc=dpc)


def start_fleet(stage, socket):
    # The driver tries to connect once: the daemon must listen by then.
    story.network.until(lambda: 'started:' in stage.gateway.log(), 60, 'the daemon started')
    words = [FLEET, socket, str(PEERS), str(MESSAGES), str(SECONDS), str(VLAN)]
    with open(f'{stage.directory}/fleet.err', 'wb') as errors:  # shown when the test fails
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)


def all_come_up_and_talk(stage):
    story.network.run('ip', 'link', 'set', 'lo', 'up')
    socket = f'{stage.directory}/memif'
    port = conf.Port('memif', socket, ['10.77.0.3/16'], driver='memif', vlan=VLAN)
    fleets = []
    gateway = stage.start_gateway(
        conf.write([port], [server(i) for i in range(PEERS)], patient=True),
        far_end=lambda: fleets.append(start_fleet(stage, socket)),
    )
    try:
        output, _ = fleets[0].communicate(timeout=SECONDS + 30)
    finally:
        fleets[0].kill()
    story.require(output, 'the fleet said nothing')
    result = json.loads(output.splitlines()[-1])
    print(result)
    story.require(result['ok'], str(result))
    story.equal(result['associated'], PEERS, 'associations at once')
    story.equal(result['received'], PEERS * MESSAGES, 'messages')
    scrape = story.lab_gateway.scrape()
    story.equal(scrape.total('signalbox_associations_up_total'), PEERS, 'associations up')
    story.equal(scrape.total('signalbox_routed_messages_total'), PEERS * MESSAGES, 'routed')
    story.require(gateway.alive(), 'the daemon ended')


story.tell(all_come_up_and_talk, (story.DAEMON, FLEET))

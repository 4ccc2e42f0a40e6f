# SPDX-License-Identifier: Apache-2.0
"""tests/fleet/asp_fleet: many ASPs on our own SCTP client behind a memif port."""
import json
import os
import subprocess

import configuration as conf
import story

PROGRAM = os.environ.get('ASP_FLEET', str(story.ROOT / 'build/tests/fleet/asp_fleet'))
MESSAGES = 40
SECONDS = 90


def server(index):
    """As tests/fleet/fleet.h names process `index`."""
    address = f'10.77.{16 + index // 250}.{1 + index % 250}'
    entry = conf.PeerEntry(f'asp{index}', index + 1, [address])
    code = 3000 + index
    dpc = f'{code >> 11}-{code >> 3 & 255}-{code & 7}'
    return conf.Server(peers=[entry], name=f'as{index}', rc=100 + index, dpc=dpc)


def start(stage, socket, peers, vlan=0):
    # The driver tries to connect once: the daemon must listen by then.
    story.network.until(lambda: 'started:' in stage.gateway.log(), 60, 'the daemon started')
    words = [PROGRAM, socket, str(peers), str(MESSAGES), str(SECONDS), str(vlan)]
    with open(f'{stage.directory}/fleet.err', 'wb') as errors:  # shown when the test fails
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True)


def result(fleet):
    try:
        output, _ = fleet.communicate(timeout=SECONDS + 30)
    finally:
        fleet.kill()
    story.require(output, 'the fleet said nothing')
    said = json.loads(output.splitlines()[-1])
    print(said)
    story.require(said['ok'], str(said))
    return said

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""REL-41: SIGTERM in traffic. Both ASPs are told (NTFY or DUNA, an ASP Inactive Ack or ASP Down Ack
that nobody asked for) before their SHUTDOWN, nobody is aborted, and the process is gone within its
deadline."""
import os
import signal
import subprocess
import time

import capture
import configuration as conf
import story

RATE = 1000
SECONDS = 60  # of traffic, were there no end
GONE_WITHIN_S = 60  # 5 s by itself; the rest is for a busy machine
INACTIVE_ACK = 'm3ua.message_class==4 and m3ua.message_type==4'
DOWN_ACK = 'm3ua.message_class==3 and m3ua.message_type==5'
NOTIFY = 'm3ua.message_class==0 and m3ua.message_type==1'
DUNA = 'm3ua.message_class==2 and m3ua.message_type==1'


def frames(packets, which):
    """Their numbers."""
    done = subprocess.run(
        ['tshark', '-r', packets.path, '-Y', which, '-T', 'fields', '-e', 'frame.number'],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in done.stdout.split()]


class Wire:
    """What the gateway sent to one ASP."""

    def __init__(self, packets, address):
        self.packets = packets
        self.address = address

    def frames(self, what):
        mine = f'ip.src==10.77.0.3 and ip.dst=={self.address} and ({what})'
        return frames(self.packets, mine)

    def check(self, begun):
        """begun: the first frame of traffic; what came before is of the start."""
        told = self.frames(f'({INACTIVE_ACK}) or ({DOWN_ACK})')
        shutdown = self.frames('sctp.chunk_type==7')
        story.require(told, f'{self.address}: no ASP Inactive Ack and no ASP Down Ack')
        story.require(shutdown, f'{self.address}: no SHUTDOWN')
        story.require(told[0] < shutdown[0], f'{self.address}: SHUTDOWN before it was told')
        notices = self.frames(f'({NOTIFY}) or ({DUNA})')
        story.require(
            any(begun < frame <= shutdown[0] for frame in notices),
            f'{self.address}: no NTFY, no DUNA',
        )
        story.equal(self.frames('sctp.chunk_type==6'), [], f'{self.address}: ABORT')


def check_messages(taken, sent):
    print(f'{sent["sent"]} sent, {taken["received"]} received')
    for fault in ('duplicated', 'reordered', 'corrupt', 'mislabelled', 'errors'):
        story.equal(taken[fault], 0, fault)
    # A message is missing only at the end, when its sender had DUNA: no gap before the last one.
    for name, (count, _, last) in taken['flows'].items():
        story.equal(last, count - 1, f'last of flow {name}, which began with 0')
    story.require(taken['received'] <= sent['sent'], 'more came than was sent')


def the_end_in_traffic(stage):
    switch = story.network.Switch('br0')
    near = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']))
    far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
    hosts = {}
    for server in (near, far):
        entry = server.peers[0]
        hosts[entry.name] = story.network.Host(entry.name)
        hosts[entry.name].plug(switch, f'{entry.addresses[0]}/24')
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    gateway = stage.start_gateway(conf.write([port], [near, far]), [(switch, 'sbtap0')])
    packets = capture.Capture('br0', f'{stage.directory}/drain.pcapng', 10**6)
    record = f'{stage.directory}/taken.rec'

    def asp(server, **more):
        entry = server.peers[0]
        options = conf.options(server, entry, remote='10.77.0.3', timeout=120, **more)
        return stage.peer(hosts[entry.name], **options)

    taker = asp(near, share=True, record=record)
    sender = asp(far, send=RATE * SECONDS, rate=RATE)

    def flows():
        return os.path.exists(record) and len(story.peer.records(record)) > RATE

    story.network.until(flows, 120, 'traffic')
    begin = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    story.equal(gateway.process.wait(GONE_WITHIN_S), 0, 'exit code')
    print(f'gone after {time.monotonic() - begin:.2f} s')
    check_messages(taker.result(120), sender.result(120))
    packets.stop()
    begun = frames(packets, 'm3ua.message_class==1')[0]
    for server in (near, far):
        Wire(packets, server.peers[0].addresses[0]).check(begun)


story.tell(the_end_in_traffic, (story.DAEMON, story.ASP), capture.TOOLS)

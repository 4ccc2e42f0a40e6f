#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Linux kernel's SCTP and libusrsctp exchange COUNT messages each way through the daemon.

Usage: linux_kernel.py [4|6] [client|server] [IMPAIRMENT]
    the role of the kernel in the handshake, and what befalls its packets in words of tc-netem
"""
import sys

import capture
import configuration as conf
import guest
import story

FAMILY = sys.argv[1] if len(sys.argv) > 1 else '4'
ROLE = sys.argv[2] if len(sys.argv) > 2 else 'client'
IMPAIRMENT = sys.argv[3] if len(sys.argv) > 3 else ''
COUNT = min(story.COUNT, 20000)  # the guest's processor is this one, at a tenth of the speed
CAPTURED = 4000
NETWORKS = {'4': ('10.77.0.', '/24'), '6': ('fd77::', '/64')}


def address(host):
    return f'{NETWORKS[FAMILY][0]}{host}'


def kernel_to_library(stage):
    switch = story.network.Switch('br0')
    length = NETWORKS[FAMILY][1]
    near = conf.near(conf.PeerEntry('kernel', 11, [address(11)], connect=ROLE == 'server'))
    far = conf.far(conf.PeerEntry('asp2', 12, [address(12)]))
    machine = guest.host('kernel', 'kernel', stage, IMPAIRMENT)
    machine.plug(switch, address(11) + length)
    other = story.network.Host('asp2')
    other.plug(switch, address(12) + length)
    port = conf.Port('lab', 'sbtap0', [address(3) + length])
    # With losses this is about delivery, not about detection times.
    config = conf.write([port], [near, far], patient=bool(IMPAIRMENT))
    stage.start_gateway(config, [(switch, port.device)])

    recorded = capture.Capture('kernel-0', f'{stage.directory}/kernel.pcapng', CAPTURED)
    limit_s = 100
    common = {
        'remote': address(3),
        'send': COUNT,
        'expect': COUNT,
        'timeout': limit_s,
        'path_retransmits': 10,
    }
    role = {'listen': ROLE == 'server'}
    if IMPAIRMENT:
        common['rate'] = 1000
    peers = [
        guest.peer(stage, machine, **conf.options(near, near.peers[0], **common, **role)),
        stage.peer(other, **conf.options(far, far.peers[0], **common)),
    ]
    for asp in peers:
        result = asp.result(limit_s + 20)
        print(asp.name, {key: result[key] for key in result if key != 'flows'})
        story.require(result['ok'], f'{asp.name}: {result}')
        story.equal(result['errors'], 0, f'M3UA errors that {asp.name} was sent')
    recorded.stop()
    capture.judge(recorded, address(3), min(400, COUNT // 50))
    story.equal(stage.gateway.stop(), 0, 'exit code of the daemon after SIGTERM')


guest.require('kernel')
story.tell(kernel_to_library, (story.DAEMON, story.ASP), capture.TOOLS)

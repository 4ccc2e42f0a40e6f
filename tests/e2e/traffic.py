#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two application servers exchange COUNT messages each way through the daemon: none lost,
duplicated or reordered.

Usage: traffic.py [tap|af_packet] [4|6]
"""
import sys

import capture
import configuration as conf
import story

DRIVER = sys.argv[1] if len(sys.argv) > 1 else conf.TAP
FAMILY = sys.argv[2] if len(sys.argv) > 2 else '4'
CAPTURED = 4000
NETWORKS = {'4': ('10.77.0.', '/24'), '6': ('fd77::', '/64')}


def address(host):
    return f'{NETWORKS[FAMILY][0]}{host}'


def drops(samples):
    reasons = samples.by_label('signalbox_rx_dropped_packets_total', 'reason')
    return {reason: value for reason, value in reasons.items() if value}


def traffic_both_ways(stage):
    switch = story.network.Switch('br0')
    length = NETWORKS[FAMILY][1]
    servers = [
        conf.near(conf.PeerEntry('asp1', 11, [address(11)])),
        conf.far(conf.PeerEntry('asp2', 12, [address(12)])),
    ]
    hosts = [story.network.Host(server.peers[0].name) for server in servers]
    for host, server in zip(hosts, servers):
        host.plug(switch, server.peers[0].addresses[0] + length)
    port = conf.Port(
        'lab', 'sbtap0' if DRIVER == conf.TAP else 'vd0', [address(3) + length], DRIVER
    )
    if DRIVER == conf.AF_PACKET:
        switch.veth('vb0', port.device)
    stage.start_gateway(
        conf.write([port], servers),
        [(switch, port.device)] if DRIVER == conf.TAP else [],
    )

    recorded = capture.Capture('asp1-0', f'{stage.directory}/traffic.pcapng', CAPTURED)
    limit_s = 60 + story.COUNT / 1000
    peers = [
        stage.peer(
            host,
            **conf.options(
                server,
                server.peers[0],
                remote=address(3),
                send=story.COUNT,
                expect=story.COUNT,
                timeout=limit_s,
            ),
        )
        for host, server in zip(hosts, servers)
    ]
    results = [asp.result(limit_s + 10) for asp in peers]
    recorded.stop()
    for asp, result in zip(peers, results):
        print(asp.name, {key: result[key] for key in result if key != 'flows'})
    for asp, result in zip(peers, results):
        story.require(result['ok'], f'{asp.name}: {result}')
        story.equal(asp.process.returncode, 0, f'exit code of {asp.name}')
        story.equal(result['errors'], 0, f'M3UA errors that {asp.name} was sent')
    samples = story.lab_gateway.scrape()
    print('dropped by reason:', drops(samples))
    # How many of the captured packets are the daemon's depends on how it bundles.
    capture.judge(recorded, address(3), min(400, story.COUNT // 50))
    story.equal(stage.gateway.stop(), 0, 'exit code of the daemon after SIGTERM')


story.tell(traffic_both_ways, (story.DAEMON, story.ASP), capture.TOOLS)

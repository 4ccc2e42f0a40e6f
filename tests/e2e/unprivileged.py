#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""REL-60: the daemon serves as an ordinary user: over memif with no capability at all, over
af_packet with CAP_NET_RAW and CAP_NET_ADMIN alone (DPDK sets the interface's flags at start).

Usage: unprivileged.py [af_packet|memif]
"""
import os
import shutil
import sys

import configuration as conf
import fleet
import story

DRIVER = sys.argv[1] if len(sys.argv) > 1 else conf.AF_PACKET
NOBODY = 65534
COUNT = 2000
NET_ADMIN, NET_RAW = 1 << 12, 1 << 13
PEERS = 6  # in pairs


def ordinary_user(stage, capabilities):
    """A script that starts a copy of the daemon: its user may not be able to read the build."""
    with open('/proc/self/uid_map', encoding='ascii') as file:
        if sum(int(line.split()[2]) for line in file) <= NOBODY:
            story.skip('no other user in this user namespace')
    os.chmod(stage.directory, 0o755)
    copy = shutil.copy(story.DAEMON, f'{stage.directory}/signalboxd')
    caps = ','.join(['-all', *(f'+{name}' for name in capabilities)])
    program = stage.file(
        'as-nobody',
        f'#!/bin/sh\nexec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs'
        f' --inh-caps={caps} --ambient-caps={caps} --bounding-set={caps} {copy} "$@"\n',
    )
    os.chmod(program, 0o755)
    return program


def check_rights(gateway, capabilities):
    with open(f'/proc/{gateway.process.pid}/status', encoding='ascii') as file:
        status = dict(line.rstrip('\n').split(':\t', 1) for line in file if ':\t' in line)
    story.equal(status['Uid'].split(), [str(NOBODY)] * 4, 'user')
    for which in ('CapPrm', 'CapEff', 'CapBnd', 'CapInh', 'CapAmb'):
        story.equal(int(status[which], 16), capabilities, which)
    story.equal(status['NoNewPrivs'], '1', 'NoNewPrivs')


def over_af_packet(stage):
    program = ordinary_user(stage, ['net_raw', 'net_admin'])
    switch = story.network.Switch('br0')
    near = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']))
    far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
    port = conf.Port('lab', 'vd0', ['10.77.0.3/24'], conf.AF_PACKET)
    switch.veth('vb0', port.device)
    gateway = stage.start_gateway(conf.write([port], [near, far]), program=program)
    check_rights(gateway, NET_RAW | NET_ADMIN)
    asps = []
    for server in (near, far):
        entry = server.peers[0]
        host = story.network.Host(entry.name)
        host.plug(switch, f'{entry.addresses[0]}/24')
        more = {'send': COUNT, 'expect': COUNT, 'timeout': 120}
        asps.append(stage.peer(host, **conf.options(server, entry, remote='10.77.0.3', **more)))
    for asp in asps:
        result = asp.result(130)
        story.require(result['ok'], f'{asp.name}: {result}')
    story.equal(gateway.stop(60), 0, 'exit code')


def over_memif(stage):
    program = ordinary_user(stage, [])
    story.network.run('ip', 'link', 'set', 'lo', 'up')
    folder = f'{stage.directory}/sockets'
    os.mkdir(folder)
    os.chown(folder, NOBODY, NOBODY)
    port = conf.Port('memif', f'{folder}/memif', ['10.77.0.3/16'], driver='memif')
    fleets = []
    gateway = stage.start_gateway(
        conf.write([port], [fleet.server(i) for i in range(PEERS)], patient=True),
        far_end=lambda: fleets.append(fleet.start(stage, port.device, PEERS)),
        program=program,
    )
    check_rights(gateway, 0)
    result = fleet.result(fleets[0])
    story.equal(result['received'], PEERS * fleet.MESSAGES, 'messages')
    story.equal(gateway.stop(60), 0, 'exit code')


if DRIVER == 'memif':
    story.tell(over_memif, (story.DAEMON, fleet.PROGRAM), ('setpriv',))
else:
    story.tell(over_af_packet, (story.DAEMON, story.ASP), ('setpriv',))

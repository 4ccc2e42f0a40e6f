#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test peer against the least gateway on its own stack: what judges the daemon is judged first."""
import story


def two_peers_and_a_gateway(stage):
    switch = story.network.Switch('br0')
    hosts = {}
    for name, address in (('gateway', 3), ('asp1', 11), ('asp2', 12)):
        hosts[name] = story.network.Host(name)
        hosts[name].plug(switch, f'10.77.0.{address}/24')
    gateway = stage.peer(hosts['gateway'], mode='sg', local='10.77.0.3', timeout=50)
    count = min(story.COUNT, 20000)
    common = {'remote': '10.77.0.3', 'send': count, 'expect': count, 'timeout': 40}
    first = stage.peer(hosts['asp1'], local='10.77.0.11', asp_id=11, rc=1, opc='2-2-2', dpc='3-3-3', **common)
    second = stage.peer(hosts['asp2'], local='10.77.0.12', asp_id=12, rc=2, opc='3-3-3', dpc='2-2-2', **common)
    for asp in (first, second):
        result = asp.result(50)
        print(asp.name, {key: result[key] for key in result if key != 'flows'})
        story.require(result['ok'], f'{asp.name}: {result}')
        story.equal(asp.process.returncode, 0, f'exit code of {asp.name}')
    gateway.stop()


story.tell(two_peers_and_a_gateway, programs=(story.ASP,))

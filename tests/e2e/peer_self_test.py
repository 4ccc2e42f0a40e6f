#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The test peer against the least gateway on its own stack: what judges the daemon is
judged first."""
import time

import story


# What the gateway does to one message, and how the peers must account for it.
FAULTS = {'drop': 'lost', 'duplicate': 'duplicated', 'swap': 'reordered', 'corrupt': 'corrupt'}
TIMEOUT_S = 40


def exchange(stage, hosts, count, fault=None):
    """Results of two peers that send `count` messages to each other.

    Only the first sends where there is a fault.
    """
    gateway = stage.peer(hosts['gateway'], mode='sg', local='10.77.0.3', timeout=60, fault=fault)
    back = 0 if fault else count
    # With a fault the receiver would wait for what never comes: it ends when it is told to.
    common = {'remote': '10.77.0.3', 'timeout': TIMEOUT_S}
    first = stage.peer(
        hosts['asp1'],
        local='10.77.0.11',
        asp_id=11,
        rc=1,
        opc='2-2-2',
        dpc='3-3-3',
        send=count,
        expect=back,
        **common,
    )
    second = stage.peer(
        hosts['asp2'],
        local='10.77.0.12',
        asp_id=12,
        rc=2,
        opc='3-3-3',
        dpc='2-2-2',
        send=back,
        expect=back,
        **common,
    )
    results = [(first.result(TIMEOUT_S + 10), first.process.returncode)]
    if fault:
        time.sleep(0.5)
        second.stop()
    results.append((second.result(TIMEOUT_S + 10), second.process.returncode))
    gateway.stop()
    gateway.process.wait(10)
    return results


def two_peers_and_a_gateway(stage):
    switch = story.network.Switch('br0')
    hosts = {}
    for name, address in (('gateway', 3), ('asp1', 11), ('asp2', 12)):
        hosts[name] = story.network.Host(name)
        hosts[name].plug(switch, f'10.77.0.{address}/24')
    for result, code in exchange(stage, hosts, min(story.COUNT, 20000)):
        print({key: result[key] for key in result if key != 'flows'})
        story.require(result['ok'] and code == 0, f'{code}: {result}')
    for fault, account in FAULTS.items():
        _, (result, code) = exchange(stage, hosts, 4000, fault)
        story.equal((result['ok'], code), (False, 1), f'{fault}: verdict of the receiver')
        story.require(result[account] >= 1, f'{fault} was not seen as {account}: {result}')
        print(f'{fault}: seen as {account}')


story.tell(two_peers_and_a_gateway, programs=(story.ASP,))

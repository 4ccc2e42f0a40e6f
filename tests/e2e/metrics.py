#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The HTTP port: metrics that promtool accepts, every drop reason from the start, and silent
clients cost nobody."""
import re
import socket
import subprocess
import time

import configuration as conf
import story

SCRAPE_MAX_S = 1.0


def drop_reasons():
    text = (story.ROOT / 'lib/base/drop.h').read_text()
    return set(re.findall(r'^\s+X\((\w+), "', text, re.MULTILINE))


def silent_clients():
    """One says nothing at all, one stops in the middle of its request."""
    clients = [socket.create_connection(story.lab_gateway.HTTP) for _ in range(2)]
    clients[1].sendall(b'GET /metrics HTT')
    return clients


def an_operator_looks(stage):
    switch = story.network.Switch('br0')
    entries = [
        conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11'])),
        conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12'])),
    ]
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    stage.start_gateway(conf.write([port], entries), [(switch, 'sbtap0')])
    for path in ('/-/healthy', '/-/ready'):
        story.equal(story.lab_gateway.get(path)[0], 200, path)
    story.equal(story.lab_gateway.get('/nothing')[0], 404, 'a page that is not there')

    clients = silent_clients()
    begin = time.monotonic()
    status, text = story.lab_gateway.get('/metrics')
    took_s = time.monotonic() - begin
    story.equal(status, 200, '/metrics')
    story.require(took_s < SCRAPE_MAX_S, f'a scrape beside silent clients took {took_s:.2f} s')
    for client in clients:
        client.close()

    lint = subprocess.run(
        ['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True, check=False
    )
    story.equal((lint.returncode, lint.stderr.strip()), (0, ''), 'promtool check metrics')
    have = set()
    for name, labels, _ in story.lab_gateway.Samples(text).samples:
        if 'reason' in labels and name.startswith('signalbox_'):
            have.add(labels['reason'])
    story.equal(drop_reasons() - have, set(), 'drop reasons that are not exported')
    print(f'{len(text.splitlines())} lines in {took_s * 1000:.0f} ms beside two silent clients')


story.tell(an_operator_looks, tools=('promtool',))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of a daemon without traffic, with adaptive idle (PF-17); one row as the programs
print them. Runs in private namespaces.

  SIGNALBOXD=build/daemon/signalboxd perf/idle_daemon.py [--quick]
"""
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/e2e'))

import configuration as conf  # noqa: E402
import story  # noqa: E402

WATCH_S = 2 if '--quick' in sys.argv else 15


def processor_seconds(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(') ', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def machine():
    lines = pathlib.Path('/proc/cpuinfo').read_text().splitlines()
    model = next((line.split(': ')[1] for line in lines if line.startswith('model name')), '?')
    build = 'release' if 'release' in story.DAEMON else 'debugoptimized'
    quick = ', quick run' if '--quick' in sys.argv else ''
    return f'{model}, {os.cpu_count()} CPUs, {build}, load {os.getloadavg()[0]:.1f}{quick}'


def share_of_a_core(stage):
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    server = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']))
    switch = story.network.Switch('br0')
    daemon = stage.start_gateway(conf.write([port], [server]), [(switch, 'sbtap0')])
    time.sleep(1)
    before, since = processor_seconds(daemon.process.pid), time.monotonic()
    time.sleep(WATCH_S)
    used = processor_seconds(daemon.process.pid) - before
    return 100 * used / (time.monotonic() - since)


def the_daemon_idles(stage):
    percent = share_of_a_core(stage)
    print(
        json.dumps(
            {
                'name': 'idle.daemon',
                'value': round(percent, 3),
                'unit': '% of a core',
                'parameters': {'port': 'tap', 'workers': 1, 'seconds': WATCH_S},
                'comparison': '',
                'ratio': 0,
                'machine': machine(),
            }
        )
    )
    story.require(percent < 50, f'an idle daemon takes {percent:.0f} % of a core')


story.tell(the_daemon_idles)

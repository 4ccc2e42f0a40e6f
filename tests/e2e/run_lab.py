#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/run shows live traffic, answers on its metrics URL, and leaves nothing behind: by itself,
at Ctrl-C, and when it is killed."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

import story

BUILD = os.environ.get('SIGNALBOX_BUILD', str(story.ROOT / 'build'))
RUN = str(story.ROOT / 'scripts/run')
ROUTED_MIN = 1000  # of 2 x 2000 messages/s


def traces():
    """Everything that a lab could leave: namespaces, processes, links, files, sockets."""
    spaces = set()
    programs = set()
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            spaces.add(os.readlink(process / 'ns/net'))
            program = os.readlink(process / 'exe')
        except OSError:
            continue  # gone meanwhile, or a thread of the kernel
        if program.startswith(BUILD):
            programs.add((process.name, program))
    files = {
        str(path)
        for place in ('/run', '/tmp', '/var/run/netns', story.ROOT / 'scripts')
        for path in pathlib.Path(place).glob('*')
        if 'signalbox' in path.name or path.name in ('dpdk', '__pycache__')
    }
    links = {
        line.split(':')[1] for line in story.network.run('ip', '-o', 'link').stdout.splitlines()
    }
    return {'processes': programs, 'files': files, 'links': links}, spaces


def nothing_left(before, spaces):
    def same():
        now, now_spaces = traces()
        return now == before and now_spaces <= spaces

    try:
        story.network.until(same, 60, 'nothing left behind')
    except story.network.LabError as error:
        now, now_spaces = traces()
        raise AssertionError(
            f'{error}: {now} against {before}, namespaces {now_spaces - spaces}'
        ) from None


def started(*options):
    return subprocess.Popen(
        [RUN, '--no-build', *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, 'SIGNALBOX_BUILD': BUILD},
    )


def routed(line):
    match = re.search(r'routed ([\d,]+)/s', line)
    return int(match.group(1).replace(',', '')) if match else 0


def until_traffic(process):
    """(metrics URL, lines read) once a line shows live traffic."""
    url, seen = None, []
    for line in process.stdout:
        seen.append(line)
        if line.startswith('metrics: '):
            url = line.split()[1]
        if routed(line) >= ROUTED_MIN:
            return url
    raise AssertionError('no live traffic:\n' + ''.join(seen))


def ends_by_itself():
    before = traces()
    process = started('--seconds', '6')
    output, _ = process.communicate(timeout=60)
    print(output)
    story.equal(process.returncode, 0, f'exit code:\n{output}')
    story.require(
        any(routed(line) >= ROUTED_MIN for line in output.splitlines()), 'no live traffic seen'
    )
    story.require('lost 0, duplicated 0, reordered 0, corrupt 0' in output, 'no final account')
    nothing_left(*before)


def ends_at(number, code):
    before = traces()
    process = started()
    url = until_traffic(process)
    with urllib.request.urlopen(url, timeout=5) as answer:
        story.require(b'signalbox_build_info' in answer.read(), f'{url} does not serve the metrics')
    process.send_signal(number)
    output, _ = process.communicate(timeout=40)
    story.equal(process.returncode, code, f'exit code after {number.name}:\n{output}')
    nothing_left(*before)


def main():
    for program in (story.DAEMON, story.ASP):
        if not os.access(program, os.X_OK):
            story.skip(f'{program} is not built')
    reason = story.private_namespaces.why_not()
    if reason:
        story.skip(reason)
    begin = time.monotonic()
    ends_by_itself()
    ends_at(signal.SIGINT, 0)
    ends_at(signal.SIGKILL, -signal.SIGKILL)
    print(f'passed in {time.monotonic() - begin:.0f} s')


try:
    main()
except (AssertionError, story.network.LabError, subprocess.TimeoutExpired) as failure:
    print(f'FAILED: {failure}')
    sys.exit(1)

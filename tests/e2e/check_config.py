#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broken configurations are refused with exit code 78 and a precise error; those that we ship pass.

broken-configs/NAME.expected holds regular expressions, one a line, that the output for
NAME.yaml must contain. Hostile files are refused in under a second, and what the daemon prints of a
configuration is that configuration again.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import story

BROKEN = pathlib.Path(__file__).parent / 'broken-configs'
REFUSED_WITHIN_S = 1.0


def check(path):
    done = subprocess.run(
        [story.DAEMON, '--check-config', '--config', str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    return done.returncode, done.stdout + done.stderr


def faults_of_broken(path):
    code, output = check(path)
    if code != 78:
        yield f'{path.name}: exit code {code}, wanted 78\n{output}'
    for line in path.with_suffix('.expected').read_text().splitlines():
        if line and not line.startswith('#') and not re.search(line, output, re.MULTILINE):
            yield f'{path.name}: nothing matches {line!r} in\n{output}'


def laughs():
    """Each line ten times the one before: 10^9 words if aliases were followed."""
    yield 'a0: &a0 lol\n'
    for i in range(1, 10):
        yield f'a{i}: &a{i} [' + ', '.join([f'*a{i - 1}'] * 10) + ']\n'


HOSTILE = {
    'billion laughs': lambda: ''.join(laughs()),
    '100 MB': lambda: '# filler\n' * (100_000_000 // 9),
    '900,000 unknown keys': lambda: ''.join(f'key{i}: 1\n' for i in range(900_000)),
    '16 MiB of brackets': lambda: '[' * ((16 << 20) - 1),
    '16 MiB of lines of brackets': lambda: '[\n' * ((16 << 20) // 2 - 1),
}


def faults_of_hostile(directory):
    for name, write in HOSTILE.items():
        path = pathlib.Path(directory) / 'hostile.yaml'
        path.write_text(write())
        begin = time.monotonic()
        code, output = check(path)
        took_s = time.monotonic() - begin
        if code != 78:
            yield f'{name}: exit code {code}, wanted 78\n{output[:2000]}'
        if took_s > REFUSED_WITHIN_S:
            yield f'{name}: refused after {took_s:.2f} s'


def printed(*arguments):
    return subprocess.run(
        [story.DAEMON, *arguments], capture_output=True, text=True, check=True, timeout=20
    ).stdout


def faults_of_printing(path, directory):
    """--print-config gives a file that is good and gives itself."""
    first = printed('--print-config', '--config', str(path))
    again = pathlib.Path(directory) / 'again.yaml'
    again.write_text(first)
    second = printed('--print-config', '--config', str(again))

    def values(text):
        return [re.sub(r' +# .*', '', line) for line in text.splitlines()]

    if values(first) != values(second):
        yield f'{path.name}: --print-config of what it printed is another one'
    if not re.search(r'# ' + re.escape(str(path)) + r':\d+$', first, re.MULTILINE):
        yield f'{path.name}: --print-config does not say where a value is from'
    if not first.rstrip().endswith(('# default', ']')) and '# default' not in first:
        yield f'{path.name}: --print-config names no default'


def faults_of_documents(directory):
    path = pathlib.Path(directory) / 'default.yaml'
    path.write_text(printed('--print-default-config'))
    code, output = check(path)
    if code != 0:
        yield f'--print-default-config is refused:\n{output}'
    json.loads(printed('--print-schema'))


def main():
    if not pathlib.Path(story.DAEMON).exists():
        story.skip(f'{story.DAEMON} is not built')
    faults = []
    broken = sorted(BROKEN.glob('*.yaml'))
    for path in broken:
        faults += faults_of_broken(path)
    for path in sorted((story.ROOT / 'config').glob('*.yaml')):
        code, output = check(path)
        if code != 0:
            faults.append(f'{path.name}: exit code {code}, wanted 0\n{output}')
    with tempfile.TemporaryDirectory() as directory:
        faults += faults_of_hostile(directory)
        faults += faults_of_documents(directory)
        for path in sorted((story.ROOT / 'config').glob('*.yaml')):
            faults += faults_of_printing(path, directory)
    if len(broken) < 50:
        faults.append(f'only {len(broken)} broken configurations')
    print('\n'.join(faults) or f'passed: {len(broken)} refused')
    sys.exit(1 if faults else 0)


main()

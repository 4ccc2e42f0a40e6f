#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Broken configurations are refused with exit code 78 and a precise error; those that we ship pass.

broken-configs/NAME.expected holds regular expressions, one a line, that the output for
NAME.yaml must contain.
"""
import pathlib
import re
import subprocess
import sys

import story

BROKEN = pathlib.Path(__file__).parent / 'broken-configs'


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
    if len(broken) < 10:
        faults.append(f'only {len(broken)} broken configurations')
    print('\n'.join(faults) or f'passed: {len(broken)} refused')
    sys.exit(1 if faults else 0)


main()

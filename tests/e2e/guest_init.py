#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first and only process of a guest (see guest.py): modules, addresses, the program, the end.

Its root is the machine's own file system; what it needs of its own it mounts over it.
"""
import ctypes
import errno
import json
import os
import pathlib
import subprocess
import sys
import time

FINIT_MODULE = 313  # x86-64
POWER_OFF = 0x4321FEDC
libc = ctypes.CDLL(None, use_errno=True)


def mount(what, where):
    """Some kernels have mounted /dev already."""
    if libc.mount(what.encode(), where.encode(), what.encode(), 0, None) != 0:
        if ctypes.get_errno() != errno.EBUSY:
            raise OSError(ctypes.get_errno(), f'mount {where}')


def load(modules, *names):
    """With what they depend on. One that is loaded already is no error."""
    place = pathlib.Path(modules) / os.uname().release
    needs = {}
    for line in (place / 'modules.dep').read_text(encoding='ascii').splitlines():
        module, _, others = line.partition(':')
        needs[pathlib.Path(module).stem] = [module, *others.split()]
    for name in names:
        for file in reversed(needs.get(name, [])):
            descriptor = os.open(place / file, os.O_RDONLY | os.O_CLOEXEC)
            libc.syscall(FINIT_MODULE, descriptor, b'', 0)
            os.close(descriptor)


def run(*words):
    subprocess.run(words, check=True)


def plug(wires, impairment):
    cards = sorted(card for card in os.listdir('/sys/class/net') if card[:3] in ('vec', 'eth'))
    run('ip', 'link', 'set', 'lo', 'up')
    for card, addresses in zip(cards, wires):
        for address in addresses:
            nodad = ['nodad'] if ':' in address else []
            run('ip', 'address', 'add', address, 'dev', card, *nodad)
        run('ip', 'link', 'set', card, 'up')
        if impairment:
            words = ['root', 'netem', *impairment.split()]
            run('tc', 'qdisc', 'add', 'dev', card, *words)


def main():
    os.environ['PATH'] = '/usr/sbin:/usr/bin:/sbin:/bin'
    mount('proc', '/proc')
    mount('sysfs', '/sys')
    mount('devtmpfs', '/dev')
    words = dict(
        word.split('=', 1) for word in open('/proc/cmdline').read().split() if '=' in word
    )
    with open(words['lab.job'], encoding='utf-8') as file:
        job = json.load(file)
    # Without hmac its listen() fails; netem is for impairments.
    load(job['modules'], 'ipv6', 'hmac', 'sctp', 'sch_netem')
    plug(job['wires'], job['impairment'])
    print(f'guest: up after {time.monotonic():.1f} s', file=sys.stderr, flush=True)
    with open(job['output'], 'ab') as output:
        code = subprocess.call(job['words'], stdin=subprocess.DEVNULL, stdout=output)
    print(f'guest: the program ended with {code}', file=sys.stderr, flush=True)
    # What is on its way still leaves: the last SHUTDOWN COMPLETE.
    time.sleep(0.3)


try:
    main()
except Exception as error:  # the first process must not end by itself
    print(f'guest: {error!r}', file=sys.stderr, flush=True)
finally:
    os.sync()
    libc.reboot(POWER_OFF)

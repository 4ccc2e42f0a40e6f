# SPDX-License-Identifier: Apache-2.0
"""Bridges, and hosts in network namespaces of their own, inside those of this process."""
import os
import subprocess
import time


class LabError(Exception):
    """Something of the lab itself did not work."""


def run(*words, check=True):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise LabError(
            f"{' '.join(str(w) for w in words)}: {done.stderr.strip() or done.stdout.strip()}"
        )
    return done


def until(condition, seconds, what):
    """Waits for condition() to be true and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f'not within {seconds} s: {what}')
        time.sleep(0.02)


def link_exists(name):
    return run('ip', 'link', 'show', name, check=False).returncode == 0


class Switch:
    """A bridge without an address: the namespace that holds it answers nothing itself."""

    def __init__(self, name):
        self.name = name
        run('ip', 'link', 'set', 'lo', 'up')
        with open('/proc/sys/net/ipv6/conf/default/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')  # no router solicitations or listener reports of our own on the wire
        run('ip', 'link', 'add', name, 'type', 'bridge', 'mcast_snooping', '0')
        run('ip', 'link', 'set', name, 'up')

    def attach(self, device):
        run('ip', 'link', 'set', device, 'master', self.name)
        run('ip', 'link', 'set', device, 'up')

    def detach(self, device):
        """Cuts the path without telling either end."""
        run('ip', 'link', 'set', device, 'nomaster')

    def attach_tap(self, device, seconds=20):
        """The daemon makes the TAP. Its kernel side shares the daemon's MAC, and a bridge would
        keep frames for that MAC to itself: it gets another one."""
        until(lambda: link_exists(device), seconds, f'TAP {device} made by the daemon')
        run('ip', 'link', 'set', device, 'address', '02:5b:00:00:00:%02x' % (os.getpid() & 0xFF))
        self.attach(device)

    def veth(self, ours, theirs):
        """A wire of which one end is in the bridge."""
        run('ip', 'link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs)
        self.attach(ours)
        run('ip', 'link', 'set', theirs, 'up')


class Host:
    """A network namespace, kept by a process that sleeps in it."""

    def __init__(self, name):
        self.name = name
        self.links = 0
        self.keeper = subprocess.Popen(['unshare', '--net', 'sleep', 'infinity'])
        mine = os.readlink('/proc/self/ns/net')
        path = f'/proc/{self.keeper.pid}/ns/net'
        until(lambda: os.readlink(path) != mine, 5, f'network namespace of {name}')
        self.run('ip', 'link', 'set', 'lo', 'up')

    def inside(self, *words):
        return ['nsenter', f'--net=/proc/{self.keeper.pid}/ns/net', *[str(w) for w in words]]

    def run(self, *words):
        return run(*self.inside(*words))

    def plug(self, switch, *addresses):
        """A wire to the switch; returns the name of its end there."""
        ours, theirs = f'{self.name}-{self.links}', f'eth{self.links}'
        self.links += 1
        run(
            'ip',
            'link',
            'add',
            ours,
            'type',
            'veth',
            'peer',
            'name',
            theirs,
            'netns',
            self.keeper.pid,
        )
        for address in addresses:
            nodad = ['nodad'] if ':' in address else []
            self.run('ip', 'address', 'add', address, 'dev', theirs, *nodad)
        self.run('ip', 'link', 'set', theirs, 'up')
        switch.attach(ours)
        return ours

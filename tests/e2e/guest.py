# SPDX-License-Identifier: Apache-2.0
"""Hosts with a Linux kernel of their own, whose SCTP is the reference: a user-mode kernel, that is
an ordinary process. It runs one program, on this machine's own files, and ends with it.

    this namespace:  switch -- TAP -- | kernel in a process: vec0, SCTP, the program |
"""
import json
import os
import pathlib
import shutil
import signal

import story

KERNEL = 'linux.uml'
ASP = os.environ.get('LINUX_ASP', str(story.ROOT / 'build/tests/interop/linux_asp'))
MODULES = pathlib.Path('/usr/lib/uml/modules')
INIT = pathlib.Path(__file__).resolve().parent / 'guest_init.py'
MEMORY = '192M'


def why_not():
    """One line that says what is missing here, or None."""
    if shutil.which(KERNEL) is None or not MODULES.is_dir():
        return 'user-mode-linux is not installed'
    if not os.access(ASP, os.X_OK):
        return f'{ASP} is not built'
    return None


class Guest:
    """In place of network.Host, for a peer whose stack is the kernel's."""

    def __init__(self, name, directory, impairment=''):
        """impairment: words of tc-netem for what the guest sends, such as 'loss 5% delay 20ms'."""
        self.name = name
        self.directory = directory
        self.impairment = impairment
        self.wires = []

    def plug(self, switch, *addresses):
        """A wire to the switch; returns the name of its end there."""
        tap = f'{self.name}-{len(self.wires)}'
        story.network.run('ip', 'tuntap', 'add', tap, 'mode', 'tap')
        switch.attach(tap)
        self.wires.append((tap, addresses))
        return tap

    def inside(self, *words):
        """The command that boots a kernel, runs the words in it, and ends. What they write to
        standard output is in the file that a Peer reads; the console goes to standard error."""
        job = f'{self.directory}/{self.name}.job'
        with open(job, 'w', encoding='utf-8') as file:
            json.dump(
                {
                    'words': [str(word) for word in words],
                    'output': f'{self.directory}/{self.name}.out',
                    'wires': [addresses for _, addresses in self.wires],
                    'impairment': self.impairment,
                    'modules': str(MODULES),
                },
                file,
            )
        mac = '52:54:00:%02x:%02x:' % (os.getpid() & 0xFF, sum(self.name.encode()) & 0xFF)
        cards = [
            f'vec{i}:transport=tap,ifname={tap},depth=128,gro=0,mac={mac}{i:02x}'
            for i, (tap, _) in enumerate(self.wires)
        ]
        root = ['root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'rw', f'init={INIT}']
        console = ['con=null', 'con0=null,fd:2', 'quiet']
        # The kernel keeps its memory in a file there, which must be executable.
        place = ['env', 'TMPDIR=/dev/shm', 'setsid']
        return [*place, KERNEL, f'mem={MEMORY}', *root, *console, f'lab.job={job}', *cards]


class KernelPeer(story.peer.Peer):
    """An application server on the kernel's SCTP."""

    def __init__(self, guest, directory, **options):
        super().__init__(ASP, guest, directory, **options)

    def kill(self):
        """As a machine that loses its power. A user-mode kernel is several processes."""
        try:
            os.killpg(self._group(), signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    stop = kill

    def _group(self):
        """setsid(1) forks when it leads a group already; ours is started by a Popen, which does
        not: the process is the kernel."""
        return self.process.pid


STACKS = ('usrsctp', 'kernel')


def require(stack):
    """Ends the test as skipped when a peer on this stack cannot run here."""
    reason = why_not() if stack == 'kernel' else None
    if reason:
        story.skip(reason)


def host(stack, name, stage, impairment=''):
    if stack == 'kernel':
        return Guest(name, stage.directory, impairment)
    return story.network.Host(name)


def peer(stage, where, **options):
    if isinstance(where, Guest):
        return KernelPeer(where, stage.directory, **options)
    return stage.peer(where, **options)

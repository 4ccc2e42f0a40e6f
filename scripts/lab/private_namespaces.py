# SPDX-License-Identifier: Apache-2.0
"""Namespaces that die with the process: network, mounts and processes, and a user namespace where
we are not root.

Nothing in them has a name outside, and the first process inside takes everything with it when it
ends, however it ends. So there is nothing to clean up, and nothing can be left behind.
"""
import ctypes
import os
import signal
import sys

SKIP = 77

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *arguments):
    if getattr(_libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f'{name}: {os.strerror(error)}')


def _write(path, text):
    with open(path, 'w', encoding='ascii') as file:
        file.write(text)


def _unshare():
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        _call('unshare', CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID)
        return
    _call('unshare', CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID)
    _write('/proc/self/setgroups', 'deny')
    _write('/proc/self/uid_map', f'0 {uid} 1')
    _write('/proc/self/gid_map', f'0 {gid} 1')


def _mount(what, where, kind, flags=0):
    _call('mount', what, where, kind, ctypes.c_ulong(flags), None)


def _furnish():
    """/proc of the new processes, and an empty /run for sockets, EAL's files and logs."""
    _mount(b'none', b'/', None, MS_REC | MS_PRIVATE)
    _mount(b'proc', b'/proc', b'proc')
    _mount(b'tmpfs', b'/run', b'tmpfs')


def why_not():
    """One line that says what is missing here, or None."""
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        return 'needs /dev/net/tun, readable and writable (modprobe tun)'
    child = os.fork()
    if child == 0:
        try:
            _unshare()
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        return None
    return 'needs root, or unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1)'


def _stand_by(child):
    """The process outside: passes signals on and returns the exit code of the one inside."""
    asked = 0

    def on_signal(number, _frame):
        nonlocal asked
        asked += 1
        os.kill(child, number if asked < 3 else signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def enter():
    """Returns inside, as the first process of the new namespaces; the caller never returns."""
    sys.stdout.flush()
    sys.stderr.flush()
    _unshare()
    child = os.fork()
    if child != 0:
        os._exit(_stand_by(child))
    os.setsid()  # a Ctrl-C reaches the process outside alone, which passes it on once
    _call('prctl', PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    _furnish()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

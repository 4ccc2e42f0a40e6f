#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package is lintian-clean, goes into a root of its own (this host's, with all changes
in memory), and its daemon forwards traffic as the unprivileged user with the capabilities of the
unit. A second installation keeps the administrator's configuration, removing the package leaves
nothing that runs."""
import os
import pathlib
import subprocess

import configuration as conf
import log_disk
import story

BUILD = os.environ.get('SIGNALBOX_BUILD', str(story.ROOT / 'build'))
ROOT = '/run/root'
CAPABILITIES = 1 << 12 | 1 << 13  # CAP_NET_ADMIN, CAP_NET_RAW
CONFIG = '/etc/signalbox/signalbox.yaml'
AS_USER = (
    'setpriv --reuid signalbox --regid signalbox --init-groups --no-new-privs'
    ' --bounding-set -all,+net_raw,+net_admin --inh-caps -all,+net_raw,+net_admin'
    ' --ambient-caps -all,+net_raw,+net_admin'
)


def run(*words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    story.equal(done.returncode, code, f'{" ".join(words)}: {done.stdout}{done.stderr}')
    return done.stdout


def inside(*words, code=0):
    return run('chroot', ROOT, *words, code=code)


def make_root():
    """This host's root below, what changes in memory."""
    for name in ('upper', 'work', 'root'):
        os.mkdir(f'/run/{name}')
    options = 'lowerdir=/,upperdir=/run/upper,workdir=/run/work'
    mounted = subprocess.run(
        ['mount', '-t', 'overlay', '-o', options, 'overlay', ROOT], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        story.skip(f'no overlay file system over / here: {mounted.stderr.strip()}')
    run('mount', '--rbind', '/dev', f'{ROOT}/dev')
    run('mount', '-t', 'proc', 'proc', f'{ROOT}/proc')
    run('mount', '--rbind', '/sys', f'{ROOT}/sys')
    run('mount', '-t', 'tmpfs', 'run', f'{ROOT}/run')
    # The host's own package may be there; this is about a first installation.
    for place in (f'{ROOT}{CONFIG}', f'{ROOT}/usr/sbin/signalboxd'):
        story.require(not os.path.exists(place), f'{place} is there already')


def install(package):
    run('cp', package, f'{ROOT}/package.deb')
    inside('dpkg', '-i', '/package.deb')


def what_is_installed():
    mode = inside('stat', '-c', '%a %U:%G', CONFIG).strip()
    story.equal(mode, '640 root:signalbox', CONFIG)
    as_user = ('setpriv', '--reuid', 'signalbox', '--regid', 'signalbox', '--clear-groups')
    inside(*as_user, 'signalboxd', '--check-config', '--config', CONFIG)
    for place in (
        'usr/share/man/man8/signalboxd.8.gz',
        'usr/share/man/man1/signalboxctl.1.gz',
        'usr/share/man/man5/signalbox.yaml.5.gz',
        'usr/share/bash-completion/completions/signalboxctl',
        'lib/systemd/system/signalboxd.service',
        'usr/share/signalbox/grafana/overview.json',
        'usr/share/signalbox/prometheus/signalbox.rules.yaml',
        'usr/share/doc/signalbox/runbook.md',
    ):
        story.require(os.path.exists(f'{ROOT}/{place}'), f'{place} is missing')


def run_as_the_unit_does(stage, text):
    pathlib.Path(ROOT + CONFIG).write_text(text)
    inside('install', '-d', '-o', 'signalbox', '-g', 'signalbox', '/run/signalbox')
    command = f'chroot {ROOT} {AS_USER} signalboxd "$@"'
    program = stage.file('signalboxd', f'#!/bin/sh\nexec {command}\n')
    os.chmod(program, 0o755)
    log = f'{stage.directory}/daemon.log'
    os.environ['RUNTIME_DIRECTORY'] = '/run/signalbox'
    stage.gateway = story.lab_gateway.Gateway(program, CONFIG, log)
    stage.gateway.wait_ready(100)
    status = pathlib.Path(f'/proc/{stage.gateway.process.pid}/status').read_text()
    fields = dict(line.split(':', 1) for line in status.splitlines())
    story.require(fields['Uid'].split()[0] != '0', 'the daemon runs as root')
    unit = pathlib.Path(f'{ROOT}/lib/systemd/system/signalboxd.service').read_text()
    given = '\nAmbientCapabilities=CAP_NET_RAW CAP_NET_ADMIN\n'
    story.require(given in unit, 'the unit gives other capabilities')
    story.equal(int(fields['CapBnd'], 16), CAPABILITIES, 'capabilities')


def a_package_is_installed(stage):
    if os.geteuid() != 0:
        story.skip('needs root: packages own their files')
    package = run(str(story.ROOT / 'scripts/make-deb'), stage.directory, BUILD).split()[-1]
    strict = ('--profile', 'debian', '--allow-root', '--fail-on', 'error,warning')
    print(run('lintian', *strict, package))
    make_root()
    install(package)
    what_is_installed()

    switch = story.network.Switch('br0')
    servers, hosts = log_disk.servers_of(switch)
    port = conf.Port('lan', 'vd0', ['10.77.0.3/24'], conf.AF_PACKET)
    switch.veth('vb0', port.device)
    text = conf.write([port], servers, patient=True)
    run_as_the_unit_does(stage, text)
    log_disk.exchange(stage, servers, hosts)
    story.require('ASP Name' in inside('signalboxctl', 'show', 'peers'), 'show peers')
    story.equal(stage.gateway.stop(60), 0, 'exit code of the daemon')

    install(package)
    story.equal(pathlib.Path(ROOT + CONFIG).read_text(), text, 'configuration after an upgrade')
    inside('dpkg', '-r', 'signalbox')
    story.require(not os.path.exists(f'{ROOT}/usr/sbin/signalboxd'), 'the daemon is left')
    story.require(os.path.exists(ROOT + CONFIG), 'the configuration went with the package')
    inside('dpkg', '-P', 'signalbox')
    story.require(not os.path.exists(ROOT + CONFIG), 'the configuration survived a purge')


story.tell(
    a_package_is_installed,
    (story.DAEMON, story.ASP),
    ('dpkg-deb', 'dpkg-shlibdeps', 'lintian', 'chroot', 'setpriv', 'mount', 'strip'),
)

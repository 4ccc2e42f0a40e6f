# SPDX-License-Identifier: Apache-2.0
"""What every end-to-end test starts with. A test is a script that runs alone:

    SIGNALBOXD=build/daemon/signalboxd USRSCTP_ASP=build/tests/interop/usrsctp_asp \\
        tests/e2e/traffic.py

Exit code 0: as it should be; 1: not; 77: cannot run here, with one line of reason.
"""
import os
import pathlib
import shutil
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / 'scripts'))

from lab import gateway as lab_gateway  # noqa: E402  (the path comes first)
from lab import network, peer, private_namespaces  # noqa: E402

DAEMON = os.environ.get('SIGNALBOXD', str(ROOT / 'build/daemon/signalboxd'))
ASP = os.environ.get('USRSCTP_ASP', str(ROOT / 'build/tests/interop/usrsctp_asp'))
COUNT = int(os.environ.get('COUNT', '100000'))


def skip(reason):
    print(f'skipped: {reason}')
    sys.exit(private_namespaces.SKIP)


def require(condition, what):
    if not condition:
        raise AssertionError(what)


def equal(have, want, what):
    require(have == want, f'{what}: {have!r}, wanted {want!r}')


def tell(story, programs=(DAEMON,), tools=()):
    """Runs story(Stage) in private namespaces; ends the process."""
    for tool in ('ip', 'unshare', 'nsenter', *tools):
        if shutil.which(tool) is None:
            skip(f'{tool} is not installed')
    for program in programs:
        if not os.access(program, os.X_OK):
            skip(f'{program} is not built')
    reason = private_namespaces.why_not()
    if reason:
        skip(reason)
    private_namespaces.enter()
    with tempfile.TemporaryDirectory(dir='/run') as directory:
        stage = Stage(directory)
        try:
            story(stage)
            print('passed')
            code = 0
        except (AssertionError, network.LabError) as error:
            print(f'FAILED: {error}')
            stage.show_logs()
            code = 1
    sys.exit(code)


class Stage:
    """Directory, switch and daemon of one test."""

    def __init__(self, directory):
        self.directory = directory
        self.gateway = None

    def file(self, name, text):
        path = f'{self.directory}/{name}'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def start_gateway(self, config, taps=(), far_end=None, program=DAEMON):
        """taps: [(switch, device)] that the daemon makes itself.

        program: what starts the daemon with its arguments.
        far_end: called when the daemon was started, in place of waiting until its ports' links are
        up.
        """
        path = self.file('signalbox.yaml', config)
        self.gateway = lab_gateway.Gateway(program, path, f'{self.directory}/daemon.log')
        for switch, device in taps:
            try:
                switch.attach_tap(device)
            except network.LabError as error:
                raise network.LabError(f'{error}\n{self.gateway.log()}') from None
        if far_end is not None:
            far_end()
        else:
            self.gateway.wait_ready()
        return self.gateway

    def peer(self, host, **options):
        return peer.Peer(ASP, host, self.directory, **options)

    def show_logs(self):
        if self.gateway is not None:
            state = (
                'runs' if self.gateway.alive() else f'ended with {self.gateway.process.returncode}'
            )
            print(f'--- the daemon {state}\n{self.gateway.log()}')
            if self.gateway.alive():
                self.show_drops()
        for path in sorted(pathlib.Path(self.directory).glob('*.err')):
            if path.stat().st_size:
                print(f'--- {path.name}\n{path.read_text(errors="replace")[-2000:]}')

    def show_drops(self):
        try:
            samples = lab_gateway.scrape().samples
        except (OSError, network.LabError) as error:
            print(f'--- no metrics: {error}')
            return
        print('--- metrics that are not zero')
        for name, labels, value in samples:
            if value:
                print(f'{name} {labels} {value:g}')

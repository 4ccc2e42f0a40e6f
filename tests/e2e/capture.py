# SPDX-License-Identifier: Apache-2.0
"""tshark as the judge of what the daemon sends."""
import os
import subprocess

import story

TOOLS = ('dumpcap', 'tshark')


class Capture:
    """The first `packets` SCTP packets on a device."""

    def __init__(self, device, path, packets):
        self.path = path
        self.process = subprocess.Popen(
            [
                'dumpcap',
                '-q',
                '-i',
                device,
                '-f',
                'ip proto 132 or ip6 proto 132',
                '-c',
                str(packets),
                '-w',
                path,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        story.network.until(lambda: os.path.exists(path), 60, f'dumpcap listens on {device}')

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def matching(self, display_filter):
        done = subprocess.run(
            ['tshark', '-r', self.path, '-o', 'sctp.checksum:CRC 32c', '-Y', display_filter],
            capture_output=True,
            text=True,
            check=False,
        )
        story.require(done.returncode == 0, f'tshark: {done.stderr}')
        return done.stdout.splitlines()


def judge(capture, source, at_least):
    """Checksums, form and meaning of everything that came from `source`."""
    sent = f'{"ipv6" if ":" in source else "ip"}.src=={source}'
    packets = len(capture.matching(f'sctp and {sent}'))
    story.require(packets >= at_least, f'only {packets} packets from {source} captured')
    wrong = capture.matching(f'(sctp.checksum.status==0 or _ws.malformed) and {sent}')
    story.require(not wrong, f'wrong checksum or malformed: {wrong[:5]}')
    errors = capture.matching(f'_ws.expert.severity==error and {sent}')
    story.require(not errors, f'expert errors: {errors[:5]}')
    print(f'tshark: {packets} packets from {source}, none at fault')

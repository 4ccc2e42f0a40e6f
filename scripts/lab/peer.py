# SPDX-License-Identifier: Apache-2.0
"""An application server: a process of tests/interop/asp.cpp in a host of its own."""
import json
import os
import signal
import struct
import subprocess

from .network import LabError

PORT = 2905
_LINE_MAX = 8192
_RECORD = struct.Struct('>IIQ')


class Peer:
    def __init__(self, program, host, directory, **options):
        """Options are those of the program with _ for -; True for a switch, None for none."""
        words = [program]
        for name, value in options.items():
            option = '--' + name.replace('_', '-')
            if value is True:
                words.append(option)
            elif value is not None and value is not False:
                words += [option, str(value)]
        self.name = host.name
        self.output = f'{directory}/{host.name}.out'
        self.errors = f'{directory}/{host.name}.err'
        with open(self.output, 'wb') as out, open(self.errors, 'wb') as err:
            self.process = subprocess.Popen(
                host.inside(*words), stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    def lines(self):
        """Complete lines only: the last one may still be in the making."""
        with open(self.output, encoding='ascii') as out:
            return [json.loads(line) for line in out.read().split('\n')[:-1] if line]

    def progress(self):
        """The newest progress, or None; looks at the end of the output alone, which may be long."""
        with open(self.output, 'rb') as out:
            out.seek(max(0, out.seek(0, os.SEEK_END) - 2 * _LINE_MAX))
            for line in reversed(out.read().split(b'\n')[:-1]):
                if line.startswith(b'{"progress"'):
                    return json.loads(line)
        return None

    def running(self):
        return self.process.poll() is None

    def result(self, seconds):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise LabError(
                f'{self.name} did not end within {seconds} s; last progress {self.progress()}'
            ) from None
        lines = self.lines()
        if not lines or 'ok' not in lines[-1]:
            with open(self.errors, encoding='utf-8', errors='replace') as err:
                raise LabError(
                    f'{self.name} ended with {self.process.returncode}: {err.read()[-500:]}'
                )
        return lines[-1]

    def stop(self):
        if self.running():
            self.process.send_signal(signal.SIGTERM)

    def kill(self):
        self.process.kill()
        self.process.wait()


def records(path):
    """[(sender, sls, sequence), ...] in the order of arrival."""
    with open(path, 'rb') as file:
        data = file.read()
    return list(_RECORD.iter_unpack(data[: len(data) // _RECORD.size * _RECORD.size]))

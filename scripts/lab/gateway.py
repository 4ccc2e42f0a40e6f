# SPDX-License-Identifier: Apache-2.0
"""The daemon under test, and what its HTTP port says."""
import http.client
import re
import signal
import subprocess

from .network import LabError, until

HTTP = ('127.0.0.1', 12905)
_SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (\S+)')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def get(path, timeout=5):
    """(status, text) of one request."""
    connection = http.client.HTTPConnection(*HTTP, timeout=timeout)
    try:
        connection.request('GET', path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Samples:
    """One scrape."""

    def __init__(self, text):
        self.samples = []
        for line in text.splitlines():
            match = _SAMPLE.match(line)
            if match:
                name, labels, value = match.groups()
                self.samples.append((name, dict(_LABEL.findall(labels or '')), float(value)))

    def series(self, name):
        return [(labels, value) for sample, labels, value in self.samples if sample == name]

    def total(self, name, **labels):
        return sum(value for have, value in self.series(name) if labels.items() <= have.items())

    def by_label(self, name, label):
        """{label value: sum}"""
        sums = {}
        for labels, value in self.series(name):
            sums[labels.get(label, '')] = sums.get(labels.get(label, ''), 0) + value
        return sums

    def has(self, name):
        return any(sample == name for sample, _, _ in self.samples)


def scrape():
    status, text = get('/metrics')
    if status != 200:
        raise LabError(f'/metrics answered {status}')
    return Samples(text)


class Gateway:
    def __init__(self, program, config, log_path):
        self.log_path = log_path
        with open(log_path, 'wb') as log:
            self.process = subprocess.Popen(
                [program, '--config', config],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def log(self, lines=40):
        with open(self.log_path, encoding='utf-8', errors='replace') as log:
            return ''.join(log.readlines()[-lines:])

    def _ready(self):
        if self.process.poll() is not None:
            raise LabError(f'the daemon ended with {self.process.returncode}:\n{self.log()}')
        try:
            return get('/-/ready', timeout=1)[0] == 200
        except OSError:
            return False

    def wait_ready(self, seconds=60):
        try:
            until(self._ready, seconds, '/-/ready answers 200')
        except LabError as error:
            raise LabError(f'{error}\n{self.log()}') from None

    def alive(self):
        return self.process.poll() is None

    def stop(self, seconds=30):
        """The exit code of an orderly end."""
        if self.alive():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise LabError(f'the daemon did not end within {seconds} s of SIGTERM') from None

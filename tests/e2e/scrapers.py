#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""F08: scrapes without a pause, clients that read nothing and clients that stop in mid-request, all
at once: traffic arrives whole, every worker turns, the number of series stays, and scrapes are
answered again when they have gone."""
import http.client
import socket
import threading

import configuration as conf
import story

COUNT = 8000
RATE = 2000
SCRAPERS, SLOW, HALF = 100, 50, 50
FAILURES = (OSError, http.client.HTTPException)


def client(text):
    """A connection that says this and reads nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    made.settimeout(10)
    try:
        made.connect(story.lab_gateway.HTTP)
        made.sendall(text)
    except OSError:  # refused or closed: the server's limit
        pass
    return made


class Crowd:
    """100 clients that scrape without a pause, until left."""

    def __init__(self):
        self.left = threading.Event()
        self.answers = {}
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.scrape) for _ in range(SCRAPERS)]
        for thread in self.threads:
            thread.start()

    def scrape(self):
        while not self.left.is_set():
            try:
                status = story.lab_gateway.get('/metrics', timeout=10)[0]
            except FAILURES as error:
                status = type(error).__name__
            with self.lock:
                self.answers[status] = self.answers.get(status, 0) + 1
            self.left.wait(0.01)

    def leave(self):
        self.left.set()
        for thread in self.threads:
            thread.join()


def a_crowd_looks(stage):
    switch = story.network.Switch('br0')
    near = conf.near(conf.PeerEntry('asp1', 11, ['10.77.0.11']))
    far = conf.far(conf.PeerEntry('asp2', 12, ['10.77.0.12']))
    port = conf.Port('lab', 'sbtap0', ['10.77.0.3/24'])
    text = conf.write([port], [near, far], patient=True)
    gateway = stage.start_gateway(text, [(switch, port.device)])
    before = len(story.lab_gateway.scrape().samples)
    start = f'{stage.directory}/start'
    asps = []
    for server in (near, far):
        entry = server.peers[0]
        host = story.network.Host(entry.name)
        host.plug(switch, f'{entry.addresses[0]}/24')
        more = {'send': COUNT, 'expect': COUNT, 'rate': RATE, 'timeout': 150, 'start_file': start}
        asps.append(stage.peer(host, **conf.options(server, entry, remote='10.77.0.3', **more)))

    slow = [client(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' * 8) for _ in range(SLOW)]
    half = [client(b'GET /metrics HTTP/1.1\r\nHo') for _ in range(HALF)]
    crowd = Crowd()
    stage.file('start', '')
    try:
        results = [asp.result(160) for asp in asps]
    finally:
        crowd.leave()
    for one in slow + half:
        one.close()
    print(f'answers to the crowd: {crowd.answers}')
    for asp, result in zip(asps, results):
        story.require(result['ok'], f'{asp.name}: {result}')

    def answered():
        try:
            return story.lab_gateway.get('/-/healthy')[0] == 200
        except FAILURES:
            return False

    story.network.until(answered, 60, 'health is told when the crowd has gone')
    samples = story.lab_gateway.scrape()
    print(f'{before} series before, {len(samples.samples)} after')
    story.equal(len(samples.samples), before, 'series')
    story.equal(samples.total('signalbox_associations_lost_total'), 0, 'lost associations')
    story.require(gateway.alive(), 'the daemon ended')
    story.equal(gateway.stop(60), 0, 'exit code')


story.tell(a_crowd_looks, (story.DAEMON, story.ASP))

# SPDX-License-Identifier: Apache-2.0
"""Configurations for the tests, in the words of the manual."""
from dataclasses import dataclass, field

TAP = 'tap'
AF_PACKET = 'af_packet'

# Two application servers by default: near (2-2-2, routing context 1) and far (3-3-3,
# routing context 2).
NEAR = {'name': 'near', 'rc': 1, 'dpc': '2-2-2'}
FAR = {'name': 'far', 'rc': 2, 'dpc': '3-3-3'}


@dataclass
class Port:
    name: str
    device: str
    addresses: list
    driver: str = TAP
    vlan: int = 0


@dataclass
class PeerEntry:
    name: str
    asp_id: int
    addresses: list
    connect: bool = False  # the daemon opens the association


@dataclass
class Server:
    peers: list
    name: str
    rc: int
    dpc: str
    extra: dict = field(default_factory=dict)


SITE = (
    '    preset: sigtran-lan',
    '    rto_min: 100ms',
    '    rto_max: 400ms',
    '    path_max_retransmits: 2',
    '    association_max_retransmits: 4',
    '    heartbeat_interval: 500ms',
)
PATIENT = ('    preset: rfc9260', '    path_max_retransmits: 10')


def _listed(words):
    return '[' + ', '.join(f'"{word}"' for word in words) + ']'


def write(ports, servers, every_cpu=False, patient=False):
    """The YAML text of a gateway with these ports and application servers.

    every_cpu: a worker on each CPU, the control thread's included.
    patient: the timers of RFC 9260, for a test that is about something else than detection times.
    """
    lines = ['node: {name: e2e, id: 1}']
    if every_cpu:
        lines.append('workers: {cpus: auto, share_cpu: true}')
    lines.append('ports:')
    for port in ports:
        lines += [
            f'  - name: {port.name}',
            f'    driver: {port.driver}',
            f'    device: {port.device}',
            f'    addresses: {_listed(port.addresses)}',
        ]
        if port.vlan:
            lines.append(f'    vlan: {port.vlan}')
    lines += [
        'sctp_profiles:',
        '  site:',
        *(PATIENT if patient else SITE),
        'listeners:',
        '  - name: sigtran',
        '    protocol: m3ua',
        '    port: 2905',
        '    accept: configured',
        '    profile: site',
        'instances:',
        '  - name: national',
        '    variant: itu',
        '    point_code_format: 3-8-3',
        '    point_code: 1-1-1',
        '    network_indicator: national',
        'peers:',
    ]
    for server in servers:
        for peer in server.peers:
            lines += [
                f'  - name: {peer.name}',
                '    listener: sigtran',
                f'    addresses: {_listed(peer.addresses)}',
                '    connect: true' if peer.connect else '    remote_port: any',
                f'    asp_id: {peer.asp_id}',
                '    role: asp',
                '    profile: site',
            ]
    lines.append('application_servers:')
    for server in servers:
        members = ', '.join(f'{{peer: {peer.name}}}' for peer in server.peers)
        lines += [
            f'  - name: {server.name}',
            '    instance: national',
            f'    routing_context: {server.rc}',
            f'    keys: [{{dpc: {server.dpc}}}]',
            '    mode: loadshare',
            f'    members: [{members}]',
        ]
    # A Linux host whose raw socket is full answers "protocol unreachable", which ends an
    # association (RFC 9260 10, ICMP8); our peers are a user-space stack on raw sockets.
    lines += ['limits: {icmp_per_second: 0}', 'http: {listen: ["127.0.0.1:12905"]}', '']
    return '\n'.join(lines)


def near(*peers):
    return Server(peers=list(peers), **NEAR)


def far(*peers):
    return Server(peers=list(peers), **FAR)


def options(server, peer, **more):
    """What a test peer is told to be this peer of this server and to talk to the other one."""
    other = FAR if server.name == NEAR['name'] else NEAR
    chosen = {
        'local': ','.join(peer.addresses),
        'asp_id': peer.asp_id,
        'rc': server.rc,
        'opc': server.dpc,
        'dpc': other['dpc'],
    }
    chosen.update(more)
    return chosen

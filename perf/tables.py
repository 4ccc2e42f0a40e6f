#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of perf/README.md from the rows in perf/results.

  perf/tables.py            rewrites what stands between the marks in the README
  perf/tables.py --plots    the plots as well (python3-matplotlib)
  perf/tables.py --check    exit 1 when the README says other than the rows
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
README = HERE / 'README.md'
ROWS = [
    json.loads(line)
    for path in sorted((HERE / 'results').glob('*.jsonl'))
    for line in path.read_text().splitlines()
]
MISSING = 'not measured'


def rows(name, **wanted):
    return [
        row
        for row in ROWS
        if row['name'] == name
        and all(row['parameters'].get(key) == value for key, value in wanted.items())
    ]


def one(name, comparison=None, **wanted):
    found = [r for r in rows(name, **wanted) if comparison is None or r['comparison'] == comparison]
    return found[0] if found else None


def number(value):
    if value is None:
        return MISSING
    if value >= 10_000:
        return f'{value:,.0f}'
    return f'{value:.3g}' if value < 1000 else f'{value:.0f}'


def value(name, comparison=None, **wanted):
    row = one(name, comparison, **wanted)
    return row['value'] if row else None


def parameter(key, name, **wanted):
    row = one(name, **wanted)
    return row['parameters'].get(key) if row else None


def table(head, lines):
    out = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    return '\n'.join(out + ['| ' + ' | '.join(line) + ' |' for line in lines])


def per_second(ns, scale=1e6):
    return None if ns is None else 1e9 / ns / scale


def each_million(each_ns):
    """Per second and core, or that none was measured."""
    if not any(each_ns):
        return MISSING
    return ' / '.join(number(per_second(ns)) for ns in each_ns) + ' M'


def idle_core(associations):
    return value('idle.heartbeats', associations=associations)


def targets():
    def lookup(n):
        return value('lookup', 'rte_hash', transports=n, burst=32, case='hit')

    def packet(n, key='times_of_1'):
        return parameter(key, 'seed_hash.packet', associations=n, family='IPv4')

    def ten(family, traffic):
        return value('seed_hash.ten_million', family=family, traffic=traffic)

    def ratio(n):
        return f'{number(packet(n))} ({number(packet(n, "times_of_64"))} of 64)'

    first, every = 'first peer', 'all, random order'
    million = [value('forward', associations=n, messages_per_packet=1) for n in (2, 2500, 100_000)]
    eight = [value('forward', associations=n, messages_per_packet=8) for n in (2, 2500, 100_000)]
    streams = parameter('times_of_10', 'association.streams', streams=65535, pool='clean')
    usrsctp = parameter('times_of_10', 'association.usrsctp', streams=65535)
    crc = one('crc32c.sctp_checksum_ok', bytes='72 to 268 mixed')
    slot = value('idle.resident_each', associations=1_000_000)
    arm = value('timer.arm', pending=1_000_000)
    cancel = value('timer.cancel', pending=1_000_000)
    away = value('timer.moves_away', pending=1_000_000)
    out = value('timer.remove', pending=1_000_000)
    return [
        ('PF-1', 'forwarded messages/s, 100 B, one per packet; 2 / 2,500 / 100,000 associations',
         '1 M', '7 M', each_million(million), 'forward'),
        ('PF-2', 'the same, 8 messages per packet', '2 M', '14 M',
         each_million(eight), 'forward'),
        ('PF-5', '2,500 associations, 10,000,000 packets on the first; on all in random order',
         '10 s', '2 s',
         f'{number(ten("IPv4", first))} s; {number(ten("IPv4", every))} s (IPv6: '
         f'{number(ten("IPv6", first))} s; {number(ten("IPv6", every))} s)', 'seed_hash'),
        ('PF-6', 'cost of a packet at 2,500 / 100 k / 1 M associations, times that at 1 (at 64)',
         '1.3 / 2 / 3', '1.05 / 1.3 / 1.6',
         ' / '.join(ratio(n) for n in (2500, 100_000, 1_000_000)), 'seed_hash'),
        ('PF-7', 'lookup, burst 32, 100 k / 1 M / 10 M transports', '25 / 35 / 80 ns',
         '10 / 12 / 25 ns',
         ' / '.join(number(lookup(n)) for n in (100_000, 1_000_000, 10_000_000)) + ' ns',
         'table_lookup'),
        ('PF-8', 'associations set up per second, server side', '50 k', '300 k',
         f'{number(value("association.set_up", family="IPv4"))} (IPv6: '
         f'{number(value("association.set_up", family="IPv6"))})', 'seed_hash'),
        ('PF-10', 'set-up with 65,535 streams against 10', '2x', '1.05x',
         f'{number(streams)}x (usrsctp in the same run: {number(usrsctp)}x)', 'association_setup'),
        ('PF-11', 'memory of an idle association, 65,535 streams, two paths', '4 KiB', '1 KiB',
         f'{number(slot)} B resident for each of 1,000,000', 'idle'),
        ('PF-12', '1,000,000 idle associations, HEARTBEAT every 30 s', '4 GiB, 5 %', '1 GiB, 1.5 %',
         f'{number(parameter("resident_mib", "idle.resident_each", associations=1_000_000))} MiB, '
         f'{number(idle_core(1_000_000))} %', 'idle'),
        ('PF-14', 'timer arm / cancel / deadline moved away, 1 M pending', '20 ns', '5 ns',
         f'{number(arm)} / {number(cancel)} / {number(away)} ns; out of its list at once: '
         f'{number(out and cancel + out)} ns', 'timers'),
        ('PF-15', 'CRC32c check of a packet, 72 to 268 B mixed', '70 counts', '33 counts',
         f'{number(crc and crc["parameters"]["counts"])} counts, {number(crc and crc["value"])} ns',
         'crc32c'),
        ('PF-17', 'idle daemon, adaptive idle', '10 % of a core', '2 %',
         f'{number(value("idle.daemon"))} %', 'idle_daemon'),
    ]


def lookup_table():
    lines = []
    for n in (1000, 2500, 100_000, 1_000_000, 10_000_000):
        cells = [f'{n:,}']
        for burst in (1, 8, 32):
            for case in ('hit', 'miss'):
                wanted = {'transports': n, 'burst': burst, 'case': case}
                cell = f'{number(value("lookup", "rte_hash", **wanted))} / '
                cell += number(value('lookup.rte_hash', **wanted))
                if burst == 1:
                    cell += ' / ' + number(value('lookup.cds_lfht', **wanted))
                cells.append(cell)
        lines.append(cells)
    head = ['transports'] + [f'burst {b}, {c}' for b in (1, 8, 32) for c in ('hit', 'miss')]
    return table(head, lines)


def packet_table():
    lines = []
    for row in rows('seed_hash.packet', family='IPv4'):
        p = row['parameters']
        six = one('seed_hash.packet', family='IPv6', associations=p['associations'])
        lines.append([f'{p["associations"]:,}', number(row['value']),
                      number(six and six['value']), number(p['times_of_1']),
                      number(p['times_of_64']), number(p['sent_for_each'])])
    control = one('control.seed_hash.one_chain', family='IPv4')
    if control:
        p = control['parameters']
        lines.append(['2,500 and one chain (control)', number(control['value']), '',
                      number(p['times_of_1']), number(p['times_of_64']), ''])
    return table(['associations', 'IPv4, ns/packet', 'IPv6, ns/packet', 'times of 1',
                  'times of 64', 'SACKs for each packet'], lines)


def latency_table():
    lines = []
    for name, label in (('lookup.latency', 'ours'), ('lookup.growth', 'ours'),
                        ('lookup.growth.cds_lfht', 'cds_lfht'),
                        ('control.lookup.growth.locked_map', 'map under a lock (control)')):
        for row in rows(name):
            p = row['parameters']
            if p['bursts'] == 0:
                lines.append([label, p['meanwhile']] + [MISSING] * 4)
                continue
            lines.append([label, p['meanwhile'], number(p['p50']), number(row['value']),
                          number(p['p999']), number(p['longest'])])
    return table(['table', 'meanwhile', 'p50', 'p99', 'p99.9', 'longest'], lines)


def chosen_table():
    return table(['keys', 'p50', 'p99', 'deepest chain, buckets', 'p99 against random'],
                 [[r['parameters']['keys'], number(r['parameters']['p50']), number(r['value']),
                   number(r['parameters']['depth']), number(1 / r['ratio']) + 'x']
                  for r in rows('lookup.chosen_keys')])


def streams_table():
    lines = []
    for streams in (1, 10, 256, 2048, 65535):
        cells = [f'{streams:,}']
        for pool in ('clean', 'checkerboard', '8 pages left', '4 KiB pages, pressure'):
            row = one('association.streams', streams=streams, pool=pool)
            cells.append(f'{number(row["value"])} / {number(row["parameters"]["p99_ns"])}'
                         if row else MISSING)
        cells.append(number(value('association.one_array', streams=streams)))
        cells.append(number(value('association.usrsctp', streams=streams)))
        lines.append(cells)
    return table(['streams', 'clean', 'checkerboard', '8 pages left',
                  '4 KiB pages, memory pressure', 'with one array each way',
                  'usrsctp, both ends'], lines)


def access_table():
    lines = [[r['parameters']['stream'], r['parameters']['order'], number(r['value'])]
             for r in rows('stream.access')]
    lines += [[r['parameters']['stream'], 'whole packets', number(r['value'])]
              for r in rows('stream.packet')]
    return table(['stream', 'order', 'ns'], lines)


def memory_table():
    lines = []
    for row in rows('idle.resident_each'):
        p = row['parameters']
        heartbeat = one('idle.heartbeats', associations=p['associations'])
        lines.append([f'{p["associations"]:,}', number(row['value']), number(p['slot']),
                      number(p['table_each']), number(p['pages_each']), number(p['resident_mib']),
                      number(heartbeat['value']) if heartbeat else ''])
    return table(['associations', 'resident, B each', 'slot', 'table', 'pages',
                  'process, MiB', 'HEARTBEATs, % of a core'], lines)


def timer_table():
    lines = []
    for name in ('timer.arm', 'timer.cancel', 'timer.remove', 'timer.moves_away',
                 'timer.expires', 'timer.leaves_cancelled'):
        for row in rows(name):
            pending = row['parameters']['pending']
            rival = value(name + '.rte_timer', pending=pending)
            lines.append([name[6:].replace('_', ' '), f'{pending:,}', number(row['value']),
                          number(rival) if rival else ''])
    step = one('timer.longest_step')
    if step:
        lines.append(['longest step', f'{step["parameters"]["pending"]:,}',
                      f'{number(step["value"] * 1000)} (p99.9 '
                      f'{number(step["parameters"]["p999_us"] * 1000)})', ''])
    return table(['what', 'pending', 'ours, ns', 'rte_timer, ns'], lines)


def crc_table():
    sizes = ('72 to 268 mixed', '72', '140', '268')
    names = sorted({r['name'] for r in ROWS if r['name'].startswith('crc32c.')})
    return table(['implementation'] + [s + ' B' for s in sizes],
                 [[n[7:]] + [number(value(n, bytes=s)) for s in sizes] for n in names])


def goodput_table():
    lines = []
    for row in rows('goodput.ours'):
        p = row['parameters']
        rival = one('goodput.usrsctp', loss_percent=p['loss_percent'])
        lines.append([str(p['loss_percent']), f'{number(row["value"])} / {number(p["median"])}',
                      f'{number(rival["value"])} / {number(rival["parameters"]["median"])}',
                      number(row['ratio']) + 'x'])
    return table(['packets lost, %', 'ours', 'usrsctp', 'ours against usrsctp'], lines)


def churn_line():
    row = one('association.churn.longest_turn')
    if not row:
        return MISSING
    p = row['parameters']
    return (f'{p["rounds"]:,} times set up, used on {p["streams_used"]} streams and torn down '
            'beside 1,000 live associations:\n'
            f'turn of 32 packets p50 {number(p["median_us"])} us, p99 '
            f'{number(p["p99_us"])} us, longest {number(row["value"])} us '
            f'({p["turns_interrupted"]:,} turns that the system\ninterrupted left out); at most '
            f'{p["most_pages_in_a_turn"]} pages moved in a turn; '
            f'{p["messages_lost"]} messages lost.')


def machine_line():
    machines = sorted({row['machine'] for row in ROWS})
    loads = [float(re.search(r'load ([\d.]+)', m)[1]) for m in machines]
    kinds = sorted({re.sub(r', load [\d.]+', '', m) for m in machines})
    text = f'{"; ".join(kinds)}; load average when a program began {min(loads)} to {max(loads)}.'
    if any('quick' in m for m in machines):
        text += (' What a quick run says about absolute\ntimes on a busy machine is worth '
                 'little; the ratios of what took turns hold.')
    return text


BLOCKS = {
    'machine': machine_line,
    'targets': lambda: table(['target', 'measure', 'must', 'goal', 'measured', 'program'],
                             [[i, m, a, b, c, f'`{p}`'] for i, m, a, b, c, p in targets()]),
    'lookup': lookup_table,
    'packet': packet_table,
    'latency': latency_table,
    'chosen': chosen_table,
    'streams': streams_table,
    'churn': churn_line,
    'goodput': goodput_table,
    'access': access_table,
    'memory': memory_table,
    'timers': timer_table,
    'crc': crc_table,
}


def filled(text):
    for name, make in BLOCKS.items():
        pattern = rf'(<!-- rows: {name} -->\n).*?(<!-- end -->)'
        block = make()
        text, found = re.subn(pattern, lambda m, b=block: m[1] + b + '\n' + m[2], text, flags=re.S)
        if found != 1:
            sys.exit(f'tables: the README has {found} places for "{name}"')
    return text


def plots():
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    def draw(file, title, unit, series, scale='log', x_label=''):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.6), dpi=90)
        for label, points in series:
            points = sorted((x, y) for x, y in points if y)
            axes.plot([x for x, _ in points], [y for _, y in points], marker='o', label=label)
        axes.set(xscale='log', yscale=scale, title=title, xlabel=x_label, ylabel=unit)
        axes.grid(True, which='major', alpha=0.4)
        axes.legend(fontsize=8)
        figure.tight_layout()
        figure.savefig(HERE / 'results' / file, metadata={'Software': None})
        pyplot.close(figure)

    def points(name, x, comparison=None, **wanted):
        return [(r['parameters'][x], r['value']) for r in rows(name, **wanted)
                if comparison is None or r['comparison'] == comparison]

    burst = {'burst': 32, 'case': 'hit'}
    draw('lookup.png', 'Lookup with the fetch of the association\'s line', 'ns', [
        ('ours, burst 32', points('lookup', 'transports', 'rte_hash', **burst)),
        ('rte_hash, burst 32', points('lookup.rte_hash', 'transports', **burst)),
        ('ours, one at a time', points('lookup', 'transports', 'rte_hash', burst=1, case='hit')),
        ('cds_lfht', points('lookup.cds_lfht', 'transports', burst=1, case='hit')),
        ('one chain (control)', points('control.one_chain', 'transports')),
    ], x_label='transports')
    draw('packet.png', 'A one-byte message: parse, lookup, association, SACK', 'ns/packet', [
        ('IPv4', points('seed_hash.packet', 'associations', family='IPv4')),
        ('IPv6', points('seed_hash.packet', 'associations', family='IPv6')),
        ('one chain (control)',
         points('control.seed_hash.one_chain', 'associations', family='IPv4')),
    ], x_label='associations on one port')
    draw('streams.png', 'Set-up of an association', 'ns', [
        ('ours', points('association.streams', 'streams', pool='clean')),
        ('ours, checkerboard pool', points('association.streams', 'streams', pool='checkerboard')),
        ('with one array each way', points('association.one_array', 'streams')),
        ('usrsctp, both ends', points('association.usrsctp', 'streams')),
    ], x_label='streams each way')


def main():
    text = README.read_text()
    if sys.argv[1:] == ['--check']:
        if filled(text) != text:
            print('perf/README.md says other than perf/results: run perf/tables.py')
            return 1
        return 0
    if sys.argv[1:] not in ([], ['--plots']):
        print(__doc__, file=sys.stderr)
        return 64
    README.write_text(filled(text))
    if '--plots' in sys.argv:
        plots()
    return 0


if __name__ == '__main__':
    sys.exit(main())

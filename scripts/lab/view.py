# SPDX-License-Identifier: Apache-2.0
"""The live view: plain ANSI on a terminal, one line a second where the output goes elsewhere."""
import shutil
import sys
import time

HOME, REST_OF_LINE, REST_OF_PAGE = '\x1b[H', '\x1b[K\n', '\x1b[J'
BOLD, PLAIN = '\x1b[1m', '\x1b[0m'
RATES = (
    ('packets in', 'rx_packets'),
    ('packets out', 'tx_packets'),
    ('bytes in', 'rx_bytes'),
    ('bytes out', 'tx_bytes'),
    ('messages in', 'rx_messages'),
    ('messages routed', 'routed_messages'),
    ('chunks sent again', 'tx_retransmitted_chunks'),
    ('time-outs', 't3_expiries'),
)


def number(value):
    return f'{value:,.0f}'


class Screen:
    def __init__(self, url):
        self.url = url
        self.terminal = sys.stdout.isatty()
        self.started = time.monotonic()
        self.last_time = None
        self.last = {}

    def _rates(self, samples, now):
        totals = {key: samples.total(f'signalbox_{key}_total') for _, key in RATES}
        span = now - self.last_time if self.last_time else 0
        rates = {key: (totals[key] - self.last[key]) / span if span else 0 for key in totals}
        self.last_time, self.last = now, totals
        return totals, rates

    def show(self, samples, servers, log):
        now = time.monotonic()
        totals, rates = self._rates(samples, now)
        state = {
            'associations': samples.total('signalbox_associations'),
            'as': as_states(samples),
            'drops': {
                reason: value
                for reason, value in samples.by_label(
                    'signalbox_rx_dropped_packets_total', 'reason'
                ).items()
                if value
            },
        }
        if self.terminal:
            page = self._page(totals, rates, state, servers, log)
            page = page[: shutil.get_terminal_size().lines - 1]
            print(HOME + REST_OF_LINE.join([*page, '']) + REST_OF_PAGE, end='', flush=True)
        else:
            print(self._line(rates, state), flush=True)

    def _line(self, rates, state):
        servers = ' '.join(f'{name}={what}' for name, what in state['as'].items())
        drops = (
            ' '.join(f'{reason}={number(value)}' for reason, value in state['drops'].items())
            or 'none'
        )
        return (
            f"{time.monotonic() - self.started:.0f}s routed {number(rates['routed_messages'])}/s, "
            f"packets "
            f"{number(rates['rx_packets'])}/s in {number(rates['tx_packets'])}/s out, associations "
            f"{number(state['associations'])}, {servers}, drops {drops}"
        )

    def _page(self, totals, rates, state, servers, log):
        width = shutil.get_terminal_size().columns
        lines = [
            f'{BOLD}Signalbox lab{PLAIN}  {time.monotonic() - self.started:.0f} s   '
            f'metrics {self.url}   Ctrl-C ends',
            '',
            f'{BOLD}{"":22}{"per second":>14}{"total":>18}{PLAIN}',
        ]
        lines += [
            f'{name:22}{number(rates[key]):>14}{number(totals[key]):>18}' for name, key in RATES
        ]
        lines += ['', f"associations          {number(state['associations']):>14}"]
        lines += [f'AS {name:19}{what:>14}' for name, what in state['as'].items()]
        lines += ['', f'{BOLD}application servers on libusrsctp{PLAIN}']
        for server in servers:
            progress = server.progress()
            if progress:
                lines.append(
                    f"{server.name:8} sent {number(progress['sent'])}"
                    f"  received {number(progress['received'])}"
                    f"  lost {number(progress['lost'])}"
                    f"  duplicated {number(progress['duplicated'])}"
                    f"  reordered {number(progress['reordered'])}"
                )
        lines += ['', f'{BOLD}discarded{PLAIN}']
        lines += [
            f'{reason:32}{number(value):>10}' for reason, value in state['drops'].items()
        ] or ['nothing']
        lines += ['', *(line[:width] for line in log.splitlines())]
        return lines


def as_states(samples):
    """{application server: its state}"""
    return {
        labels.get('as', ''): labels.get('state', '')
        for labels, value in samples.series('signalbox_as_state')
        if value == 1 and 'state' in labels
    }

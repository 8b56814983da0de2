#!/usr/bin/env python3
"""Completion times of collectives on an idle star, computed apart from pausenet.

Closed forms where every rank does the same at the same time, and a packet-by-packet model of a star (Star) for algorithms whose messages share ports.
Times are in picoseconds. Usage: collectives.py, which writes trees.csv, chunks.csv and times.csv here.
"""
import heapq
import itertools
from math import ceil, log2

FCS, PREAMBLE, GAP = 4, 8, 12                 # IEEE 802.3 clause 4
ETHERNET, IPV4, UDP, BTH, ICRC = 14, 20, 8, 12, 4
RETH, AETH = 16, 4                            # IB specification, volume 1, 9.3.3 and 9.3.5
HEADER = ETHERNET + IPV4 + UDP + BTH + ICRC   # 58 B without FCS


class Link:
    """A star of links of one rate (bps) and propagation delay (ps), with packets of at most mtu bytes of payload."""

    def __init__(self, rate, delay, mtu=1000):
        self.rate, self.delay, self.mtu = rate, delay, mtu
        self.ack = self.wire(HEADER + AETH)

    def wire(self, frame):
        """Line time of a frame given without its FCS; rounded up, as a port is free again after whole picoseconds."""
        bits = (frame + FCS + PREAMBLE + GAP) * 8
        return -(-bits * 10**12 // self.rate)

    def packets(self, size):
        """Line times of the packets of a message: RETH in the first, payload padded to 4 bytes."""
        out, left = [], size
        while left > 0:
            p = min(left, self.mtu)
            out.append(self.wire(HEADER + (RETH if left == size else 0) + -(-p // 4) * 4))
            left -= p
        return out

    def serialise(self, size):
        return sum(self.packets(size))

    def delivery(self, size):
        """From the first bit at the sender until the last at the receiver: store and forward at the one switch. Valid if no packet but the first is
        longer than the last (whole packets), or there is one only."""
        p = self.packets(size)
        late = max(0, p[0] - p[1]) if len(p) > 1 else 0
        return sum(p) + self.delay + late + p[-1] + self.delay

    @property
    def back(self):
        """An ACK's way back over two links."""
        return 2 * (self.ack + self.delay)

    def steps(self, sizes):
        """A chain of messages, each sent when the one before has arrived: the ACK of that leaves first. It ends with the last ACK."""
        return sum(self.ack + self.delivery(s) for s in sizes) - self.ack + self.back


# Closed forms. S is what the key `size` has (nccl-tests): all-reduce and broadcast a rank's buffer, all-gather the result, reduce-scatter
# and all-to-all the input. n is the number of ranks; S/n is a whole number of packets.
def ring(l, kind, n, S):
    rounds = {'allreduce': 2 * (n - 1), 'allgather': n - 1, 'reducescatter': n - 1, 'alltoall': n - 1}
    if kind == 'broadcast':
        return l.steps([S] * (n - 1))
    return l.steps([S // n] * rounds[kind])


def halving_doubling(l, kind, n, S):
    half = [S >> (k + 1) for k in range(int(log2(n)))]   # S/2, S/4 ... S/n
    return l.steps({'allreduce': half + half[::-1], 'reducescatter': half, 'allgather': half[::-1]}[kind])


def hierarchical(l, kind, n, g, S):
    m = n // g
    scatter = [S // g] * (g - 1) + [S // n] * (m - 1)
    return l.steps({'allreduce': scatter + scatter[::-1], 'reducescatter': scatter, 'allgather': scatter[::-1]}[kind])


def barrier(l, n):
    return l.steps([8] * ceil(log2(n)))


# Sanders, Speck and Traeff 2009, as NCCL builds them (src/graph/trees.cc: ncclGetBtree, ncclGetDtree), written from their descriptions: the
# in-order tree of 1 .. n-1 below the root 0; the second tree is the first mirrored (n even) or shifted by one (n odd), so that a rank is an
# inner node in one of them only.
def inorder(lo, hi, parent, up):
    """Left-complete in-order tree of lo..hi (inclusive), below parent."""
    if lo > hi:
        return
    size = hi - lo + 1
    root = lo + (1 << (size.bit_length() - 1)) - 1 if size > 1 else lo
    up[root] = parent
    inorder(lo, root - 1, root, up)
    inorder(root + 1, hi, root, up)


def trees(n, root=None):
    """Two lists: the parent of each rank, None at the root. Without a root: NCCL's pair. With one: Sanders' broadcast from it."""
    up = {0: None}
    inorder(1, n - 1, 0, up)
    if root is None:
        again = (lambda v: n - 1 - v) if n % 2 == 0 else (lambda v: (v + 1) % n)
        first = lambda v: v
    else:
        m = n - 1
        first = lambda v: (root + v) % n
        again = lambda v: root if v == 0 else (root + (n - v if m % 2 == 0 else v % m + 1)) % n
    out = []
    for name in (first, again):
        t = [None] * n
        for v, p in up.items():
            t[name(v)] = None if p is None else name(p)
        out.append(t)
    return out


def depth(t):
    def d(v):
        return 0 if t[v] is None else 1 + d(t[v])
    return max(d(v) for v in range(len(t)))


class Star:
    """Packet by packet: hosts send their messages' packets in turns (a message queues again when its packet has left), the switch stores and forwards, first come, first served by output port. Each message is
    acknowledged once; ACKs go first at every port."""

    def __init__(self, link, n):
        self.l, self.n, self.now = link, n, 0
        self.events, self.count = [], itertools.count()
        self.busy = {}                                     # port: until when
        self.queue = {}                                    # port: [ACKs], [packets]
        self.turn = [[] for _ in range(n)]                 # by host: messages that have packets left
        self.messages = []

    def at(self, t, do, *args):
        heapq.heappush(self.events, (t, next(self.count), do, args))

    def message(self, src, dst, size, after=(), order=None):
        """after: numbers of messages that must have arrived at src; order: a message whose last packet must have begun to leave."""
        m = dict(src=src, dst=dst, packets=self.l.packets(size), sent=0, got=0, waits=0, then=[], after_sent=[], arrived=None, acked=None)
        number = len(self.messages)
        self.messages.append(m)
        for a in after:
            m['waits'] += 1
            self.messages[a]['then'].append(number)
        if order is not None:
            m['waits'] += 1
            self.messages[order]['after_sent'].append(number)
        return number

    def release(self, number):
        m = self.messages[number]
        m['waits'] -= 1
        if m['waits'] == 0:
            self.start(number)

    def start(self, number):
        m = self.messages[number]
        self.turn[m['src']].append(number)
        self.kick(('h', m['src']))

    def kick(self, port):
        if self.busy.get(port, 0) > self.now:
            return
        acks, packets = self.queue.setdefault(port, ([], []))
        if acks:
            item = acks.pop(0)
        elif port[0] == 's' and packets:
            item = packets.pop(0)
        elif port[0] == 'h' and self.turn[port[1]]:
            number = self.turn[port[1]].pop(0)
            m = self.messages[number]
            item = (m['packets'][m['sent']], m['dst'], number, 'data')
            m['sent'] += 1
            if m['sent'] < len(m['packets']):
                self.at(self.now + item[0], self.turn[port[1]].append, number)
        else:
            return
        took = item[0]
        self.busy[port] = self.now + took
        if item[3] == 'data' and port[0] == 'h' and m['sent'] == len(m['packets']):
            for k in m['after_sent']:
                self.release(k)
        self.at(self.now + took, self.kick, port)
        self.at(self.now + took + self.l.delay, self.arrive, port, item)

    def arrive(self, port, item):
        took, dst, number, what = item
        if port[0] == 'h':
            out = ('s', dst)
            self.queue.setdefault(out, ([], []))[0 if what == 'ack' else 1].append(item)
            self.kick(out)
            return
        m = self.messages[number]
        if what == 'ack':
            m['acked'] = self.now
            return
        m['got'] += 1
        if m['got'] == len(m['packets']):
            m['arrived'] = self.now
            self.queue.setdefault(('h', dst), ([], []))[0].append((self.l.ack, m['src'], number, 'ack'))
            self.kick(('h', dst))
            for k in m['then']:
                self.release(k)

    def run(self):
        for k, m in enumerate(self.messages):
            if m['waits'] == 0:
                self.at(0, self.start, k)
        while self.events:
            self.now, _, do, args = heapq.heappop(self.events)
            do(*args)
        assert all(m['acked'] is not None for m in self.messages)
        return max(m['acked'] for m in self.messages)


def nccl_chunks(n, S):
    """Chunks of the two trees together: halves of the data in chunks of 512 KiB, halved to no less than 32 KiB until each tree's pipeline has as many as
    it is deep times 8 (down to 128 KiB), times 4 (64 KiB), or times 1."""
    d, half, chunk = int(ceil(log2(n))), S / 2, 512 << 10
    for floor, times in ((128 << 10, 8), (64 << 10, 4), (32 << 10, 1)):
        while chunk > floor and half < chunk * d * times:
            chunk //= 2
    return max(1, ceil(half / chunk))


def tree(l, kind, n, S, chunks, root=None):
    """Double binary tree: each of `chunks` parts goes half by either tree; all-reduce goes up and down, broadcast down from root."""
    star = Star(l, n)
    up = trees(n, root if kind == 'broadcast' else None)
    last = {}

    def send(c, t, a, b, after):
        size = S * (c + 1) // chunks - S * c // chunks
        part = size // 2 if t == 0 else size - size // 2
        last[(t, a, b)] = star.message(a, b, part, after, last.get((t, a, b)))
        return last[(t, a, b)]

    for t in (0, 1):
        order = sorted(range(n), key=lambda v: level(up[t], v))
        for c in range(chunks):
            came = {v: [] for v in range(n)}
            if kind == 'allreduce':
                for v in reversed(order):
                    if up[t][v] is not None:
                        came[up[t][v]].append(send(c, t, v, up[t][v], came[v]))
                root_has = came[order[0]]
            else:
                root_has = []
            down = {order[0]: root_has}
            for v in order[1:]:
                down[v] = [send(c, t, up[t][v], v, down[up[t][v]])]
    return star.run()


def level(t, v):
    return 0 if t[v] is None else 1 + level(t, t[v])


def direct(l, kind, n, S):
    star = Star(l, n)
    if kind == 'broadcast':
        for k in range(1, n):
            star.message(0, k, S)
        return star.run()
    came = {v: [] for v in range(n)}
    for k in range(1, n):
        for v in range(n):
            came[(v + k) % n].append(star.message(v, (v + k) % n, S // n))
    if kind == 'allreduce':
        for k in range(1, n):
            for v in range(n):
                star.message(v, (v + k) % n, S // n, came[v])
    return star.run()


def main():
    with open('trees.csv', 'w') as f:
        print('tree,ranks,root,parents', file=f)
        for n in range(2, 18):
            for k, t in enumerate(trees(n)):
                print(f'allreduce {k},{n},-1,' + ' '.join(str(-1 if p is None else p) for p in t), file=f)
            for root in (0, n // 2):
                for k, t in enumerate(trees(n, root)):
                    print(f'broadcast {k},{n},{root},' + ' '.join(str(-1 if p is None else p) for p in t), file=f)
    with open('chunks.csv', 'w') as f:
        print('ranks,size_bytes,chunks', file=f)
        for n in (2, 16, 17, 1024):
            for S in (1 << 10, 64000, 10**6, 4 * 10**6, 16 * 10**6, 10**9):
                print(f'{n},{S},{nccl_chunks(n, S)}', file=f)
    with open('times.csv', 'w') as f:
        print('kind,algorithm,ranks,size_bytes,group,chunks,exact,time_ps', file=f)
        l = Link(40 * 10**9, 10**6)
        for n in (4, 5, 8):
            S = n * 16000

            def row(kind, algorithm, exact, t, group=0, chunks=1):
                print(f'{kind},{algorithm},{n},{S},{group},{chunks},{exact},{t}', file=f)
            for kind in ('allgather', 'reducescatter', 'alltoall', 'broadcast'):
                row(kind, 'ring', 'true', ring(l, kind, n, S))
            for kind in ('allreduce', 'alltoall', 'broadcast'):
                row(kind, 'direct', 'false', direct(l, kind, n, S))
            if n % 4 == 0:
                for kind in ('allgather', 'reducescatter'):
                    row(kind, 'halving-doubling', 'true', halving_doubling(l, kind, n, S))
                for kind in ('allreduce', 'allgather', 'reducescatter'):
                    row(kind, 'hierarchical', 'true', hierarchical(l, kind, n, 2, S), 2)
            for kind in ('allreduce', 'broadcast'):
                for chunks in (1, 8):
                    row(kind, 'tree', 'false', tree(l, kind, n, S, chunks, 0), 0, chunks)


if __name__ == '__main__':
    main()

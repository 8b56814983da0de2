#!/usr/bin/env python3
"""Writes the flows of the cases into scenarios/: incasts and permutations of 32 hosts in four racks of eight, 2 MB each, and
long flows of a star, where starts differ by seed.

They are CSV files as pausenet reads them; rerun.py translates the same files for the simulators.
"""
import pathlib
import random

FOLDER = pathlib.Path(__file__).parent.parent / 'scenarios'
HOSTS, RACK, SIZE = 32, 8, 2_000_000


def incast(degree):
    """Returns flows of so many hosts to host 0, other racks' hosts first."""
    senders = list(range(RACK, HOSTS))
    random.Random(7).shuffle(senders)
    return [(s, 0) for s in (senders + list(range(1, RACK)))[:degree]]


def permutation(seed):
    """Returns a flow from each host to another one, drawn until no host has itself."""
    rng = random.Random(seed)
    while True:
        to = list(range(HOSTS))
        rng.shuffle(to)
        if all(i != t for i, t in enumerate(to)):
            return list(enumerate(to))


def write(name, flows):
    text = 'src,dst,size_bytes,start_ns\n' + ''.join(f'h{s},h{d},{SIZE},0\n' for s, d in flows)
    (FOLDER / f'{name}.csv').write_text(text)


def write_star(name, seed, flows):
    """Writes flows to host 8, as (tag, bytes, earliest start): each starts up to 20 us later."""
    rng = random.Random(seed)
    text = 'src,dst,size_bytes,start_ns,tag\n' + ''.join(
        f'h{i},h8,{size},{start + rng.randrange(20_000)},{tag}\n' for i, (tag, size, start) in enumerate(flows))
    (FOLDER / f'{name}-{seed}.csv').write_text(text)


for n in (2, 8, 31):
    write(f'incast-{n}', incast(n))
for n in range(1, 21):
    write(f'permutation-{n}', permutation(n))
for n in (2, 3, 5):
    for seed in range(1, 4):
        write_star(f'long-{n}', seed, [('flows', 10_000_000, 0)] * n)
for seed in range(1, 10):
    write_star('join', seed, [('stays', 12_500_000, 0)] * 2 + [('joins', 5_000_000, 1_000_000)])

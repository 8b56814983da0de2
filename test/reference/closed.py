#!/usr/bin/env python3
"""Computes the closed forms of cases.yaml, from the headers and cables of scenarios/star.yaml alone, and prints outputs/closed.jsonl.

Times are in microseconds. Nothing here is pausenet's: the sizes of headers are of the standards, the formulas of the papers named.
"""
import json
import math

RATE = 100e3  # bits a microsecond: 100 Gbps
CABLE = 1.0  # us
MTU = 1000
ROCE = 14 + 20 + 8 + 12 + 4  # Ethernet, IPv4, UDP, BTH, ICRC
RETH = 16  # of a message's first packet; under selective repeat of every packet
AETH = 4
TIMEOUT = 100.0  # us, of scenarios/loss.yaml


def wire(frame):
    """Returns how long a frame takes on a wire: its bytes, FCS, preamble and gap (IEEE 802.3 clause 4), at least 64 B with FCS."""
    return (max(frame, 60) + 24) * 8 / RATE


DATA, ACK = wire(ROCE + MTU), wire(ROCE + AETH)
BACK = 2 * (ACK + CABLE)  # an ACK from host to host


def emission(size):
    """Returns how long a message takes to leave a host, which is what it occupies a link."""
    packets = math.ceil(size / MTU)
    last = size - (packets - 1) * MTU
    padded = (last + 3) // 4 * 4
    return wire(ROCE + RETH + (padded if packets == 1 else MTU)) + (packets > 1) * ((packets - 2) * DATA + wire(ROCE + padded))


def delivery(size):
    """Returns how long a message takes over two links by itself: it leaves, and its last packet goes on from the switch."""
    packets = math.ceil(size / MTU)
    padded = (size - (packets - 1) * MTU + 3) // 4 * 4
    late = RETH * 8 / RATE if packets > 1 else 0  # the first packet delays the others at the switch by what it is longer
    return emission(size) + CABLE + late + wire(ROCE + (padded if packets > 1 else padded + RETH)) + CABLE


def steps(sizes):
    """Returns the time of a chain of messages: each begins when the one before has arrived and its ACK has left."""
    return sum(ACK + delivery(s) for s in sizes) - ACK + BACK


def halves(size, ranks):
    """Returns the messages of recursive halving: size/2, size/4 ... size/ranks."""
    return [size >> k for k in range(1, ranks.bit_length())]


def collectives(n, size):
    """Yields collectives of n ranks: alpha-beta models with this fabric's times in place of alpha and beta.

    Ring: Patarasuk and Yuan, JPDC 2009. Halving and doubling: Thakur, Rabenseifner and Gropp, IJHPCA 2005, section 4.
    Hierarchical: Cho et al., MLSys 2019. Direct: a host's link carries n-1 messages one way, the last ends the collective.
    """
    block = size // n
    yield 'allreduce-ring', steps([block] * (2 * (n - 1)))
    yield 'allgather-ring', steps([block] * (n - 1))
    yield 'reducescatter-ring', steps([block] * (n - 1))
    yield 'allreduce-halving', steps(halves(size, n) * 2)
    yield 'allgather-halving', steps(halves(size, n))
    yield 'reducescatter-halving', steps(halves(size, n))
    group = 4
    yield 'allreduce-hierarchical', steps([size // group] * 2 * (group - 1) + [block] * 2 * (n // group - 1))
    direct = (n - 1) * emission(block) - emission(block) + delivery(block)
    yield 'allgather-direct', direct + BACK
    yield 'reducescatter-direct', direct + BACK
    yield 'alltoall-direct', direct + BACK
    yield 'allreduce-direct', 2 * direct + ACK + BACK
    yield 'alltoall-ring', steps([block] * (n - 1))
    yield 'broadcast-ring', steps([size] * (n - 1))
    yield 'broadcast-direct', (n - 2) * emission(size) + delivery(size) + BACK


def line(case, **values):
    print(json.dumps({'case': case, 'values': values}))


def main():
    for name, time in collectives(8, 8_000_000):
        line(name, completion=time)
    # Two trees in a pipeline (Sanders, Speck and Traeff, Parallel Computing 2009): of large data the links are busy all the time,
    # with twice the data of an all-reduce and once that of a broadcast.
    line('allreduce-tree', completion=2 * emission(64_000_000))
    line('broadcast-tree', completion=emission(64_000_000))

    # A flow of n packets of which each is lost with probability p at the last link.
    n = 10_000
    for p in (0.001, 0.005):
        # Go-back-N: a lost packet is sent again when the NAK that its successor drew has arrived, half a frame later on average;
        # what was sent in between is refused.
        again = DATA + (2 * DATA + 2 * CABLE) + BACK + DATA / 2
        flight = n * DATA + DATA + 2 * CABLE + BACK
        # A packet that is lost once more draws no second NAK: it waits for the timeout.
        line(f'go-back-n-{p * 100:g}', **{'mean FCT': flight + n * p * (again + p * TIMEOUT)})
        # Selective repeat: each packet has an RETH, and goes 1/(1-p) times. If one is lost twice, the flow ends with a timeout.
        data = wire(ROCE + RETH + MTU)
        twice = 1 - math.exp(-n * p * p)
        line(f'selective-{p * 100:g}', **{
            'mean FCT': n * data / (1 - p) + data + 2 * CABLE + BACK + twice * TIMEOUT,
            'retransmissions': n * p / (1 - p),
        })

    # PFC without congestion control: k hosts send to one. Its link is busy from the first packet's arrival to the last's. Each host sends
    # at its link's rate or is paused, until its last packet waits in the switch behind XOFF bytes of each host.
    size, xoff = 2_000_000, 100_000
    share = (ROCE + MTU) / (ROCE + MTU + 24)  # of the line's bytes that buffers count
    for k in (8, 31):
        total = k * emission(size)
        backlog = k * xoff / share * 8 / RATE
        line(f'pfc-incast-{k}', **{'max FCT': CABLE + DATA + total + CABLE + BACK, 'paused time': k * (total - backlog - emission(size))})
    # From XOFF until the last frame arrives: the PAUSE frame, a cable there and back, and half a frame on average of the host's, while
    # the switch sends the host's share on.
    line('pfc-headroom', **{'peak ingress': (xoff + (1 - 1 / 31) * (wire(60) + 2 * CABLE + DATA / 2) * RATE / 8 * share) / 1e3})
    # Two ingress ports share an egress port: a host alone on one has as much as three hosts behind the other together.
    together = 2 * emission(6_000_000) + DATA + 2 * CABLE + BACK
    line('pfc-unfair', **{'mean FCT': together, 'max FCT': together})
    # Credits (IBTA 7.9): what fits into the buffer, in blocks of 64 B, leaves once a loop, which is two cables, a frame and the message
    # that tells of it, and ends with a timer's tick.
    far, period = 5.0, 1.0
    loop = math.ceil((2 * far + DATA + wire(62)) / period) * period
    for buffer in (16, 32, 64):
        frames = buffer * 1000 // 64 // math.ceil((ROCE + MTU) / 64)
        line(f'credits-{buffer}', **{'mean FCT': n / frames * loop})
    # PowerTCP (Addanki et al., NSDI 2022, theorem 1): in equilibrium the queue holds the sum of the flows' additive increases, each a
    # tenth of the bandwidth-delay product here. So the RTT is longer by a tenth of the base RTT for each flow. theta-PowerTCP's power
    # is the same for a constant queue (section 3.5).
    base = 2 * (DATA + CABLE) + BACK
    for k in (2, 3, 5):
        for name in ('powertcp', 'theta-eq'):
            line(f'{name}-{k}', **{'median RTT': base * (1 + k / 10)})


if __name__ == '__main__':
    main()

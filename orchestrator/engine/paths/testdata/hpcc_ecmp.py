#!/usr/bin/env python3
"""Which way packets go in HPCC's simulator: python3 hpcc_ecmp.py > hpcc_ecmp.txt

Written from descriptions alone: MurmurHash3_x86_32 as its author published it, checked by published values; and of the
simulator (alibaba-edu/High-Precision-Congestion-Control) that

- node n has the address 11.(n / 256).(n % 256).1, a host's flows the source ports 10000, 10001, ...;
- a switch takes the next hop number hash % (number of next hops) of those towards the destination, with the hash of the
  12 bytes source address, destination address, source port, destination port, each least significant byte first, under its
  own number as the seed; an ACK's addresses and ports are the data packet's the other way round;
- next hops are in the order of a breadth-first search from the destination: a node that comes out of the search's queue is
  appended to the next hops of each neighbour that is one step farther away. Hosts do not enter the queue;
- neighbours are gone through in the order of their objects' addresses: hosts, then switches from the last to the first
  (these objects are above 2 MB, which the C library maps top-down).
"""
import random
import struct


def murmur3(data, seed):
    mask = 0xffffffff
    rotl = lambda x, n: (x << n | x >> (32 - n)) & mask
    scramble = lambda k: rotl(k * 0xcc9e2d51 & mask, 15) * 0x1b873593 & mask
    h = seed
    blocks = len(data) // 4
    for i in range(blocks):
        h = (rotl(h ^ scramble(int.from_bytes(data[4 * i:4 * i + 4], "little")), 13) * 5 + 0xe6546b64) & mask
    tail = data[4 * blocks:]
    if tail:
        h ^= scramble(int.from_bytes(tail, "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85ebca6b & mask
    h = (h ^ h >> 13) * 0xc2b2ae35 & mask
    return h ^ h >> 16


# Published values: Wikipedia, "MurmurHash", test cases.
for text, seed, value in ((b"", 0, 0), (b"", 1, 0x514e28b7), (b"", 0xffffffff, 0x81f16f39), (b"test", 0, 0xba6bd213),
                          (b"test", 0x9747b28c, 0x704b81dc), (b"Hello, world!", 0, 0xc0363e43),
                          (b"Hello, world!", 0x9747b28c, 0x24884cba),
                          (b"The quick brown fox jumps over the lazy dog", 0x9747b28c, 0x2fa826cd)):
    assert murmur3(text, seed) == value, (text, seed)


def address(n):
    return 11 << 24 | n // 256 << 16 | n % 256 << 8 | 1


def ecmp(seed, source, destination, sport, dport):
    return murmur3(struct.pack("<IIHH", source, destination, sport, dport), seed)


class Fabric:
    def __init__(self, nodes, switches, links):
        self.nodes, self.switches, self.links = nodes, sorted(switches), links
        self.beside = {n: set() for n in range(nodes)}
        self.between = {}  # two nodes: number of their link
        for i, (a, b) in enumerate(links):
            self.beside[a].add(b)
            self.beside[b].add(a)
            self.between[a, b] = self.between[b, a] = i

    def memory(self, n):
        return (1, -n) if n in self.switches else (0, n)

    def towards(self, host):
        distance, queue, hops = {host: 0}, [host], {n: [] for n in range(self.nodes)}
        for now in queue:
            for beside in sorted(self.beside[now], key=self.memory):
                if beside not in distance:
                    distance[beside] = distance[now] + 1
                    if beside in self.switches:
                        queue.append(beside)
                if distance[beside] == distance[now] + 1:
                    hops[beside].append(now)
        return hops

    def path(self, source, destination, sport, dport):
        """The nodes, and the links between them, by their numbers in the file."""
        hops, (now,) = self.towards(destination), self.beside[source]
        nodes = [source, now]
        while now != destination:
            next = hops[now]
            now = next[ecmp(now, address(source), address(destination), sport, dport) % len(next)]
            nodes.append(now)
        return nodes, [self.between[a, b] for a, b in zip(nodes, nodes[1:])]

    def write(self, flows):
        print("topology")
        print(self.nodes, len(self.switches), len(self.links))
        print(*self.switches)
        for a, b in self.links:
            print(a, b, "100Gbps 1000ns 0")
        print("flows", len(flows))
        for source, destination, sport, dport in flows:
            there, links = self.path(source, destination, sport, dport)
            back, _ = self.path(destination, source, dport, sport)
            print(source, destination, sport, dport, "there", *there, "links", *links, "back", *back)


def pick(r, hosts, count):
    flows, ports = [], {}
    for _ in range(count):
        a, b = r.sample(hosts, 2)
        ports[a] = ports.get(a, 9999) + 1
        flows.append((a, b, ports[a], r.choice((100, 100, 200, 0, 65535))))
    return flows


def main():
    r = random.Random(20191119)
    print("hashes 200")
    for _ in range(200):
        v = r.getrandbits(32), r.getrandbits(32), r.getrandbits(32), r.getrandbits(16), r.getrandbits(16)
        print(*v, ecmp(*v))
    # Two spines over three leaves.
    Fabric(11, range(6, 11), [(h, 6 + h // 2) for h in range(6)] + [(6 + l, 9 + s) for l in range(3) for s in range(2)]).write(
        pick(r, range(6), 60))
    # Switches numbered before, between and after hosts; ways of different lengths.
    Fabric(16, [0, 1, 5, 6, 11, 12, 15], [(2, 0), (3, 0), (4, 1), (7, 1), (8, 15), (9, 15), (10, 12), (13, 11), (14, 0),
                                          (0, 5), (0, 6), (1, 6), (1, 5), (1, 11), (15, 5), (6, 15), (15, 11),
                                          (12, 11), (12, 6), (12, 5)]).write(pick(r, [2, 3, 4, 7, 8, 9, 10, 13, 14], 150))
    # The simulator's fat.txt.
    links = [(h, 320 + h // 16) for h in range(320)]
    links += [(320 + t, 340 + t // 4 * 4 + k) for t in range(20) for k in range(4)]
    links += [(340 + a, 360 + a % 4 * 4 + k) for a in range(20) for k in range(4)]
    Fabric(376, range(320, 376), links).write(pick(r, range(320), 250))


main()

#!/usr/bin/env python3
"""The packets of int_test.go, timestamp_test.go and grant_test.go, built from the layouts in docs/schemes/hpcc.md
and docs/architecture.md ("On the wire") without any of the Go code.

A switch with id 0x101 (40 Gbps port, 123 456 789 ns, 1 000 000 B sent, 16 000 B queued) and one with id 0xa02 (100 Gbps,
16 777 217 ns, 134 217 856 B sent, 6 000 000 B queued) stamp a WRITE_ONLY of 8 bytes; the receiver acknowledges it. It
answers a WRITE_ONLY with the timestamp 0x0123456789abcdef. One with a demand is granted it, and asks for it.
"""
import struct
import zlib

ECN_FIELD = 4  # byte of the BTH


def ones_complement(header):
    total = sum(struct.unpack('!10H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def packet(source, destination, tos, bth, extension, telemetry, rest):
    """extension, telemetry and rest follow the BTH in this order."""
    body = bth + extension + telemetry + rest
    udp = struct.pack('!HHHH', 49153, 4791, 8 + len(body) + 4, 0)
    ip = struct.pack('!BBHHHBBH4s4s', 0x45, tos, 20 + len(udp) + len(body) + 4, 0, 0x4000, 64, 17, 0, source, destination)
    masked = bytearray(ip)
    masked[1] = masked[8] = masked[10] = masked[11] = 0xff
    bth = bth[:ECN_FIELD] + b'\xff' + bth[ECN_FIELD + 1:]
    covered = (b'\xff' * 8 + bytes(masked) + udp[:6] + b'\xff\xff' + bth + extension + b'\xff' * len(telemetry) + rest)
    ip = ip[:10] + struct.pack('!H', ones_complement(ip)) + ip[12:]
    ethernet = bytes.fromhex('020000000101 020000000001 0800')
    return ethernet + ip + udp + body + struct.pack('<I', zlib.crc32(covered))


def bth(opcode, qp, psn, ack):
    return struct.pack('!BBHII', opcode, 0x40, 0xffff, qp, ack << 31 | psn)


def slot(code, nanoseconds, sent, queued):
    bits = f'{code:04b}{nanoseconds % 2**24:024b}{sent // 128 % 2**20:020b}{min(queued // 80, 65535):016b}'
    return int(bits, 2).to_bytes(8, 'big')


host, peer = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
stamped = (struct.pack('!H', 2 << 12 | (0x101 ^ 0xa02)) + slot(2, 123456789, 1000000, 16000) +
           slot(4, 16777217, 134217856, 6000000) + b'\0' * 24)
reth = struct.pack('!QII', 0x1000, 0xabcd, 8)
payload = bytes(range(8))
data = bth(0xc0 | 0x0a, 0x12, 0xff, 1)
print('sent   ', packet(host, peer, 0x02, data, b'', b'\0' * 42, reth + payload).hex())
print('stamped', packet(host, peer, 0x02, data, b'', stamped, reth + payload).hex())
print('ACK    ', packet(peer, host, 0x00, bth(0xd1, 0x34, 0xff, 0), bytes.fromhex('1f000001'), stamped, b'').hex())

timestamp = bytes.fromhex('0123456789abcdef')
print('timed  ', packet(host, peer, 0x02, bth(0xe0 | 0x0a, 0x12, 0xff, 1), timestamp, b'', reth + payload).hex())
print('ACK    ', packet(peer, host, 0x00, bth(0xf1, 0x34, 0xff, 0), bytes.fromhex('1f000001') + timestamp, b'', b'').hex())

demand = struct.pack('!Q', 0x0000_1234_5678_9abc)
print('demand ', packet(host, peer, 0x02, bth(0xf0 | 0x0a, 0x12, 0xff, 1), demand, b'', reth + payload).hex())
for syndrome in 0x40, 0x41:
    print('sum    ', packet(peer, host, 0x00, bth(0x11, 0x34, 0x123456, 0), struct.pack('!I', syndrome << 24 | 0x789abc), b'', b'').hex())

#!/usr/bin/env python3
"""One frame of each kind, as a capture: python3 wire.py > wire.pcap

Built from the standards and papers alone, with none of the Go code:
  PFC          IEEE 802.1Qbb; MAC control EtherType 0x8808 as IEEE 802.3 clause 31 has it.
  RoCEv2       InfiniBand (IBTA) volume 1 chapter 9 for BTH, RETH and AETH, annex A17 for the UDP port, the CNP and the ICRC.
               Over IPv6 (RFC 8200) the addresses are ours (docs/decisions/058-roce-over-ipv6.md).
  PCN's CNP    ours: a report in the first 8 of the CNP's 16 reserved bytes (docs/architecture.md, "On the wire").
  802.1Qau     its CNM and CN-TAG, which pausenet does not use: frames that a parser has to take for others'.
  DCON's CNM   figure 5 of the paper, the padding filled as docs/architecture.md, "On the wire", says.
  credits      the six bytes of InfiniBand's flow control packet (IBTA volume 1, section 7.9) in a frame. An early layout of ours, two
               bytes off and 60 bytes long: a parser has to take it for another's.

TestWireCapture runs this file again. The ICRC is checked by a CNP that a ConnectX-4 Lx sent, and over IPv6 by a packet that scapy built
(both scapy, test/contrib/roce.uts).
"""
import struct
import sys
import zlib

HOST, SWITCH = bytes.fromhex('020000000001'), bytes.fromhex('020000000101')
MAC_CONTROL = bytes.fromhex('0180c2000001')


def ones_complement(header):
    total = sum(struct.unpack('!%dH' % (len(header) // 2), header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(source, destination, length, tos):
    h = struct.pack('!BBHHHBBH4s4s', 0x45, tos, 20 + length, 0, 0x4000, 64, 17, 0, bytes(source), bytes(destination))
    return h[:10] + struct.pack('!H', ones_complement(h)) + h[12:]


def icrc(ip, udp, rest):
    """What switches may change counts as ones: TOS, TTL, both checksums, and byte 4 of the BTH; of IPv6 traffic class, flow label and
    hop limit. The LRH is eight bytes of ones."""
    ip, udp, rest = bytearray(ip), bytearray(udp), bytearray(rest)
    if len(ip) == 40:
        ip[:4] = b'\x6f\xff\xff\xff'
        ip[7] = 0xff
    else:
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff
    udp[6] = udp[7] = rest[4] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + ip + udp + rest))


def bth(opcode, qp, psn, migration=1, becn=0, ack=0):
    return struct.pack('!BBHIBBH', opcode, migration << 6, 0xffff, becn << 30 | qp, ack << 7, psn >> 16, psn & 0xffff)


def roce(source, destination, tos, rest):
    udp = struct.pack('!HHHH', 49153, 4791, 8 + len(rest) + 4, 0)
    ip = ipv4(source, destination, len(udp) + len(rest) + 4, tos)
    return SWITCH + HOST + b'\x08\x00' + ip + udp + rest + icrc(ip, udp, rest)


def roce6(source, destination, tos, rest):
    fabric = lambda address: bytes.fromhex('fd' + '00' * 11) + bytes(address)
    udp = struct.pack('!HHHH', 49153, 4791, 8 + len(rest) + 4, 0)
    ip = struct.pack('!IHBB', 6 << 28 | tos << 20, len(udp) + len(rest) + 4, 17, 64) + fabric(source) + fabric(destination)
    return SWITCH + HOST + b'\x86\xdd' + ip + udp + rest + icrc(ip, udp, rest)


def padded(frame):
    return frame + bytes(60 - len(frame))


def pfc(priority, quanta):
    times = b''.join(struct.pack('!H', quanta if p == priority else 0) for p in range(8))
    return padded(MAC_CONTROL + SWITCH + struct.pack('!HHH', 0x8808, 0x0101, 1 << priority) + times)


def dcon(flow, flows, mbps):
    return padded(HOST + SWITCH + struct.pack('!HBBHHI', 0x88b5, flow & 0xff, min(flows, 255), flow, flows, mbps))


connectx = bytes.fromhex('45c2003c718c4000401191610a0011010a001201 000012b700280000 8100ffff40000118' + '00' * 20 + '82fd002a')
assert icrc(connectx[:20], connectx[20:28], connectx[28:-4]) == connectx[-4:]

scapy = bytes.fromhex('6e21face002c11ff' '20220000000000000000000000001023' '20230000000000000000000000001024' 'c00012b7002c0000'
                      '2460ffff000000d300cf1710' '4630818be28935d90e9a955054 01be885e500000'.replace(' ', '') + '3e5b743b')
assert icrc(scapy[:40], scapy[40:48], scapy[48:-4]) == scapy[-4:]

ONE, TWO = (10, 0, 0, 1), (10, 0, 0, 2)
payload = (bytes(range(256)) * 4)[:1000]
data = roce(ONE, TWO, 0x02, bth(0x0a, 0x12, 0xff, ack=1) + struct.pack('!QII', 0x1000, 0xabcd, 1000) + payload)
qau = struct.pack('!HH8sHHH6sH', 0x22e7, 0x20, SWITCH + b'\0\1', 0xff9c, 0x10, 3 << 13, SWITCH, 64)
frames = [
    pfc(3, 0xffff),
    pfc(3, 0),
    data,
    roce(TWO, ONE, 0x00, bth(0x11, 0x34, 0xff) + struct.pack('!I', 0x1f << 24 | 1)),
    roce(TWO, ONE, 0xc0, bth(0x81, 0x34, 0, migration=0, becn=1) + bytes(16)),
    roce(TWO, ONE, 0xc0, bth(0x81, 0x34, 0, migration=0, becn=1) + struct.pack('!IHHQ', 12345, 1, 40, 0)),
    HOST + SWITCH + qau + data[14:14 + 64],
    data[:12] + struct.pack('!HH', 0x22e9, 0xbeef) + data[12:],
    dcon(0xbeef, 491, 40000),
    padded(MAC_CONTROL + SWITCH + struct.pack('!HBBHHH', 0x88b6, 1, 0, 0x0123, 0x0abc, 0)),
    roce6(ONE, TWO, 0x6a, bth(0x0a, 0x12, 0xff, ack=1) + struct.pack('!QII', 0x1000, 0xabcd, 1000) + payload),
    roce6(TWO, ONE, 0x00, bth(0x11, 0x34, 0xff) + struct.pack('!I', 0x1f << 24 | 1)),
    roce6(TWO, ONE, 0xc0, bth(0x81, 0x34, 0, migration=0, becn=1) + bytes(16)),
]
out = sys.stdout.buffer
out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
for second, frame in enumerate(frames):
    out.write(struct.pack('<IIII', second, 0, len(frame), len(frame)) + frame)

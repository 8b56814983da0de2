#!/usr/bin/env python3
"""The numbers and frames that the pipelines' tests expect: python3 vectors.py > vectors.txt

Restated from the sources below in the shortest form that computes them; none of it was made from the C or Go code.
TestVectors (vectors_test.go) runs this file again and compares what it prints.

Sources:
  RED      DCQCN (Zhu et al., SIGCOMM 2015), section 3.1: the marking curve of the congestion point.
  Q_CNM    DCON (Hu et al., Acta Electronica Sinica 51(9), 2023), section 4.4: the upper end of the range after equation 2.
  states   DCON, section 4.1: none, persistent from Q_ECN, burst from Q_CNM until the queue is below Q_ECN.
  flow id  DCON, section 5: CRC16 of the 5-tuple; the variant is CRC-16/ARC (reflected 0x8005, initial value 0), which P4's
           crc16 is. Check value of the variant: 0xbb3d for "123456789".
  T_max    TCD's patent (CN 113572655 A), paragraphs 0019 to 0022; paragraph 0099 states 100.4 us for its simulation.
  TCD      the patent's steps S1 to S8 (paragraphs 0091 to 0098); the trend by a reference queue, and its 0.9 packets, are those of
           its authors' simulator (Yi-ran/DCQCN-TCD).
  credits  InfiniBand (IBTA volume 1, section 7.9): counters modulo 4096, at most 2048 blocks granted.
  PFC      IEEE 802.1Qbb: opcode 0x0101, class-enable vector, eight times in quanta of 512 bit times.
"""
import math
import zlib

print('== RED: 5 to 200 KB, 1 %')
for queue in 50_000, 102_500, 200_000:
    print('queue %d B: %.7f' % (queue, 0.01 * (queue - 5_000) / 195_000))
print('RED: 100 to 400 KB, 20 %%, 250 KB: %g' % (0.2 * (250 - 100) / 300))

print('\n== Q_CNM = max(Q_ECN, XOFF/M - 3dC (M - 1)), Q_ECN 200 KB')
for rate, delay in (40, 5), (100, 1), (25, 1), (10, 0.333):
    print('3dC of %g Gb/s and %g us: %d B' % (rate, delay, 3 * delay * rate * 1000 / 8))
for xoff, three_dc, ms in (320_000, 75_000, 3), (1_000_000, 37_500, 4), (200_000, 75_000, 2), (100_000, 75_000, 1):
    raw = [xoff / m - three_dc * (m - 1) for m in range(1, ms + 1)]
    print('XOFF %d, 3dC %d: M = 1, 2 ...: raw %s, Q_CNM %s' %
          (xoff, three_dc, ' '.join('%d' % q for q in raw), ' '.join('%d' % max(200_000, q) for q in raw)))

print('\n== burst states, Q_ECN 200 000, Q_CNM 250 000')
state = 'none'
for queue in 150_000, 210_000, 255_000, 230_000, 199_000, 205_000, 249_999, 200_000, 199_999, 250_000:
    if state != 'burst' or queue < 200_000:
        state = 'burst' if queue >= 250_000 else 'persistent' if queue >= 200_000 and state != 'burst' else 'none'
    print('%d: %s' % (queue, state))


def crc16_arc(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xa001 if crc & 1 else 0)
    return crc


assert crc16_arc(b'123456789') == 0xbb3d
five_tuple = bytes([10, 0, 0, 1]) + (49153).to_bytes(2, 'big') + bytes([10, 0, 2, 2]) + (4791).to_bytes(2, 'big') + b'\x11'
print('\n== flow id of 10.0.0.1:49153 to 10.0.2.2:4791, UDP: 0x%04x' % crc16_arc(five_tuple))

print('\n== T_max = (2 (XOFF - XON) + tau C)/(2 epsilon C) + tau, tau = 2 (delay + MTU/C); XOFF - XON 2000 B, MTU 1000 B')
for rate, delay, epsilon, difference in (40, 4, .05, 2000), (40, 5, .05, 2000), (100, 1, .05, 2000), (10, 4, .05, 2000), (1, 4, .05, 2000), \
        (40, 4, .1, 2000), (40, 4, .05, 3000):
    tau = 2 * delay + 2 * 8 / rate
    print('%d Gb/s, %d us, epsilon %g, %d B: tau %.3f us T_max %.3f us' %
          (rate, delay, epsilon, difference, tau, (2 * difference * 8e-3 / rate + tau) / (2 * epsilon) + tau))

print('\n== TCD: RESUME at 0 with 300 KB queued, T_max 100.4 us, q_len 5 KB, slack 900 B')
for departures in ([(50, 300_000), (101, 310_000)], [(101, 250_000), (150, 260_000), (202, 200_000), (303, 201_000)],
                   [(101, 250_000), (202, 200_000), (303, 200_899)], [(101, 250_000), (202, 200_000), (250, 2_000)]):
    state, reference, since, text = 'undetermined', 300_000, 0, []
    for at, queue in departures:
        mark = '-'
        if state == 'undetermined':
            if at < 100.4:
                mark = 'UE'
            elif queue <= 5_000:
                state = 'not congested'
            elif at - since >= 100.4:
                if queue >= reference + (900 if since else 0):
                    state, mark = 'congested', 'CE'
                else:
                    reference, since = queue, at
        text.append('%d us %d B: %s, %s' % (at, queue, state, mark))
    print('; '.join(text))
print('never paused: above 5000 B congested and CE, else not congested and no mark')

print('\n== credits: blocks of 64 B, modulo 4096')
print('FCCL 100, FCTBS 4090: %d blocks may leave; a frame of 1048 B is %d' % ((100 - 4090) % 4096, math.ceil(1048 / 64)))
for free in 500, 2048, 2049:
    print('ABR 4000, %d blocks free: FCCL %d' % (free, (4000 + min(free, 2048)) % 4096))


def fcs(frame):
    return zlib.crc32(frame).to_bytes(4, 'little').hex()


print('\n== frames from 02:00:00:00:01:01')
start = bytes.fromhex('0180c2000001 020000000101')
for name, quanta in ('PAUSE', 0xffff), ('RESUME', 0):
    frame = start + bytes.fromhex('8808 0101 0008') + b''.join((quanta if c == 3 else 0).to_bytes(2, 'big') for c in range(8))
    frame += bytes(60 - len(frame))
    print('%s of priority 3: %s FCS %s' % (name, frame.hex(), fcs(frame)))
for rate in 40, 100:
    print('a quantum at %d Gb/s: %d ps; 65535 of them: %.4f us' % (rate, 512_000 // rate, 65535 * 512 / rate / 1000))
# Op 0 and FCTBS 0x123, VL 3 and FCCL 0xabc, no LPCRC; padded to 62 bytes, the least that tshark 4.0.17 reads whatever the counters.
message = start + bytes.fromhex('88b6 0123 3abc 0000')
message += bytes(62 - len(message))
print('credit message: %s' % message.hex())

#!/usr/bin/env python3
"""The numbers that the controllers' tests expect: python3 vectors.py > vectors.txt

Each section restates a sender's rules from its paper, or from the public simulator that is named, in the shortest form that
computes them. None of it was made from the Go code, and no run of the Go code went into it. Where a rule has a closed form,
both are computed and compared. TestVectors (vectors_test.go) runs this file again and compares what it prints.

Sources:
  DCQCN   Zhu et al., SIGCOMM 2015, section 3.1 (rules of the reaction point), with the constants that DCON's and TCD's
          experiments state. "alpha first" is the order of its authors' ns-3 simulator (bobzhuyb/ns3-rdma).
  mlx     the Mellanox variant of HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control, rdma-hw.cc, cc_mode 1),
          with the constants of its run.py for 100 Gb/s.
  DCON    Hu et al., Acta Electronica Sinica 51(9), 2023, section 4.3 and algorithm 1.
  Swift   Kumar et al., SIGCOMM 2020, algorithm 1 and flow-based scaling of the target; constants of htsim's swift.cpp.
  TIMELY  Mittal et al., SIGCOMM 2015, algorithm 1, as HPCC's simulator has it (rdma-hw.cc, cc_mode 7).
  HPCC    Li et al., SIGCOMM 2019, algorithm 1, as HPCC's simulator has it (rdma-hw.cc, cc_mode 3).
  DCTCP   Alizadeh et al., SIGCOMM 2010, section 3.1; RFC 8257, section 3.3; as a rate in HPCC's simulator (cc_mode 8).
  PCN     Cheng et al., NSDI 2020, with the constants of its authors' simulator (chengwx1992/PCN-simulation).
  NSCC    Ultra Ethernet Specification 1.0, section 3.6, as its public reference simulator has it (htsim, uec.cpp:
          initNsccParams, processAck, updateCwndOnAck_NSCC, updateCwndOnNack_NSCC, quick_adapt, update_delay).
  PID     the LSTM-PID thesis, section 3.5: equations 14 to 20, training by equations 21 to 26.

Rates are in Gb/s, times in us, unless a line says otherwise.
"""
import heapq
import math


def close(a, b):
    assert abs(a - b) <= 1e-9 * max(1, abs(a), abs(b)), (a, b)


class DCQCN:
    """The reaction point. Timer and byte expiries are called by whoever uses it."""
    G, F, AI, HAI, MIN = 1 / 256, 5, 0.04, 0.2, 0.1

    def __init__(self, line=40.0, alpha_first=False):
        self.line = self.rate = self.target = line
        self.alpha = 1.0
        self.timers = self.bytes = 0
        self.alpha_first = alpha_first

    def cnp(self):
        self.target = self.rate
        if self.alpha_first:
            self.alpha = (1 - self.G) * self.alpha + self.G
        self.rate = max(self.MIN, self.rate * (1 - self.alpha / 2))
        if not self.alpha_first:
            self.alpha = (1 - self.G) * self.alpha + self.G
        self.timers = self.bytes = 0

    def alpha_timer(self):
        self.alpha *= 1 - self.G

    def timer(self):
        self.timers += 1
        most, least = max(self.timers, self.bytes), min(self.timers, self.bytes)
        if least >= self.F:
            self.target += (least - self.F + 1) * self.HAI
        elif most >= self.F:
            self.target += self.AI
        self.target = min(self.target, self.line)
        self.rate = (self.rate + self.target) / 2


print('== DCQCN, 40 Gb/s')
rp = DCQCN()
rp.cnp()
print('first CNP: R_T %g R_C %g alpha %g' % (rp.target, rp.rate, rp.alpha))
rp.alpha_timer()
print('55 us later: alpha %.8f' % rp.alpha)
close(rp.alpha, 255 / 256)
rates = []
for _ in range(7):
    rp.timer()
    rates.append('%.5f' % rp.rate)
print('timer expiries 1 to 7: R_C', ' '.join(rates), 'R_T %g' % rp.target)
close(rp.rate, 40 - 20 / 2**7)
rp = DCQCN()
rp.cnp()
rp.cnp()
print('two CNPs with no increase between: R_C %g R_T %g' % (rp.rate, rp.target))
for alpha_first in False, True:
    rp = DCQCN(alpha_first=alpha_first)
    rp.rate = rp.target = 24.0
    for _ in range(10):
        rp.alpha_timer()
    close(rp.alpha, (255 / 256)**10)
    before = rp.alpha
    rp.cnp()
    print('R_C 24, alpha %.9f, CNP, %s: R_C %.9f alpha %.9f' %
          (before, 'alpha first' if alpha_first else "the paper's order", rp.rate, rp.alpha))
rp = DCQCN()
rp.rate, rp.target, rp.timers = 10, 20, 5
rp.timer()
print('additive: R_C 10, R_T 20, T 5 to 6, BC 0: R_T %.2f R_C %.2f' % (rp.target, rp.rate))
rp = DCQCN()
rp.rate, rp.target, rp.timers, rp.bytes = 10, 20, 7, 6
rp.timer()
print('hyper: R_C 10, R_T 20, T 7 to 8, BC 6: R_T %.2f R_C %.2f' % (rp.target, rp.rate))
rp = DCQCN(alpha_first=True)
rp.alpha = 0.5
rp.cnp()
print('alpha 0.5, alpha first, CNP at 40: alpha %.9f R_C %.7f' % (rp.alpha, rp.rate))


def mlx(cnps, end, line=100.0, every=(1000, 4000, 300_000), ai=0.02, hai=0.2, least=1.0):
    """Timers of alpha, cut and increase, in ns; the cut's looks 1 ns after alpha's. Gives (us, what, R_T, R_C, alpha)."""
    events, order, log = [], 0, []

    def put(at, what, epoch=0):
        nonlocal order
        order += 1
        heapq.heappush(events, (at, order, what, epoch))

    for at in cnps:
        put(at, 'cnp')
    rate = target = line
    alpha, started, seen_alpha, seen_cut, stage, epoch = 1.0, False, False, False, 0, 0
    while events:
        at, _, what, of = heapq.heappop(events)
        if at > end:
            break
        if what == 'cnp':
            seen_alpha = seen_cut = True
            if not started:
                started, seen_alpha, alpha = True, False, 1.0
                put(at + every[0], 'alpha')
                put(at + every[1] + 1, 'cut')
        elif what == 'alpha':
            alpha = (1 - 1 / 256) * alpha + (1 / 256 if seen_alpha else 0)
            seen_alpha = False
            put(at + every[0], 'alpha')
        elif what == 'cut':
            put(at + every[1], 'cut')
            if seen_cut:
                if stage > 0:
                    target = rate
                rate = max(least, rate * (1 - alpha / 2))
                stage, seen_cut, epoch = 0, False, epoch + 1
                put(at + every[2], 'increase', epoch)
                log.append((at / 1000, 'cut', target, rate, alpha))
        elif of == epoch:
            put(at + every[2], 'increase', epoch)
            if stage > 0:
                target = min(line, target + (ai if stage == 1 else hai))
            rate = (rate + target) / 2
            stage += 1
            log.append((at / 1000, 'increase', target, rate, alpha))
    return log


print('\n== DCQCN of HPCC\'s simulator (mlx), 100 Gb/s, CNPs at 0, 5, 6 and 20 us')
for line in mlx([0, 5000, 6000, 20_000], 1_300_000):
    print('%8.3f us %-8s R_T %.9f R_C %.9f alpha %.9f' % line)

print('\n== DCON, 40 Gb/s')
for flows in 1, 2, 15, 16, 100, 255:
    print('CNM, N = %d: R_C %.9f' % (flows, 40 / flows))
rp = DCQCN(alpha_first=True)
rp.rate = 20.0
rp.cnp()
print('algorithm 1, marked CNP at 20: R_T %g R_C %g alpha %g' % (rp.target, rp.rate, rp.alpha))
rate, target, alpha = 10.0, 20.0, 1.0
for i in 1, 2, 3:
    alpha *= 255 / 256
    rate = (target + rate) / 2
    print('algorithm 1, unmarked CNP %d from R_C 10, R_T 20: R_C %g alpha %.9f' % (i, rate, alpha))


def swift_target(cwnd, base, hops, per_hop, scale, least=0.1, most=100.0):
    alpha = scale / (1 / math.sqrt(least) - 1 / math.sqrt(most))
    beta = -alpha / math.sqrt(most)
    return base + hops * per_hop + max(0, min(alpha / math.sqrt(cwnd) + beta, scale)), alpha, beta


def swift_ack(cwnd, delay, target, may_decrease):
    if delay < target:
        return cwnd + (1 / cwnd if cwnd >= 1 else 1)
    if may_decrease:
        return cwnd * max(1 - 0.8 * (delay - target) / delay, 1 - 0.5)
    return cwnd


print('\n== Swift')
print('base 25, 3 hops of 1, fs_range 25: alpha %.6f beta %.6f' % swift_target(1, 25, 3, 1, 25)[1:])
for cwnd in 0.1, 1, 4, 25, 100, 200:
    print('  cwnd %g: target %.6f' % (cwnd, swift_target(cwnd, 25, 3, 1, 25)[0]))
print('base 50, no hops, fs_range 10 (40 Gb/s, base RTT 40)')
for cwnd in 0.1, 1, 16, 100, 200:
    print('  cwnd %g: target %.6f' % (cwnd, swift_target(cwnd, 50, 0, 0, 10)[0]))
print('target 50, one packet acknowledged')
for cwnd, delay, may in (10, 40, True), (10, 60, True), (10, 200, True), (10, 60, False), (0.5, 40, True):
    print('  cwnd %g, delay %g%s: cwnd %.9g' % (cwnd, delay, '' if may else ', within an RTT of the last decrease', swift_ack(cwnd, delay, 50, may)))
print('cwnd 0.5, RTT 60: a packet every %g' % (60 / 0.5))


def timely(rate, diff, last, rtt, stage, line=40.0, ai=0.04, hai=0.2, least=0.1):
    diff = (1 - 0.875) * diff + 0.875 * (rtt - last)
    gradient = diff / 20
    if rtt < 50 or (rtt <= 500 and gradient <= 0):
        return min(line, rate + (ai if stage < 5 else hai)), diff, stage + 1, gradient
    factor = 1 - 0.8 * (1 - 500 / rtt) if rtt > 500 else max(0, 1 - 0.8 * gradient)
    return max(least, rate * factor), diff, 0, gradient


print('\n== TIMELY, 40 Gb/s: T_low 50, T_high 500, minRTT 20, alpha 0.875, beta 0.8, AI 0.04, HAI 0.2, N 5')
for given in ((20, 0, 40, 45, 0), (20, 0, 60, 70, 0), (20, 2, 70, 66, 0), (20, 0, 60, 600, 3), (20, 0, 60, 95, 0), (20, -1, 80, 79, 5),
              (20, -1, 80, 79, 4), (39.99, 0, 40, 45, 0), (20, 0, 60, 50, 0), (20, 0, 500, 500, 0), (20, 0, 600, 49, 9)):
    print('rate %g, rttDiff %g, last %g, rtt %g, increases %d: rate %.9f rttDiff %.6f increases %d gradient %.6f' % (*given, *timely(*given)))


def hpcc(rate, use, sent, queue, dt, most_stage=0, line=100.0, base=4.16, window=52_000, eta=0.95, ai=0.04, least=1.0):
    link_use = sent * 8e-3 / dt / line + queue / window
    dt = min(dt, base)
    use = (use * (base - dt) + link_use * dt) / base
    if use / eta >= 1 or most_stage == 0:
        return link_use, use, min(line, max(least, rate / (use / eta) + ai)), 0
    return link_use, use, min(line, rate + ai), 1


print('\n== HPCC, one hop of 100 Gb/s, T 4.16, W 52 000 B, eta 0.95, AI 0.04')
for given in (100, 1, 25_000, 25_000, 2), (100, 1, 52_000, 0, 4.16), (50, 0.9, 10_000, 0, 4.16), (10, 1.2, 25_000, 260_000, 2), (50, 0.9, 10_000, 0, 4.16, 5):
    text = 'R_c %g, U %g, sent %d B, queue %d B, dt %g' % given[:5] + (', max_stage 5' if len(given) > 5 else '')
    print('%s: u %.9f U %.9f R %.9f stage %d' % (text, *hpcc(*given)))

print('\n== DCTCP, 40 Gb/s, g 1/16, 26 packets an RTT')
alpha, rate = 1.0, 40.0
for marks in 0, 13, 26:
    cut = rate * (1 - alpha / 2) if marks else rate
    alpha = 15 / 16 * alpha + 1 / 16 * marks / 26
    print('%2d marks: alpha %.9f, cut of 40 %.9f; rate in a row %.9f' % (marks, alpha, 40 * (1 - alpha / 2), cut))
    rate = cut
print('one MTU of 1000 B an RTT, in Mb/s: RTT 13 us %.1f, 40 us %.1f, 4.16 us %.1f' % (8000 / 13, 8000 / 40, 8000 / 4.16))


class PCN:
    def __init__(self, line=40.0, least=1 / 128, most=1 / 4):
        self.line, self.rate, self.w, self.least, self.most = line, line, least, least, most

    def report(self, congested, receiving=0.0):
        if congested:
            self.rate, self.w = min(self.rate, receiving * (1 - self.least)), self.least
        else:
            self.rate = self.rate * (1 - self.w) + self.line * self.w
            self.w = self.w * (1 - self.w) + self.most * self.w


print('\n== PCN, 40 Gb/s, T 50, w_min 1/128, w_max 1/4')
for packets in 50, 40, 2:
    print('%d packets of 1020 B in 50 us: receiving rate %.1f Mb/s' % (packets, packets * 1020 * 8 / 50))
for marked in 38, 37:
    print('%d of 40 marked: %s' % (marked, 'congested' if marked >= 0.95 * 40 else 'not congested'))
rp = PCN()
rp.report(True, 8.16)
print('congested, 8.16: R %.9f w %.9f' % (rp.rate, rp.w))
close(rp.rate, 8.16 * 127 / 128)
for i in range(1, 7):
    rp.report(False)
    print('not congested %d: R %.9f w %.9f' % (i, rp.rate, rp.w))
rp.rate = 5
rp.report(True, 8.16)
print('congested, 8.16, at R 5: R %g' % rp.rate)
for most in 1 / 4, 1 / 2:
    rp, reports = PCN(most=most), 0
    rp.rate = 40 / 128
    while rp.rate < 0.95 * 40:
        rp.report(False)
        reports += 1
    print('from C/128 to 0.95 C with w_max %g: %d reports' % (most, reports))

print('\n== PID, target 5, rate 10 at first, Kp -0.358, Ki -0.06, Kd 0.04')
rate, total, before = 10.0, 0.0, None
for i, rtt in enumerate((4.2, 4.2, 5, 6, 25, 25, 4.2), 1):
    e = (rtt - 5) / 5
    total += e
    d = 0 if before is None else e - before
    before = e
    out = -0.358 * e - 0.06 * total / i + 0.04 * d
    rate = min(100, max(1, rate * (1 + min(0.5, max(-0.6, out)))))
    print('rtt %4g: e %.6f mean %.6f difference %.6f output %.9f rate %.9f' % (rtt, e, total / i, d, out, rate))
print('training, t 0: RTT 6 for 5, rate 10, terms 0.2, 0.1, 0.05, gains -0.2, -0.05, 0.1')
gains = []
for gain, term in (-0.2, 0.2), (-0.05, 0.1), (0.1, 0.05):
    gradient = (6 - 5) * 1 * 10 * term
    gains.append('%.3f' % (gain - 0.01 / math.sqrt(0 + 1) * min(0.1, max(-0.1, gradient))))
print('  gains', ' '.join(gains))


class NSCC:
    """The sender, in bytes and us, but for the time of now, which is whole ns. rtt is what its _base_rtt falls to, the path's; network, the
    _network_rtt that it begins with, is by default the same."""

    def __init__(self, gbps, rtt, mss, target=None, trimming=False, network=None):
        self.rtt, self.mss, self.network = rtt, mss, network or rtt
        self.target = target or self.network * (0.75 if trimming else 1)
        a, b = gbps * 125 * self.network / 150000, self.target / 12  # of 100 Gb/s and 12 us
        self.alpha, self.fi, self.eta, self.fi_scale = 4 * mss * a * b / self.target, 5 * mss * a, 0.15 * mss * a, a / 4
        self.maxwnd, self.cwnd = 1.5 * gbps * 125 * rtt, 1.5 * gbps * 125 * self.network
        self.gate = int(self.maxwnd) >> 3
        self.avg = self.inc = self.received = self.achieved = self.ignored = self.to_ignore = self.fi_count = 0
        self.increase = self.trigger = False
        self.qa_end = 0
        self.last_adjust = self.last_dec = float('-inf')

    def bounds(self):
        self.cwnd = min(max(self.cwnd, self.mss), self.maxwnd)

    def delay(self, delay, ecn):
        self.avg = 0.0125 * (self.rtt / 4 if not ecn and delay > self.target else delay) + (1 - 0.0125) * self.avg

    def quick(self, now, loss, ecn, delay, in_flight):
        done = False
        if self.ignored < self.to_ignore and ecn:
            done = True
        elif now > self.qa_end:
            if self.qa_end and (self.trigger or loss or delay > 4 * self.target) and self.achieved < self.gate:
                self.cwnd = max(self.achieved, self.mss)
                self.to_ignore, self.ignored, self.trigger, done = in_flight, 0, False, True
            self.achieved, self.qa_end = 0, now + 1000 * (self.rtt + self.target)
        if done:
            self.inc = self.received = 0
        return done

    def ack(self, now, rtt, ecn, newly, in_flight):
        self.achieved += newly
        self.received += newly
        self.ignored += newly
        delay = max(0, rtt - self.rtt)
        self.delay(delay, ecn)
        if self.quick(now, False, ecn, delay, in_flight):
            return
        if not ecn and delay >= self.target:
            self.inc += self.fi * newly
        elif not ecn:
            fast = False
            if delay < 1:
                self.fi_count += newly
                if self.fi_count > self.cwnd or self.increase:
                    self.cwnd += newly * self.fi_scale
                    fast = True
            else:
                self.fi_count = 0
            self.increase = fast
            if not fast:
                self.inc += self.alpha * newly * (self.target - delay)
        elif delay >= self.target:
            self.increase, self.fi_count = False, 0
            if self.avg > self.target and now - self.last_dec > 1000 * self.rtt:
                self.cwnd = max(self.mss, self.cwnd * max(1 - 0.8 * (self.avg - self.target) / self.avg, 0.5))
                self.last_dec = now
        self.bounds()
        if self.received > 8 * self.mss or now - self.last_adjust > 1000 * self.network:
            self.cwnd += self.inc / self.cwnd
            if now - self.last_adjust >= 1000 * self.network:
                self.cwnd += self.eta
                self.last_adjust = now
            self.inc = self.received = 0
            self.bounds()

    def nack(self, now, in_flight):
        self.ignored += self.mss
        self.delay(self.network, True)
        self.trigger = True
        if not self.quick(now, True, True, 0, in_flight):
            self.cwnd -= self.mss
            self.bounds()


print('\n== NSCC')
for gbps, rtt in ((100, 12), (40, 40), (100, 4.16)):
    f = NSCC(gbps, rtt, 1000)
    print('%g Gb/s, %g us: alpha %.9g B/us, fi %.9g, eta %.9g, fi_scale %.9g, max %.9g, gate %d' %
          (gbps, rtt, f.alpha, f.fi, f.eta, f.fi_scale, f.maxwnd, f.gate))
# (packets, RTT, marked): so many ACKs of one packet each, 0.08 us apart, with 40 packets in flight; "nak" is a NAK.
history = ((1, 12, 0), (8, 14, 0), (9, 23, 0), (10, 24, 0), (20, 13, 1), (100, 40, 1), (200, 40, 1), (160, 40, 1), (60, 12.5, 0), (40, 12.5, 0), 'nak',
           (12, 12, 1), 'nak', (400, 12.1, 0), (1, 80, 0), (30, 25, 1))
f, now = NSCC(100, 12, 1000), 100000
f.cwnd = 60000
print('100 Gb/s, 12 us, from 60000')
for h in history:
    if h == 'nak':
        f.nack(now, 40000)
    else:
        for _ in range(h[0]):
            now += 80
            f.ack(now, h[1], bool(h[2]), 1000, 40000)
    print('  %-22s cwnd %.6f avg %.6f' % (h if h == 'nak' else '%d of %g us%s' % (h[0], h[1], ', marked' if h[2] else ''), f.cwnd, f.avg))
print('100 Gb/s, 5 us of a network of 9 us')
f, now = NSCC(100, 5, 1000, network=9), 100000
print('  alpha %.9g B/us, fi %.9g, eta %.9g, fi_scale %.9g, max %.9g, gate %d, first %.9g' % (f.alpha, f.fi, f.eta, f.fi_scale, f.maxwnd, f.gate, f.cwnd))
f.ack(now, 5, False, 1000, 40000)
print('  after the first ACK %.9g; then from 40000' % f.cwnd)
f.cwnd = 40000
for h in (30, 7, 0), (40, 11, 0), (80, 15, 0), (20, 8, 1), (200, 20, 1), (100, 20, 1), 'nak', (60, 5.5, 0), 'nak', (10, 30, 0), (100, 60, 1):
    if h == 'nak':
        f.nack(now, 40000)
    else:
        for _ in range(h[0]):
            now += 80
            f.ack(now, h[1], bool(h[2]), 1000, 40000)
    print('  %-22s cwnd %.6f avg %.6f' % (h if h == 'nak' else '%d of %g us%s' % (h[0], h[1], ', marked' if h[2] else ''), f.cwnd, f.avg))
print('quick adapt: 4 packets in 30 us')
f, now = NSCC(100, 12, 1000), 100000
for at, rtt, marked in ((0, 70, 0), (5, 70, 1), (10, 70, 1), (15, 70, 1), (30, 70, 1), (31, 70, 1), (40, 70, 0), (41, 30, 1), (75, 30, 1)):
    f.ack(now + 1000 * at, rtt, bool(marked), 1000, 3000)
    print('  at %d, %d us%s: cwnd %.6f' % (at, rtt, ', marked' if marked else '', f.cwnd))


class RCCC:
    """htsim, oversubscribed_cc.cpp: doCongestionControl, less what it does for trimmed packets, whose hop nobody here knows."""

    def __init__(self):
        self.rate, self.g, self.count = 1.0, 0.0, 0

    def period(self, packets, ecn):
        fraction = ecn / packets if packets else 0.0
        self.g = self.g * 0.5 + 0.5 * fraction
        if self.g > 0.3:
            self.rate *= 1 - (self.g - 0.3) * 0.5
            self.count = 0
        else:
            self.rate += 0.01 * (2 ** self.count if ecn == 0 else 1)
            self.count += 1
        self.rate = min(max(self.rate, 0.01), 1)


print('\n== RCCC: share of the rate after periods of so many packets, so many marked')
f = RCCC()
for packets, ecn in ((10, 0), (10, 3), (10, 10), (10, 10), (8, 8), (0, 0), (20, 1), (20, 0), (20, 0), (20, 0), (20, 0), (20, 1), (7, 7), (7, 7)):
    f.period(packets, ecn)
    print('  %d, %d: %.9f' % (packets, ecn, f.rate))
for _ in range(100):
    f.period(5, 5)
print('  100 of 5, 5: %.9f' % f.rate)

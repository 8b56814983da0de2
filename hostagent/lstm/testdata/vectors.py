#!/usr/bin/env python3
"""The numbers that the tests of the LSTM and of its features expect: python3 vectors.py > vectors.txt

Written from the LSTM-PID thesis alone: section 3.3.1 (equations 2 and 3: smoothed RTT S, feature K, label L), section 3.4.1
(equations 4 to 8, with the candidate and the cell of a standard LSTM, which its equation 6 leaves out) and equation 12 (the
prediction). None of it was made from the Go code. TestVectors (vectors_test.go) runs this file again and compares what it prints.
"""
import math

print('== series: S = 0.2 R + 0.8 S, K = (R - S)/S, L = (next R - S)/S')
rtts = [4.2, 4.4, 5.0, 6.0, 9.0, 7.0]
smoothed = []
for r in rtts:
    smoothed.append(0.2 * r + 0.8 * smoothed[-1] if smoothed else r)
for i, (r, s) in enumerate(zip(rtts, smoothed)):
    label = '%.9f' % ((rtts[i + 1] - s) / s) if i + 1 < len(rtts) else 'none'
    print('R %g: S %.9f K %.9f L %s' % (r, s, (r - s) / s, label))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def lstm(inputs, hidden, w_input, w_recurrent, w_out, b_out):
    """Gates in the order i, f, g (candidate), o; every row of a gate has the same weight, every bias is 0."""
    h, c = [0.0] * hidden, [0.0] * hidden
    for x in inputs:
        z = [w * x + w_recurrent * sum(h) for w in w_input]
        i, f, g, o = sigmoid(z[0]), sigmoid(z[1]), math.tanh(z[2]), sigmoid(z[3])
        c = [f * cell + i * g for cell in c]
        h = [o * math.tanh(cell) for cell in c]
    return w_out * sum(h) + b_out, h[0], c[0]


print('\n== known answer: 16 units, inputs .1 .2 -.1, W_ih .1 .2 .3 .4 by gate, W_hh .01, W_out .05, b_out .01')
out, h, c = lstm([.1, .2, -.1], 16, [.1, .2, .3, .4], .01, .05, .01)
print('out %.12f h %.12f c %.12f' % (out, h, c))
print('prediction at S = 5 us: %.9f us' % ((1 + out) * 5))
print('parameters: %d' % (4 * 16 * (1 + 16) + 2 * 4 * 16 + 16 + 1))

package star

import (
	"math"
	"os"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestPowerTCP compares the example with algorithm 1 of the paper, computed here in the paper's own terms, in seconds
// and bits: two hops, the second with a queue that grows, stays and shrinks.
func TestPowerTCP(t *testing.T) {
	source, err := os.ReadFile("../../examples/controllers/powertcp.star")
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := build(string(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	const gamma, tau = 0.9, 40e-6
	bandwidth := []float64{100e9, 40e9}
	hostBandwidth := 40e9
	most := hostBandwidth * tau
	beta := most / 10
	smooth, cwnd, old, rttEnds := 1.0, most, most, int64(0)
	lowest := most
	var before []cc.INTHop
	sent := []int64{0, 0}
	for i, queue := range []int64{0, 8000, 40_000, 120_000, 120_000, 120_000, 60_000, 0, 0} {
		now := vtime.Time(i+1) * 10 * vtime.Microsecond
		sent[0] += 51_200
		sent[1] += 49_920
		hops := []cc.INTHop{
			{Rate: units.Rate(bandwidth[0]), Departed: now - 2*vtime.Microsecond, TxBytes: sent[0]},
			{Rate: units.Rate(bandwidth[1]), Departed: now - vtime.Microsecond, TxBytes: sent[1], QueueBytes: queue},
		}
		s := &cc.Sample{Now: now, AckSequence: int64(i) * 1000, NextSend: int64(i)*1000 + 3500, Hops: hops}
		c.OnAck(s)
		if before != nil {
			norm, dt := 0.0, 0.0
			for h := range hops {
				b, d := bandwidth[h], (hops[h].Departed - before[h].Departed).Seconds()
				gradient := 8 * float64(hops[h].QueueBytes-before[h].QueueBytes) / d
				mu := 8 * float64(hops[h].TxBytes-before[h].TxBytes) / d
				power := (gradient + mu) * (8*float64(hops[h].QueueBytes) + b*tau)
				if n := power / (b * b * tau); n > norm {
					norm, dt = n, d
				}
			}
			smooth = (smooth*(tau-dt) + norm*dt) / tau
			cwnd = min(most, gamma*(old/smooth+beta)+(1-gamma)*cwnd)
			if s.AckSequence > rttEnds {
				old, rttEnds = cwnd, s.NextSend
			}
		}
		before, lowest = hops, min(lowest, cwnd)
		if want := cwnd / tau; math.Abs(c.Rate()/want-1) > 1e-12 {
			t.Errorf("ACK %d: rate %v, want %v", i, c.Rate(), want)
		}
		if want := cwnd / 8 * 1000 / 1048; math.Abs(float64(c.Window())/want-1) > 1e-4 {
			t.Errorf("ACK %d: window %v, want %v", i, c.Window(), want)
		}
	}
	if lowest > most*0.6 {
		t.Errorf("the least window is %v of %v bits: the queue had no effect", lowest, most)
	}
}

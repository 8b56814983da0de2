package star

import (
	"math"
	"os"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Constants of the tests below, in seconds and bits.
const (
	gamma, tau    = 0.9, 40e-6
	hostBandwidth = 40e9
	most          = hostBandwidth * tau
	beta          = most / 10
)

// buildExample builds an example of examples/controllers.
func buildExample(t *testing.T, name string, set map[string]string) cc.Controller {
	t.Helper()
	source, err := os.ReadFile("../../examples/controllers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := build(string(source), set)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkWindow compares a controller's rate and window with a window of so many bits.
func checkWindow(t *testing.T, ack int, c cc.Controller, cwnd float64) {
	t.Helper()
	if want := cwnd / tau; math.Abs(c.Rate()/want-1) > 1e-12 {
		t.Errorf("ACK %d: rate %v, want %v", ack, c.Rate(), want)
	}
	if want := cwnd / 8 * 1000 / 1048; math.Abs(float64(c.Window())/want-1) > 1e-4 {
		t.Errorf("ACK %d: window %v, want %v", ack, c.Window(), want)
	}
}

// TestPowerTCP compares the example with algorithm 1 of the paper, computed here in the paper's own terms, in seconds
// and bits: two hops, the second with a queue that grows, stays and shrinks. The second case has the floor and the
// target of UpdateRatePower in the simulator of the paper's authors.
func TestPowerTCP(t *testing.T) {
	t.Run("paper", func(t *testing.T) { testPowerTCP(t, nil, 0, 1) })
	t.Run("simulator", func(t *testing.T) {
		testPowerTCP(t, map[string]string{"floor": "0.5", "target": "0.95"}, 0.5, 0.95)
	})
}

func testPowerTCP(t *testing.T, set map[string]string, floor, target float64) {
	c := buildExample(t, "powertcp.star", set)
	bandwidth := []float64{100e9, 40e9}
	smooth, cwnd, old, rttEnds := 1.0, most, most, int64(0)
	lowest, floored := most, false
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
				current := gradient + mu
				if current < floor*b {
					current, floored = floor*b, true
				}
				power := current * (8*float64(hops[h].QueueBytes) + b*tau)
				if n := power / (b * b * tau); n > norm {
					norm, dt = n, d
				}
			}
			smooth = (smooth*(tau-dt) + norm*dt) / tau
			cwnd = min(most, gamma*(old/(smooth/target)+beta)+(1-gamma)*cwnd)
			if s.AckSequence > rttEnds {
				old, rttEnds = cwnd, s.NextSend
			}
		}
		before, lowest = hops, min(lowest, cwnd)
		checkWindow(t, i, c, cwnd)
	}
	if lowest > most*0.6 || floor > 0 && !floored {
		t.Errorf("the least window is %v of %v bits, floored %v: the queue had no effect", lowest, most, floored)
	}
}

// TestThetaPowerTCP compares the example with algorithm 2 of the paper, computed here in the paper's own terms. The
// second case has the constants of UpdateRatePower in the simulator of the paper's authors, which reacts to each ACK.
func TestThetaPowerTCP(t *testing.T) {
	t.Run("paper", func(t *testing.T) { testThetaPowerTCP(t, nil, 0, 1, false) })
	t.Run("simulator", func(t *testing.T) {
		testThetaPowerTCP(t, map[string]string{"floor": "0.5", "target": "1.05", "every_ack": "true"}, 0.5, 1.05, true)
	})
}

func testThetaPowerTCP(t *testing.T, set map[string]string, floor, target float64, everyACK bool) {
	c := buildExample(t, "theta-powertcp.star", set)
	smooth, cwnd, old, rttEnds, last := 1.0, most, most, int64(0), 0.0
	lowest, floored := most, false
	const dt = 10e-6
	for i, rtt := range []vtime.Time{40, 42, 50, 70, 70, 70, 55, 44, 41, 40, 40, 40} {
		rtt *= vtime.Microsecond
		s := &cc.Sample{
			Now: vtime.Time(i+1) * 10 * vtime.Microsecond, RTT: rtt,
			AckSequence: int64(i+1) * 1000, NextSend: int64(i+1)*1000 + 3500,
		}
		c.OnAck(s)
		theta := rtt.Seconds()
		if i > 0 {
			current := (theta-last)/dt + 1
			if current < floor {
				current, floored = floor, true
			}
			smooth = (smooth*(tau-dt) + current*theta/tau*dt) / tau
		}
		last = theta
		ends := s.AckSequence > rttEnds
		if ends || everyACK {
			cwnd = min(most, gamma*(old/(smooth/target)+beta)+(1-gamma)*cwnd)
		}
		if ends {
			old, rttEnds = cwnd, s.NextSend
		}
		lowest = min(lowest, cwnd)
		checkWindow(t, i, c, cwnd)
	}
	if lowest > most*0.8 || floor > 0 && !floored {
		t.Errorf("the least window is %v of %v bits, floored %v: the RTT had no effect", lowest, most, floored)
	}
}

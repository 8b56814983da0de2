package engine

import (
	"fmt"
	"math"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// jain returns Jain's index of fairness: 1 for equal shares, 1/n if one takes all.
func jain(shares []int64) float64 {
	var sum, squares float64
	for _, s := range shares {
		sum += float64(s)
		squares += float64(s) * float64(s)
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// TestFairShares: equal flows into one host share it fairly, under PFC alone and under DCQCN, and leave nothing of it.
func TestFairShares(t *testing.T) {
	const senders = 2
	for _, c := range []struct {
		controller string
		from, to   vtime.Time // the stretch that counts
		fill       float64    // at least this part of the payload that the link can carry
	}{
		{"none", 2 * vtime.Millisecond, 6 * vtime.Millisecond, 0.999},
		{"dcqcn", 20 * vtime.Millisecond, 60 * vtime.Millisecond, 0.9},
	} {
		t.Run(c.controller, func(t *testing.T) {
			l := newLab(t, "rate: 10Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{seed: 1, sw: func(s *switchagent.Settings) {
				if c.controller == "dcqcn" {
					s.ECN = switchagent.Default().ECN
				}
			}})
			env := cc.Env{
				LineRate: 10 * units.Gbps, BaseRTT: 6 * vtime.Microsecond, MTU: mtuBytes,
				LineMTU: lineBytes("ethernet", fullFrame),
			}
			spec, err := cc.Lookup(c.controller)
			if err != nil {
				t.Fatal(err)
			}
			settings, err := cc.Resolve(c.controller, nil, env)
			if err != nil {
				t.Fatal(err)
			}
			for i := range senders {
				l.sendUnder(fmt.Sprintf("h%d", i+1), "h0", 0, 0, func() (cc.Controller, error) { return spec.New(env, settings) })
			}
			before := make([]int64, senders)
			l.Call(c.from, func(vtime.Time) {
				for i := range before {
					before[i] = l.Flows()[i].Delivered()
				}
			})
			l.run(c.to)
			shares := make([]int64, senders)
			sum := int64(0)
			for i := range shares {
				shares[i] = l.Flows()[i].Delivered() - before[i]
				sum += shares[i]
			}
			if j := jain(shares); j < 0.99 {
				t.Errorf("shares %v: Jain's index %.4f", shares, j)
			}
			most := 10e9 / 8 * (c.to - c.from).Seconds() * mtuBytes / float64(env.LineMTU)
			if part := float64(sum) / most; part < c.fill || part > 1.0001 {
				t.Errorf("%.4f of the link was used", part)
			}
			t.Logf("shares %v: Jain's index %.4f; %.4f of the link", shares, jain(shares), float64(sum)/most)
			if c.controller == "none" && l.State().Extras[l.port("s0", "h1")].PausesSent == 0 {
				t.Error("PFC did not act: this case tests nothing")
			}
			if c.controller == "dcqcn" && l.NIC(1).CNPsReceived == 0 {
				t.Error("DCQCN did not act: this case tests nothing")
			}
		})
	}
}

// TestScheduling: two priorities that both want all of a link get what their quanta say, or strictly the higher one
// first.
func TestScheduling(t *testing.T) {
	const window = 300 * vtime.Microsecond
	for _, c := range []struct {
		name    string
		quantum map[int]units.Bytes
		want    float64 // share of priority 3 against 4, in bytes
	}{
		{"equal", map[int]units.Bytes{3: 2000, 4: 2000}, 0.5},
		{"3 to 1", map[int]units.Bytes{3: 6000, 4: 2000}, 0.75},
		{"small quanta", map[int]units.Bytes{3: 100, 4: 400}, 0.2},
		{"strict", nil, 0},
		{"strict 3 over weighted 4", map[int]units.Bytes{4: 2000}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var hosts *hostagent.Settings
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{
				sw: func(s *switchagent.Settings) {
					s.PFC.Priorities = 0 // lossy, with room for everything
					s.LossyLimit = 20 * units.MB
					for p, q := range c.quantum {
						s.Scheduler.Quantum[p] = q
					}
				},
			})
			hosts = l.Engine.hosts
			// Priority 3 comes from h1 and 4 from h2: the second flow starts when the hosts' data priority is another.
			l.send("h1", "h0", 0, 0, 0)
			l.Call(vtime.Nanosecond, func(vtime.Time) { hosts.DataPriority = 4 })
			l.send("h2", "h0", 0, 2*vtime.Nanosecond, 0)
			out := l.port("s0", "h0")
			var before [8]int64
			l.Call(20*vtime.Microsecond, func(vtime.Time) {
				before[3], before[4] = l.TxBytes(out, 3), l.TxBytes(out, 4)
			})
			l.run(20*vtime.Microsecond + window)
			three, four := l.TxBytes(out, 3)-before[3], l.TxBytes(out, 4)-before[4]
			line := int64(40e9 / 8 * window.Seconds())
			if sum := (three + four) * (fullFrame + 24) / fullFrame; sum < line-2*fullFrame || sum > line+2*fullFrame {
				t.Errorf("%d line bytes were sent of %d", sum, line)
			}
			if got := float64(three) / float64(three+four); math.Abs(got-c.want) > 0.01 {
				t.Errorf("priority 3 got %.4f of the link, want %.2f", got, c.want)
			}
		})
	}
}

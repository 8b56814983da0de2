package engine

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// The patent's two scenarios (paragraphs 0099 to 0101, figure 3): a burst into R1 pauses T2, and T2 pauses T0, which F1
// goes through. Then F0 and F2 go to R0. Where that does not congest P2, P1 and P2 turn from undetermined to not
// congested; where it does, P2 turns to congested and P1, which P2's port pauses, is undetermined.
func TestPatentScenarios(t *testing.T) {
	for _, c := range []struct {
		name   string
		rate   units.Rate // of F0 and F2
		p1, p2 uint8      // states in the end
		flow   switchagent.FlowControl
	}{
		{"single", 5 * units.Gbps, ebpf.TCDNonCongested, ebpf.TCDNonCongested, switchagent.FlowPFC},
		{"multi", 25 * units.Gbps, ebpf.TCDUndetermined, ebpf.TCDCongested, switchagent.FlowPFC},
		{"single by credits", 5 * units.Gbps, ebpf.TCDNonCongested, ebpf.TCDNonCongested, switchagent.FlowCBFC},
		{"multi by credits", 25 * units.Gbps, ebpf.TCDUndetermined, ebpf.TCDCongested, switchagent.FlowCBFC},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, `
nodes:
  - {name: T0..T3, kind: switch}
  - {name: S0..S2, kind: host}
  - {name: A0..A14, kind: host}
  - {name: R0..R1, kind: host}
links:
  - {from: T0, to: T2, rate: 40Gbps, delay: 4us}
  - {from: T1, to: T2, rate: 40Gbps, delay: 4us}
  - {from: T2, to: T3, rate: 40Gbps, delay: 4us}
  - {from: S0..S1, to: T0, rate: 40Gbps, delay: 4us}
  - {from: S2, to: T1, rate: 40Gbps, delay: 4us}
  - {from: A0..A14, to: T3, rate: 40Gbps, delay: 4us}
  - {from: R0..R1, to: T3, rate: 40Gbps, delay: 4us}
`, labOptions{sw: func(s *switchagent.Settings) {
				s.ECN = switchagent.Default().ECN
				s.Detector, s.TCD.RED = switchagent.DetectorTCD, true
				s.PFC.Headroom = 100 * units.KB
				s.FlowControl = c.flow
			}})
			const burst = 3 * vtime.Millisecond
			l.dcqcn("S1", "R1")
			for round := range 20 {
				for a := range 15 {
					l.send(fmt.Sprintf("A%d", a), "R1", 64_000, vtime.Time(round)*150*vtime.Microsecond, 0)
				}
			}
			l.send("S0", "R0", 0, burst, c.rate)
			l.send("S2", "R0", 0, burst, c.rate)
			p1, p2, p3 := l.port("T0", "T2"), l.port("T2", "T3"), l.port("T3", "R1")
			state := func(port int) uint8 { return l.state.Extras[port].Detector[3].Ternary }
			l.Call(burst-10*vtime.Microsecond, func(vtime.Time) {
				if state(p3) != ebpf.TCDCongested {
					t.Errorf("P3 is in state %d in the burst", state(p3))
				}
				for i, p := range []int{p1, p2} {
					if r := &l.state.Extras[p]; r.Entered[ebpf.TCDUndetermined] == 0 || r.Entered[ebpf.TCDCongested] != 0 {
						t.Errorf("P%d entered its states %v times in the burst", i+1, r.Entered)
					}
				}
			})
			l.run(8 * vtime.Millisecond)
			if state(p1) != c.p1 || state(p2) != c.p2 {
				t.Errorf("P1 ends in state %d, P2 in %d; want %d and %d", state(p1), state(p2), c.p1, c.p2)
			}
			for i, p := range []int{p1, p2, p3} {
				r := &l.state.Extras[p]
				t.Logf("P%d entered its states %v times, state %d, %d packets CE, T_max %v", i+1, r.Entered, state(p),
					l.state.Ports[p].EcnMarked, vtime.Time(r.T_max))
			}
		})
	}
}

// dcqcn adds an unbounded flow under DCQCN.
func (l *lab) dcqcn(from, to string) {
	l.Helper()
	spec, err := cc.Lookup("dcqcn")
	if err != nil {
		l.Fatal(err)
	}
	env := cc.Env{LineRate: 40 * units.Gbps, BaseRTT: 26 * vtime.Microsecond, MTU: 1000, LineMTU: 1082}
	settings, err := cc.Resolve("dcqcn", nil, env)
	if err != nil {
		l.Fatal(err)
	}
	l.sendUnder(from, to, 0, 0, func() (cc.Controller, error) { return spec.New(env, settings) })
}

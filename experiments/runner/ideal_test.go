package runner

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// TestIdealFCT compares the ideal FCT of a flow of any size with one computed by hand. Past the first few packets, the
// code adds up the middle ones; sizes beyond 64 packets test that.
func TestIdealFCT(t *testing.T) {
	const delay = 1500 * vtime.Nanosecond
	for _, c := range []struct {
		shape    string
		gigabits []int64
	}{
		{"rate: 40Gbps\nstar: {hosts: 2}", []int64{40, 40}},
		{"rate: 100Gbps\nstar: {hosts: 2}", []int64{100, 100}},
		{
			"leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 10Gbps, fabric_rate: 100Gbps}",
			[]int64{10, 100, 100, 10},
		},
		{
			"leafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1, host_rate: 100Gbps, fabric_rate: 25Gbps}",
			[]int64{100, 25, 25, 100},
		},
		{"rate: 25Gbps\nfattree: {k: 2}", []int64{25, 25, 25, 25, 25, 25}},
	} {
		for _, framing := range []string{"ethernet", "ns3"} {
			for _, mtu := range []int64{256, 1000, 4096, 9056} {
				plan, err := spec.Parse("t.yaml", fmt.Appendf(nil, "framing: %s\nmtu: %d\ndelay: %v\n%s", framing, mtu, delay,
					c.shape))
				if err != nil {
					t.Fatal(err)
				}
				path := paths.Forward(plan, plan.Hosts[0], plan.Hosts[1], paths.Ports{Source: 0xc000})
				back := paths.Forward(plan, plan.Hosts[1], plan.Hosts[0], paths.Ports{Source: 0xc000})
				for _, size := range []int64{
					1, 4, 255, mtu - 1, mtu, mtu + 1, 2 * mtu, 3*mtu - 1, 66 * mtu, 67*mtu + 1,
					1_000_000,
				} {
					want := lab.ByHand(framing, mtu, size, c.gigabits, delay)
					if got := measure.IdealFCT(plan, path, back, size); got != want {
						t.Errorf("%s, %s, MTU %d: %d B: %v, by hand %v", c.shape, framing, mtu, size, got, want)
					}
				}
			}
		}
	}
}

// TestLoneFlowIsIdeal checks that a lone flow takes its ideal time in the run's files: slowdown 1.
func TestLoneFlowIsIdeal(t *testing.T) {
	testenv.WholeScenario(t)
	for _, c := range []struct {
		topology string
		gigabits []int64
	}{
		{"{rate: 40Gbps, delay: 1us, star: {hosts: 2}}", []int64{40, 40}},
		{
			"{delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 1, host_rate: 25Gbps, fabric_rate: 100Gbps}}",
			[]int64{25, 100, 100, 25},
		},
	} {
		s := parse(t, `
name: lone
topology: `+c.topology+`
flows:
  - {from: h0, to: h1, size: 1, start: 0us}
  - {from: h0, to: h1, size: 1000, start: 100us}
  - {from: h0, to: h1, size: 2000, start: 200us}
  - {from: h0, to: h1, size: 1000000, start: 300us}
duration: 1ms
drain: true
`)
		for _, controller := range []string{"none", "dcqcn", "dcon"} {
			o := run(t, s, controller, Options{})
			for _, row := range o.table("flows.csv").Rows {
				want := lab.ByHand("ethernet", 1000, testenv.Number(t, row, "size_bytes"), c.gigabits,
					vtime.Microsecond).RoundNanoseconds()
				if testenv.Number(t, row, "fct_ns") != want || testenv.Number(t, row, "ideal_fct_ns") != want ||
					row["slowdown"] != "1.000000" {
					t.Errorf("%s: %v; by hand %d ns", controller, row, want)
				}
			}
			if v := o.Summary.Verdict; v.Status == measure.Fail {
				t.Errorf("%s: %+v", controller, v)
			}
		}
	}
}

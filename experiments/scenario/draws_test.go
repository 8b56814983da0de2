package scenario_test

import (
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestDraws checks that flows of the same tag and ends, of the other direction and of another tag, and QPs of one flow,
// draw ports of their own. Another flow before them changes none. Messages of one connection share its port; other
// connections draw others.
func TestDraws(t *testing.T) {
	const top = "topology: {star: {hosts: 4}, rate: 100Gbps}\ncontrollers: none\nduration: 1ms\n"
	read := func(text string) *scenario.Scenario {
		t.Helper()
		s, err := scenario.Reading{}.Parse("", []byte(top+text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const flows = "{tag: a, from: h0, to: h1, size: 1MB, count: 2, interval: 1us}, {tag: a, from: h1, to: h0, " +
		"size: 1MB}, {tag: b, from: h0, to: h1, size: 1MB}]\n"
	alone, more := read("flows: ["+flows).Draws(1), read("flows: [{tag: first, from: h2, to: h3, size: 1KB}, "+
		flows).Draws(1)
	seen := map[uint64]bool{}
	for flow := range 4 {
		for qp := range 2 {
			seed := alone(flow, qp)
			if seen[seed] {
				t.Errorf("QP %d of flow %d draws as another", qp, flow)
			}
			seen[seed] = true
			if got := more(flow+1, qp); got != seed {
				t.Errorf("QP %d of flow %d: %x, and %x after one more flow", qp, flow, seed, got)
			}
		}
	}
	s := read("workloads: [{tag: sum, collective: {kind: allreduce, algorithm: ring, ranks: h0..h3, size: 1MB}}]\n")
	draws, ports := s.Draws(1), s.PortsOf(1)
	of, messages := map[uint64]bool{}, 0
	for i := range s.Flows {
		if f := &s.Flows[i]; f.Source != s.Flows[0].Source || f.Destination != s.Flows[0].Destination {
			continue
		}
		port, err := ports(i)
		first, _ := ports(0)
		if err != nil || port != first {
			t.Errorf("message %d has %+v, another of its connection %+v; %v", i, port, first, err)
		}
		of[draws(i, 0)] = true
		messages++
	}
	if messages < 6 || len(of) != messages {
		t.Errorf("%d messages of a connection draw in %d ways", messages, len(of))
	}
}

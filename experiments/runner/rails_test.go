package runner

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestRails checks that over rails a ring's flows have their links to themselves, except for the ACKs of incoming
// flows. An ACK takes 84 B of line time beside 1106 B of a full packet (Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4 and
// 24 on the wire each; 1000 of payload, or an AETH of 4). That makes 1.076 times the time alone. On the plain
// leaf-spine two flows of some leaf share an uplink, so at least one of them takes twice that time.
func TestRails(t *testing.T) {
	most := func(name string) (most float64) {
		s, err := scenario.Load(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, s, "dcqcn", Options{}).Summary.Flows.Slowdown.Max
	}
	if got := most("rails"); got < 1.07 || got > 1.08 {
		t.Errorf("over rails a flow takes %.3f times the time alone, want 1.076", got)
	}
	if got := most("rails-plain"); got < 1.9 {
		t.Errorf("over a plain leaf-spine no flow takes more than %.3f times the time alone, want 2 or more", got)
	}
}

// TestRepairsOfSecondPorts checks that retransmissions by the NICs of hosts' second ports are counted like those of the
// first ones.
func TestRepairsOfSecondPorts(t *testing.T) {
	const rails = `
topology: {rail: {rails: 2, groups: 2, hosts_per_group: 2, spines: 2, rate: 10Gbps}}
expect_unused: [pfc, controller]
flows: [{from: h0.2, to: h2.2, size: 1MB}]
duration: 10ms
`
	sum := verdictOf(t, rails, "none", "host.recovery=selective",
		"faults=[{at: 100us, link: \"h0:leaf1\", loss: 5%}, {at: 700us, for: 2ms, link: \"h0:leaf1\", down: true}]")
	if of := sum.Recovery; of == nil || of.Timeouts == 0 || of.Naks == 0 {
		t.Errorf("%+v, want timeouts and NAKs", of)
	}
	sum = verdictOf(t, rails, "none", "switch.load_balancing.mode=spray", "flows.+={from: h1.2, to: h3.2, size: 1MB}")
	if text := strings.Join(sum.Verdict.Notes, "; "); !strings.Contains(text, "packets were reordered: ") ||
		strings.Contains(text, " 0 NAKs") {
		t.Errorf("notes %q, want one of reordered packets", text)
	}
	for reorder, want := range map[string]string{
		"1":  "though they were not lost: with host.selective.reorder 1, ",
		"64": "", "auto": "",
	} {
		sum = verdictOf(t, rails, "none", "switch.load_balancing.mode=spray", "host.recovery=selective",
			"host.selective.reorder="+reorder, "flows.+={from: h1.2, to: h3.2, size: 1MB}")
		if text := strings.Join(sum.Verdict.Messages, "; "); strings.Contains(text, "reordered") != (want != "") ||
			!strings.Contains(text, want) {
			t.Errorf("reorder %s: notes %q, want %q", reorder, text, want)
		}
	}
}

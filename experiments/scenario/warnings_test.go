package scenario

import (
	"strings"
	"testing"
)

// What validate and run warn of, with the numbers; and nothing where nothing is off.
func TestWarnings(t *testing.T) {
	for set, want := range map[string]string{
		"seed=2": "",
		"switch={buffer: 1MB, pfc: {xoff: 320KB}}":                         "s0: XOFF and headroom of every port (5) are 1.6MB + 67.82KB = 1.66782MB, and the shared buffer is 1MB",
		"switch={buffer: 1MB, pfc: {xoff: 2MB}}":                           "s0: pfc.xoff 2MB is above the shared buffer, 1MB: it is full before a PAUSE is sent, and lossless frames are dropped; switch.pfc.xoff must be lower",
		"switch={pfc: {xoff: 100KB, headroom: 5KB}}":                       "s0:h0, s0:h1, s0:h2 and 2 others: pfc.headroom is 5KB, and 13.564KB can be in flight to a port of 40Gbps, 1us",
		"switch={pfc: {xoff: 100KB, priorities: [4]}}":                     "PFC is on priorities [4], which carry nothing: data has priority 3, ACK, NAK and CNP 6: data is lossy",
		"switch={pfc: {xoff: 100KB}, scheduler: {dwrr: {3: 3KB, 4: 1KB}}}": "scheduler.dwrr weighs priorities [3 4], which has no effect",
	} {
		s := mustLoad(t, "incast", set)
		got := strings.Join(Warnings(s, s.Controllers), "\n")
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// ACKs that travel with data leave the control priority to CNPs, and to nothing where no CNP is sent.
func TestWarningsOfACKs(t *testing.T) {
	for _, c := range []struct {
		controller, pfc string
		want            string
	}{
		{"dcqcn", "host={}", ""},
		{"dcqcn", "host={ack_priority: data}", ""},
		{"hpcc", "host={}", ""},
		{"hpcc", "host={ack_priority: data}", "PFC is on priorities [6], which carry nothing: data, ACK and NAK have priority 3; switch.pfc.priorities"},
		{"dcqcn", "host={ack_priority: data, control_priority: 5}", "PFC is on priorities [6], which carry nothing: data, ACK and NAK have priority 3, CNP 5; "},
		{"pcn", "host={ack_priority: data}", ""},
	} {
		s := mustLoad(t, "incast", "switch={pfc: {xoff: 100KB, priorities: [3, 6]}, scheduler: {dwrr: {3: 3KB}}}", c.pfc)
		got := strings.Join(Warnings(s, []string{c.controller}), "\n")
		if pfc, _, _ := strings.Cut(got, "scheduler."); (c.want == "") != (pfc == "") || !strings.HasPrefix(pfc, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.controller, c.pfc, got, c.want)
		}
	}
	// Weights of data and control priority act while both carry packets.
	for controller, want := range map[string]string{
		"dcqcn": "",
		"hpcc": "scheduler.dwrr weighs priorities [3 6], which has no effect: of them only [3] carries packets, and so shares with nobody " +
			"(data, ACK and NAK have priority 3)",
	} {
		s := mustLoad(t, "incast", "switch.scheduler={dwrr: {3: 3KB, 6: 1KB}}", "host.ack_priority=data")
		if got := strings.Join(Warnings(s, []string{controller}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", controller, got, want)
		}
	}
}

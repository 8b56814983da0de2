package experiments

import (
	"strings"
	"testing"
)

// What validate and run warn of, with the numbers; and nothing where nothing is off.
func TestWarnings(t *testing.T) {
	for set, want := range map[string]string{
		"seed=2": "",
		"switch={buffer: 1MB, pfc: {xoff: 320KB}}":                         "s0: XOFF and headroom of every port (5) are 1.6MB + 67.82KB = 1.66782MB, and the shared buffer is 1MB",
		"switch={buffer: 1MB, pfc: {xoff: 2MB}}":                           "s0: pfc.xoff 2MB is above the shared buffer, 1MB",
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

package scenario

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
)

// TestRecoveryThatCannotBe checks that trimming without anything to cut is refused, as are settings without effect
// under a recovery.
func TestRecoveryThatCannotBe(t *testing.T) {
	for set, want := range map[string]string{
		"switch.trim=true": "switch.trim has no effect: it cuts lossy data, but data has priority 3, which is lossless",
		"switch={trim: true, pfc: {priorities: [6]}}":   "trimmed packets use host.control_priority, 6, which is lossless",
		"host={selective: {rto_low: 20us}}":             "selective.rto_low has no effect under recovery go-back-n",
		"host={recovery: selective, nak_interval: 5us}": "nak_interval has no effect under recovery selective",
		"host={recovery: go-back-1}":                    "go-back-n",
	} {
		s, err := Load("incast", []string{set})
		if err == nil {
			err = Check(s, s.Controllers)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
}

// TestCapIsTheLongestPath checks that an automatic cap fills the longest path: at 40 Gb/s six hops of 2 us each way are
// 24 us, plus the frames' own time on them.
func TestCapIsTheLongestPath(t *testing.T) {
	s := mustLoad(t, "irn-fattree")
	own, _, spec, err := s.Under("irn")
	if err != nil {
		t.Fatal(err)
	}
	const packet, ack = 1082, 86 // bytes of line; 1.6 ns a bit of 40 Gb/s is 0.2 ns a byte
	rtt := 24000 + 6*0.2*(packet+ack)
	want := int64(rtt/0.2/packet) + 1
	if got := HostSettings(own, spec.Needs).Selective.Cap; int64(got) != want*1000 {
		t.Errorf("a cap of %v, want %d packets", got, want)
	}
}

// TestReorderTolerance checks the automatic tolerance. On one path it is 1, as in IRN. On several paths it covers, in
// packets, the bandwidth-delay product and the queues of the path's two chosen ports, or three quarters of the cap if
// frames can be dropped. Trimmed packets make gaps meaningless.
//
// The path: 100 Gb/s, 4 links of 1 us each way, at which a packet of 1082 bytes and an ACK of 86 take 0.08 ns a byte:
// 8374 ns, or 96.7 packets.
func TestReorderTolerance(t *testing.T) {
	const lossy = "switch={pfc: {priorities: []}, lossy_limit: 100KB, "
	for _, c := range []struct {
		set  []string
		want int
	}{
		{[]string{"host={recovery: selective}"}, 1},
		{[]string{"host={recovery: selective, selective: {reorder: 7}}"}, 7},
		{[]string{"host={recovery: selective}", "switch={load_balancing: {mode: spray}}"}, 3 * 97},
		{[]string{"host={recovery: selective}", "switch={load_balancing: {mode: flowlet}}"}, 3 * 97},
		{[]string{"host={recovery: selective, entropy: reps}"}, 3 * 97},
		{
			[]string{"host={recovery: selective, selective: {bdp_cap: 0B}}", lossy + "load_balancing: {mode: spray}}"},
			97 + 200,
		},
		{[]string{"host={recovery: selective}", lossy + "load_balancing: {mode: spray}}"}, 97 * 3 / 4},
		{[]string{"host={recovery: selective, entropy: random}", lossy + "trim: true}"}, hostagent.NeverReorder},
	} {
		s := mustLoad(t, "load-balancing", append(c.set, "controllers=[dcqcn]", "expect_unused=[pfc, ecn, controller]")...)
		own, _, spec, err := s.Under("dcqcn")
		if err != nil {
			t.Fatal(err)
		}
		if got := HostSettings(own, spec.Needs).Selective.Reorder; got != c.want {
			t.Errorf("%q: %d, want %d", c.set, got, c.want)
		}
	}
}

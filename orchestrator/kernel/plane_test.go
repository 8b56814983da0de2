//go:build linux

package kernel

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/vtime"
)

// TestPlaneGivesUp: a pass whose frame does not come out, or comes out elsewhere, ends the run with an error that says
// where.
func TestPlaneGivesUp(t *testing.T) {
	l := newRig(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", rigOptions{})
	l.send("h0", "h2", 100_000, 0)
	// What port s0-eth3 forwards to is another interface than the one it says.
	l.State().Ports[l.port("s0", "h2")].FirstPort++
	err := l.Run(vtime.Millisecond, 0, nil)
	if err == nil || !strings.Contains(err.Error(), "frame into s0-eth1 left interface") ||
		!strings.Contains(err.Error(), "(s0-eth3)") {
		t.Errorf("%v", err)
	}
	if got := l.State().Pass.Verdict; got != ebpf.VerdictForward {
		t.Errorf("verdict %d", got)
	}
}

// TestOutboxIsCounted: a frame that the outbox gave and nobody waited for breaks the invariant that the plane's counts
// agree.
func TestOutboxIsCounted(t *testing.T) {
	r := newRig(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", rigOptions{})
	r.send("h0", "h2", 100_000, 0)
	r.run()
	r.plane.out.Taken++
	if broken := r.Check(); len(broken) != 1 || broken[0].Invariant != "the plane's counts agree" ||
		broken[0].Location != "plane" {
		t.Errorf("%v", broken)
	}
}

//go:build linux

package kernel

import (
	"bytes"
	"os"
	"testing"

	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// busy runs all mechanisms: PFC through three switches, RED, CNPs, CNMs and triggers.
func busy(t testing.TB, hooks Hooks, seed uint64, withoutEntry bool) *rig {
	l := newRig(t, "rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}", rigOptions{
		hooks: hooks, seed: seed, burst: true, withoutEntry: withoutEntry, sw: func(s *switchagent.Settings) {
			s.PFC.XOFF, s.PFC.XON, s.ECN = 60_000, 50_000, switchagent.Default().ECN
			s.ECN.PMax, s.CNM.QECN = 0.5, 20_000
		},
	})
	l.send("h0", "h3", 150_000, 0)
	l.send("h1", "h3", 150_000, 3*vtime.Microsecond)
	l.send("h2", "h3", 150_000, 5*vtime.Microsecond)
	l.send("h3", "h0", 150_000, 0)
	l.send("h1", "h2", 100_000, 3*vtime.Microsecond)
	l.run()
	return l
}

// TestHooksAgree: the way the programs are attached does not show in the run.
func TestHooksAgree(t *testing.T) {
	testenv.NeedRoot(t)
	needTCX(t)
	tcx, clsact := busy(t, HooksTCX, 1, false), busy(t, HooksClsact, 1, false)
	if !tcx.plane.Fabric().TCX || clsact.plane.Fabric().TCX {
		t.Fatalf("TCX: %t and %t", tcx.plane.Fabric().TCX, clsact.plane.Fabric().TCX)
	}
	if a, b := tcx.Fingerprint(), clsact.Fingerprint(); a != b {
		t.Errorf("TCX gives %s, clsact %s", a, b)
	}
	if tcx.Totals != clsact.Totals || tcx.Triggers == 0 {
		t.Errorf("TCX: %+v, clsact: %+v", tcx.Totals, clsact.Totals)
	}
	if second := busy(t, HooksClsact, 1, false).Fingerprint(); second != clsact.Fingerprint() {
		t.Errorf("clsact gives %s and %s", clsact.Fingerprint(), second)
	}
	if other := busy(t, HooksClsact, 2, false).Fingerprint(); other == clsact.Fingerprint() {
		t.Error("another seed gives the same fingerprint")
	}
	// That the run has everything in it.
	var pauses, marks, cnms uint64
	for i := range tcx.State().Ports {
		r := &tcx.State().Extras[i]
		pauses, marks, cnms = pauses+r.PausesSent, marks+tcx.State().Ports[i].EcnMarked, cnms+r.CnmsSent
	}
	if pauses == 0 || marks == 0 || cnms == 0 {
		t.Errorf("%d PAUSEs, %d marks, %d CNMs", pauses, marks, cnms)
	}
}

// TestWithoutEntry: where the machine has no TAP interfaces, frames go through a packet socket and the egress hooks of
// ports, and the run does not show it.
func TestWithoutEntry(t *testing.T) {
	with, without := busy(t, HooksClsact, 1, false), busy(t, HooksClsact, 1, true)
	needEntry(t, with.plane)
	if with.plane.Fabric().egress != nil {
		t.Error("the egress hooks of ports have a program")
	}
	if f := without.plane.Fabric(); f.entry != nil || f.egress == nil {
		t.Fatal("frames go through an entry")
	}
	if a, b := with.Fingerprint(), without.Fingerprint(); a != b {
		t.Errorf("fingerprint %s through an entry, %s without", a, b)
	}
	if with.Totals != without.Totals {
		t.Errorf("through an entry: %+v, without: %+v", with.Totals, without.Totals)
	}
}

// TestEntryIsNoProgram: the ring of a live fabric's programs does not get the frames that the engine puts into the
// entry.
func TestEntryIsNoProgram(t *testing.T) {
	p, err := Open(rootPlan(t, "star: {hosts: 2}"), FabricOptions{
		Features: plane.Features{Live: true}, Hooks: HooksClsact,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	needEntry(t, p)
	p.pass.InPort = 0
	sent := bytes.Repeat([]byte{0xab}, wire.MinFrame)
	if err := p.fabric.entry.put(sent); err != nil {
		t.Fatal(err)
	}
	if p.pass.Done != 1 {
		t.Errorf("%d passes, want 1", p.pass.Done)
	}
	// A host's own kernel may have sent a frame, such as a report of its multicast groups.
	for f, ok := p.Receive(); ok; f, ok = p.Receive() {
		if bytes.Contains(f.Data, sent[wire.MinFrame/2:]) {
			t.Errorf("the ring has the frame of the entry: %x", f.Data)
		}
		p.Release()
	}
}

// needEntry skips a test on a machine without TAP interfaces.
func needEntry(t testing.TB, p *Plane) {
	t.Helper()
	if p.fabric.entry != nil {
		return
	}
	if _, err := os.Stat("/dev/net/tun"); err == nil {
		t.Fatal("frames do not go through an entry")
	}
	t.Skip("this machine has no TAP interfaces")
}

// TestAutomaticHooks: TCX for a fabric of a few ports, clsact for one of many.
func TestAutomaticHooks(t *testing.T) {
	testenv.NeedRoot(t)
	needTCX(t)
	for topology, tcx := range map[string]bool{"star: {hosts: 4}": true, "star: {hosts: 5}": false} {
		plan := rootPlan(t, "rate: 40Gbps\ndelay: 1us\n"+topology)
		f, err := NewFabric(plan, FabricOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if f.TCX != tcx {
			t.Errorf("%s: TCX is %t", topology, f.TCX)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

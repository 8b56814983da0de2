//go:build linux

package ebpf_test

import (
	"bytes"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// TestLostFrame: a frame that the wire lost has been marked by the port that it left, and is nothing to the one it was
// for.
func TestLostFrame(t *testing.T) {
	r := newRig(t)
	sw := r.sw()
	sw.EcnMode, sw.EcnPriorities, sw.Profiles[0].EcnKmin, sw.Profiles[0].EcnKmax, sw.EcnPmax =
		ebpf.ECNRED, 1<<lossless, 0, 0, 1<<32
	frame := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0}.frame(t)
	x := r.State.Pass
	x.Trigger, x.OutPort, x.QueueBytes, x.Burst = ebpf.TriggerLost, 1, 1000, 0
	marked := r.port(1).EcnMarked
	_, data := r.run(r.Egress, frame)
	if r.port(1).EcnMarked != marked+1 || bytes.Equal(data, frame) {
		t.Errorf("%d packets marked, frame %x", r.port(1).EcnMarked-marked, data)
	}
	before := r.snapshot()
	x.InPort = 0
	got := r.ingress(data)
	if got.Verdict != ebpf.VerdictDrop || got.Reason != ebpf.ReasonNone || got.Want != 0 || !bytes.Equal(got.data, data) {
		t.Errorf("verdict %d, reason %d", got.Verdict, got.Reason)
	}
	r.unchanged(before)
}

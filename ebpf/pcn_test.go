//go:build linux

package ebpf_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// departure holds the fields of a frame's departure record that detectors of pauses use.
type departure struct {
	onSince uint64 // end of the queue's last OFF period
	packets uint32 // left behind
}

// depart runs the egress pipeline on a frame whose packets left behind are of 1000 B.
func (r *rig) depart(out int, d departure, frame []byte) []byte {
	r.t.Helper()
	r.State.Pass.OnSince, r.State.Pass.QueuePackets = d.onSince, d.packets
	return r.leave(out, d.packets*1000, ebpf.BurstNone, frame)
}

// NP-ECN spares just the packets that a pause's end found in the queue, and marks the others that leave any behind.
func TestNPECN(t *testing.T) {
	r := newRig(t)
	data := roce{in: 0, dst: 1, priority: lossless, ecn: wire.ECT0, payload: 1}.frame(t)
	for _, c := range []struct {
		name  string
		seen  []departure
		marks string // of each departure: "." spared or alone, "x" marked
	}{
		{"never paused", []departure{{0, 0}, {0, 1}, {0, 5}, {0, 0}}, ".xx."},
		// Three were in the queue; two join while they leave, and one that comes later leaves nothing behind.
		{"after a pause", []departure{{7, 2}, {7, 3}, {7, 2}, {7, 1}, {7, 0}, {7, 0}}, "...x.."},
		{"alone at the pause's end", []departure{{7, 0}, {7, 1}, {7, 0}}, ".x."},
		{"marked before the pause", []departure{{0, 4}, {9, 3}, {9, 2}, {9, 1}, {9, 3}}, "x...."},
		{
			"a second pause before all had left",
			[]departure{{7, 3}, {7, 4}, {8, 4}, {8, 4}, {8, 4}, {8, 4}, {8, 4}, {8, 4}},
			".......x",
		},
		{"a pause that found fewer", []departure{{7, 9}, {8, 0}, {8, 1}}, "..x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.t = t
			r.reset()
			r.sw().EcnMode = ebpf.ECNPCN
			got, count := "", uint64(0)
			for _, d := range c.seen {
				switch left := r.depart(1, d, data); {
				case bytes.Equal(left, data):
					got += "."
				case bytes.Equal(left, ce(data)):
					got += "x"
					count++
				default:
					t.Fatalf("left as %x", left)
				}
			}
			if got != c.marks {
				t.Errorf("marks %s, want %s", got, c.marks)
			}
			if p := r.port(1); p.EcnMarked != count || p.Draws != 0 {
				t.Errorf("%d marks counted of %d, %d random numbers drawn", p.EcnMarked, count, p.Draws)
			}
		})
	}
}

// Packets that cannot be marked have waited all the same; priorities do not mix, nor do ports.
func TestNPECNCountsEveryPacket(t *testing.T) {
	r := newRig(t)
	r.sw().EcnMode, r.sw().EcnPriorities = ebpf.ECNPCN, 1<<lossless|1<<4
	frame := func(priority uint8, ecn wire.ECN) []byte {
		return roce{in: 0, dst: 1, priority: priority, ecn: ecn, payload: 1}.frame(t)
	}
	data := frame(lossless, wire.ECT0)
	unmarked := func(out int, d departure, f []byte) {
		t.Helper()
		if got := r.depart(out, d, f); !bytes.Equal(got, f) {
			t.Fatalf("left as %x", got)
		}
	}
	unmarked(1, departure{5, 2}, frame(lossless, wire.NotECT))
	unmarked(1, departure{5, 2}, frame(lossless, wire.CE))
	unmarked(1, departure{5, 2}, data)
	if got := r.depart(1, departure{6, 1}, frame(4, wire.ECT1)); !bytes.Equal(got, frame(4, wire.ECT1)) {
		t.Fatal("the other priority's pause spares its own")
	}
	if got := r.depart(2, departure{0, 1}, data); !bytes.Equal(got, ce(data)) {
		t.Fatal("another port was never paused")
	}
	if got := r.depart(1, departure{5, 1}, data); !bytes.Equal(got, ce(data)) {
		t.Fatal("all that waited have left")
	}
	unmarked(1, departure{5, 1}, frame(2, wire.ECT0)) // a priority that is not to be marked
	unmarked(1, departure{5, 1}, frame(lossless, wire.NotECT))
	if p := r.port(1); p.EcnMarked != 1 {
		t.Errorf("%d marks counted", p.EcnMarked)
	}
	before := r.copies()
	pfc := make([]byte, wire.PFCLen)
	wire.PutPause(pfc, portMAC(1), lossless, 0xffff)
	unmarked(1, departure{8, 3}, pfc) // has waited for nobody
	if !slices.Equal(before, r.copies()) {
		t.Error("a PFC frame moved a register")
	}
}

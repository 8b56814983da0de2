package hostagent

import (
	"runtime"
	"testing"
)

// TestEndedFlowsAreSmall: an ended flow keeps its counters, but not its controller (this one has 100 samples), the
// packets in flight, or its header.
func TestEndedFlowsAreSmall(t *testing.T) {
	const flows, size = 200, 100 * mtu
	p := newPair(t, nil)
	senders, receivers := make([]*Sender, flows), make([]*Receiver, flows)
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for i := range flows {
		senders[i], receivers[i] = p.start(size, newRecording())
		for len(p.done) == i {
			p.to.Receive(p.now, whole(p.next()))
			p.answers()
		}
		p.to.Forget(uint32(i + 1))
		clear(p.armed)
	}
	if each := (heap() - before) / flows; each > 1500 {
		t.Errorf("%d bytes are kept of each flow", each)
	}
	for i := range flows {
		if s, r := senders[i], receivers[i]; s.Acked() != size || r.Delivered != size || s.Rate() != line {
			t.Errorf("flow %d: %d acknowledged, %d delivered, rate %g", i, s.Acked(), r.Delivered, s.Rate())
		}
	}
}

//go:build linux

package kernel

import (
	"errors"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
)

// TestTapOfAQuietWire: frames that programs on a host send pass the same interface as frames on the wire into it. A tap
// must neither show them nor lose the wire's frames because of them.
func TestTapOfAQuietWire(t *testing.T) {
	const packets = 3000
	l := newRig(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}",
		rigOptions{host: func(h *hostagent.Settings) { h.AckEvery = 1 << 20 }})
	watch := func(into int) *[]wire.Packet {
		seen := new([]wire.Packet)
		if err := l.plane.Tap(into, func(frame []byte) {
			var p wire.Packet
			if err := wire.Parse(slices.Clone(frame), &p); err != nil {
				t.Errorf("frame into port %d: %v", into, err)
			}
			*seen = append(*seen, p)
		}); err != nil {
			t.Fatal(err)
		}
		return seen
	}
	quiet, busy := watch(l.port("s0", "h1")), watch(l.port("h1", "s0"))
	h1 := &l.plan.Ports[l.port("h1", "s0")]
	err := In(int(l.plane.fabric.devices[h1.Node]), func() error {
		program, err := newInjector()
		if err != nil {
			return err
		}
		for range 100 {
			err = errors.Join(err, program.send(fill.InnerIfindex(h1), make([]byte, 60)))
		}
		return errors.Join(err, program.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	l.send("h0", "h1", packets*int64(l.plan.MTU), 0)
	l.run()
	if len(*quiet) != 1 || (*quiet)[0].Kind != wire.KindAck || (*quiet)[0].PSN != packets-1 {
		t.Errorf("%d frames were seen on the wire from h1, want the one ACK", len(*quiet))
	}
	if len(*busy) != packets || (*busy)[0].Kind != wire.KindData {
		t.Errorf("%d frames were seen on the wire to h1, want %d", len(*busy), packets)
	}
}

//go:build linux

package orchestrator

import (
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
)

// TestTapOfAQuietWire: what leaves by a port goes through the same interface as what is on the wire into it; a tap must
// neither show it nor lose the wire's few frames to it.
func TestTapOfAQuietWire(t *testing.T) {
	const packets = 3000
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{host: func(h *hostagent.Settings) { h.AckEvery = 1 << 20 }})
	quiet, busy := l.watch(l.port("s0", "h1")), l.watch(l.port("h1", "s0"))
	l.send("h0", "h1", packets*mtuBytes, 0, 0)
	l.run(0)
	if len(*quiet) != 1 || (*quiet)[0].Kind != wire.KindAck || (*quiet)[0].PSN != packets-1 {
		t.Errorf("%d frames were seen on the wire from h1, want the one ACK", len(*quiet))
	}
	if len(*busy) != packets || (*busy)[0].Kind != wire.KindData {
		t.Errorf("%d frames were seen on the wire to h1, want %d", len(*busy), packets)
	}
}

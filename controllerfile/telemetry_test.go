package controllerfile

import (
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// hop returns what a packet carries: it wraps.
func hop(rate units.Rate, departed vtime.Time, sent, queued int64) cc.INTHop {
	return wire.ParseINTSlot(cc.INTHop{Rate: rate, Departed: departed, TxBytes: sent, QueueBytes: queued}.Slot())
}

// TestTelemetry: times and bytes go on where the format wraps them, and what has changed is since the last ACK of the
// same path.
func TestTelemetry(t *testing.T) {
	const rate, us, ms = 40 * units.Gbps, vtime.Microsecond, vtime.Millisecond
	var tel Telemetry
	for i, c := range []struct {
		name         string
		path         uint16
		at           vtime.Time // departure; the ACK arrives 10 us later
		rate         units.Rate
		sent, queued int64
		rtt          vtime.Time
		want         Hop
	}{
		{"the first", 1, 5 * ms, rate, 1280, 800, 0, Hop{40e9, 5e9, 1280, 800, 0, 0, 0}},
		{"10 us later", 1, 5010 * us, rate, 1280 + 51200, 8800, 0, Hop{40e9, 5.01e9, 52480, 8800, 1e7, 51200, 6.4e9}},
		{"another path", 2, 5011 * us, rate, 6400, 0, 0, Hop{40e9, 5.011e9, 6400, 0, 0, 0, 0}},
		{"the first path again", 1, 5020 * us, rate, 104960, 800, 0, Hop{40e9, 5.02e9, 104960, 800, 1e7, 52480, -6.4e9}},
		{"a packet that was overtaken", 1, 5015 * us, rate, 78720, 0, 0, Hop{40e9, 5.015e9, 78720, 0, 0, 0, 0}},
		{"time wraps", 1, 25020 * us, rate, 50e6, 800, 0, Hop{40e9, 25.02e9, 5e7 / 128 * 128, 800, 20e9, 5e7/128*128 - 104960, 0}},
		{"bytes wrap", 1, 45 * ms, rate, 140e6, 800, 0, Hop{40e9, 45e9, 140e6 / 128 * 128, 800, 19.98e9, (140e6/128 - 5e7/128) * 128, 0}},
		{"bytes may have wrapped twice", 1, 72 * ms, rate, 150e6, 0, 0, Hop{40e9, 72e9, 150e6 / 128 * 128, 0, 0, 0, 0}},
		{"after it", 1, 72010 * us, rate, 150e6 + 128e3, 0, 0, Hop{40e9, 72.01e9, 150e6/128*128 + 128e3, 0, 1e7, 128e3, 0}},
		{"an RTT longer than the wrap", 1, 72020 * us, rate, 150e6 + 256e3, 0, 17 * ms, Hop{40e9, 72.02e9, 150e6/128*128 + 256e3, 0, 0, 0, 0}},
		{"a rate without a code", 3, 80 * ms, 7 * units.Gbps, 128, 0, 0, Hop{0, 80e9, 128, 0, 0, 0, 0}},
		{"after it, in time", 3, 80100 * us, 7 * units.Gbps, 256, 0, 0, Hop{0, 80.1e9, 256, 0, 1e8, 128, 0}},
		{"after it, too late", 3, 80300 * us, 7 * units.Gbps, 384, 0, 0, Hop{0, 80.3e9, 384, 0, 0, 0, 0}},
		{"a queue longer than the format's", 4, 81 * ms, rate, 0, 6e6, 0, Hop{40e9, 81e9, 0, wire.INTQueueMost, 0, 0, 0}},
	} {
		got := tel.Read(&cc.Sample{
			Now: c.at + 10*us + 123, RTT: c.rtt, PathID: c.path,
			Hops: []cc.INTHop{hop(c.rate, c.at, c.sent, c.queued)},
		})
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%d, %s: %+v, want %+v", i, c.name, got, c.want)
		}
	}
	for id := range uint16(mostPaths) {
		tel.Read(&cc.Sample{Now: 90 * ms, PathID: 100 + id, Hops: make([]cc.INTHop, 1)})
	}
	if got := tel.Read(&cc.Sample{Now: 90 * ms, PathID: 1, Hops: []cc.INTHop{hop(rate, 90*ms, 5e6, 0)}}); got[0].Elapsed != 0 ||
		len(tel.paths) != mostPaths {
		t.Errorf("%d paths, after as many others %+v", len(tel.paths), got[0])
	}
}

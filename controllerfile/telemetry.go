package controllerfile

import (
	"cmp"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// Hop holds one switch's telemetry about the port that an acknowledged packet left by. Its numbers do not wrap, unlike
// those of the format (cc.Sample.Hops). The last three fields compare it with the flow's previous ACK on the same path.
// These fields are 0 if there is no previous ACK, if its packet did not leave the port earlier, or if a counter may
// have wrapped more than once between the two.
type Hop struct {
	Rate       float64 // line rate in b/s; 0 if the format cannot represent it
	Departed   float64 // departure of the packet in ps, a multiple of 1 ns
	TxBytes    float64 // bytes sent by the port, in steps of 128; it starts below cc.INTTxWrap on each path
	QueueBytes float64 // bytes that the packet left behind, in steps of 80; at most wire.INTQueueMost

	Elapsed       float64 // time since the departure of the previous packet, in ps
	TxDelta       float64 // bytes sent by the port in that time
	QueueGradient float64 // growth of the queue in that time, in b/s; negative if it shrinks
}

// HopFields lists the fields as programs name them, in the order of Hop.Numbers.
var HopFields = [...]string{"rate", "departed", "tx_bytes", "queue_bytes", "elapsed", "tx_delta", "queue_gradient"}

// Numbers returns the fields.
func (h *Hop) Numbers() [len(HopFields)]float64 {
	return [...]float64{h.Rate, h.Departed, h.TxBytes, h.QueueBytes, h.Elapsed, h.TxDelta, h.QueueGradient}
}

// mostPaths limits the paths of a flow whose last ACK is kept. A flow of packet spraying alternates between paths.
const mostPaths = 8

// Telemetry holds the telemetry of a flow's last ACK on each of its recent paths.
type Telemetry struct {
	paths []pathTelemetry // the most recent first
	hops  [wire.INTHops]Hop
}

// pathTelemetry holds the latest values of a path's hops.
type pathTelemetry struct {
	id    uint16
	count int
	hops  [wire.INTHops]hopState
}

type hopState struct {
	departed vtime.Time
	sent     int64 // unwrapped
	queued   int64
}

// Read returns the hops of an ACK, which are valid until the next call. Call it for each ACK of the flow, in order.
func (t *Telemetry) Read(s *cc.Sample) []Hop {
	n := min(len(s.Hops), wire.INTHops)
	path, known := t.path(s.PathID, n)
	for i := range n {
		h, last := &s.Hops[i], &path.hops[i]
		at := departed(s.Now, h.Departed)
		sent := h.TxBytes
		if known {
			sent = unwrapped(h.TxBytes, last.sent, at < last.departed)
		}
		hop := Hop{Rate: float64(h.Rate), Departed: float64(at), TxBytes: float64(sent), QueueBytes: float64(h.QueueBytes)}
		// A packet of an earlier departure arrives late: it neither compares with the later one nor replaces it.
		if !known || at > last.departed {
			if elapsed := at - last.departed; known && s.RTT < cc.INTTimeWrap && wrapsAtMostOnce(hop.Rate, elapsed) {
				hop.Elapsed, hop.TxDelta = float64(elapsed), float64(sent-last.sent)
				hop.QueueGradient = float64(h.QueueBytes-last.queued) * 8e12 / float64(elapsed)
			}
			*last = hopState{at, sent, h.QueueBytes}
		}
		t.hops[i] = hop
	}
	return t.hops[:n]
}

// path moves a path to the front, and reports whether it has values.
func (t *Telemetry) path(id uint16, hops int) (path *pathTelemetry, known bool) {
	i := 0
	for i < len(t.paths) && (t.paths[i].id != id || t.paths[i].count != hops) {
		i++
	}
	known = i < len(t.paths)
	if !known {
		if len(t.paths) < mostPaths {
			t.paths = append(t.paths, pathTelemetry{})
		}
		i = len(t.paths) - 1 // a new one, or the one that was not used for the longest time
	}
	found := t.paths[i]
	copy(t.paths[1:], t.paths[:i])
	if !known {
		found = pathTelemetry{id: id, count: hops}
	}
	t.paths[0] = found
	return &t.paths[0], known
}

// departed returns the latest time, up to now, that a wrapped departure can stand for.
func departed(now, wrapped vtime.Time) vtime.Time {
	now -= now % vtime.Nanosecond
	age := (now - wrapped) % cc.INTTimeWrap
	if age < 0 {
		age += cc.INTTimeWrap
	}
	return now - age
}

// unwrapped returns the count of bytes that a wrapped count stands for: the one nearest to last, at or below it if the
// count is earlier, else at or above it.
func unwrapped(wrapped, last int64, earlier bool) int64 {
	after := (wrapped - last) % cc.INTTxWrap
	if after < 0 {
		after += cc.INTTxWrap
	}
	if earlier && after > 0 {
		after -= cc.INTTxWrap
	}
	return last + after
}

// wrapsAtMostOnce reports whether a port's count of bytes wraps at most once in the elapsed time.
func wrapsAtMostOnce(rate float64, elapsed vtime.Time) bool {
	rate = cmp.Or(rate, MostRate)
	return rate*float64(elapsed)/8e12 < cc.INTTxWrap
}

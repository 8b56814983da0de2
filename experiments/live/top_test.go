//go:build linux

package live

import (
	"strings"
	"testing"
	"time"
)

// TestTop compares two snapshots, 2 ms of virtual time apart: the port with the longer queue comes first, idle ports
// are left out, and rates are differences over those 2 ms.
func TestTop(t *testing.T) {
	t.Parallel()
	class := func(queue, buffered uint64, paused bool, ns int64) []ClassSnapshot {
		return []ClassSnapshot{{Priority: 3, QueueBytes: queue, BufferedBytes: buffered, Paused: paused, PausedNS: ns}}
	}
	before := &Snapshot{
		Clock: Clock{VirtualNS: 1e6},
		Ports: []PortSnapshot{
			{Port: "a-eth1", Peer: "x", Up: true, TxBytes: 1000, BusyNS: 5, Classes: class(0, 0, false, 0)},
			{Port: "b-eth1", Peer: "y", Up: true, PausesSent: 4, PausesReceived: 1, Classes: class(0, 0, false, 1e5)},
			{Port: "c-eth1", Peer: "z", Up: true},
			{Port: "d-eth1", Peer: "z", Up: true},
		},
		Flows: []FlowSnapshot{{Flow: 7, DeliveredBytes: 1_000_000}},
	}
	now := &Snapshot{
		Fabric: "lab", Clock: Clock{VirtualNS: 3e6, Slowdown: 100}, OpenFlows: 2, Deadlock: "a waits for b",
		Ports: []PortSnapshot{
			{Port: "a-eth1", Peer: "x", Up: true, TxBytes: 1_001_000, BusyNS: 1_000_005, Classes: class(1000, 0, false, 0)},
			{
				Port: "b-eth1", Peer: "y", Up: true, PausesSent: 8, PausesReceived: 2, ECNMarks: 6,
				Classes: class(50_000, 2000, true, 6e5),
			},
			{Port: "c-eth1", Peer: "z", Up: true},
			{Port: "d-eth1", Peer: "z"},
		},
		Flows: []FlowSnapshot{
			{Flow: 7, From: "x", To: "y", SizeBytes: 10_000_000, DeliveredBytes: 2_000_000, RateBPS: 5e9, RTTNS: 12_000},
			{Flow: 8, From: "y", To: "x", SizeBytes: 10_000_000, DeliveredBytes: 500_000, RateBPS: 1e9},
		},
	}
	var out strings.Builder
	NewTop(before, now).Write(&out, 40)
	var got [][]string
	for _, line := range strings.Split(out.String(), "\n") {
		got = append(got, strings.Fields(line))
	}
	for i, want := range []string{
		"lab: virtual time 3ms, slow-down 100; event latency 0s (p50), 0s (p99); busy 0.0 %; 2 flows open",
		"DEADLOCK: a waits for b",
		"port to queue ingress paused of time PAUSE/s out in marks/s tx use",
		"b-eth1 y 50KB 2KB 3 25% 2K 500 3K 0bps 0%",
		"a-eth1 x 1KB 0B 0% 0 0 0 4Gbps 50%",
		"d-eth1 z 0B 0B 0% 0 0 0 0bps down",
		"",
		"flow from to delivered of rate goodput RTT",
		"7 x y 2MB 10MB 5Gbps 4Gbps 12us",
		"8 y x 500KB 10MB 1Gbps 2Gbps 0s",
	} {
		if line := strings.Join(got[i], " "); line != want {
			t.Errorf("line %d is\n%s\nwant\n%s", i, line, want)
		}
	}
	out.Reset()
	NewTop(before, now).Write(&out, 8)
	if n := strings.Count(out.String(), "\n"); n > 8 {
		t.Errorf("%d lines where there is room for 8:\n%s", n, &out)
	}
}

// TestSlowReader checks that a reader that is too slow loses events, and is notified how many before its next event, or
// at the end.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	r := &reader{events: make(chan Event, 3)}
	offer := func(from, n int) {
		for i := range n {
			r.offer(Event{TimeNS: int64(from + i), Wall: time.Unix(0, 0), Kind: EventPause})
		}
	}
	offer(0, 5) // 3 and 4 are lost
	for want := range int64(2) {
		if e := <-r.events; e.TimeNS != want {
			t.Fatalf("event %d, want %d", e.TimeNS, want)
		}
	}
	offer(5, 1)
	offer(6, 2) // are lost
	<-r.events  // 2
	if e := <-r.events; e.Kind != EventMissed || e.Count != 2 || e.TimeNS != 5 {
		t.Fatalf("got %+v, want a notice of 2 events", e)
	}
	if e := <-r.events; e.TimeNS != 5 {
		t.Fatalf("got %+v", e)
	}
	r.end(Event{TimeNS: 9, Kind: EventVerdict})
	if _, more := <-r.events; more {
		t.Error("more events than there were")
	}
	if len(r.last) != 2 || r.last[0].Count != 2 || r.last[1].Kind != EventVerdict {
		t.Errorf("at the end %+v", r.last)
	}
	few := &reader{events: make(chan Event, 3), kinds: []string{EventResume}}
	few.offer(Event{Kind: EventPause})
	few.offer(Event{Kind: EventResume})
	if e := <-few.events; e.Kind != EventResume || len(few.events) != 0 {
		t.Errorf("got %+v", e)
	}
}

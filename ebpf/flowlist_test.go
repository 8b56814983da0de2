//go:build linux

package ebpf_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

// collidingFlows returns groups of flows with one CRC-16 id, to different hosts.
func collidingFlows(t testing.TB, groups int) (flows []roce) {
	t.Helper()
	byID := map[uint16][]roce{}
	for _, dst := range []int{0, 1, 2, 6} {
		for src := range rigHosts {
			for sport := range uint16(256) {
				p := roce{src: src, dst: dst, sport: sport, priority: lossless, ecn: wire.ECT0, payload: 1}
				byID[p.id()] = append(byID[p.id()], p)
			}
		}
	}
	for id := range 1 << 16 {
		if g := byID[uint16(id)]; len(g) > 1 && g[0].dst != g[len(g)-1].dst {
			flows = append(flows, g...)
			if groups--; groups == 0 {
				return flows
			}
		}
	}
	t.Fatal("not enough collisions")
	return nil
}

// Random arrivals and departures of many flows, some of which share an entry, against a model in plain Go: the lists of
// the egress ports, N, the packets of each entry, and M of each ingress port.
func TestFlowLists(t *testing.T) {
	r := newRig(t)
	flows := collidingFlows(t, 4)
	for i := range uint16(8) {
		flows = append(flows, roce{src: 1, dst: []int{0, 1, 2, 6}[i%4], sport: 1000 + i, priority: lossless, payload: 1})
	}
	t.Logf("%d flows", len(flows))
	type packet struct {
		roce
		out int
	}
	type entry struct {
		queued, ingress, egress int
		seen                    vtime.Time
	}
	rapid.Check(t, func(t *rapid.T) {
		r.reset()
		r.sw().Cnm, r.sw().Q_cnm = 1, 1<<40
		var queued []packet
		entries := map[uint32]*entry{}
		var lists [rigSwitch0][]uint32 // the latest first
		// For each ingress port, when its period of T began, and the egress ports of its packets in it and in the one before.
		var periods [rigSwitch0]struct {
			start       vtime.Time
			now, before map[int]bool
		}
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			if len(queued) > 0 && rapid.IntRange(0, 99).Draw(t, "release") < 48 {
				i := rapid.IntRange(0, len(queued)-1).Draw(t, "which")
				p := queued[i]
				queued = slices.Delete(queued, i, i+1)
				r.release(p.in, p.out, lossless, wire.V4.DataLen(wire.OpWriteMiddle, 1), p.entry()+1)
				e := entries[p.entry()]
				if e.queued--; e.queued == 0 {
					at := slices.Index(lists[e.egress], p.entry())
					lists[e.egress] = slices.Delete(lists[e.egress], at, at+1)
				}
			} else {
				r.after(rapid.SampledFrom([]vtime.Time{
					1, 1, 1, 20 * vtime.Microsecond, 120 * vtime.Microsecond,
					300 * vtime.Microsecond,
				}).Draw(t, "later"))
				p := packet{roce: rapid.SampledFrom(flows).Draw(t, "flow")}
				p.in = rapid.IntRange(0, rigSwitch0-1).Draw(t, "in")
				p.out = int(rigGroups[p.dst][0])
				if got := r.enter(p.in, p.frame(r.t)); got.Flow != p.entry()+1 || got.Egress != uint32(p.out) {
					t.Fatalf("entry %d, port %d; want %d, %d", got.Flow, got.Egress, p.entry()+1, p.out)
				}
				queued = append(queued, p)
				m := &periods[p.in]
				if age := r.now() - m.start; age >= 120*vtime.Microsecond {
					m.before, m.now, m.start = m.now, nil, r.now()
					if age >= 240*vtime.Microsecond {
						m.before = nil
					}
				}
				if m.now == nil {
					m.now = map[int]bool{}
				}
				m.now[p.out] = true
				e := entries[p.entry()]
				if e == nil {
					e = &entry{}
					entries[p.entry()] = e
				}
				if e.queued++; e.queued == 1 {
					e.egress = p.out
					lists[p.out] = slices.Insert(lists[p.out], 0, p.entry())
				}
				e.ingress, e.seen = p.in, r.now()
			}

			for id, e := range entries {
				f := &r.State.Flows[id]
				if f.Queued != uint32(e.queued) || f.Ingress != uint32(e.ingress) || f.Mac != peerMAC(e.ingress) ||
					f.LastSeen != uint64(e.seen) || e.queued > 0 && f.Egress != uint32(e.egress) ||
					e.queued == 0 && f.Next|f.Previous != 0 {
					t.Fatalf("entry %#x is %+v, want %+v", id, f, e)
				}
			}
			for out, want := range lists {
				var got []uint32
				previous := uint32(0)
				for at := r.port(out).FlowHead; at != 0 && len(got) <= len(want); at = r.State.Flows[at-1].Next {
					if f := &r.State.Flows[at-1]; f.Previous != previous {
						t.Fatalf("port %d: entry %#x has %d before it, want %d", out, at-1, f.Previous, previous)
					}
					previous = at
					got = append(got, at-1)
				}
				if !slices.Equal(got, want) || r.port(out).Flows != uint32(len(want)) {
					t.Fatalf("port %d lists %v, N = %d; want %v", out, got, r.port(out).Flows, want)
				}
			}
			for in, m := range periods {
				if p := r.port(in); p.Fanout != uint32(len(m.now)) || p.FanoutBefore != uint32(len(m.before)) {
					t.Fatalf("port %d: packets for %d egress ports, %d before; want %v, %v", in, p.Fanout, p.FanoutBefore, m.now,
						m.before)
				}
			}
		}
		for _, p := range queued {
			r.release(p.in, p.out, lossless, wire.V4.DataLen(wire.OpWriteMiddle, 1), p.entry()+1)
		}
		for i := range rigSwitch0 {
			if p := r.port(i); each(&p.Class, buffered) != [8]uint64{} || p.Flows != 0 || p.FlowHead != 0 {
				t.Fatalf("port %d is not empty: %+v", i, p)
			}
		}
		if r.sw().Used != 0 {
			t.Fatalf("%d bytes used at the end", r.sw().Used)
		}
	})
}

package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

func newREPS() *entropies {
	return newEntropies(EntropyREPS, 17)
}

// ports returns those of the next packets.
func (e *entropies) ports(n int) (all []uint16) {
	for range n {
		all = append(all, e.next())
	}
	return all
}

func TestEntropyOfFlows(t *testing.T) {
	if newEntropies(EntropyFlow, 50_000) != nil {
		t.Error("a flow that keeps its port has others")
	}
	e := newEntropies(EntropyRandom, 50_000)
	e.answered(0, 7, true)
	e.failed(0)
	seen := map[uint16]bool{}
	for _, p := range e.ports(1000) {
		if p < wire.MinEntropyPort {
			t.Fatalf("port %d", p)
		}
		seen[p] = true
	}
	// Of 1000 of 16384 numbers about 970 differ; that less than 930 do is 7 standard deviations away.
	if len(seen) < 930 {
		t.Errorf("%d different ports of 1000", len(seen))
	}
	if slices.Equal(newREPS().ports(5), newEntropies(EntropyREPS, 50_000).ports(5)) {
		t.Error("two flows have the same ports")
	}
}

// A port of the cache is used once more, the oldest first, and none that came back with a mark.
func TestREPSRecycles(t *testing.T) {
	e := newREPS()
	for _, p := range e.ports(3) {
		if p < wire.MinEntropyPort {
			t.Errorf("port %d of an empty cache", p)
		}
	}
	for i, good := range []bool{true, false, true, true} {
		e.answered(0, uint16(i+1), good)
	}
	if got := e.ports(3); !slices.Equal(got, []uint16{1, 3, 4}) {
		t.Errorf("%v, want 1, 3, 4", got)
	}
	if p := e.next(); p < wire.MinEntropyPort {
		t.Errorf("port %d, which has been used, once more", p)
	}
	// Of more than eight the last eight are there.
	for i := range uint16(11) {
		e.answered(0, i+1, true)
	}
	if got := e.ports(8); !slices.Equal(got, []uint16{4, 5, 6, 7, 8, 9, 10, 11}) {
		t.Errorf("%v, want 4 to 11", got)
	}
	e.answered(0, 20, true)
	if got := e.next(); got != 20 {
		t.Errorf("port %d, want 20", got)
	}
}

// After a timeout the ports of the cache alone are used, in turn, and after 10 ms 16 packets explore.
func TestREPSFreezes(t *testing.T) {
	e := newREPS()
	for i := range uint16(3) {
		e.answered(0, i+1, true)
	}
	e.next()
	e.failed(vtime.Millisecond)
	if got := e.ports(7); !slices.Equal(got, []uint16{1, 2, 3, 1, 2, 3, 1}) {
		t.Errorf("frozen: %v", got)
	}
	e.answered(2*vtime.Millisecond, 9, true) // joins them
	if got := e.ports(4); !slices.Equal(got, []uint16{2, 3, 9, 1}) {
		t.Errorf("frozen, with another: %v", got)
	}
	e.answered(11*vtime.Millisecond, 30, true)
	if !e.frozen {
		t.Fatal("thawed after 10 ms, not more")
	}
	e.answered(11*vtime.Millisecond+1, 31, true)
	for i := range 16 {
		if p := e.next(); p < wire.MinEntropyPort {
			t.Errorf("packet %d explores port %d", i, p)
		}
		if i == 3 {
			e.failed(12 * vtime.Millisecond) // what it explores may be lost
		}
	}
	if got := e.next(); e.frozen || got != 31 {
		t.Errorf("port %d, frozen %v; want 31", got, e.frozen)
	}
	// Without anything in the cache there is nothing to freeze to.
	e = newREPS()
	e.failed(0)
	if p := e.next(); p < wire.MinEntropyPort {
		t.Errorf("port %d", p)
	}
}

// TestREPSCacheIsOfEight: frozen, a sender goes through the last eight ports that came back, and through no more.
func TestREPSCacheIsOfEight(t *testing.T) {
	e := newREPS()
	for i := range uint16(9) {
		e.answered(0, i+1, true)
	}
	e.failed(0)
	if got := e.ports(9); !slices.Equal(got, []uint16{9, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("frozen: %v", got)
	}
}

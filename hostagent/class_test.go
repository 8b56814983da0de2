package hostagent

import (
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// TestChoose: priorities without a quantum come first, the highest of them; others have shares in proportion to their
// quanta, also of packets of different sizes.
func TestChoose(t *testing.T) {
	n := &NIC{settings: &Settings{}}
	n.settings.Quantum[1], n.settings.Quantum[2] = 3000, 1000
	if p := n.choose(1<<1 | 1<<2 | 1<<5 | 1<<6); p != 6 {
		t.Errorf("priority %d before 6", p)
	}
	sent := map[uint8]int64{}
	for range 4000 {
		p := n.choose(1<<1 | 1<<2)
		length := int64(1000)
		if p == 2 {
			length = 700
		}
		sent[p] += length
		n.several.deficit[p] -= length
	}
	if share := float64(sent[1]) / float64(sent[2]); share < 2.95 || share > 3.05 {
		t.Errorf("shares of %v", sent)
	}
	if p := n.choose(1 << 2); p != 2 {
		t.Errorf("priority %d, and 2 alone has something", p)
	}
}

// TestTraitsAtTheEdges: a flow that began at 100 us and sends for 10 us of each 15 stops sending at 110 us and goes
// on at 115 us; one with a stop has it from that moment on.
func TestTraitsAtTheEdges(t *testing.T) {
	sends := &traits{Traits: &Traits{On: 10 * us, Off: 5 * us}, started: 100 * us}
	for now, want := range map[vtime.Time]vtime.Time{
		100 * us: 100 * us, 110*us - 1: 110*us - 1, 110 * us: 115 * us, 115*us - 1: 115 * us, 115 * us: 115 * us,
		125 * us: 130 * us,
	} {
		if got := sends.opens(now); got != want {
			t.Errorf("at %v it may send at %v, want %v", now, got, want)
		}
	}
	stops := &traits{Traits: &Traits{Stop: 50 * us}}
	if stops.stops(50*us-1) || !stops.stops(50*us) || sends.stops(200*us) {
		t.Error("a flow stops at another time than its stop")
	}
}

package hostagent

import "testing"

// TestChoose: priorities without a quantum come first, the highest of them; others have shares in proportion to their quanta, also of packets of
// different sizes.
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

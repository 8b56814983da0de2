package hostagent

import (
	"testing"

	"pgregory.net/rapid"
)

// TestQPTable compares any use of a qpTable with a map.
func TestQPTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p qpTable[int]
		model := map[uint32]*int{}
		number := rapid.OneOf(rapid.Uint32Range(0x11, 0x30), rapid.Uint32Range(0, 1<<24-1))
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			qp := number.Draw(t, "qp")
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0, 1:
				model[qp] = new(int)
				p.put(qp, model[qp])
			case 2:
				delete(model, qp)
				p.remove(qp)
			}
			if got := p.get(qp); got != model[qp] {
				t.Fatalf("%#x has %p, want %p", qp, got, model[qp])
			}
		}
		for qp, want := range model {
			if p.get(qp) != want {
				t.Fatalf("%#x is lost", qp)
			}
		}
		n := 0
		p.each(func(*int) { n++ })
		if n != len(model) || p.used != n {
			t.Fatalf("%d of them, %d counted, want %d", n, p.used, len(model))
		}
	})
}

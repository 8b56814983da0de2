package switchagent_test

import (
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
)

// BenchmarkQueue measures enqueueing and dequeueing a frame, with 100 frames before it.
func BenchmarkQueue(b *testing.B) {
	for name, edit := range map[string]func(s *switchagent.Settings){
		"strict": nil,
		"dwrr":   func(s *switchagent.Settings) { s.Scheduler.Quantum = [8]units.Bytes{3: 3000, 4: 1000} },
	} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, edit)
			for i := range 100 {
				r.put(first+1+i%2, first, uint8(3+i%2), 1058)
			}
			b.ReportAllocs()
			for b.Loop() {
				f := r.take(first)
				priority := f.Priority
				r.pool.Put(f)
				r.put(first+1, first, priority, 1058)
			}
		})
	}
}

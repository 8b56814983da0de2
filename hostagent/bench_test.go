package hostagent

import (
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/vtime"
)

// BenchmarkPacket measures both NICs' cost of a data packet and its ACK, under a control that does nothing.
func BenchmarkPacket(b *testing.B) {
	p := newPair(b, nil)
	p.headersOnly()
	p.start(1<<50, cc.Constant(line))
	b.ReportAllocs()
	for b.Loop() {
		f, wake := p.from.Dequeue(p.now, 0)
		for f == nil {
			if wake == vtime.Never {
				b.Fatal("nothing to send")
			}
			p.now = wake
			f, wake = p.from.Dequeue(p.now, 0)
		}
		p.to.Receive(p.now, f)
		p.pool.Put(f)
		if f, _ = p.to.Dequeue(p.now, 0); f == nil {
			b.Fatal("no ACK")
		}
		p.from.Receive(p.now, f)
		p.pool.Put(f)
	}
}

//go:build linux

package wallclock

import (
	"runtime"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
)

// TestLiveFlowsAreFreed: a live fabric has as many flows as are open at a time, however many there have been.
func TestLiveFlowsAreFreed(t *testing.T) {
	f := newLiveFabric(t, livePlan(t, "small"), 1)
	from, to := f.plan.NodeByName("h1").ID, f.plan.NodeByName("h5").ID
	run := func(n int) {
		for range n {
			err := f.Do(func() error {
				for i := range 50 {
					f.Engine().AddFlow(engine.FlowConfig{
						Source: from, Destination: to, Size: 1000, Start: f.Engine().Now(),
						Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(i)},
						NewController: func(int) (cc.Controller, error) { return cc.Constant(1e9), nil },
					})
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for open := 1; open > 0; {
				if err := f.Do(func() error { open = f.Engine().OpenFlows(); return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	run(10)
	before := heap()
	run(400)
	grown := heap() - before
	if grown > 4<<20 { // 12 MB if they were kept
		t.Errorf("20000 flows have left %d bytes", grown)
	}
	_ = f.Do(func() error {
		if e := f.Engine(); len(e.Flows()) != 50 || e.AddedFlows() != 20_500 {
			t.Errorf("%d flows are kept of %d", len(e.Flows()), e.AddedFlows())
		}
		return nil
	})
	t.Logf("20000 flows have left %d bytes", grown)
}

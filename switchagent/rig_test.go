package switchagent_test

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/switchagent"
)

// The switch under test has the fabric ids first to first+ports-1, as if another switch came before it.
const (
	first = 3
	ports = 4
	index = 1
)

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// rig is a traffic manager with the registers that the pipelines would keep.
type rig struct {
	*switchagent.Switch
	t        failer
	state    *ebpf.State
	settings *switchagent.Settings
	pool     *frame.Pool
}

func newRig(t failer, edit func(s *switchagent.Settings)) *rig {
	t.Helper()
	settings := switchagent.Default()
	if edit != nil {
		edit(&settings)
	}
	if err := settings.Validate(); err != nil {
		t.Fatal(err)
	}
	state := &ebpf.State{
		Crossing: new(ebpf.Crossing), Ports: make([]ebpf.Port, first+ports), Switches: make([]ebpf.SwitchState, index+1),
	}
	for p := first; p < first+ports; p++ {
		state.Ports[p].Kind, state.Ports[p].Node, state.Ports[p].FirstPort = ebpf.KindSwitch, index, first
	}
	pfc := settings.PFC
	state.Switches[index] = ebpf.SwitchState{
		Buffer: uint64(settings.Buffer), Xoff: uint64(pfc.XOFF), Xon: uint64(pfc.XON), XoffToXon: uint64(pfc.XOFFToXON),
		Lossless: uint32(pfc.Priorities),
	}
	at := &state.Switches[index].AtRate[0]
	at.Alpha, at.Headroom = uint64(pfc.Alpha*65536), uint64(pfc.Headroom)
	pool := frame.NewPool(9216)
	pool.HeadersOnly(false) // what counts is a frame's length, not what is kept of it
	return &rig{
		Switch: switchagent.New(state, &settings, index, first, ports), t: t, state: state, settings: &settings, pool: pool,
	}
}

// frame is a frame that the pipeline accounted to port in; in < 0: one that the switch made itself.
func (r *rig) frame(in int, priority uint8, n int) *frame.Frame {
	f := r.pool.Get(n)
	f.Priority, f.InPort = priority, int32(in)
	if in >= 0 {
		r.state.Ports[in].Class[priority].Held += uint64(n)
		r.state.Switches[index].Used += uint64(n)
	}
	return f
}

// put queues a frame at port out; it must be admitted.
func (r *rig) put(in, out int, priority uint8, n int) *frame.Frame {
	r.t.Helper()
	f := r.frame(in, priority, n)
	if d := r.Enqueue(out, f); d != switchagent.Admitted {
		r.t.Fatalf("frame of priority %d: %v", priority, d)
	}
	return f
}

// take is the next frame of port out; there must be one.
func (r *rig) take(out int) *frame.Frame {
	r.t.Helper()
	f, _ := r.Dequeue(0, out)
	if f == nil {
		r.t.Fatal("nothing to send")
	}
	return f
}

// pause has the pipeline pause the peer of an ingress port.
func (r *rig) pause(p int, priority uint8) {
	r.state.Ports[p].Class[priority].Pausing = 1
	r.Paused(p, priority)
}

func bytesOf(n int) units.Bytes { return units.Bytes(n) }

// held is the accounts of an ingress port, by priority.
func (r *rig) held(p int) (all [8]uint64) {
	for i := range all {
		all[i] = r.state.Ports[p].Class[i].Held
	}
	return all
}

package switchagent_test

import (
	"slices"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// The switch under test has the fabric ids first to first+ports-1, as if another switch came before it.
const (
	first = 3
	ports = 4
	index = 1
)

// failer holds the methods that *testing.T and *rapid.T share.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// cable describes the cable of every port: at its rate auto gives XOFF 320 KB.
var cable = switchagent.Cable{
	Rate: 40 * units.Gbps, PeerRate: 40 * units.Gbps, Delay: vtime.Microsecond, PeerDelay: vtime.Microsecond,
	Full: 1058, Longest: 1116, LongestLine: 1140, PFCLine: 84,
}

// stated returns the defaults with the values of auto at 40 Gb/s as numbers, and its own headroom.
func stated() switchagent.Settings {
	s := switchagent.Default()
	s.Buffer, s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom = 22*units.MB, 320*units.KB, 318*units.KB, 75*units.KB
	s.ECN.KMin, s.ECN.KMax, s.CNM.QECN = 5*units.KB, 200*units.KB, 200*units.KB
	s.CBFC.Buffer, s.CBFC.Period, s.TCD.QLen = 280*units.KB, 40*vtime.Microsecond, 5*units.KB
	return s
}

// rig holds a traffic manager with the registers that the pipelines would keep.
type rig struct {
	*switchagent.Switch
	t        failer
	state    *ebpf.State
	settings *switchagent.Settings
	buffer   units.Bytes // that they resolve to
	pool     *frame.Pool
}

func newRig(t failer, edit func(s *switchagent.Settings)) *rig {
	t.Helper()
	settings := stated()
	if edit != nil {
		edit(&settings)
	}
	if err := settings.Validate(); err != nil {
		t.Fatal(err)
	}
	state := &ebpf.State{
		Pass: new(ebpf.Pass), Ports: make([]ebpf.Port, first+ports), Extras: make([]ebpf.PortExtra, first+ports),
		Switches: make([]ebpf.SwitchState, index+1),
	}
	for p := first; p < first+ports; p++ {
		state.Ports[p].Kind, state.Ports[p].Node, state.Ports[p].FirstPort = ebpf.KindSwitch, index, first
	}
	pfc := settings.PFC
	buffer, thresholds := settings.Resolve(slices.Repeat([]switchagent.Cable{cable}, ports))
	state.Switches[index] = ebpf.SwitchState{
		Buffer: uint64(buffer), XoffToXon: uint64(pfc.XOFFToXON), Lossless: uint32(pfc.Priorities),
	}
	at := &state.Switches[index].Profiles[0]
	at.Xoff, at.Xon, at.Alpha = uint64(thresholds[0].XOFF), uint64(thresholds[0].XON), uint64(pfc.Alpha*65536)
	pool := frame.NewPool(9216)
	pool.HeadersOnly(false) // what counts is a frame's length, not what is kept of it
	return &rig{
		Switch: switchagent.New(state, &settings, index, first, buffer, thresholds), t: t, state: state, settings: &settings,
		buffer: buffer, pool: pool,
	}
}

// frame returns a frame that the pipeline accounted to port in; in < 0: one that the switch made itself.
func (r *rig) frame(in int, priority uint8, n int) *frame.Frame {
	f := r.pool.Get(n)
	f.Priority, f.InPort = priority, int32(in)
	if in >= 0 {
		p, extra, sw := &r.state.Ports[in], &r.state.Extras[in], &r.state.Switches[index]
		size := sw.Counted(n)
		if shared := uint64(p.Class[priority].Buffered - extra.HeadroomBuffered[priority]); sw.Profiles[0].Alpha != 0 &&
			shared+size > r.state.Threshold(in) {
			extra.HeadroomBuffered[priority] += uint32(size)
			sw.HeadroomUsed += size
		}
		p.Class[priority].Buffered += uint32(size)
		sw.Used += size
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

// take returns the next frame of port out; there must be one.
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

// buffered returns the accounts of an ingress port, by priority.
func (r *rig) buffered(p int) (all [8]uint64) {
	for i := range all {
		all[i] = uint64(r.state.Ports[p].Class[i].Buffered)
	}
	return all
}

package engine

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// deaf implements a plane whose pipelines ignore a PAUSE into a port from the given time on. It leaves the registers
// and pass results of such a program.
type deaf struct {
	plane.Plane
	port int
	from vtime.Time
}

func (d *deaf) Process(in int, f *frame.Frame) error {
	pfc := f.Control
	err := d.Plane.Process(in, f)
	if x := d.State().Pass; pfc && in == d.port && vtime.Time(x.Now) >= d.from {
		for i := range d.State().Ports[in].Class {
			d.State().Ports[in].Class[i].PausedUntil = 0
		}
		x.Want, x.Changed = 0, 0
	}
	return err
}

// TestPipelineThatIgnoresPause: its word is not what the invariant goes by. Three senders make a switch pause them; the
// pipeline of a host's port, or of a switch's, is deaf, and on both planes that is seen, with the port and the time of
// the first frame.
func TestPipelineThatIgnoresPause(t *testing.T) {
	const fabric = "rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 3}"
	const invariant = "no data leaves a paused port"
	plan, err := spec.Parse("lab.yaml", []byte(fabric))
	if err != nil {
		t.Fatal(err)
	}
	between := func(a, b string) int { return int(plan.PortsBetween(plan.NodeByName(a).ID, plan.NodeByName(b).ID)[0]) }
	for _, kind := range []string{plane.Wasm, plane.Kernel} {
		t.Run(kind, func(t *testing.T) {
			for name, port := range map[string]int{
				"nobody": -1, "host": between("h0", "leaf0"),
				"switch": between("spine0", "leaf1"),
			} {
				opened := openPlane(t, kind, plan, plane.Features{})
				defer opened.Close()
				sw, hosts := switchagent.Default(), hostagent.Default()
				sw.PFC.XOFF, sw.PFC.XON = 20_000, 10_000
				sw.ECN.Mode = switchagent.ECNOff
				e := newEngine(t, Config{
					Plan: plan, Plane: &deaf{Plane: opened, port: port}, Switches: []*switchagent.Settings{&sw, &sw, &sw},
					Hosts: &hosts, Seed: 1,
				})
				for i, from := range []string{"h0", "h1", "h4"} {
					e.AddFlow(FlowConfig{
						Source: plan.NodeByName(from).ID, Destination: plan.NodeByName("h3").ID, Size: 300_000,
						Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(i)},
						NewController: func(int) (cc.Controller, error) { return cc.Constant(40e9), nil },
					})
				}
				if err := e.Run(100*vtime.Microsecond, 0, nil); err != nil {
					t.Fatal(err)
				}
				heard := 0
				for _, p := range e.State().Extras {
					heard += int(p.PausesReceived)
				}
				if heard == 0 {
					t.Fatal("nobody was paused")
				}
				var locations []string
				for _, v := range e.Check() {
					if v.Invariant == invariant {
						locations = append(locations, v.Location)
					}
				}
				switch {
				case port < 0 && len(locations) > 0:
					t.Errorf("deaf %s: data leaves paused ports at %v", name, locations)
				case port >= 0 && (len(locations) == 0 || strings.Trim(strings.Join(locations, ""), plan.Ports[port].Name) != ""):
					t.Errorf("deaf %s: the invariant is broken at %v, want %s", name, locations, plan.Ports[port].Name)
				}
			}
		})
	}
}

// TestPausesAreReadAsByThePipeline: the engine classifies every frame that arrives at a port like the pipeline.
func TestPausesAreReadAsByThePipeline(t *testing.T) {
	plan, err := spec.Parse("lab.yaml", []byte("rate: 25Gbps\ndelay: 1us\nstar: {hosts: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	opened := openPlane(t, plane.Wasm, plan, plane.Features{})
	defer opened.Close()
	sw, hosts := switchagent.Default(), hostagent.Default()
	e := newEngine(t, Config{Plan: plan, Plane: opened, Switches: []*switchagent.Settings{&sw}, Hosts: &hosts, Seed: 1})
	in := &e.ports[plan.Nodes[plan.Hosts[0]].Ports[0]]
	registers := &e.state.Ports[in.id]
	pause := make([]byte, wire.PFCLen)
	times := [8]uint16{1, 2, 3, 0, 500, 0, 7, 0xffff}
	for i, change := range []func(f []byte){
		func([]byte) {},
		func(f []byte) { clear(f[18:34]) }, // RESUME of all
		func(f []byte) { f[17] = 0x10 },    // of one priority
		func(f []byte) { f[0] = 2 },        // to another address
		func(f []byte) { f[5] = 2 },
		func(f []byte) { f[12] = 0x88; f[13] = 0xb6 }, // of another type
		func(f []byte) { f[15] = 0 },                  // PAUSE of 802.3x's opcode but for a bit
		func(f []byte) { f[16] = 0xff; f[17] = 0 },    // for priorities there are none of
	} {
		e.now += vtime.Microsecond
		f := e.pool.Get(wire.PFCLen)
		wire.PutPFC(pause, plan.Ports[in.peer].MAC, 0xff, &times)
		copy(f.Data(), pause)
		change(f.Data())
		e.pass.Trigger, e.pass.OutPort = ebpf.TriggerNone, ebpf.NoPort
		if err := e.process(in, f); err != nil {
			t.Fatal(err)
		}
		in.readPause(e.now, f)
		e.pool.Put(f)
		for k := range registers.Class {
			want := registers.Class[k].PausedUntil > uint64(e.now)
			if got := in.pauses>>k&1 != 0 && in.pausings().stopped[k] > e.now; got != want || want &&
				uint64(in.pausings().stopped[k]) != registers.Class[k].PausedUntil {
				t.Errorf("frame %d, priority %d: %v until %v, the pipeline has it paused until %d", i, k, got,
					in.pausings().stopped[k], registers.Class[k].PausedUntil)
			}
		}
	}
}

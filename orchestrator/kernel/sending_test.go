//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// in runs a command in a namespace.
func in(t testing.TB, where netns.NsHandle, command ...string) {
	t.Helper()
	err := onOwnThread(func() error {
		if err := netns.Set(where); err != nil {
			return err
		}
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: %s", command, err, out)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// noRoomAt has the kernel take no frame into a port, behind the egress program, or all of them: by a queue that it puts
// there.
func noRoomAt(t testing.TB, f *Fabric, port int, verb string, limit int) {
	t.Helper()
	in(t, f.hub, "tc", "qdisc", verb, "dev", f.plan.Ports[port].Name, "root", "pfifo", "limit", strconv.Itoa(limit))
}

// TestNoRoom: a frame that the kernel had no room for, behind the egress pipeline, goes in again, and nothing in the
// run shows it.
func TestNoRoom(t *testing.T) {
	run := func(disturbed bool) *rig {
		l := newRig(t, "rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}",
			rigOptions{seed: 1, withoutEntry: true, sw: func(s *switchagent.Settings) {
				s.ECN = switchagent.Default().ECN
				s.ECN.PMax, s.ECN.KMin, s.ECN.KMax = 0.5, 1000, 100_000
			}})
		l.send("h0", "h3", 300_000, 0)
		l.send("h1", "h3", 300_000, 0)
		freed := make(chan struct{})
		port := l.port("spine0", "leaf0") // the queue before it marks
		l.Call(20*vtime.Microsecond, func(vtime.Time) {
			if !disturbed {
				close(freed)
				return
			}
			noRoomAt(t, l.plane.Fabric(), port, "add", 0)
			go func() {
				defer close(freed)
				for l.plane.Resent.Load() < 10 {
					time.Sleep(time.Millisecond)
				}
				noRoomAt(t, l.plane.Fabric(), port, "change", 1000)
			}()
		})
		l.run()
		<-freed
		return l
	}
	plain, disturbed := run(false), run(true)
	if n := plain.plane.Resent.Load(); n != 0 {
		t.Errorf("%d frames were sent again without need", n)
	}
	if plain.State().Ports[plain.port("leaf0", "spine0")].EcnMarked == 0 {
		t.Error("nothing was marked: the test shows nothing")
	}
	if a, b := plain.Fingerprint(), disturbed.Fingerprint(); a != b {
		t.Errorf("sent again %d times: fingerprint %s, without %s", disturbed.plane.Resent.Load(), b, a)
	}
	if plain.Totals != disturbed.Totals {
		t.Errorf("totals %+v, without %+v", disturbed.Totals, plain.Totals)
	}
}

// egressChecked implements a plane that checks, at each pass, that egressBefore keeps all registers that the egress
// pipeline writes.
type egressChecked struct {
	*wasmplane.Plane
	before  egressBefore
	written int
	t       *testing.T
}

func (p *egressChecked) Process(in int, f *frame.Frame) error {
	state := p.State()
	p.before.note(state, f)
	if p.before.port == nil {
		return p.Plane.Process(in, f)
	}
	out := state.Pass.OutPort
	was := state.Ports[out]
	if err := p.Plane.Process(in, f); err != nil {
		return err
	}
	now, pass := state.Ports[out], *state.Pass
	p.before.restore(state)
	if state.Ports[out] != was {
		p.t.Errorf("port %d is not as it was:\n%+v\n%+v", out, state.Ports[out], was)
	}
	if now != was {
		p.written++
	}
	state.Ports[out], *state.Pass = now, pass
	return nil
}

// TestEgressBefore: the registers kept before a pass are all that any egress pipeline writes.
func TestEgressBefore(t *testing.T) {
	for name, set := range map[string]func(s *switchagent.Settings){
		"red": func(s *switchagent.Settings) { s.ECN.KMin, s.ECN.KMax, s.ECN.PMax = 1000, 100_000, 0.5 },
		"tcd": func(s *switchagent.Settings) { s.Detector, s.TCD.RED = switchagent.DetectorTCD, true },
		"pcn": func(s *switchagent.Settings) { s.ECN.Mode = switchagent.ECNPCN },
	} {
		t.Run(name, func(t *testing.T) {
			plan := rootPlan(t, "rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}")
			wasm, err := wasmplane.Open(plan, plane.Features{Telemetry: true})
			if err != nil {
				t.Fatal(err)
			}
			defer wasm.Close()
			p := &egressChecked{Plane: wasm.(*wasmplane.Plane), t: t}
			sw, host := switchagent.Default(), hostagent.Default()
			sw.PFC.XOFF, sw.PFC.XON = 60_000, 50_000
			host.INT = true
			set(&sw)
			settings := make([]*switchagent.Settings, len(plan.Switch))
			for i := range settings {
				settings[i] = &sw
			}
			e, err := engine.New(engine.Config{
				Plan: plan, Plane: p, Switches: settings, Hosts: &host, Features: plane.Features{Telemetry: true}, Seed: 1,
				Observer: unobserved{},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, from := range []string{"h0", "h1", "h2"} {
				e.AddFlow(engine.FlowConfig{
					Source: plan.NodeByName(from).ID, Destination: plan.NodeByName("h3").ID, Size: 200_000,
					Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(i)},
					NewController: func(int) (cc.Controller, error) { return cc.Constant(float64(40 * units.Gbps)), nil },
				})
			}
			if err := e.Run(vtime.Millisecond, vtime.Second, nil); err != nil {
				t.Fatal(err)
			}
			if p.written == 0 {
				t.Error("no egress pipeline wrote anything: the test shows nothing")
			}
		})
	}
}

// TestObstacle: the error about frames that do not pass a port names the problem of its interface.
func TestObstacle(t *testing.T) {
	l := newRig(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", rigOptions{})
	port := l.port("s0", "h0")
	fabric, name := l.plane.Fabric(), l.plan.Ports[port].Name
	says := func(err error, parts ...string) {
		t.Helper()
		var machine *plane.MachineError
		if !errors.As(err, &machine) {
			t.Errorf("%v is no MachineError", err)
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: does not say %q", err, part)
			}
		}
	}
	says(l.plane.notSent(port, unix.ENOBUFS), "the kernel has refused a frame into "+name, "no buffer space available",
		"out of memory")
	says(l.plane.notSent(port, unix.EIO), `somebody took the interface "entry" of the hub namespace down`)
	says(l.plane.unseen(port), "its egress program did not see it")
	l.plane.pass.Marked++
	says(l.plane.unseen(port), "the machine is too busy to run them")
	l.plane.pass.Marked--
	in(t, fabric.devices[l.plan.NodeByName("s0").ID], "ip", "link", "set", name, "down")
	says(l.plane.unseen(port), "somebody took the interface's other end down")
	in(t, fabric.hub, "ip", "link", "set", name, "down")
	says(l.plane.notSent(port, unix.ENETDOWN), "network is down", "somebody took the interface down")
	in(t, fabric.hub, "ip", "link", "del", name)
	says(l.plane.notSent(port, unix.ENXIO), "somebody deleted the interface")
	l.plane.pass.Egress = uint32(port)
	says(l.plane.notOut(port), "did not leave "+name)
}

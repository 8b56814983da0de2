package orchestrator

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// faultLab is a fabric on the wasm plane, whose faults need no root to be looked at; that the kernel plane has the same is tested
// by the built-in scenarios and by package planefuzz.
type faultLab struct {
	testing.TB
	*Engine
	events []FaultEvent
	pauses int               // that hosts sent
	sent   map[[2]int]uint64 // PAUSEs, by port and priority
}

func newFaultLab(t testing.TB, topology string, set func(*switchagent.Settings, *hostagent.Settings)) *faultLab {
	t.Helper()
	plan, err := topologies.Parse("lab.yaml", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	plane, err := OpenPlane(PlaneWasm, plan, FabricOptions{PlaneOptions: PlaneOptions{Reroute: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Close(); err != nil {
			t.Error(err)
		}
	})
	sw, host := switchagent.Default(), hostagent.Default()
	sw.ECN.Mode = switchagent.ECNOff
	if set != nil {
		set(&sw, &host)
	}
	for _, err := range []error{sw.Validate(), host.Validate()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	l := &faultLab{TB: t, sent: map[[2]int]uint64{}}
	l.Engine = NewEngine(EngineConfig{
		Plan: plan, Plane: plane, Switches: slices.Repeat([]*switchagent.Settings{&sw}, len(plan.Switch)), Hosts: &host, Seed: 5, Observer: l,
	})
	return l
}

// FlowDone is told by the engine.
func (l *faultLab) FlowDone(vtime.Time, int) {}

// PFCCame implements Observer.
func (l *faultLab) PFCCame(PFCArrival) {}

// PFC is told by the engine.
func (l *faultLab) PFC(_ vtime.Time, port int, priority uint8, pause bool) {
	if pause {
		l.sent[[2]int{port, int(priority)}]++
	}
	if pause && l.plan.Nodes[l.plan.Ports[port].Node].Kind == topologies.Host {
		l.pauses++
	}
}

// FaultEvent is told by the engine.
func (l *faultLab) FaultEvent(ev FaultEvent) { l.events = append(l.events, ev) }

// eventAt is when the n-th event of a kind was; vtime.Never if there are fewer.
func (l *faultLab) eventAt(kind string, n int) vtime.Time {
	for _, ev := range l.events {
		if ev.Kind == kind {
			if n--; n < 0 {
				return ev.At
			}
		}
	}
	return vtime.Never
}

func (l *faultLab) port(a, b string) int {
	l.Helper()
	from, to := l.plan.NodeByName(a), l.plan.NodeByName(b)
	ports := l.plan.PortBetween(from.ID, to.ID)
	if len(ports) == 0 {
		l.Fatalf("no link from %s to %s", a, b)
	}
	return int(ports[0])
}

// send adds a flow at a constant rate; 0: its source's line rate.
func (l *faultLab) send(from, to string, size int64, start vtime.Time, rate units.Rate) int {
	l.Helper()
	source := l.plan.NodeByName(from)
	if rate == 0 {
		rate = l.plan.Ports[source.Ports[0]].Rate
	}
	return l.AddFlow(FlowConfig{
		Source: source.ID, Destination: l.plan.NodeByName(to).ID, Size: size, Start: start,
		Ports:         Ports{Source: wire.MinEntropyPort + uint16(len(l.Flows()))},
		NewController: func() (cc.Controller, error) { return cc.Constant(float64(rate)), nil },
	})
}

// at has a fault happen.
func (l *faultLab) at(when vtime.Time, fault func() error) {
	l.At(when, func(vtime.Time) error { return fault() })
}

// run runs to the end of all flows, or to the given time; no law may break.
func (l *faultLab) run(until vtime.Time) {
	l.Helper()
	drain := vtime.Time(0)
	if until == 0 {
		until, drain = vtime.Second, 10*vtime.Second
	}
	if err := l.Run(until, drain, nil); err != nil {
		l.Fatal(err)
	}
	if drain > 0 && l.OpenFlows() > 0 {
		l.Errorf("%d flows have not ended at %v", l.OpenFlows(), l.Now())
	}
	for _, v := range l.Check() {
		l.Error(v)
	}
}

func (l *faultLab) fct(flow int) vtime.Time { return l.Flows()[flow].Finished - l.Flows()[flow].Start }

// lost is the frames that faults cost for a reason.
func (l *faultLab) lost(why Loss) int64 { return l.Lost()[why].Frames }

// timeout has flows repair what is lost.
func timeout(after vtime.Time) func(*switchagent.Settings, *hostagent.Settings) {
	return func(_ *switchagent.Settings, h *hostagent.Settings) { h.RetransmitTimeout = after }
}

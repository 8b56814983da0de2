package engine

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab holds a fabric with an engine, and records its events. It uses the wasm plane, which needs no root. The built-in
// scenarios and package planefuzz test that the kernel plane does the same to each frame.
type lab struct {
	testing.TB
	*Engine
	plan   *topologies.Plan
	plane  plane.Plane
	pfc    []pfcFrame
	events []FaultEvent
	pauses int               // that hosts sent
	sent   map[[2]int]uint64 // PAUSEs, by port and priority
}

// pfcFrame describes a PAUSE or RESUME as it leaves a port.
type pfcFrame struct {
	at       vtime.Time
	port     int
	priority uint8
	pause    bool
}

// labOptions holds the settings that a test changes.
type labOptions struct {
	sw      func(*switchagent.Settings)
	host    func(*hostagent.Settings)
	both    func(*switchagent.Settings, *hostagent.Settings)
	balance func(*topologies.Balancing)
	seed    uint64
	burst   bool
	reroute bool
}

// newLab builds the fabric of a topology's YAML. ECN is off, as nothing here listens to it, unless o says otherwise.
func newLab(t testing.TB, topology string, o labOptions) *lab {
	t.Helper()
	plan := parsePlan(t, topology)
	sw, host := switchagent.Default(), hostagent.Default()
	sw.ECN.Mode = switchagent.ECNOff
	if o.sw != nil {
		o.sw(&sw)
	}
	if o.host != nil {
		o.host(&host)
	}
	if o.both != nil {
		o.both(&sw, &host)
	}
	for _, err := range []error{sw.Validate(), host.Validate()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	balancing := plan.Balancing
	if o.balance != nil {
		o.balance(&balancing)
	}
	plan = plan.WithBalancing(balancing).WithHosts(host.IP, host.Spreads())
	features := plane.Features{BurstDetection: o.burst, Reroute: o.reroute, Flowlets: balancing.Remembers()}
	opened, err := wasmplane.Open(plan, features)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	l := &lab{TB: t, plan: plan, plane: opened, sent: map[[2]int]uint64{}}
	l.Engine = newEngine(t, Config{
		Plan: plan, Plane: opened, Switches: slices.Repeat([]*switchagent.Settings{&sw}, len(plan.Switch)), Hosts: &host,
		Features: features, Seed: o.seed, Observer: l,
	})
	return l
}

// newEngine returns an engine, and panics on an error.
func newEngine(t testing.TB, c Config) *Engine {
	t.Helper()
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// newFaultLab builds one whose routes may change.
func newFaultLab(t testing.TB, topology string, set func(*switchagent.Settings, *hostagent.Settings)) *lab {
	t.Helper()
	return newLab(t, topology, labOptions{seed: 5, reroute: true, both: set})
}

func parsePlan(t testing.TB, topology string) *topologies.Plan {
	t.Helper()
	plan, err := spec.Parse("lab.yaml", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// OpenKernel opens the kernel plane, whose package imports this one: the tests' other package gives it.
var OpenKernel func(plan *topologies.Plan, features plane.Features) (plane.Plane, error)

// openPlane opens a plane by its name. The kernel's needs root.
func openPlane(t testing.TB, name string, plan *topologies.Plan, features plane.Features) plane.Plane {
	t.Helper()
	var opened plane.Plane
	var err error
	if name == plane.Kernel {
		testenv.NeedRoot(t)
		opened, err = OpenKernel(plan, features)
	} else {
		opened, err = wasmplane.Open(plan, features)
	}
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// FlowDone is called by the engine.
func (l *lab) FlowDone(vtime.Time, int) {}

// PFCReceived implements Observer.
func (l *lab) PFCReceived(PFCArrival) {}

// FaultEvent is called by the engine.
func (l *lab) FaultEvent(ev FaultEvent) { l.events = append(l.events, ev) }

// PFC is called by the engine.
func (l *lab) PFC(now vtime.Time, port int, priority uint8, pause bool) {
	l.pfc = append(l.pfc, pfcFrame{now, port, priority, pause})
	if !pause {
		return
	}
	l.sent[[2]int{port, int(priority)}]++
	if l.plan.Nodes[l.plan.Ports[port].Node].Kind == topologies.Host {
		l.pauses++
	}
}

// node finds a node by its name, port the first port of a that leads to b.
func (l *lab) node(name string) *topologies.Node {
	l.Helper()
	n := l.plan.NodeByName(name)
	if n == nil {
		l.Fatalf("no node %s", name)
	}
	return n
}

func (l *lab) port(a, b string) int {
	l.Helper()
	ports := l.plan.PortsBetween(l.node(a).ID, l.node(b).ID)
	if len(ports) == 0 {
		l.Fatalf("no link from %s to %s", a, b)
	}
	return int(ports[0])
}

// send adds a flow that is paced at a constant rate, its source's line rate if 0.
func (l *lab) send(from, to string, size int64, start vtime.Time, rate units.Rate) int {
	l.Helper()
	source := l.node(from)
	if rate == 0 {
		rate = l.plan.Ports[source.Ports[0]].Rate
	}
	return l.sendUnder(from, to, size, start, func() (cc.Controller, error) { return cc.Constant(float64(rate)), nil })
}

func (l *lab) sendUnder(from, to string, size int64, start vtime.Time, controller func() (cc.Controller, error)) int {
	l.Helper()
	return l.AddFlow(FlowConfig{
		Source: l.node(from).ID, Destination: l.node(to).ID, Size: size, Start: start,
		Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(len(l.Flows()))},
		NewController: func(int) (cc.Controller, error) { return controller() },
	})
}

// run runs until the given time, or, with 0, until nothing moves any more; and no invariant may break.
func (l *lab) run(until vtime.Time) {
	l.Helper()
	l.drive(until)
	for _, v := range l.Check() {
		l.Error(v)
	}
}

func (l *lab) drive(until vtime.Time) {
	l.Helper()
	drain := vtime.Time(0)
	if until == 0 {
		until, drain = vtime.Second, 10*vtime.Second
	}
	if err := l.Run(until, drain, nil); err != nil {
		l.Fatal(err)
	}
	if drain > 0 && l.OpenFlows() > 0 {
		l.Fatalf("%d flows have not ended after %v", l.OpenFlows(), until)
	}
}

// fct returns a flow's completion time.
func (l *lab) fct(flow int) vtime.Time {
	f := &l.Flows()[flow]
	return f.Finished - f.Start
}

// passage describes a frame on the wire into a port.
type passage struct {
	left, arrived vtime.Time // left: when its serialisation began
	wire.Packet
	quanta uint16 // of a PFC frame for priority 3
}

// watch records the frames on the wire into a port.
func (l *lab) watch(into int) *[]passage {
	l.Helper()
	seen := new([]passage)
	err := l.plane.Tap(into, func(frame []byte) {
		p := passage{left: l.Departed(), arrived: l.Now()}
		if err := wire.Parse(append([]byte(nil), frame...), &p.Packet); err != nil {
			l.Errorf("frame into port %d: %v", into, err)
		}
		if pfc := p.PFC(); pfc != nil {
			p.quanta = pfc.Time(3)
		}
		*seen = append(*seen, p)
	})
	if err != nil {
		l.Fatal(err)
	}
	return seen
}

// eventAt returns the time of the n-th event of a kind; vtime.Never if there are fewer.
func (l *lab) eventAt(kind string, n int) vtime.Time {
	for _, ev := range l.events {
		if ev.Kind == kind {
			if n--; n < 0 {
				return ev.At
			}
		}
	}
	return vtime.Never
}

// at has a fault happen.
func (l *lab) at(when vtime.Time, fault func() error) {
	l.At(when, func(vtime.Time) error { return fault() })
}

// lost returns the number of frames lost to faults for a reason.
func (l *lab) lost(why Loss) int64 { return l.Lost()[why].Frames }

// timeout makes flows repair losses by a retransmission timeout.
func timeout(after vtime.Time) func(*switchagent.Settings, *hostagent.Settings) {
	return func(_ *switchagent.Settings, h *hostagent.Settings) { h.RetransmitTimeout = after }
}

// bytesOf returns n in the notation of settings.
func bytesOf(n int64) units.Bytes { return units.Bytes(n) }

// rtts keeps RTT samples.
type rtts []vtime.Time

func (r *rtts) Record(_ int, _, rtt vtime.Time) { *r = append(*r, rtt) }

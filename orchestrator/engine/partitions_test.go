package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestPartitionsChangeNothing: where no two events fall on one picosecond, partitions driven apart come to what all
// events in one order come to.
func TestPartitionsChangeNothing(t *testing.T) {
	for seed := range uint64(16) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			faults := seed >= 8
			apart, undivided := oddFabric(t, seed, false, faults), oddFabric(t, seed, true, faults)
			if apart.partitions < 4 || undivided.partitions != 1 {
				t.Fatalf("%d and %d partitions", apart.partitions, undivided.partitions)
			}
			if len(apart.pfc) == 0 {
				t.Error("no PAUSE: the test tests little")
			}
			if !slices.Equal(apart.pfc, undivided.pfc) {
				t.Errorf("PFC frames differ: %d and %d", len(apart.pfc), len(undivided.pfc))
			}
			if len(apart.came) == 0 || !slices.Equal(apart.came, undivided.came) {
				t.Errorf("PFC frames that came differ, or what they found: %d and %d", len(apart.came), len(undivided.came))
			}
			if !slices.IsSortedFunc(apart.pfc, func(a, b pfcDeparture) int { return int(a.at - b.at) }) {
				t.Error("the observer was not told in order")
			}
			if !slices.Equal(apart.ended, undivided.ended) {
				t.Errorf("flows ended %v, together %v", apart.ended, undivided.ended)
			}
			if !reflect.DeepEqual(apart.registers, undivided.registers) {
				t.Error("the ports' registers differ")
			}
		})
	}
}

// outcome holds the results of a run of oddFabric.
type outcome struct {
	partitions int
	pfc        []pfcDeparture
	came       []PFCArrival
	ended      []string
	registers  any
}

// PFCReceived is called by the engine.
func (o *outcome) PFCReceived(c PFCArrival) { o.came = append(o.came, c) }

// FlowDone is called by the engine.
func (o *outcome) FlowDone(now vtime.Time, flow int) {
	o.ended = append(o.ended, fmt.Sprint(flow, int64(now)))
}

// PFC is called by the engine.
func (o *outcome) PFC(now vtime.Time, port int, priority uint8, pause bool) {
	o.pfc = append(o.pfc, pfcDeparture{now, int32(port), priority, pause})
}

// oddFabric runs random flows under DCQCN over leaves and spines whose cables all differ in delay by odd times.
func oddFabric(t *testing.T, seed uint64, undivided, faults bool) *outcome {
	random := rand.New(rand.NewPCG(seed, 1))
	topology := "name: odd\nrate: 25Gbps\nnodes: [{name: [l0..l2, s0..s1], kind: switch}, {name: h0..h8, kind: host}]\nlinks:\n"
	cable := func(a, b string) {
		topology += fmt.Sprintf("  - {from: %s, to: %s, delay: %dns}\n", a, b, 901+2*random.IntN(2000))
	}
	for i := range 9 {
		cable(fmt.Sprint("h", i), fmt.Sprint("l", i/3))
	}
	for leaf := range 3 {
		for spine := range 2 {
			cable(fmt.Sprint("l", leaf), fmt.Sprint("s", spine))
		}
	}
	if seed%4 == 3 { // a host with a port at two leaves, which are one partition then
		cable("h0", "l1")
	}
	plan, err := spec.Parse("odd.yaml", []byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := wasmplane.Open(plan, plane.Features{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	sw, host := switchagent.Default(), hostagent.Default()
	sw.PFC.XOFF, sw.PFC.XON, sw.PFC.Headroom = 30_000, 28_000, 300_000 // faults make cables longer and faster
	o := &outcome{}
	e := newEngine(t, Config{
		Plan: plan, Plane: opened, Switches: slices.Repeat([]*switchagent.Settings{&sw}, 5), Hosts: &host, Seed: seed,
		Observer: o,
	})
	if undivided {
		unite(e)
	}
	spec, err := cc.Lookup("dcqcn")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		a := random.IntN(9)
		b := (a + 1 + random.IntN(8)) % 9
		if i%3 > 0 {
			b = 8 - a/8
		}
		env := cc.Env{LineRate: plan.Ports[0].Rate, BaseRTT: 10 * vtime.Microsecond, MTU: plan.MTU, LineMTU: 1082}
		settings, err := cc.Resolve("dcqcn", nil, env)
		if err != nil {
			t.Fatal(err)
		}
		e.AddFlow(FlowConfig{
			Source: plan.Hosts[a], Destination: plan.Hosts[b], Size: 1 + random.Int64N(200_000),
			Start: vtime.Time(random.Int64N(int64(100 * vtime.Microsecond))),
			Ports: paths.Ports{
				Pair:   plan.PairOf(plan.Hosts[a], plan.Hosts[b], i),
				Source: wire.MinEntropyPort + uint16(i),
			},
			NewController: func(int) (cc.Controller, error) { return spec.New(env, settings) },
		})
	}
	if faults {
		oddFaults(e, random)
	}
	if err := e.Run(vtime.Second, vtime.Second, nil); err != nil {
		t.Fatal(err)
	}
	for _, v := range e.Check() {
		t.Error(v)
	}
	o.partitions = len(e.partitions)
	o.registers = slices.Clone(e.state.Ports)
	return o
}

// oddFaults has cables become shorter, longer, slower and faster again and again, and NICs slow or malfunctioning, at
// odd times. Nothing is lost: a packet that comes twice to a flow that has just ended is answered or not by when its
// receiver is told.
func oddFaults(e *Engine, random *rand.Rand) {
	at := func(f func() error) {
		e.At(vtime.Time(random.Int64N(int64(400*vtime.Microsecond))), func(vtime.Time) error { return f() })
	}
	for range 40 {
		port, delay := random.IntN(len(e.ports)), vtime.Time(random.Int64N(int64(4*vtime.Microsecond)))+vtime.Nanosecond
		rate := []units.Rate{10, 25, 100}[random.IntN(3)] * units.Gbps
		at(func() error { return e.SetDelay(port, delay) })
		at(func() error { return errors.Join(e.SetRate(port, rate), e.SetRate(int(e.ports[port].peer), rate)) })
	}
	slow := hostagent.SlowReceiver{Rate: 3 * units.Gbps, Buffer: units.MB, XOFF: 40 * units.KB, XON: 20 * units.KB}
	at(func() error { return e.SetReceiver(1, &slow) })
	at(func() error { return e.SetReceiver(8, &slow) })
	at(func() error { return e.SetReceiver(8, nil) })
	at(func() error { return e.InjectPFCStorm(4, 1<<3, 7*vtime.Microsecond) })
	e.At(500*vtime.Microsecond, func(vtime.Time) error { return e.InjectPFCStorm(4, 0, 0) })
}

// unite makes one partition of all of an engine's.
func unite(e *Engine) {
	one := &partitionState{worker: &e.worker}
	for i := range e.ports {
		e.ports[i].partition = 0
		one.ports = append(one.ports, int32(i))
	}
	one.events = newEvents(e.plan, one.ports)
	e.partitions, e.due, e.lookahead, e.phases =
		[]*partitionState{one}, []vtime.Time{vtime.Never}, vtime.Never, [][]int32{{0}}
}

// TestRunEndsAtItsTime: without drain a run of several partitions goes no further than it was told, and goes on from
// there.
func TestRunEndsAtItsTime(t *testing.T) {
	plan, err := spec.Parse("lab.yaml", []byte("delay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1}"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := wasmplane.Open(plan, plane.Features{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	sw, host := switchagent.Default(), hostagent.Default()
	e := newEngine(t, Config{
		Plan: plan, Plane: opened, Switches: slices.Repeat([]*switchagent.Settings{&sw}, 3), Hosts: &host,
	})
	e.AddFlow(FlowConfig{
		Source: plan.Hosts[0], Destination: plan.Hosts[1], Size: 100_000, Ports: paths.Ports{Source: wire.MinEntropyPort},
		NewController: func(int) (cc.Controller, error) { return cc.Constant(40e9), nil },
	})
	var called []vtime.Time
	for _, at := range []vtime.Time{5000, 300, 5000, 0} {
		e.Call(at*vtime.Nanosecond, func(now vtime.Time) { called = append(called, now) })
	}
	// The first packet needs four cables' delay and serialisation: 4 us and 4 times 1098 B at
	// 40 Gb/s.
	arrives := 4*vtime.Microsecond + 4*219_600
	for _, c := range []struct {
		until    vtime.Time
		received int64
	}{{arrives - 1, 0}, {arrives, 1}} {
		if err := e.Run(c.until, 0, nil); err != nil {
			t.Fatal(err)
		}
		if got := e.NIC(1).DataReceived; got != c.received || e.Now() != c.until {
			t.Errorf("at %v (now %v): %d packets received, want %d", c.until, e.Now(), got, c.received)
		}
	}
	if err := e.Run(vtime.Second, vtime.Second, nil); err != nil {
		t.Fatal(err)
	}
	if want := []vtime.Time{0, 300_000, 5_000_000, 5_000_000}; !slices.Equal(called, want) {
		t.Errorf("called at %v, want %v", called, want)
	}
	if f := e.Flows()[0].Finished; f == vtime.Never || e.Now() != f { // its last ACK is the last frame
		t.Errorf("the run ended at %v, the flow at %v", e.Now(), f)
	}
}

package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/blame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/internal/workers"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// eager implements a pool that finds any number of events worth a worker.
type eager struct{ *workers.Pool }

func (e eager) Useful(int, int) int { return e.Size() }

// apart implements a pool whose workers each drive their own share, from its end: so every worker has something to do, however
// slow the machine is, and partitions are driven in another order than by one.
type apart int

func (a apart) Size() int { return int(a) }

func (a apart) Useful(int, int) int { return int(a) }

func (apart) PhaseDone(int64) {}

func (apart) Do(_ int, shares [][]int32, drive func(worker int, partition int32)) {
	var all sync.WaitGroup
	for worker, share := range shares {
		all.Go(func() {
			for i := range share {
				drive(worker, share[len(share)-1-i])
			}
		})
	}
	all.Wait()
}

// workerFabrics lists fabrics with partitions of two kinds, and of more.
var workerFabrics = []string{
	"leafspine: {spines: 3, leaves: 4, hosts_per_leaf: 3}",
	"fattree: {k: 4}",
	`nodes: [{name: s0..s2, kind: switch}, {name: h0..h5, kind: host}]
links: [{from: h0, to: s0}, {from: h1, to: s1}, {from: h2, to: s2}, {from: h3, to: s0}, {from: h4, to: s1}, {from: h5, to: s2},
  {from: s0, to: s1}, {from: s1, to: s2}, {from: s2, to: s0}]`,
	`nodes: [{name: s0..s4, kind: switch}, {name: h0..h4, kind: host}]
links: [{from: h0, to: s0}, {from: h1, to: s1}, {from: h2, to: s2}, {from: h3, to: s3}, {from: h4, to: s4},
  {from: s0, to: s1}, {from: s1, to: s2}, {from: s2, to: s3}, {from: s3, to: s4}, {from: s4, to: s0}, {from: s0, to: s2, delay: 3us}]`,
}

// workersCase describes a run under random traffic.
type workersCase struct {
	seed       uint64
	controller string
	credits    bool // in place of PFC
	faults     bool
	lossless   bool // what is to be lossless is
	plane      string
}

// TestWorkersChangeNothing: a run with several workers equals one with a single worker, in all visible results and in
// the order of the observers' calls.
func TestWorkersChangeNothing(t *testing.T) {
	controllers := []string{"dcqcn", "dcon", "pcn", "lstm-pid", "hpcc", "swift", "dcqcn+tcd"}
	cases, several := uint64(28), []int{2, 3, 8}
	if testing.Short() { // under the race detector
		cases, several = 7, []int{3}
	}
	for seed := range cases {
		c := workersCase{seed, controllers[seed%uint64(len(controllers))], seed%5 == 4, seed%2 == 1, seed%8 != 6, plane.Wasm}
		t.Run(fmt.Sprintf("%d %s", seed, c.controller), func(t *testing.T) {
			one := c.run(t, 1)
			for _, workers := range several {
				many := c.run(t, workers)
				for i := range max(len(one), len(many)) {
					if i >= len(one) || i >= len(many) || one[i] != many[i] {
						t.Errorf("%d workers: line %d of %d is %q, by one %q of %d", workers, i, len(many), many[min(i, len(many)-1)],
							one[min(i, len(one)-1)], len(one))
						break
					}
				}
			}
		})
	}
}

// callLog records an observer's calls, in order.
type callLog struct{ calls []string }

func (a *callLog) record(format string, args ...any) {
	a.calls = append(a.calls, fmt.Sprintf(format, args...))
}

func (a *callLog) FlowDone(now vtime.Time, flow int) { a.record("flow %d done at %d", flow, now) }

func (a *callLog) FlowStarted(now vtime.Time, flow int) { a.record("flow %d started at %d", flow, now) }

func (a *callLog) PFC(now vtime.Time, port int, priority uint8, pause bool) {
	a.record("PFC at %d: %d %d %v", now, port, priority, pause)
}

func (a *callLog) PFCReceived(c PFCArrival) { a.record("%+v", c) }

func (a *callLog) FaultEvent(f FaultEvent) { a.record("%+v", f) }

// run runs a case, and says all that there is to be seen of it.
func (c *workersCase) run(t *testing.T, count int) []string {
	t.Helper()
	random := rand.New(rand.NewPCG(c.seed, 2))
	plan := parsePlan(t, "rate: 25Gbps\ndelay: 900ns\n"+workerFabrics[random.IntN(len(workerFabrics))])
	spec, err := cc.Lookup(c.controller)
	if err != nil {
		t.Fatal(err)
	}
	features := plane.Features{BurstDetection: spec.Needs.CNM, Telemetry: spec.Needs.INT, Reroute: true}
	opened := openPlane(t, c.plane, plan, features)
	defer opened.Close()
	sw, host := switchagent.Default(), hostagent.Default()
	sw.PFC.XOFF, sw.PFC.XON, sw.PFC.Headroom = 30_000, 28_000, 300_000
	host.RetransmitTimeout = 300 * vtime.Microsecond
	host.INT, host.Ternary, host.Timestamps = spec.Needs.INT, spec.Needs.TCD, spec.Needs.Timestamps
	switch {
	case spec.Needs.TCD:
		sw.Detector = switchagent.DetectorTCD
	case spec.Needs.PCN:
		sw.ECN.Mode, host.Notify = switchagent.ECNPCN, hostagent.NotifyPCN
	}
	if c.credits {
		sw.FlowControl, sw.CBFC.Buffer = switchagent.FlowCBFC, 60*units.KB
	} else if c.faults {
		sw.PFC.Watchdog = switchagent.Watchdog{
			Detect: 30 * vtime.Microsecond, Restore: 50 * vtime.Microsecond,
			Forward: c.seed%4 == 1,
		}
	}
	if !c.lossless {
		sw.PFC.Headroom = 1000
	}
	var by WorkerPool
	if count > 1 {
		pool := workers.New(count)
		defer pool.Close()
		by = eager{pool}
		if c.seed%2 == 0 {
			by = apart(count)
		}
	}
	seen := &callLog{}
	e := newEngine(t, Config{
		Plan: plan, Plane: opened, Switches: slices.Repeat([]*switchagent.Settings{&sw}, len(plan.Switch)), Hosts: &host,
		Features: features,
		Seed:     c.seed, Observer: seen, Workers: by,
	})
	c.addFlows(t, e, spec, random)
	c.addOperations(t, e, spec)
	if c.faults {
		c.addFaults(e, random)
	}
	for at := vtime.Time(0); at < vtime.Millisecond; at += 7 * vtime.Microsecond {
		e.Call(at, func(now vtime.Time) { seen.record("at %d: %d %+v", now, e.Now(), e.Totals) })
	}
	if err := e.Run(vtime.Millisecond, 20*vtime.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	count = min(count, len(slices.MaxFunc(e.phases, func(a, b []int32) int { return len(a) - len(b) })))
	if made := e.workers != nil; made != (count > 1) || made && len(e.workers.all) != count {
		t.Fatalf("the run was not one by %d workers", count)
	}
	if e.Hops < 1000 {
		t.Fatalf("%d hops: the test tests little", e.Hops)
	}
	violations := e.Check()
	if len(violations) > 0 && c.lossless && !c.faults {
		t.Errorf("violations: %v", violations)
	}
	seen.record("now %d, fingerprint %s, %+v, open %d, lost %+v, messages %d", e.Now(), e.Fingerprint(), e.Totals,
		e.OpenFlows(), e.Lost(), e.CreditMessages())
	seen.record("stopped %v, deadlocks %+v, misled %d, frames %d", e.StoppedFlows(), e.Deadlocks(), e.ControlErrors(),
		e.pool.Out())
	for _, v := range violations {
		seen.record("%+v", v)
	}
	for i := range e.operations {
		began, ended := e.Operation(i)
		seen.record("operation %d: %d to %d", i, began, ended)
	}
	if done := len(e.operations) - e.OpenOperations(); done < 30 && c.lossless && !c.faults {
		t.Errorf("%d operations of %d have ended", done, len(e.operations))
	}
	for i := range e.ports {
		seen.record("port %d: %+v, lost %v, busy %d", i, e.state.Ports[i], e.LostAt(i), e.BusyTime(i))
	}
	for i := range e.switches {
		seen.record("switch %d: %+v", i, e.state.Switches[i])
	}
	for i, n := range e.nics {
		seen.record("NIC %d: %+v", i, n.Counters)
	}
	return seen.calls
}

// addFlows adds flows of all sizes, most of them to one host of two, and at last some that find the fabric at rest, and
// end at about one time.
func (c *workersCase) addFlows(t *testing.T, e *Engine, spec *cc.Spec, random *rand.Rand) {
	t.Helper()
	for i := range 60 {
		hosts := len(e.plan.Hosts)
		a := random.IntN(hosts)
		b := (a + 1 + random.IntN(hosts-1)) % hosts
		if i%3 > 0 {
			b = (a/2*2 + 2) % hosts
		}
		env := envOf(e)
		settings, err := cc.Resolve(c.controller, nil, env)
		if err != nil {
			t.Fatal(err)
		}
		start := vtime.Time(random.Int64N(int64(200 * vtime.Microsecond)))
		size := 1 + random.Int64N(150_000)
		if i >= 56 {
			start, size = 5*vtime.Millisecond, 20_000
		}
		e.AddFlow(FlowConfig{
			Source: e.plan.Hosts[a], Destination: e.plan.Hosts[b], Size: size, Start: start,
			Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(i)},
			NewController: func(int) (cc.Controller, error) { return spec.New(env, settings) },
		})
	}
}

// addOperations adds dependent traffic: computes, some of them on units, and messages, each waiting for some earlier
// operations of its host.
func (c *workersCase) addOperations(t *testing.T, e *Engine, spec *cc.Spec) {
	t.Helper()
	random := rand.New(rand.NewPCG(c.seed, 9))
	settings, err := cc.Resolve(c.controller, nil, envOf(e))
	if err != nil {
		t.Fatal(err)
	}
	hosts := len(e.plan.Hosts)
	at := make([][]int, hosts) // operations of each host
	add := func(host int, o OperationConfig) int {
		var after []Wait
		for range random.IntN(3) {
			if n := len(at[host]); n > 0 {
				after = append(after, Wait{at[host][max(0, n-1-random.IntN(4))], Until(random.IntN(3))})
			}
		}
		o.Host = e.plan.Hosts[host]
		id := e.AddOperation(o, after...)
		at[host] = append(at[host], id)
		return id
	}
	for range 60 {
		host := random.IntN(hosts)
		if random.IntN(3) == 0 {
			duration := vtime.Time(random.Int64N(int64(20*vtime.Microsecond))) * vtime.Time(random.IntN(2))
			add(host, OperationConfig{Duration: duration, Unit: random.IntN(3)})
			continue
		}
		other := (host + 1 + random.IntN(hosts-1)) % hosts
		send, receive := add(host, OperationConfig{Kind: OperationSend}), add(other, OperationConfig{Kind: OperationReceive})
		for range 1 + random.IntN(2) {
			e.AddFlow(FlowConfig{
				Source: e.plan.Hosts[host], Destination: e.plan.Hosts[other], Size: 1 + random.Int64N(30_000),
				Send: int32(send) + 1, Receive: int32(receive) + 1,
				Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(random.IntN(1000))},
				NewController: func(int) (cc.Controller, error) { return spec.New(envOf(e), settings) },
			})
		}
	}
}

func envOf(e *Engine) cc.Env {
	return cc.Env{LineRate: e.plan.Ports[0].Rate, BaseRTT: 10 * vtime.Microsecond, MTU: e.plan.MTU, LineMTU: 1082}
}

// addFaults has wires lose frames, links go down and come up, hosts be slow and malfunction, and routes change.
func (c *workersCase) addFaults(e *Engine, random *rand.Rand) {
	at := func(f func() error) {
		e.At(vtime.Time(random.Int64N(int64(400*vtime.Microsecond))), func(vtime.Time) error { return f() })
	}
	for range 10 {
		port, delay := random.IntN(len(e.ports)), vtime.Time(random.Int64N(int64(2*vtime.Microsecond)))+vtime.Nanosecond
		at(func() error { return e.SetDelay(port, delay) })
	}
	for range 4 {
		port := random.IntN(len(e.ports))
		at(func() error { return e.SetLink(port, false) })
		at(func() error { return e.SetLink(port, true) })
		at(func() error { return e.SetLoss(port, 0.01) })
	}
	at(e.Reroute)
	slow := hostagent.SlowReceiver{Rate: 3 * units.Gbps, Buffer: 200 * units.KB, XOFF: 40 * units.KB, XON: 20 * units.KB}
	at(func() error { return e.SetReceiver(1, &slow) })
	at(func() error { return e.SetReceiver(3, &slow) })
	if !c.credits {
		at(func() error { return e.InjectPFCStorm(2, 1<<3, 7*vtime.Microsecond) })
		e.At(500*vtime.Microsecond, func(vtime.Time) error { return e.InjectPFCStorm(2, 0, 0) })
	}
	e.At(600*vtime.Microsecond, func(vtime.Time) error {
		for i := range e.ports {
			if err := e.SetLink(i, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// faulty represents a congestion control that panics some time.
type faulty struct {
	cc.Controller
	at vtime.Time
}

func (f *faulty) OnAck(s *cc.Sample) {
	if s.Now >= f.at {
		panic("faulty")
	}
	f.Controller.OnAck(s)
}

// TestWorkerPanic: several workers report a congestion control that panics in a call or at construction like a single
// worker. If several panic at once, they report the one of the first partition.
func TestWorkerPanic(t *testing.T) {
	for _, making := range []bool{false, true} {
		var want *PanicError
		for _, count := range []int{1, 2, 3} {
			plan := parsePlan(t, "rate: 25Gbps\ndelay: 1us\nleafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2}")
			opened, err := wasmplane.Open(plan, plane.Features{})
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			pool := workers.New(count)
			defer pool.Close()
			sw, host := switchagent.Default(), hostagent.Default()
			e := newEngine(t, Config{
				Plan: plan, Plane: opened, Switches: slices.Repeat([]*switchagent.Settings{&sw}, 5), Hosts: &host,
				Workers: eager{pool},
			})
			for i, id := range plan.Hosts {
				e.AddFlow(FlowConfig{
					Source: id, Destination: plan.Hosts[(i+2)%6], Size: 1 << 20, Ports: paths.Ports{Source: wire.MinEntropyPort},
					Start: 3 * vtime.Microsecond,
					NewController: func(int) (cc.Controller, error) {
						if making && i >= 3 {
							panic("faulty")
						}
						return &faulty{cc.Constant(9e9), 30 * vtime.Microsecond}, nil
					},
				})
			}
			got := func() (p *PanicError) {
				defer func() {
					value, stack, _ := blame.Of(recover())
					p = e.Panicked(value, stack)
				}()
				t.Error(e.Run(vtime.Millisecond, 0, nil))
				return nil
			}()
			if got == nil || got.Value != "faulty" || !strings.Contains(string(got.Stack), "workers_test") {
				t.Fatalf("%d workers: %v", count, got)
			}
			if want == nil {
				want = got
			}
			if got.Location != want.Location || got.Time != want.Time {
				t.Errorf("%d workers: %v, by one %v", count, got, want)
			}
			if by := e.workers; (by != nil) != (count > 1) {
				t.Errorf("by %d workers: %v", count, by)
			}
		}
	}
}

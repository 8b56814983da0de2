package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// workersRun runs six flows between three leaves, with the sizes and controllers that prepare sets.
func workersRun(t *testing.T, workers int, drain vtime.Time, watch Watch,
	prepare func(e *Engine, flow int, f *FlowConfig),
) *Engine {
	t.Helper()
	plan := parsePlan(t, "rate: 25Gbps\ndelay: 20us\nleafspine: {spines: 2, leaves: 3, hosts_per_leaf: 2}")
	opened, err := wasmplane.Open(plan, plane.Features{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	sw, host := switchagent.Default(), hostagent.Default()
	sw.PFC.XOFF, sw.PFC.XON = 30_000, 28_000
	e := newEngine(t, Config{
		Plan: plan, Plane: opened, Switches: slices.Repeat([]*switchagent.Settings{&sw}, 5), Hosts: &host,
		Workers: apart(workers),
	})
	for i, id := range plan.Hosts {
		f := FlowConfig{
			Source: id, Destination: plan.Hosts[(i/2*2+2)%6], Size: 1 << 20, Ports: paths.Ports{Source: wire.MinEntropyPort},
			NewController: func(int) (cc.Controller, error) { return cc.Constant(25e9), nil },
		}
		prepare(e, i, &f)
		e.AddFlow(f)
	}
	if err := e.Run(vtime.Millisecond, drain, watch); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestWorkersComeToRest: a fabric that PAUSE has stopped for good ends its run when it does by one worker, whichever
// worker has begun the flows and moved the last frame. Whoever watches is called as often.
func TestWorkersComeToRest(t *testing.T) {
	var want string
	for _, workers := range []int{1, 2, 3} {
		const limit = 5 * vtime.Second
		watched := int64(0)
		e := workersRun(t, workers, limit, func(vtime.Time, *Totals) error {
			watched++
			return nil
		}, func(e *Engine, flow int, f *FlowConfig) {
			if flow == 5 { // moves when the others have stopped
				f.Start = 900 * vtime.Microsecond
			}
			if flow == 0 {
				e.At(50*vtime.Microsecond, func(vtime.Time) error {
					for i := range e.plan.Hosts {
						if err := e.InjectPFCStorm(i, 1<<3, 100*vtime.Microsecond); err != nil {
							return err
						}
					}
					return nil
				})
			}
		})
		got := fmt.Sprintf("at %v, fingerprint %s, %d open, stopped %v", e.Now(), e.Fingerprint(), e.OpenFlows(),
			e.StoppedFlows())
		if want == "" {
			want = got
		}
		if got != want || e.Now() > limit/2 || e.OpenFlows() != 6 {
			t.Errorf("%d workers: %s; by one: %s", workers, got, want)
		}
		if watched < e.Events/eventsPerPoll/2 {
			t.Errorf("%d workers: watched %d times in %d events", workers, watched, e.Events)
		}
	}
}

// culprit represents a congestion control that breaks an invariant with each ACK.
type culprit struct {
	cc.Controller
	breaks func(now vtime.Time)
}

func (c *culprit) OnAck(s *cc.Sample) {
	c.breaks(s.Now)
	c.Controller.OnAck(s)
}

// TestWorkersBreakInvariants: of the invariants that are broken in a phase, those are kept that one worker finds first,
// in its order.
func TestWorkersBreakInvariants(t *testing.T) {
	var want []string
	for _, workers := range []int{1, 2, 3} {
		e := workersRun(t, workers, vtime.Second, nil, func(e *Engine, flow int, f *FlowConfig) {
			f.Size = 20_000
			f.NewController = func(int) (cc.Controller, error) {
				return &culprit{cc.Constant(25e9), func(now vtime.Time) {
					r := e.partitions[e.hostPort(flow).partition]
					for i := range maxViolations*2/3 - 7*flow {
						r.worker.fail("nothing is broken", "a test", "flow %d, number %d", flow, i)
					}
				}}, nil
			}
		})
		var got []string
		for i := range e.broken {
			got = append(got, e.broken[i].String())
		}
		if want == nil {
			want = got
		}
		if len(got) != maxViolations || !slices.Equal(got, want) {
			t.Errorf("%d workers: %d of %q, by one %q", workers, len(got), got, want)
		}
	}
}

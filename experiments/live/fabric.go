//go:build linux

package live

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/lockstep"
	"github.com/pausenet/pausenet/orchestrator/nat"
	"github.com/pausenet/pausenet/orchestrator/netnames"
	"github.com/pausenet/pausenet/orchestrator/pidns"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/orchestrator/wallclock"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Fabric represents a live fabric.
type Fabric struct {
	Name     string
	Plan     *topologies.Plan
	Made     *Setup        // what BringUp got
	PassCost time.Duration // measured at bring-up
	BringUp  time.Duration // time that BringUp took
	// Chosen means that the slow-down was chosen from PassCost.
	Chosen bool

	options Options
	live    *wallclock.Driver
	plane   kernel.LivePlane
	// programs holds the PID namespace of programs on nodes.
	programs *pidns.Namespace
	nodes    *kernel.Nodes
	control  *controlPlane   // of switches; nil without
	names    *netnames.Names // for "ip netns"; nil without
	verbs    *verbs.Server
	lockstep *lockstep.Programs // nil with ClockWall
	nat      *nat.Gateway       // connection to the machine's network
	watch    *watcher
	started  bool                      // the scenario has started; used on the engine's goroutine
	listing  *scenario.Listing         // chooses interfaces and salts of users' flows; used on the engine's goroutine
	salts    func(flow, qp int) uint64 // of the scenario's flows
	// stopped holds the stopped switches, and the links that went down with them; used on the engine's goroutine
	stopped map[topologies.NodeID][]topologies.PortID
	pending map[place]*pendingEnd // faults that end by themselves; used on the engine's goroutine
	ended   *endedFlows
	cancel  context.CancelCauseFunc
	done    chan struct{}
	err     error

	mutex    sync.Mutex
	sets     map[string][]string // by switch; "" for all
	captures map[int]*wires      // by receiving port
	server   *server
	metrics  *metricsServer
	events   io.WriteCloser // from Options.Events; nil without
	written  chan error     // receives the result of writing events, at their end
	record   *Record        // nil if not recorded
	why      string         // reason for the end
}

// Slowdown returns the current slow-down: wall-clock seconds per second of virtual time.
func (f *Fabric) Slowdown() float64 { return f.live.Clock().Slowdown() }

// Virtual returns the virtual time between two past wall-clock times.
func (f *Fabric) Virtual(from, to time.Time) vtime.Time {
	c := f.live.Clock()
	return c.Virtual(to) - c.Virtual(from)
}

// Lockstep reports whether virtual time stands still while programs run.
func (f *Fabric) Lockstep() bool { return f.lockstep != nil }

// PlaneName returns the plane of the switches' pipelines: plane.Kernel or plane.Wasm.
func (f *Fabric) PlaneName() string { return f.plane.Name() }

// Privileged reports whether programs on nodes have all capabilities of root.
func (f *Fabric) Privileged() bool { return f.options.Privileged }

// Done returns a channel that is closed when the fabric has ended by itself, or by Close.
func (f *Fabric) Done() <-chan struct{} { return f.done }

// Do runs a function between two events.
func (f *Fabric) Do(do func(e *engine.Engine) error) error {
	return f.live.Do(func() error { return do(f.live.Engine()) })
}

// Wall returns the wall-clock time of a span of virtual time, at the current slow-down.
func (f *Fabric) Wall(t vtime.Time) time.Duration {
	return time.Duration(float64(t.Nanoseconds()) * f.Slowdown())
}

//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"time"

	cilium "github.com/cilium/ebpf"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// Fabric represents a topology in the kernel: a network namespace per device and a veth pair per port, with the
// pipelines attached. The inner end of a port is in its device's namespace under its natural name, the outer end in the
// hub namespace, where the entry is too.
type Fabric struct {
	plan      *topologies.Plan
	pipelines *kernel.Pipelines
	ingress   *cilium.Program // for inner ends; nil if the pipelines run in this process
	egress    *cilium.Program // for outer ends; nil if the engine sends nothing from there, or no pipelines run there
	end       *cilium.Program // program for outer ends, on ingress
	enter     *cilium.Program // for the entry
	entry     *entry          // nil if the machine has no TAP interfaces, or the pipelines run in this process
	hub       netns.NsHandle
	devices   []netns.NsHandle // by node
	hooks     []hook
	live      bool
	TCX       bool // programs are attached by TCX; otherwise by clsact
	Timing    BuildTiming
}

// BuildTiming holds how long each part of the bring-up took.
type BuildTiming struct{ Load, Namespaces, Links, Attach, Total time.Duration }

// checkSize returns a TooLargeError if a fabric is too large for the kernel plane.
func checkSize(plan *topologies.Plan) error {
	if len(plan.Hosts) <= MaxHosts && len(plan.Switch) <= MaxSwitches {
		return nil
	}
	return &TooLargeError{len(plan.Hosts), len(plan.Switch)}
}

// filesOfPipelines estimates the maximum number of files that the pipelines' maps, programs and types need during
// loading, plus those that the bring-up opens briefly: about 30, counted on Linux 6.18.
const filesOfPipelines = 40

// checkFiles returns EMFILE if a fabric needs more files than this process may open. If loading the pipelines hit
// the limit instead, the loader would mistake some failures for a missing kernel feature.
func checkFiles(plan *topologies.Plan, way Hooks) error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("count the open files: %w", err)
	}
	needs := filesOfPipelines + len(plan.Nodes) + 1 // a namespace each, and the hub
	if way.triesTCX(plan) {
		needs += 3 * len(plan.Ports)
	}
	if uint64(len(open)+needs) > OpenFilesLimit() {
		return fmt.Errorf("the fabric needs up to %d files besides the %d that are open: %w", needs, len(open), unix.EMFILE)
	}
	return nil
}

// NewFabric builds the fabric in the kernel. It needs root. It returns a TooLargeError for a plan with more than
// MaxHosts or MaxSwitches. The fabric ends with the process, even if that is killed.
func NewFabric(plan *topologies.Plan, o FabricOptions) (f *Fabric, err error) {
	if err := checkSize(plan); err != nil {
		return nil, err
	}
	if err := checkFiles(plan, o.Hooks); err != nil {
		return nil, err
	}
	f = &Fabric{plan: plan, live: o.Features.Live, hub: netns.None()}
	defer CloseFailed(&f, &err)
	start := time.Now()
	if !o.inProcess {
		if f.pipelines, err = kernel.Load(fill.Sizes(plan, o.Features)); err != nil {
			return f, err
		}
		f.ingress, f.egress, f.end, f.enter = f.pipelines.Ingress, f.pipelines.Egress, f.pipelines.End, f.pipelines.Entry
	}
	if o.bare != nil {
		f.ingress, f.egress, f.enter = o.bare.Ingress, o.bare.Egress, o.bare.Entry
	}
	f.Timing.Load = time.Since(start)
	err = onOwnThread(func() error {
		phase := time.Now()
		lap := func(d *time.Duration) { *d = time.Since(phase); phase = time.Now() }
		if err := f.makeNamespaces(); err != nil {
			return err
		}
		lap(&f.Timing.Namespaces)
		if err := f.makeLinks(); err != nil {
			return err
		}
		if err := f.awaitCarriers(); err != nil {
			return err
		}
		lap(&f.Timing.Links)
		if !o.inProcess && !o.withoutEntry {
			if f.entry, err = openEntry(f.plan); err != nil && !errors.Is(err, errNoEntry) {
				return err
			}
		}
		if f.entry != nil && !f.live {
			f.egress = nil
		}
		if !o.inProcess {
			if err := f.attachAll(o.Hooks); err != nil {
				return err
			}
		}
		lap(&f.Timing.Attach)
		return nil
	})
	if err != nil {
		return f, err
	}
	if f.pipelines != nil {
		fill.Plan(plan, &f.pipelines.State)
	}
	f.Timing.Total = time.Since(start)
	return f, nil
}

// State returns the pipelines' tables and registers.
func (f *Fabric) State() *ebpf.State { return &f.pipelines.State }

// Plan returns the plan that the fabric was built from.
func (f *Fabric) Plan() *topologies.Plan { return f.plan }

// makeNamespaces leaves the thread in the hub namespace.
func (f *Fabric) makeNamespaces() (err error) {
	f.devices = make([]netns.NsHandle, 0, len(f.plan.Nodes))
	for range f.plan.Nodes {
		ns, err := newNamespace()
		if err != nil {
			return err
		}
		f.devices = append(f.devices, ns)
	}
	f.hub, err = newNamespace()
	return err
}

// inHub runs do on a thread in the hub namespace.
func (f *Fabric) inHub(do func() error) error {
	return onOwnThread(func() error {
		if err := netns.Set(f.hub); err != nil {
			return fmt.Errorf("enter the hub namespace: %w", err)
		}
		return do()
	})
}

// Close removes the fabric.
func (f *Fabric) Close() error {
	errs := lists.Map(f.hooks, func(h hook) error { return h.Close() })
	f.hooks = nil
	for i := range f.devices {
		errs = append(errs, f.devices[i].Close())
	}
	f.devices = nil
	if f.entry != nil {
		errs = append(errs, f.entry.Close())
		f.entry = nil
	}
	if f.hub.IsOpen() {
		errs = append(errs, f.hub.Close())
	}
	if f.pipelines != nil {
		errs = append(errs, f.pipelines.Close())
		f.pipelines = nil
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the fabric: %w", err)
	}
	return nil
}

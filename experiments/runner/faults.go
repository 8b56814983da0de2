package runner

import (
	"cmp"
	"fmt"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// ScheduleFaults schedules the faults of a scenario that starts at the given time, now or later, on an engine of its
// topology.
func ScheduleFaults(e *engine.Engine, s *scenario.Scenario, begin vtime.Time) {
	for i := range s.Faults {
		scheduleFault(e, &s.Faults[i], begin+s.Faults[i].At, 1, begin+s.Duration)
	}
}

// scheduleFault schedules the n-th occurrence of a fault.
func scheduleFault(e *engine.Engine, f *scenario.Fault, at vtime.Time, n int, duration vtime.Time) {
	e.At(at, func(now vtime.Time) error {
		undo, err := ApplyFault(e, f)
		if err != nil {
			return err
		}
		if f.For > 0 {
			e.At(now+f.For, func(vtime.Time) error { return undo() })
		}
		if next := now + f.Every; f.Every > 0 && (n < f.Times || f.Times == 0 && next <= duration) {
			scheduleFault(e, f, next, n+1, duration)
		}
		return nil
	})
}

// ApplyFault applies a fault and returns a function that restores the earlier state.
func ApplyFault(e *engine.Engine, f *scenario.Fault) (undo func() error, err error) {
	var restores []func() error
	each := func(do, back func() error) {
		if err == nil {
			err = do()
			restores = append(restores, back)
		}
	}
	for _, id := range f.Ports {
		if f.Kind == settings.FaultDown {
			each(func() error { return setLink(e, f, id, f.Up) }, func() error { return setLink(e, f, id, true) })
			continue
		}
		for _, p := range directions(e, f, id) {
			do, back := faultOfWire(e, f, p)
			each(do, back)
		}
	}
	for _, id := range f.NICs {
		do, back := faultOfHost(e, f, id)
		each(do, back)
	}
	return func() error {
		for _, back := range restores {
			if err := back(); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// setLink takes a link down or up, and schedules the change of routes.
func setLink(e *engine.Engine, f *scenario.Fault, id topologies.PortID, up bool) error {
	if err := e.SetLink(int(id), up); err != nil || f.Reroute == vtime.Never {
		return err
	}
	e.At(e.Now()+f.Reroute, func(vtime.Time) error { return e.Reroute() })
	return nil
}

func directions(e *engine.Engine, f *scenario.Fault, id topologies.PortID) []int {
	if f.OneWay {
		return []int{int(id)}
	}
	return []int{int(id), int(e.Plan().Ports[id].Peer)}
}

// faultOfWire returns functions that apply and end a fault of the link from a port.
func faultOfWire(e *engine.Engine, f *scenario.Fault, p int) (do, back func() error) {
	was := e.Wire(p)
	switch f.Kind {
	case settings.FaultLoss:
		return func() error { return e.SetLoss(p, f.Probability) }, func() error { return e.SetLoss(p, was.Loss) }
	case settings.FaultCorrupt, settings.FaultBER:
		c := was.Corruption
		if f.Kind == settings.FaultCorrupt {
			c.Frame = f.Probability
		} else {
			c.Bit = f.Probability
		}
		return func() error { return e.SetCorruption(p, c) }, func() error {
			now := e.Wire(p).Corruption
			if f.Kind == settings.FaultCorrupt {
				now.Frame = was.Corruption.Frame
			} else {
				now.Bit = was.Corruption.Bit
			}
			return e.SetCorruption(p, now)
		}
	case settings.FaultDelay:
		return func() error { return e.SetDelay(p, f.Delay) }, func() error { return e.SetDelay(p, was.Delay) }
	case settings.FaultRate:
		return func() error { return e.SetRate(p, f.Rate) }, func() error { return e.SetRate(p, was.Rate) }
	}
	panic(noCase(f.Kind))
}

// faultOfHost returns functions that apply and end a fault of a host's NIC.
func faultOfHost(e *engine.Engine, f *scenario.Fault, id topologies.PortID) (do, back func() error) {
	nic := e.Plan().Ports[id].Interface
	switch f.Kind {
	case settings.FaultReceiver:
		return func() error { return e.SetReceiver(nic, &f.Receiver) }, func() error { return e.SetReceiver(nic, nil) }
	case settings.FaultPause:
		interval := cmp.Or(f.Interval, wire.PauseTime(wire.PauseMax, e.Wire(int(id)).Rate)/2)
		return func() error { return e.InjectPFCStorm(nic, f.Priorities, interval) },
			func() error { return e.InjectPFCStorm(nic, 0, 0) }
	}
	panic(noCase(f.Kind))
}

// noCase returns the text of a panic about a kind in settings.Faults that is not implemented here.
func noCase(kind settings.FaultKind) string {
	return fmt.Sprintf("runner: fault kind %s is not implemented", kind)
}

//go:build linux

package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// fault describes a change of links, switches or hosts' NICs.
type fault struct {
	steps   []step
	route   vtime.Time   // time until routes change; vtime.Never: they do not
	lasting bool         // it repairs something, so it cannot end by itself
	check   func() error // reports whether the change is possible now; nil: it is
}

// step is one change at one place. do returns the function that undoes it.
type step struct {
	at place
	do func(e *engine.Engine) (undo func() error, err error)
}

// place identifies what a fault changes: a kind of fault at a link, by its lower port, at a NIC, by its port, or at a
// switch, by its node.
type place struct {
	kind settings.FaultKind
	id   int
}

// faultPower is the kind of a stopped switch, which scenarios do not have.
const faultPower settings.FaultKind = "power"

// pendingEnd undoes a fault that ends by itself, unless a later change of the same place has replaced it.
type pendingEnd struct{ undo func() error }

// Faults lists the first words of Fault.
var Faults = []string{"link", "switch", "host"}

// ErrFaultUsage means that Fault received unexpected words.
var ErrFaultUsage = errors.New("expected link A [B] down|loss=1%|..., switch SWITCH stop, or " +
	"host HOST receive=1Gbps|pfc-storm on, each with a time such as 50ms or without")

// Fault changes links, switches or hosts' NICs: link A [B] STATE..., switch SWITCH stop|start, host HOST STATE.... If
// the last word is a span of virtual time, such as 50ms, the fault then ends by itself, and what it changed becomes as
// it was before. A later change of the same kind at the same place replaces it. ends is the virtual time of that end,
// after span; both are 0 for a lasting change.
func (f *Fabric) Fault(words []string) (span, ends vtime.Time, err error) {
	if len(words) == 0 {
		return 0, 0, ErrFaultUsage
	}
	own := words[1:]
	if n := len(own); n > 0 {
		switch t, err := units.ParseTime(own[n-1]); {
		case err == nil && t == 0:
			return 0, 0, fmt.Errorf("%s: a fault must last some time (leave the time out to make it permanent)", own[n-1])
		case err == nil:
			span, own = t, own[:n-1]
		case n > 2 && strings.Trim(own[n-1], "0123456789,") == "": // a storm's priorities
		case n > 2 && strings.ContainsAny(own[n-1][:1], "+-.0123456789"):
			return 0, 0, fmt.Errorf("%w (a fault lasts a time above 0 and below 100 days, such as 50ms; leave it out "+
				"to make the fault permanent)", err)
		}
	}
	var made *fault
	switch words[0] {
	case "link":
		made, err = f.linkFault(own)
	case "switch":
		made, err = f.switchFault(own)
	case "host":
		made, err = f.hostFault(own)
	default:
		return 0, 0, fmt.Errorf("unknown fault %q%s", words[0], spelling.Suggest(words[0], Faults))
	}
	if err != nil {
		return 0, 0, err
	}
	if span > 0 && made.lasting {
		return 0, 0, fmt.Errorf("%s: a repair does not end by itself (leave the time out)", words[len(words)-1])
	}
	err = f.Do(func(e *engine.Engine) error {
		if span > 0 {
			if ends = e.Now() + span; ends < span {
				return fmt.Errorf("%v: the fault would end after the end of virtual time (leave the time out to make it permanent)",
					span)
			}
		}
		return f.begin(e, made, span)
	})
	return span, ends, err
}

// begin applies a fault. After a span, unless that is 0, it undoes what no later fault has replaced.
func (f *Fabric) begin(e *engine.Engine, made *fault, span vtime.Time) error {
	if made.check != nil {
		if err := made.check(); err != nil {
			return err
		}
	}
	began := map[place]*pendingEnd{}
	for _, s := range made.steps {
		undo, err := s.do(e)
		if err != nil {
			return err
		}
		if earlier := f.pending[s.at]; earlier != nil {
			undo = earlier.undo // to the state before both
			delete(f.pending, s.at)
		}
		if span > 0 && undo != nil {
			began[s.at] = &pendingEnd{undo}
			f.pending[s.at] = began[s.at]
		}
	}
	if span > 0 {
		e.At(e.Now()+span, func(vtime.Time) error {
			ended := false
			for _, s := range made.steps {
				own := began[s.at]
				if own == nil || f.pending[s.at] != own {
					continue
				}
				delete(f.pending, s.at)
				if err := own.undo(); err != nil {
					return err
				}
				ended = true
			}
			if !ended {
				return nil
			}
			return rerouteAfter(e, made.route)
		})
	}
	return rerouteAfter(e, made.route)
}

// rerouteAfter changes routes after some time.
func rerouteAfter(e *engine.Engine, span vtime.Time) error {
	switch span {
	case vtime.Never:
		return nil
	case 0:
		return e.Reroute()
	}
	e.At(e.Now()+span, func(vtime.Time) error { return e.Reroute() })
	return nil
}

// effectStep returns the step that applies a scenario's fault.
func effectStep(at place, effect scenario.Fault) step {
	effect.Ports, effect.NICs = slices.Clone(effect.Ports), slices.Clone(effect.NICs)
	return step{at, func(e *engine.Engine) (func() error, error) { return runner.ApplyFault(e, &effect) }}
}

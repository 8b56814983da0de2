package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/vtime"
)

// checkFlow checks that a flow's data arrived exactly once: in order, or with selective repeat each packet at its
// position.
func (e *Engine) checkFlow(f *Flow) {
	if f.Finished != vtime.Never && f.Delivered() != f.Size {
		e.fail("flows arrive in order, exactly once", fmt.Sprintf("flow %d", f.Number), "%d of %d bytes were delivered",
			f.Delivered(), f.Size)
	}
	if f.Receiver == nil {
		return
	}
	if f.Receiver.Delivered < f.Sender.Acked() || f.Receiver.Delivered > f.Sender.MostSent() {
		e.fail("flows arrive in order, exactly once", fmt.Sprintf("flow %d", f.Number),
			"%d bytes sent, %d delivered, %d acknowledged",
			f.Sender.MostSent(), f.Receiver.Delivered, f.Sender.Acked())
	}
}

// grantInvariant names the invariant of flows that send only granted bytes.
const grantInvariant = "grants add up"

// checkGrants checks that bytes granted to a flow are spent, left or on their way, that no byte was granted without a
// demand, and that none was spent without a grant.
func (w *worker) checkGrants(f *Flow, g hostagent.GrantCounts) {
	location := fmt.Sprintf("flow %d", f.Number)
	sent := f.Sender.MostSent() + f.Sender.Retransmitted
	if g.Initial+g.Received != sent+g.Left {
		w.fail(grantInvariant, location, "%d bytes could be sent without a grant and %d by grants: %d were sent, %d are left",
			g.Initial, g.Received, sent, g.Left)
	}
	if g.Received > g.Granted || g.Granted > g.Demand {
		w.fail(grantInvariant, location, "%d bytes were requested, %d granted, and %d received by the sender",
			g.Demand, g.Granted, g.Received)
	}
}

// controlError describes a flow whose congestion control returned an impossible value.
type controlError struct {
	flow     int // number
	location string
	broken   hostagent.ControlError
}

// controlErrorOf returns the impossible value that the flow's congestion control returned; nil without one.
func (e *Engine) controlErrorOf(f *Flow) *controlError {
	if f.Sender == nil {
		return nil
	}
	broken := f.Sender.ControlError(e.now, f.Start)
	if broken == nil {
		return nil
	}
	return &controlError{f.Number, e.locationOf(f), *broken}
}

// keepControlError keeps the impossible value of a flow that is about to be freed, for the final check.
func (e *Engine) keepControlError(f *Flow) {
	if m := e.controlErrorOf(f); m != nil && len(e.pastControlErrors) < maxViolations {
		e.pastControlErrors = append(e.pastControlErrors, *m)
	}
}

// locationOf returns the name of a flow in messages about its congestion control: "dcqcn, flow 2 (h2 to h4)".
func (e *Engine) locationOf(f *Flow) string {
	from, to := &e.plan.Nodes[f.Source], &e.plan.Nodes[f.Destination]
	location := fmt.Sprintf("flow %d (%s to %s)", f.Number, from.Name, to.Name)
	if f.Controller != "" {
		location = f.Controller + ", " + location
	}
	return location
}

// ControlErrors returns the number of open flows whose congestion control returned an impossible value.
func (e *Engine) ControlErrors() (n int) {
	for _, f := range e.EachFlow() {
		if f.Finished == vtime.Never && e.controlErrorOf(f) != nil {
			n++
		}
	}
	return n
}

// Grants returns the sums over all flows under a congestion control by grants; zero without any.
func (e *Engine) Grants() hostagent.GrantCounts {
	sum := e.pastGrants
	for _, f := range e.EachFlow() {
		if f.Sender != nil && f.Receiver != nil {
			if g, ok := f.Sender.GrantCounts(f.Receiver); ok {
				sum = sum.Plus(g)
			}
		}
	}
	return sum
}

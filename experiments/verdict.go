package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/switchagent"
)

// Status is a verdict in one word.
type Status string

// Statuses.
const (
	// Pass: every law held and everything that was switched on had an effect.
	Pass Status = "PASS"
	// Warn: every law held, but a knob had no effect, so the run may not show what it is meant to.
	Warn Status = "WARN"
	// Fail: a law was broken, or the run did not reach its end. The numbers cannot be trusted, or not as a whole.
	Fail Status = "FAIL"
)

// Verdict says whether a run's numbers can be trusted, and why not.
type Verdict struct {
	Status   Status   `json:"status"`
	Messages []string `json:"messages"`
}

// verdict closes the books. runErr is what ended the run early; nil if nothing did.
func (r *runner) verdict(runErr error) Verdict {
	v := Verdict{Status: Pass, Messages: []string{}}
	worsen := func(s Status, format string, args ...any) {
		v.Messages = append(v.Messages, fmt.Sprintf(format, args...))
		if s == Fail || v.Status == Pass {
			v.Status = s
		}
	}
	switch {
	case errors.Is(runErr, context.Canceled) && r.engine.Now() > r.scenario.Duration: // it drains
		worsen(Fail, "interrupted at %v, %v after its duration, while it drained: the results are partial", r.engine.Now(), r.engine.Now()-r.scenario.Duration)
	case errors.Is(runErr, context.Canceled):
		worsen(Fail, "interrupted at %v of %v: the results are partial", r.engine.Now(), r.scenario.Duration)
	case runErr != nil:
		worsen(Fail, "stopped at %v: %v", r.engine.Now(), runErr)
	}
	deadlock := r.engine.Deadlocked()
	if deadlock != nil {
		worsen(Fail, "deadlock since %v: %s: flow control holds each until the next has sent, for ever", deadlock.Since, r.engine.Circle(deadlock))
	}
	if open := r.engine.OpenFlows(); runErr == nil && r.scenario.Drain && open > 0 {
		why := "with loss, set host.retransmit_timeout; a host that sends PAUSE without end, or a link that stays down, stops flows too"
		if deadlock != nil {
			why = "the deadlock holds them up"
		}
		worsen(Fail, "%d flows never ended: they have stopped for good (%s)", open, why)
	}
	for _, broken := range r.engine.Check() {
		worsen(Fail, "%v", broken)
	}
	if v.Status == Fail {
		return v
	}
	for _, idle := range r.idle() {
		if !slices.Contains(r.scenario.MayIdle, idle.knob) {
			worsen(Warn, "%s", idle.what)
		}
	}
	return v
}

// Knobs whose having no effect is worth a warning, by the names that scenarios give them in may_idle.
const (
	knobPFC        = "pfc"
	knobECN        = "ecn"
	knobCNM        = "cnm"
	knobController = "controller"
	knobFlows      = "flows"
	knobFaults     = "faults"
)

var idleKnobs = []string{knobPFC, knobECN, knobCNM, knobController, knobFlows, knobFaults}

// idleKnob is a knob that had no effect on the run.
type idleKnob struct{ knob, what string }

func (r *runner) idle() []idleKnob {
	var idle []idleKnob
	say := func(knob, format string, args ...any) {
		idle = append(idle, idleKnob{knob, fmt.Sprintf(format, args...)})
	}
	s, p := r.scenario, &r.recorder.pfc
	if s.Switch.FlowControl == switchagent.FlowCBFC {
		stalls := uint64(0)
		for i := range r.engine.State().Ports {
			stalls += r.engine.State().Ports[i].CreditStalls
		}
		if s.Switch.CBFC.Priorities != 0 && stalls == 0 {
			say(knobPFC, "flow control was never reached: no port ran out of credits")
		}
	} else if s.Switch.PFC.Priorities != 0 && p.pauses == 0 {
		say(knobPFC, "PFC was never reached: no switch sent a PAUSE")
	}
	var marks, cnps, cnms, changes int64
	state := r.engine.State()
	for i := range state.Ports {
		marks += int64(state.Ports[i].EcnMarked + state.Ports[i].UeMarked)
		cnms += int64(state.Ports[i].CnmsSent)
	}
	for i := range s.Topology.Hosts {
		cnps += r.engine.NIC(i).CNPsReceived
		changes += r.engine.NIC(i).RateChanges
	}
	if (r.spec.Needs.ECN || r.spec.Needs.PCN) && marks == 0 {
		say(knobECN, "ECN never marked a packet")
	}
	if r.spec.Needs.CNM && cnms == 0 {
		say(knobCNM, "no switch sent a CNM")
	}
	if plain, _, _ := strings.Cut(r.spec.Name, "+"); plain != "none" && changes == 0 {
		say(knobController, "the controller never reacted: no %s flow changed its rate", r.spec.Name)
	}
	late := 0
	for i := range s.Faults {
		if s.Faults[i].At > r.engine.Now() {
			late++
		}
	}
	if late > 0 {
		say(knobFaults, "%d faults never happened: they were to come after %v, when the run ended", late, r.engine.Now())
	}
	if !s.Drain {
		if late := r.unstarted(); late > 0 {
			say(knobFlows, "%d flows never started: they were to start after %v", late, s.Duration)
		}
	}
	return idle
}

func (r *runner) unstarted() int {
	n := 0
	for i := range r.engine.Flows() {
		if f := &r.engine.Flows()[i]; f.Sender == nil && f.Finished == vtime.Never {
			n++
		}
	}
	return n
}

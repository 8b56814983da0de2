// Command own-controller is pausenet with a congestion control more, written in a module of its own: every verb has it,
// by its name.
//
//	go run . run convergence-2 --cc halving
//	go run . list --cc halving
package main

import (
	"github.com/pausenet/pausenet/command"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/vtime"
)

func init() {
	cc.Register(cc.Define(cc.Spec{
		Name:    "halving",
		Summary: "AIMD by marks: half the rate at most once an RTT, a step up for each RTT without a mark",
		Source:  "Chiu and Jain, Computer Networks and ISDN Systems 17, 1989",
		Needs:   cc.SwitchNeeds{ECN: true, ACK: true}, Departure: cc.DepartureStays,
		Parameters: []cc.Parameter{
			{Name: "step", Kind: cc.RateKind, Default: "line/100", Min: "1bps", Max: "line", Doc: "added to the rate"},
		},
	}, newConstants, func(_ cc.Env, c *constants) (cc.Controller, error) {
		return &halving{constants: c, rate: c.line}, nil
	}))
}

func main() { command.Main() }

// constants are what all flows of a run share. Rates are in bits per second.
type constants struct {
	step, line, least float64
	rtt               vtime.Time
}

func newConstants(env cc.Env, s *cc.Settings) (*constants, error) {
	line := float64(env.LineRate)
	return &constants{step: s.Rate("step"), line: line, least: line / 1000, rtt: env.BaseRTT}, nil
}

// halving is one flow's sender.
type halving struct {
	cc.Base
	*constants
	rate    float64
	changed vtime.Time // when the rate last was
}

// Rate is the rate at which the next packet may leave.
func (h *halving) Rate() float64 { return h.rate }

// Retimes says that a departure that is already timed stays.
func (h *halving) Retimes() bool { return false }

// OnAck goes by the mark that the ACK echoes.
func (h *halving) OnAck(s *cc.Sample) {
	if s.Now-h.changed < h.rtt {
		return
	}
	h.changed = s.Now
	if s.CE {
		h.rate = max(h.least, h.rate/2)
	} else {
		h.rate = min(h.line, h.rate+h.step)
	}
}

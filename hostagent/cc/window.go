package cc

import (
	"slices"
	"strings"

	"github.com/pausenet/pausenet/vtime"
)

// windowSuffix after the name of a congestion control without a window gives it one (see withWindow).
const windowSuffix = "+win"

// windowedSpecs holds the registry's congestion controls without a window, each with a window added.
var windowedSpecs = func() []*Spec {
	var all []*Spec
	for _, s := range registry {
		if !s.HasWindow {
			all = append(all, withWindow(s))
		}
	}
	return all
}()

// windowless lists the congestion controls that support NAME+win.
func windowless() string {
	names := make([]string, len(windowedSpecs))
	for i, s := range windowedSpecs {
		names[i] = strings.TrimSuffix(s.Name, windowSuffix)
	}
	return strings.Join(names, ", ")
}

// windowName names the parameter with the window at line rate.
const windowName = "window"

var windowParameter = Parameter{
	Name: windowName, Kind: SizeKind, Default: "1bdp", Min: "1B", Max: "1000GB",
	Doc: "payload in flight at line rate; in proportion at other rates, but at least one packet",
}

// inFlight returns HPCC's variable window, in payload bytes: the window at line rate times the rate's share of the line
// rate. The last packet may exceed it, so that one packet can always leave.
func inFlight(full, rate, line float64) int64 { return max(1, int64(float64(full*rate)/line)) }

// withWindow returns a variant of base, which has no window, limited to a window in proportion to its rate.
func withWindow(base *Spec) *Spec {
	s := *base
	s.Name += windowSuffix
	s.base = base
	s.Summary += " With a window of BDP*R/C."
	s.Source += "; the window is that of HPCC's simulator (its variable window)"
	s.HasWindow, s.Needs.ACK = true, true
	s.Parameters = append(slices.Clone(base.Parameters), windowParameter)
	return Define(s, func(env Env, set *Settings) (*windowConstants, error) {
		inner, err := base.compile(env, set)
		if err != nil {
			return nil, err
		}
		return &windowConstants{inner: inner, full: float64(set.Size(windowName)), line: float64(env.LineRate)}, nil
	}, func(env Env, c *windowConstants) (Controller, error) {
		flow, err := base.build(env, c.inner)
		return &windowed{Controller: flow, c: c}, err
	})
}

// windowConstants holds the constants of a congestion control and of its window, shared by all flows.
type windowConstants struct {
	inner      any
	full, line float64 // payload bytes, b/s
}

// windowed implements a rate-based controller with a window.
type windowed struct {
	Controller
	c *windowConstants
}

// Window returns a window in proportion to the rate.
func (w *windowed) Window() int64 { return inFlight(w.c.full, w.Rate(), w.c.line) }

// Preset calls the rate-based controller's Preset; one without it starts as usual.
func (w *windowed) Preset(now vtime.Time, rate float64) {
	if p, ok := w.Controller.(Presetter); ok {
		p.Preset(now, rate)
	}
}

package controllerfile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Paths lists the paths of Check's flows: a long and a short one of a data center, and a slow one.
var Paths = []cc.Env{
	{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048},
	{LineRate: 100 * units.Gbps, BaseRTT: 4160 * vtime.Nanosecond, MTU: 1000, LineMTU: 1048},
	{LineRate: units.Gbps, BaseRTT: 100 * vtime.Microsecond, MTU: 1000, LineMTU: 1082},
}

// Histories sets the number of random histories of a flow that Check plays on each path. Most are short; some are as
// long as a long flow's.
const Histories = 100

const shortHistory, longHistory, longEvery = 120, 1000, 25

// Check tests a congestion control, with the defaults of its constants, by the rules of the NIC (cc.Conform). The
// histories are the same each time. warnings holds likely mistakes: those found as the file was read, and decisions
// that are allowed but probably not intended.
func Check(spec *cc.Spec) (warnings []string, err error) {
	if spec.File != nil {
		warnings = slices.Clone(spec.File.Warnings)
	}
	for _, env := range Paths {
		seen := &extremes{rate: MostRate}
		watching := *spec
		watching.New = func(env cc.Env, settings cc.Settings) (cc.Controller, error) {
			c, err := spec.New(env, settings)
			if own, ok := c.(*controller); ok && err == nil {
				return &watched{own, seen}, nil
			}
			return c, err
		}
		settings, err := cc.Resolver{}.Resolve(spec, nil, env)
		if err != nil {
			return nil, err
		}
		on := fmt.Sprintf("on a line of %v with a base RTT of %v", env.LineRate, env.BaseRTT)
		for i := range uint64(Histories) {
			if err := play(&watching, settings, env, i); err != nil {
				return nil, fmt.Errorf("%s: %w", on, err)
			}
		}
		if text := seen.text(env); text != "" {
			return append(warnings, on+" "+text), nil
		}
	}
	return warnings, nil
}

// leastRate is the rate in b/s below which a warning is due: a packet of 1000 bytes takes a second there.
const leastRate = 8000

// extremes holds the lowest decisions of a controller.
type extremes struct {
	rate   float64
	window int64 // 0: none
}

// watched records the decisions of a controller as the NIC asks for them.
type watched struct {
	*controller
	seen *extremes
}

// Rate returns the program's rate.
func (w *watched) Rate() float64 {
	w.seen.rate = min(w.seen.rate, w.answer.Rate)
	return w.answer.Rate
}

// Window returns the program's window.
func (w *watched) Window() int64 {
	if v := w.answer.Window; v > 0 && (w.seen.window == 0 || v < w.seen.window) {
		w.seen.window = v
	}
	return w.answer.Window
}

// text returns a warning about unlikely decisions; empty if there are none.
func (e *extremes) text(env cc.Env) string {
	switch {
	case e.rate < leastRate:
		return fmt.Sprintf("the rate falls to %.3g bps, at which a packet takes %.3g s: keep a minimum, as with "+
			"max(rate, 10 Mbps)",
			e.rate, 8*float64(env.LineMTU)/e.rate)
	case e.window > 0 && e.window < int64(env.MTU):
		return fmt.Sprintf("the window falls to %d B, less than a packet of %d B, so packets leave one at a time "+
			"(windows are in bytes: keep a minimum, as with max(window, mtu), and lower the rate for less)", e.window, env.MTU)
	}
	return ""
}

// play plays one history. It returns a mistake in the controller's file as its error.
func play(spec *cc.Spec, settings cc.Settings, env cc.Env, seed uint64) (err error) {
	defer func() {
		if value := recover(); value != nil {
			var mistake *Error
			if panicked, ok := value.(error); !ok || !errors.As(panicked, &mistake) {
				panic(value)
			}
			err = mistake
		}
	}()
	drawn, events := uint64(0), shortHistory
	if seed%longEvery == longEvery-1 {
		events = longHistory
	}
	return cc.Conform(spec, settings, env, events, func(_ string, lowest, highest int64) int64 {
		drawn++
		bits := splitmix.At(splitmix.Mix(seed), drawn)
		span := uint64(highest - lowest)
		if span+1 == 0 {
			return int64(bits)
		}
		return lowest + int64(bits%(span+1))
	})
}

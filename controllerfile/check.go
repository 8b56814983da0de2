package controllerfile

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/splitmix"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Paths lists the paths of Check's flows: a short one of a data center, a longer one, and a slow one.
var Paths = []cc.Env{
	{LineRate: 40 * units.Gbps, BaseRTT: 40 * vtime.Microsecond, MTU: 1000, LineMTU: 1048},
	{LineRate: 100 * units.Gbps, BaseRTT: 4160 * vtime.Nanosecond, MTU: 1000, LineMTU: 1048},
	{LineRate: units.Gbps, BaseRTT: 100 * vtime.Microsecond, MTU: 1000, LineMTU: 1082},
}

// Histories sets the number of random histories of a flow that Check plays on each path. Most are short; some are as
// long as a long flow's.
const Histories = 100

const shortHistory, longHistory, longEvery = 120, 1000, 25

// Check checks a congestion control with its constants' defaults by the rules of the NIC (cc.Conform). The histories
// are the same each time.
func Check(spec *cc.Spec) error {
	for _, env := range Paths {
		settings, err := cc.Resolver{}.Resolve(spec, nil, env)
		if err != nil {
			return err
		}
		for i := range uint64(Histories) {
			if err := play(spec, settings, env, i); err != nil {
				return fmt.Errorf("on a line of %v with a base RTT of %v: %w", env.LineRate, env.BaseRTT, err)
			}
		}
	}
	return nil
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

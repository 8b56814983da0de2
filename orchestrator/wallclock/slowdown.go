//go:build linux

package wallclock

import (
	"math"
	"time"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// liveSenders and liveShare define the load for which a slow-down is chosen: this share of the hosts sends at line
// rate, with an answer to each packet, and the engine uses this share of a processor. On a machine of two processors
// with a load of 12, one event in a hundred is later than a seventh of the shortest round trip if the engine uses two
// thirds of a processor. If it uses four fifths, one in a hundred is later than nearly all of the round trip
// (docs/decisions/059-live-cost.md).
const liveSenders, liveShare = 0.25, 0.6

// FittingSlowdown returns the rounded slow-down with which a machine with this cost per frame and link can keep up
// with that load.
func FittingSlowdown(plan *topologies.Plan, pass time.Duration) float64 {
	return RoundSlowdown(HostLoad(plan) * liveSenders * float64(len(plan.Hosts)) * pass.Seconds() / liveShare)
}

// HostLoad returns the passes per second of virtual time per host that sends at line rate, averaged over the hosts.
func HostLoad(plan *topologies.Plan) float64 {
	var links, pairs int
	for i, a := range plan.Hosts {
		b := plan.Hosts[(i+len(plan.Hosts)/2)%len(plan.Hosts)]
		if a != b {
			links += len(paths.Forward(plan, a, b, paths.Ports{Pair: plan.PairOf(a, b, 0), Source: wire.MinEntropyPort}))
			pairs++
		}
	}
	var rate float64 // packets per virtual second of all hosts
	line := plan.Framing.LineBytes(plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU))
	for _, id := range plan.Interfaces {
		rate += float64(vtime.Second) / float64(plan.Ports[id].Rate.TimeFor(line))
	}
	const answered = 2
	return rate / float64(len(plan.Hosts)) * answered * float64(links) / float64(max(1, pairs))
}

// wakesWithin sets the time within which a real-time thread nearly always wakes, even on a busy machine.
const wakesWithin = 100 * time.Microsecond

// WakingSlowdown returns the rounded slow-down at which such a wake-up takes at most half of a round trip.
func WakingSlowdown(rtt vtime.Time) float64 {
	return RoundSlowdown(2 * float64(vtime.FromDuration(wakesWithin)) / float64(rtt))
}

// RoundSlowdown returns the next round slow-down, at least 1. There are ten per decade, so that rounding costs a
// tenth on average.
func RoundSlowdown(least float64) float64 {
	return roundUp(least, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
}

// roundUp returns the least product of a step and a power of ten that is at least least, and 1.
func roundUp(least float64, steps ...float64) float64 {
	for power := 1.0; ; power *= 10 {
		for _, step := range steps {
			if n := math.Round(10*step) * power / 10; n >= least {
				return n
			}
		}
	}
}

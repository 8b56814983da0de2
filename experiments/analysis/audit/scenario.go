package audit

import (
	"cmp"
	"fmt"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// stalled describes a receiver that accepts nothing for a time.
const stalled = "faults: [{at: 0s, for: %s, host: h1, receiver: {rate: 1Mbps, buffer: 1GB, xoff: 1B, xon: 0B}}]\n"

// incast describes three hosts that send to h1 without congestion control.
const incast = "controllers: [none]\nflows: [{from: [h0, h2, h3], to: h1, size: unbounded, expect_unfinished: " +
	"true}]\nsample: {flows: none}\n"

func rateOf(speed int64) units.Rate { return units.Rate(cmp.Or(speed, 100_000)) * 1_000_000 }

// headroomScenario returns an incast into a receiver that stalls, with a headroom that is too small.
func headroomScenario(speed, metres int64, mtu int, xoff int64) string {
	rate, delay := rateOf(speed), vtime.Time(metres)*metreDelay
	// Long enough to fill XOFF and headroom, and for PAUSE to arrive.
	fill := 2*rate.TimeFor(100_000+4*xoff) + 20*delay + 20*vtime.Microsecond
	whole := (fill/vtime.Microsecond + 1) * vtime.Microsecond
	return fmt.Sprintf("# Frames in flight after XOFF exceed the headroom.\nname: headroom\n"+
		"topology: {mtu: %d, star: {hosts: 4, rate: %v, delay: %v}}\n"+
		"switch: {pfc: {priorities: [3], xoff: 100KB, headroom: %dB}}\nhost: {data_priority: 3}\n",
		mtu, rate, delay, xoff) + incast + fmt.Sprintf(stalled, whole) + fmt.Sprintf("duration: %v\n", whole)
}

// lossyScenario returns an incast in a class without PFC.
func lossyScenario(speed int64, why string) string {
	return fmt.Sprintf("# As if without PFC: %s.\nname: lossy-class\n"+
		"topology: {star: {hosts: 4, rate: %v, delay: 500ns}}\n"+
		"switch: {buffer: 2MB, lossy_limit: 200KB, pfc: {priorities: [3]}}\nhost: {data_priority: 0}\n", why, rateOf(speed)) +
		incast + "duration: 200us\n"
}

// ecnScenario returns an incast under DCQCN in which PFC acts before ECN.
func ecnScenario(speed, kmin, kmax int64, pmax float64, xoff int64) string {
	rate := rateOf(speed)
	fill := (4*rate.TimeFor(xoff)/vtime.Microsecond + 100) * vtime.Microsecond
	return fmt.Sprintf("# PAUSE is sent, and nothing is marked.\nname: pfc-before-ecn\n"+
		"topology: {star: {hosts: 2, rate: %v, delay: 500ns}}\n"+
		"switch: {pfc: {priorities: [3], xoff: %dB}, ecn: {mode: red, priorities: [3], kmin: %dB, kmax: %dB, pmax: %g}}\n"+
		"host: {data_priority: 3}\ncontrollers: [dcqcn]\n"+
		"flows: [{from: h0, to: h1, size: unbounded, expect_unfinished: true}]\nsample: {flows: none}\n", rate, xoff, kmin,
		max(kmin, kmax), pmax) + fmt.Sprintf(stalled, fill/2) + fmt.Sprintf("duration: %v\n", fill)
}

// watchdogScenario returns an incast into a receiver that stalls as long as a full buffer drains.
func watchdogScenario(speed int64, detect, restore int, size int64) string {
	rate := rateOf(speed)
	drain := (rate.TimeFor(size)/vtime.Millisecond + 2*vtime.Time(max(1, detect))) * vtime.Millisecond
	return fmt.Sprintf("# A receiver that is slow for the time in which a full buffer drains triggers the "+
		"watchdog.\nname: watchdog\n"+
		"topology: {star: {hosts: 4, rate: %v, delay: 500ns}}\n"+
		"switch: {pfc: {priorities: [3], watchdog: {detect: %dms, restore: %dms, action: drop}}}\nhost: {data_priority: 3}\n",
		rate, max(1, detect), max(1, restore)) + incast + fmt.Sprintf(stalled, drain) + fmt.Sprintf("duration: %v\n", drain)
}

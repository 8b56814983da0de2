package ebpf

import (
	"slices"

	"github.com/pausenet/pausenet/internal/units"
)

// telemetryRates are the rates that the telemetry header has a code for, by code: field B has four bits, HPCC's authors
// use up to eight values.
var telemetryRates = [...]units.Rate{
	10 * units.Gbps, 25 * units.Gbps, 40 * units.Gbps, 50 * units.Gbps,
	100 * units.Gbps, 200 * units.Gbps, 400 * units.Gbps, 1 * units.Gbps,
}

// RateCode is a rate in the telemetry header; false if it has no code there.
func RateCode(r units.Rate) (code uint32, ok bool) {
	i := slices.Index(telemetryRates[:], r)
	return uint32(max(i, 0)), i >= 0
}

package train

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/lstm"
)

// fabric describes the thesis' star: 100 Gb/s, 1 us per link, one switch with HPCC's buffer and marking, packets of
// 1048 B. XOFF is at most 320 KB, unlike in lstm-incast, which does not limit it. Over several seeds, training with and
// without this limit has the same errors.
const fabric = `name: %s
topology: {name: star%[2]d, rate: 100Gbps, delay: 1us, framing: ns3, star: {hosts: %[2]d}}
switch: {buffer: 32MB, pfc: {alpha: 0.125, xoff: 320KB, xoff_to_xon: 2KB, headroom: 37500B}, ecn: {mode: red, kmin: 400KB, kmax: 1600KB, pmax: 0.2}}
duration: 100us
drain: true
flows:
`

// thesisIncast returns the incast of the thesis' section 4.1.2: 20 flows at once to one host.
func thesisIncast() (*scenario.Scenario, error) {
	return hardlySampled(scenario.Load("lstm-incast", nil))
}

// hardlySampled has a scenario sample its queues and rates once, as a training does not read them.
func hardlySampled(s *scenario.Scenario, err error) (*scenario.Scenario, error) {
	if err == nil {
		s.Sample.Interval = s.Duration
	}
	return s, err
}

// randomIncast returns a smaller variant of the thesis' incast with random degree, sizes and starts: 4 to 32 flows, up
// to three of them long.
func randomIncast(seed uint64) (*scenario.Scenario, error) {
	random := lstm.NewRandom(seed)
	degree := 4 + random.Intn(29)
	long := 1 + random.Intn(3)
	name := fmt.Sprintf("incast-%dto1-seed%d", degree, seed)
	var b strings.Builder
	fmt.Fprintf(&b, fabric, name, degree+1)
	for i := range degree {
		size := random.Between(0.5e6, 5e6)
		if i < long {
			size = random.Between(40e6, 120e6)
		}
		fmt.Fprintf(&b, "  - {from: h%d, to: h%d, size: %dB, start: %dns}\n", i, degree, int64(size), random.Intn(50_000))
	}
	return hardlySampled(scenario.Parse(name+".yaml", []byte(b.String()), nil))
}

package runner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine/wasmplane"
)

// TestCheckIsWhatRunsRefuse draws random scenarios that can be read. It checks that runs refuse exactly those that
// Check refuses, before they write anything, and that all others run to the end.
func TestCheckIsWhatRunsRefuse(t *testing.T) {
	testenv.WholeScenario(t)
	const scenarios = 250
	read, refused := 0, 0
	for seed := range uint64(scenarios) {
		text := randomScenario(rand.New(rand.NewPCG(seed, 12)))
		s, err := scenario.Parse("random.yaml", []byte(text), nil)
		if err != nil {
			continue
		}
		read++
		verdict := scenario.Check(s, s.Controllers)
		if verdict != nil {
			refused++
		}
		var wrong []error
		for _, controller := range s.Controllers {
			dir := t.TempDir()
			_, err := Run(context.Background(), s, Options{
				Controller: controller, Plane: wasmplane.Open, Seed: s.Seed,
				Directory: dir,
			})
			if err == nil {
				continue
			}
			wrong = append(wrong, err)
			if files, _ := os.ReadDir(dir); len(files) > 0 {
				t.Errorf("seed %d, %s: refused after it had started: %v\n%s", seed, controller, err, text)
			}
		}
		if (verdict == nil) != (wrong == nil) {
			t.Errorf("seed %d: Check says %v, runs say %v\n%s", seed, verdict, wrong, text)
		}
	}
	t.Logf("%d of %d could be read, %d of them were refused", read, scenarios, refused)
	if read < scenarios/3 || refused < 5 || refused > read/2 {
		t.Errorf("%d of %d random scenarios could be read, and %d of them were refused: that tests little", read, scenarios,
			refused)
	}
}

// randomScenario returns a small scenario with some of everything, and sometimes with a mistake.
func randomScenario(r *rand.Rand) string {
	pick := func(items ...string) string { return items[r.IntN(len(items))] }
	maybe := func(percent int, text string) string {
		if r.IntN(100) < percent {
			return text
		}
		return ""
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rate := func() string { return pick("40Gbps", "100Gbps", "25Gbps", "10Gbps", "400Gbps", "20Gbps", "2.5Gbps") }
	shape := fmt.Sprintf("star: {hosts: %d}, rate: %s", 4+r.IntN(3), rate())
	hosts, link := 4, "s0:h0"
	if r.IntN(2) > 0 {
		shape = fmt.Sprintf("leafspine: {spines: %d, leaves: 2, hosts_per_leaf: 2, host_rate: %s, fabric_rate: %s}",
			1+r.IntN(2), rate(), rate())
		link = "leaf0:spine0"
	}
	line("topology: {%s, delay: %s, mtu: %s, framing: %s}", shape, pick("1us", "100ns", "5us"),
		pick("1000", "256", "4096", "9056", "1500"), pick("ethernet", "ns3"))

	names := cc.Names()
	var controllers []string
	for range 1 + r.IntN(2) {
		if name := pick(names...); !slices.Contains(controllers, name) {
			controllers = append(controllers, name)
		}
	}
	first := controllers[0]
	if r.IntN(4) == 0 {
		controllers = append(controllers, fmt.Sprintf("{name: own, cc: %s, switch: {%s}}", pick(names...),
			pick("flow_control: cbfc", "pfc: {xoff: 64KB}", "detector: tcd", "pfc: {watchdog: {detect: 10us, restore: 20us}}",
				"pfc: {priorities: []}")))
	}
	line("controllers: [%s]", strings.Join(controllers, ", "))
	if spec, err := cc.Lookup(first); err == nil && len(spec.Parameters) > 0 && r.IntN(3) == 0 {
		p := &spec.Parameters[r.IntN(len(spec.Parameters))]
		value := p.Default
		switch p.Kind {
		case cc.RateKind:
			value = pick("line", "line/10", "40Mbps", "2line", "0", "30Gbps")
		case cc.TimeKind:
			value = pick("rtt", "50us", "0s", "1us", "2rtt", "1s")
		case cc.SizeKind:
			value = pick("bdp", "1KB", "10MB", "0", "100KB")
		case cc.NumberKind:
			value = pick("0.5", "1/256", "0", "1", "2", "-1")
		case cc.IntegerKind:
			value = pick("0", "1", "5", "100", "-1")
		}
		line("cc: {%s: {%s: %q}}", first, p.Name, value)
	}
	line("host: {data_priority: %s%s%s%s}", pick("3", "3", "4", "0"),
		maybe(30, ", cnp_interval: "+pick("0s", "4us", "100us")),
		maybe(30, ", ack_every: "+pick("1", "4", "256")), maybe(20, ", retransmit_timeout: "+pick("0s", "100us", "1ms")))
	line("switch: {pfc: {xoff: %s%s%s%s}%s%s%s%s}", pick("320KB", "100KB", "20KB"), maybe(20, ", alpha: 1/8"),
		maybe(20, ", per_rate: 100Gbps"),
		maybe(20, ", priorities: "+pick("[]", "[3]", "[4]", "[0, 3]")),
		maybe(25, ", flow_control: cbfc, cbfc: {buffer: "+pick("280KB", "64KB", "8KB")+"}"),
		maybe(30, ", ecn: {mode: "+pick("red", "step", "pcn", "off")+"}"), maybe(20, ", detector: tcd"), maybe(20,
			", scheduler: {dwrr: {3: 3KB}}"))
	line("flows:")
	for i := range 1 + r.IntN(3) {
		line("  - {tag: f%d, from: h%d, to: h%d, size: %s%s%s}", i, r.IntN(hosts-1), hosts-1,
			pick("20KB", "1B", "100KB", "unbounded"),
			maybe(20, ", constant_rate: "+pick("1Gbps", "2.5Gbps", "30Gbps")), maybe(15,
				", via: ["+pick("spine0", "spine1", "leaf0", "s0")+"]"))
	}
	if r.IntN(4) == 0 {
		line("workloads: [{tag: w, %s}]", pick("poisson: {sizes: websearch, load: 0.5, of: hosts}",
			"incast: {degree: 3, size: 5KB, interval: 20us}",
			"all-to-all: {size: 3KB}", "permutation: {size: 3KB}", "poisson: {size: 1KB, load: 0.3, of: core, flows: 20}"))
	}
	if r.IntN(3) == 0 {
		fault := pick("link: \""+link+"\", rate: "+rate(), "link: \""+link+"\", down: true",
			"link: \""+link+"\", down: true, reroute: 5us",
			"link: \""+link+"\", loss: 50%", "link: \""+link+"\", ber: 1e-6", "link: \""+link+"\", delay: "+pick("50ns", "20us"),
			"host: h3, pause: [3]",
			"host: h3, receiver: {rate: 1Gbps}", "host: h3, receiver: {rate: 1Gbps, buffer: 20KB, xoff: 5KB}")
		line("faults: [{at: %s%s, %s}]", pick("0s", "5us", "10us"), maybe(50, ", for: "+pick("5us", "20us")), fault)
	}
	line("duration: %s", pick("30us", "60us"))
	if r.IntN(4) == 0 {
		line("drain: true\ndrain_limit: 2ms")
	}
	line("sample: {interval: 10us}")
	return b.String()
}

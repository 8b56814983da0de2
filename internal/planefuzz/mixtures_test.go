package planefuzz_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var mixtures = flag.Int("planefuzz.mixtures", 20, "scenarios of TestMixtures")

// modern lists the congestion controls of mixtures; the first ones are drawn more often.
var modern = []string{
	"nscc", "nscc", "rccc", "rccc", "swift", "swift", "dcqcn+win", "dcqcn+win", "dctcp", "dctcp", "dcqcn", "hpcc",
	"timely+win", "pcn", "dcon", "lstm-pid", "none",
}

// TestMixtures runs scenarios in which today's features meet: windows, grants and rates, trimming, drops, PFC and
// credits, load balancing by the packet, failed and slow links, collectives, several QPs. No verdict may be FAIL, no
// run may hang, every flow must end, and the fingerprint must not depend on how many processors a run uses. Scenario n
// is a function of -planefuzz.seed and n alone.
func TestMixtures(t *testing.T) {
	testenv.WholeScenario(t)
	var verdicts measure.Verdicts
	for n := range *mixtures {
		s, text := mixture(t, n)
		var sums []*measure.Summary
		for _, processors := range []int{1, 2} {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			sum, err := runner.Watch(ctx, s,
				runner.Options{Controller: s.Controllers[0], Seed: s.Seed, Processors: processors}, runner.Watching{})
			cancel()
			if err != nil {
				t.Fatalf("mixture %d, %d processors: %v\n%s", n, processors, err, text)
			}
			sums = append(sums, sum)
		}
		if a, b := sums[0].Fingerprint, sums[1].Fingerprint; a != b {
			t.Errorf("mixture %d: fingerprint %s by one processor, %s by two\n%s", n, a, b, text)
		}
		if u := sums[0].Flows.Unfinished; u != nil {
			t.Errorf("mixture %d: %+v of %d flows have not ended by 20.5 ms\n%s", n, *u, sums[0].Flows.Count, text)
		}
		v := &sums[0].Verdict
		verdicts.Runs++
		verdicts.Add(v.Status)
		switch v.Status {
		case measure.Pass:
		case measure.Warn:
			t.Logf("mixture %d WARN: %s", n, strings.Join(v.Messages, "; "))
		default:
			t.Errorf("mixture %d %s: %s\n%s", n, v.Status, strings.Join(v.Messages, "; "), text)
		}
	}
	t.Logf("%v", verdicts)
}

// mixture returns the first scenario of number n that users can run: some draws do not go together.
func mixture(t *testing.T, n int) (*scenario.Scenario, string) {
	t.Helper()
	for try := range uint64(100) {
		text := drawMixture(fromSeed(*fuzzSeed, uint64(n)<<16+try))
		s, err := scenario.Parse("mixture.yaml", []byte(text), nil)
		if err == nil {
			err = scenario.Check(s, s.Controllers, s.Seed)
		}
		if err == nil {
			return s, text
		}
		if try == 99 {
			t.Fatalf("mixture %d: none of 100 draws can be run, the last for\n%v\n%s", n, err, text)
		}
	}
	return nil, ""
}

// drawMixture draws a scenario on a leaf-spine.
func drawMixture(d chooser) string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	spines, leaves, each := d.Int("spines", 2, 4), d.Int("leaves", 2, 4), d.Int("hosts of a leaf", 2, 4)
	hosts := leaves * each
	rate := pick[units.Rate](d, "rate", 100, 25, 400) * units.Gbps
	w("topology: {delay: %v, leafspine: {spines: %d, leaves: %d, hosts_per_leaf: %d, rate: %v}}",
		pick(d, "delay", vtime.Microsecond, 500*vtime.Nanosecond), spines, leaves, each, rate)
	w("seed: %d", d.Int("seed", 1, 1<<30))
	controller := pick(d, "controller", modern...)
	w("controllers: [%s]", controller)

	// What is full drops, trims, pauses, or grants no credit.
	part := units.Bytes(rate / units.Gbps * 1000) // of a second, 8 us of the line
	losses := pick(d, "losses", "trim", "trim", "drops", "pfc", "pfc", "cbfc")
	lossy := losses == "trim" || losses == "drops"
	balancing := pick(d, "balancing", "ecmp", "flowlet", "spray", "spray", "adaptive", "random", "reps", "reps")
	w("switch:")
	switch losses {
	case "trim", "drops":
		w("  pfc: {priorities: []}")
		w("  lossy_limit: %v", 10*units.KB+d.size("lossy limit", part/4, 4*part))
		w("  trim: %t", losses == "trim")
		if d.chance("weights", 50) {
			w("  scheduler: {dwrr: {3: 1100B, 6: 740B}}")
		}
		if d.chance("lossy alpha", 25) {
			w("  lossy_alpha: %s", pick(d, "lossy alpha", "1", "1/4", "1/16"))
		}
	case "pfc":
		if d.chance("alpha", 40) {
			w("  pfc: {alpha: 1/8, xoff: 0B}")
		}
	case "cbfc":
		w("  flow_control: cbfc")
	}
	kmin := d.size("kmin", part/10, part)
	w("  ecn: {mode: %s, kmin: %v, kmax: %v, pmax: %s}", pick(d, "ecn", "red", "red", "step"), kmin, 4*kmin,
		pick(d, "pmax", "0.2", "1", "0.01"))
	switch balancing {
	case "ecmp", "spray", "adaptive", "flowlet":
		more := ""
		switch balancing {
		case "spray":
			more = ", order: " + pick(d, "order", "random", "round-robin")
		case "adaptive":
			more = ", by: " + pick(d, "by", "packet", "flowlet")
		case "flowlet":
			more = fmt.Sprintf(", gap: %v", d.time("gap", vtime.Microsecond, 50*vtime.Microsecond))
		}
		w("  load_balancing: {mode: %s%s}", balancing, more)
	}
	timeout := d.time("retransmission timeout", 100*vtime.Microsecond, 500*vtime.Microsecond)
	w("host:")
	w("  retransmit_timeout: %dps", timeout)
	w("  ack_every: %d", pick(d, "ack every", 1, 1, 1, 4))
	if balancing == "random" || balancing == "reps" {
		w("  entropy: %s", balancing)
	}
	if losses == "trim" || d.chance("selective repeat", 70) {
		w("  recovery: selective")
		reorder := ""
		if d.chance("reorder", 60) {
			reorder = fmt.Sprintf(", reorder: %d", d.scale("reorder", 1, 256))
		}
		w("  selective: {rto_low: %v, bdp_cap: %s%s}", pick[vtime.Time](d, "rto low", 50, 100)*vtime.Microsecond,
			pick(d, "bdp cap", "0B", "auto"), reorder)
	}

	w("flows:")
	own := func() string {
		more := ""
		if d.chance("own congestion control", 20) {
			more += ", cc: " + pick(d, "own congestion control", modern...)
		}
		if d.chance("QPs", 20) {
			more += fmt.Sprintf(", qps: %d", d.Int("QPs", 2, 4))
		}
		return more
	}
	size := func() units.Bytes { return d.size("size", 1000, 20*part) }
	order := make([]int, hosts)
	for i := range order {
		order[i] = i
	}
	for i := hosts - 1; i > 0; i-- {
		k := d.Int("place", 0, i)
		order[i], order[k] = order[k], order[i]
	}
	if d.chance("incast", 80) {
		w("  - {tag: incast, from: [h%s], to: h%d, size: %v%s}",
			strings.Join(strings.Fields(strings.Trim(fmt.Sprint(order[1:1+d.Int("senders", 2, hosts-1)]), "[]")), ", h"),
			order[0], size(), own())
	}
	if d.chance("permutation", 60) {
		for i, from := range order {
			w("  - {from: h%d, to: h%d, size: %v, start: %v%s}", from, order[(i+1)%hosts], size(),
				vtime.Time(d.Int("start", 0, 100))*vtime.Microsecond, own())
		}
	}
	w("  - {tag: late, from: h%d, to: h%d, size: %v, count: %d, interval: 40us%s}", order[0], order[1], size(),
		d.Int("late", 1, 4), own())
	if d.chance("job", 40) {
		spec := collective.Spec{
			Kind: pick(d, "collective", collective.Kinds...), Algorithm: pick(d, "algorithm", collective.Algorithms...),
			Size: int64(d.size("size of a collective", 1000, 20*part)), Chunks: pick(d, "chunks", 1, 2), Group: 2,
		}
		group := ""
		if spec.Algorithm == collective.Hierarchical {
			group = ", group: 2"
		}
		if spec.Check(hosts) == nil {
			w("workloads:")
			w("  - {tag: job, qps: %d, job: {ranks: h0..h%d, steps: [{compute: 5us}, {collective: {kind: %s, algorithm: %s, "+
				"size: %dB, chunks: %d%s}}]}}",
				d.Int("QPs of a connection", 1, 2), hosts-1, spec.Kind, spec.Algorithm, spec.Size, spec.Chunks, group)
		}
	}
	// Packets that bounce off a failed link may close a cycle of paused queues, which is a FAIL by right.
	kinds := []string{"", "rate: " + (rate / 4).String(), "rate: " + (rate / 2).String()}
	if lossy {
		kinds = append(kinds, "down: true, reroute: "+fmt.Sprint(pick(d, "reroute", 0, 20, 200))+"us", "loss: 0.001")
	}
	if what := pick(d, "fault", kinds...); what != "" {
		w("faults: [{name: fault, at: %dus, link: \"leaf%d:spine%d\", %s}]", d.Int("fault at", 1, 100),
			d.Int("leaf", 0, leaves-1), d.Int("spine", 0, spines-1), what)
	}
	w("duration: 500us")
	w("drain: true")
	w("drain_limit: 20ms")
	if !slices.Contains([]string{"pfc", "cbfc"}, losses) {
		w("expect_unused: [ecn, controller]")
	} else {
		w("expect_unused: [pfc, ecn, controller]")
	}
	return b.String()
}

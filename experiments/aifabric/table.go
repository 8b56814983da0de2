package aifabric

import (
	"fmt"
	"slices"
)

// test describes one of the draft's tests.
type test struct {
	title, section string // from the draft
	name           string // in folders' names
	scenario       string // a file of scenarios, or a built-in scenario
	any            bool   // runs on any topology
	set            []string
	cases          []testCase
	values         []value
}

// testCase describes a run of a test.
type testCase struct {
	label      string
	set        []string
	controller string // or a variant; empty: the scenario's first
	long       bool   // left out by Quick
	hosts      int    // minimum number of hosts
	// fails is true if the verdict must be FAIL: the case shows a failure of a fabric.
	fails bool
}

// bound describes the range in which a value is expected: up to limit, or from limit up if least is true. soft, if it
// is not 0, is the limit of acceptable values.
type bound struct {
	least       bool
	limit, soft float64
	source      string
}

// Sources of bounds.
const (
	appendixB = "B" // the draft's Appendix B
	procedure = "P" // the test's own procedure
	own       = "O" // this project
)

func atMost(x float64, source string) *bound  { return &bound{limit: x, source: source} }
func atLeast(x float64, source string) *bound { return &bound{least: true, limit: x, source: source} }

// Load balancing as the draft's tests vary it. Modes that reorder packets are combined with selective repeat, as is
// usual for spraying with RoCE.
var (
	tolerant = []string{"host.recovery=selective"}
	flowlet  = with(tolerant, "switch.load_balancing.mode=flowlet", "switch.load_balancing.gap=5us")
	spray    = with(tolerant, "switch.load_balancing.mode=spray")
)

// lossy configures switches without PFC, and hosts with selective repeat. trimming configures switches that cut packets
// to their headers instead of dropping them, as Ultra Ethernet's do.
var (
	lossy    = with(tolerant, "switch.pfc.priorities=[]", "host.retransmit_timeout=500us")
	trimming = with(lossy, "switch.trim=true")
)

// spine makes all links of a spine fail instead of one.
var spine = []string{"faults.cut.link=[leaf0:spine0, leaf1:spine0, leaf2:spine0, leaf3:spine0]"}

// with returns some settings, followed by others.
func with(sets []string, more ...string) []string { return slices.Concat(sets, more) }

func balancings(extra ...string) []testCase {
	return []testCase{
		{label: "ECMP", set: extra},
		{label: "flowlet", set: with(flowlet, extra...), long: true},
		{label: "spray", set: with(spray, extra...)},
	}
}

// collective returns the values of the draft's collective benchmarks.
func collective() []value {
	return []value{
		{kpi: "bus bandwidth", metric: "busbw", unit: "Gbps", per: 1e9},
		{kpi: "bus bandwidth over NIC line rate", of: busEfficiency, unit: "%", bound: atLeast(90, appendixB)},
		{kpi: "packet drops", metric: "drops", unit: "", bound: atMost(0, appendixB)},
		{kpi: "PAUSE frames", metric: "pauses"},
	}
}

func qps(n int) testCase {
	return testCase{
		label: fmt.Sprintf("%d QPs", n), set: []string{fmt.Sprintf("workloads.elephant.qps=%d", n)},
		long: n != 8,
	}
}

func incast(n int) testCase {
	return testCase{
		label: fmt.Sprintf("%d:1", n), set: []string{fmt.Sprintf("workloads.incast.incast.degree=%d", n)}, long: n != 8 &&
			n != 32, hosts: n + 1,
	}
}

func ecn(label, kmin, kmax, rate, size string) testCase {
	return testCase{label: label, set: []string{
		"switch.ecn.kmin=" + kmin, "switch.ecn.kmax=" + kmax, "flows.overload.constant_rate=" + rate,
		"flows.overload.size=" + size,
	}}
}

// join returns a case in which M flows start and M others join them.
func join(m int, more ...string) testCase {
	return testCase{label: fmt.Sprintf("M = %d", m), long: m > 4, set: append([]string{
		fmt.Sprintf("topology.star.hosts=%d", 2*m+1), fmt.Sprintf("flows.first.from=h0..h%d", m-1),
		fmt.Sprintf("flows.first.to=h%d", 2*m),
		fmt.Sprintf("flows.second.from=h%d..h%d", m, 2*m-1), fmt.Sprintf("flows.second.to=h%d", 2*m),
		fmt.Sprintf("sample.ports=[s0:h%d]", 2*m),
	}, more...)}
}

// uecJoin returns such a case under Ultra Ethernet's congestion control, with trimming and without PFC.
func uecJoin(m int, controller string) testCase {
	c := join(m, trimming...)
	c.label, c.controller = fmt.Sprintf("M = %d, %s, trimming, no PFC", m, controller), controller
	return c
}

// convergenceTime names the value that converged computes.
const convergenceTime = "all flows within 10 % of their fair share after"

func labelled(label string, long bool, c testCase) testCase {
	c.label, c.long = label, long
	return c
}

// burst returns a case in which n hosts send size each to one host at once, through a switch without PFC.
func burst(n int, size string) testCase {
	return testCase{label: fmt.Sprintf("%d:1, %s each", n, size), long: n != 8, set: []string{
		fmt.Sprintf("topology.star.hosts=%d", n+1), fmt.Sprintf("flows.burst.from=h0..h%d", n-1),
		fmt.Sprintf("flows.burst.to=h%d", n), "flows.burst.size=" + size,
	}}
}

// uecCollective returns the cases of a collective over Ultra Ethernet's unordered transport with spraying, over its
// ordered transport with ECMP, and over RoCE with ECMP.
func uecCollective(kind, algorithm string) []testCase {
	sets := []string{fmt.Sprintf("workloads.collective.job.steps.0.collective={kind: %s, algorithm: %s, size: 16MB}", kind,
		algorithm)}
	return []testCase{
		{
			label: kind + ", NSCC, RUD, entropy at random", controller: "nscc",
			set: with(with(trimming, "host.entropy=random"), sets...),
		},
		{label: kind + ", NSCC, ROD, ECMP", controller: "nscc", set: sets, long: true},
		{label: kind + ", DCQCN, RC, ECMP", set: sets, long: true},
	}
}

// uecIncast returns the case of an incast under a congestion control.
func uecIncast(n int, controller string, sets []string) testCase {
	label := fmt.Sprintf("%d:1, %s, PFC", n, controller)
	if sets != nil {
		label = fmt.Sprintf("%d:1, %s, trimming, no PFC", n, controller)
	}
	c := incast(n)
	return testCase{label: label, set: with(c.set, sets...), controller: controller, long: n != 8, hosts: c.hosts}
}

// tests lists the implemented tests, in the draft's order.
var tests = []test{
	{
		// A queue of 250 KB takes the part of a burst that the link to the receiver does not carry meanwhile: (n-1)/n
		// of it, 1082 B a packet of 1024.
		title: "Back-to-Back Burst Absorption", section: "5.3", name: "burst", scenario: "burst",
		cases: []testCase{
			burst(2, "230KB"), burst(2, "250KB"), burst(8, "33KB"), burst(8, "36KB"), burst(32, "7KB"), burst(32, "8KB"),
		},
		values: []value{
			{kpi: "packets lost", metric: "drops"},
			{kpi: "longest queue", metric: "peak_egress", unit: "KB", per: 1e3},
		},
	},
	{
		title: "Packet Spray Efficacy Under UET RUD", section: "6.3", name: "uet-spray", scenario: "permutation", any: true,
		cases: []testCase{
			{label: "NSCC, RUD, entropy at random", controller: "nscc", set: with(trimming, "host.entropy=random")},
			{label: "NSCC, RUD, REPS", controller: "nscc", set: with(trimming, "host.entropy=reps"), long: true},
			{label: "NSCC, RUD, spray", controller: "nscc", set: with(trimming, "switch.load_balancing.mode=spray"), long: true},
			{
				label: "NSCC, RUD, flowlet", controller: "nscc",
				set: with(trimming, "switch.load_balancing.mode=flowlet", "switch.load_balancing.gap=5us"), long: true,
			},
			{label: "NSCC, ROD, spray", controller: "nscc", set: []string{"switch.load_balancing.mode=spray"}, long: true},
			{label: "DCQCN, RC, spray", set: []string{"switch.load_balancing.mode=spray"}, long: true},
			{label: "DCQCN, RC, ECMP"},
		},
		values: []value{
			{kpi: "imbalance (MMR)", metric: "imbalance"},
			{kpi: "Jain's index (JFI)", metric: "imbalance_jain"},
			{kpi: "packets out of order", metric: "reordered"},
			{kpi: "payload sent again", of: retransmittedShare, unit: "%"},
			{kpi: "goodput to the end of the last flow, over line rate", of: efficiency(0), unit: "%"},
		},
	},
	{
		title: "UET Congestion Control Benchmarks", section: "6.4", name: "uet-incast", scenario: "incast", any: true,
		cases: []testCase{
			uecIncast(2, "dcqcn", nil), uecIncast(2, "nscc", trimming), uecIncast(2, "rccc", trimming),
			uecIncast(4, "dcqcn", nil), uecIncast(4, "nscc", trimming), uecIncast(4, "rccc", trimming),
			uecIncast(8, "dcqcn", nil), uecIncast(8, "nscc", trimming), uecIncast(8, "rccc", trimming),
			uecIncast(16, "dcqcn", nil), uecIncast(16, "nscc", trimming), uecIncast(16, "rccc", trimming),
			uecIncast(32, "dcqcn", nil), uecIncast(32, "nscc", trimming), uecIncast(32, "rccc", trimming),
			uecIncast(64, "dcqcn", nil), uecIncast(64, "nscc", trimming), uecIncast(64, "rccc", trimming),
		},
		values: []value{
			{kpi: "goodput to the end of the last flow, over line rate", of: efficiency(1), unit: "%"},
			{kpi: "longest queue", metric: "peak_egress", unit: "KB", per: 1e3},
			{kpi: "PAUSE frames", metric: "pauses"},
			{kpi: "packet drops", metric: "drops", bound: atMost(0, appendixB)},
			{kpi: "packets trimmed", metric: "trimmed"},
			{kpi: "receiver credit utilization", metric: "grant_utilisation", unit: "%", per: 0.01, only: "rccc"},
		},
	},
	{
		title: "UET Congestion Control Benchmarks", section: "6.4", name: "uet-convergence", scenario: "convergence",
		cases: []testCase{
			uecJoin(4, "nscc"), uecJoin(4, "rccc"), uecJoin(16, "nscc"), uecJoin(16, "rccc"), uecJoin(32, "nscc"),
			uecJoin(32, "rccc"),
		},
		values: []value{
			{kpi: convergenceTime, of: converged, unit: "ms", per: 1e6},
			{kpi: "packet drops", metric: "drops", bound: atMost(0, appendixB)},
		},
	},
	{
		title: "Link Layer Enhancements: Packet Trimming", section: "6.5b", name: "trimming", scenario: "incast", any: true,
		set: []string{"switch.lossy_limit=120KB"},
		cases: []testCase{
			{label: "2:1, NSCC, drops", controller: "nscc", set: with(incast(2).set, lossy...), hosts: 3},
			{label: "2:1, NSCC, trimming", controller: "nscc", set: with(incast(2).set, trimming...), hosts: 3},
			{label: "16:1, NSCC, drops", controller: "nscc", set: with(incast(16).set, lossy...), hosts: 17, long: true},
			{label: "16:1, NSCC, trimming", controller: "nscc", set: with(incast(16).set, trimming...), hosts: 17, long: true},
		},
		values: []value{
			{kpi: "packet drops", metric: "drops"},
			{kpi: "packets trimmed", metric: "trimmed"},
			{kpi: "payload sent again", of: retransmittedShare, unit: "%"},
			{kpi: "retransmission timeouts", metric: "timeouts"},
			{kpi: "FCT max", metric: "fct_max", unit: "us", per: 1e3},
		},
	},
	{
		title: "Link Layer Enhancements: CBFC and PFC", section: "6.5c", name: "cbfc", scenario: "bystanders",
		cases: []testCase{
			{label: "32:1, PFC"},
			{label: "32:1, CBFC", set: []string{"switch.flow_control=cbfc"}},
		},
		values: []value{
			{kpi: "hops that PAUSE spread", metric: "pause_depth"},
			{kpi: "slowdown of flows that only pass by, most", metric: "slowdown_max", tag: "bystander"},
			{kpi: "goodput of flows that only pass by", metric: "mean_rate", tag: "bystander", unit: "Gbps", per: 1e9},
			{kpi: "packet drops", metric: "drops", bound: atMost(0, appendixB)},
		},
	},
	{
		title: "UET Collective Communication Performance", section: "6.6", name: "uet-allreduce", scenario: "collective",
		any:   true,
		cases: uecCollective("allreduce", "ring"), values: collective(),
	},
	{
		title: "UET Collective Communication Performance", section: "6.6", name: "uet-alltoall", scenario: "collective",
		any:   true,
		cases: uecCollective("alltoall", "direct"), values: collective(),
	},
	{
		title: "UET Collective Communication Performance", section: "6.6", name: "uet-allgather", scenario: "collective",
		any:   true,
		cases: uecCollective("allgather", "ring"), values: collective(),
	},
	{
		title: "ECN Marking Accuracy and Threshold", section: "7.1", name: "ecn", scenario: "ecn",
		cases: []testCase{
			ecn("100 KB", "50KB", "100KB", "51Gbps", "3200KB"),
			ecn("1 MB", "500KB", "1MB", "52500Mbps", "13MB"),
			ecn("5 MB", "2500KB", "5MB", "55Gbps", "31MB"),
		},
		values: []value{
			{kpi: "packets marked below Kmin", of: ofMarking((*marking).markedBelow), bound: atMost(0, procedure)},
			{kpi: "packets marked above Kmax", of: ofMarking((*marking).markedAbove), unit: "%", bound: atLeast(100, procedure)},
			{kpi: "marks between, off RED's ramp", of: ofMarking((*marking).offRamp), unit: "sigma", bound: atMost(4, own)},
			{kpi: "upper threshold off Kmax", of: ofMarking((*marking).offKmax), unit: "%", bound: atMost(2, own)},
		},
	},
	{
		title: "PFC Behavior Under Incast", section: "7.2", name: "incast", scenario: "incast", any: true,
		cases: []testCase{incast(2), incast(4), incast(8), incast(16), incast(32), incast(64)},
		values: []value{
			{kpi: "PAUSE frames a second", metric: "pause_rate"},
			{kpi: "time paused, all ports", metric: "paused", unit: "us", per: 1e3},
			{kpi: "hops that PAUSE spread", metric: "pause_depth"},
			{kpi: "goodput to the end of the last flow, over line rate", of: efficiency(1), unit: "%"},
			{kpi: "packet drops", metric: "drops", bound: atMost(0, appendixB)},
		},
	},
	{
		title: "DCQCN Convergence Time", section: "7.3", name: "convergence", scenario: "convergence",
		cases: []testCase{
			join(4), join(16), join(64),
			labelled("M = 4, R_AI a fiftieth of the line", false, join(4, "cc.dcqcn.rai=line/50")),
			labelled("M = 16, R_AI a fiftieth of the line", true, join(16, "cc.dcqcn.rai=line/50")),
		},
		values: []value{{kpi: convergenceTime, of: converged, unit: "ms", per: 1e6}},
	},
	{
		title: "PFC Storm and Deadlock Resilience", section: "7.4", name: "deadlock", scenario: "deadlock",
		cases: []testCase{
			{label: "no watchdog", controller: "none", fails: true},
			{label: "watchdog", controller: "watchdog"},
		},
		values: []value{
			{kpi: "deadlocks for good", of: deadlocks, bound: atMost(0, procedure)},
			{kpi: "flows that ended", of: ended, unit: "%"},
			{kpi: "frames that the watchdog dropped", of: lost("watchdog")},
		},
	},
	{
		title: "PFC Storm and Deadlock Resilience", section: "7.4", name: "storm", scenario: "pfc-storm",
		cases: []testCase{{label: "no watchdog", controller: "none"}, {label: "watchdog", controller: "watchdog"}},
		values: []value{
			{kpi: "slowdown of flows that only pass by, most", metric: "slowdown_max", tag: "victim"},
			{kpi: "hops that PAUSE spread", metric: "pause_depth"},
			{kpi: "frames that the watchdog dropped", of: lost("watchdog")},
		},
	},
	{
		title: "ECMP Entropy and Polarization", section: "8.1", name: "ecmp", scenario: "permutation", any: true,
		cases: []testCase{
			{label: "1 QP"},
			qps(4), qps(8), qps(16), qps(32),
			{label: "1 QP, one hash seed", set: []string{"switch.load_balancing.seed=1"}, long: true},
		},
		values: []value{
			{kpi: "ECMP imbalance (MMR)", metric: "imbalance"},
			{kpi: "Jain's index (JFI)", metric: "imbalance_jain"},
			{kpi: "goodput to the end of the last flow, over line rate", of: efficiency(0), unit: "%"},
		},
	},
	{
		title: "Dynamic Load Balancing (Flowlet)", section: "8.2", name: "flowlet", scenario: "permutation", any: true,
		set: with(flowlet, "workloads.elephant.qps=4"),
		cases: []testCase{
			{label: "gap 1 us", set: []string{"switch.load_balancing.gap=1us"}, long: true},
			{label: "gap 5 us"},
			{label: "gap 50 us", set: []string{"switch.load_balancing.gap=50us"}, long: true},
		},
		values: []value{
			{kpi: "imbalance (MMR)", metric: "imbalance"},
			{kpi: "Jain's index (JFI)", metric: "imbalance_jain"},
			{kpi: "packets out of order", metric: "reordered"},
			{kpi: "goodput to the end of the last flow, over line rate", of: efficiency(0), unit: "%"},
		},
	},
	{
		title: "Packet Spraying", section: "8.3", name: "spray", scenario: "permutation", any: true,
		cases: []testCase{
			{label: "at random", set: spray},
			{label: "in turn", set: with(spray, "switch.load_balancing.order=round-robin"), long: true},
			{label: "least queue", set: with(tolerant, "switch.load_balancing.mode=adaptive"), long: true},
			{label: "at random, go-back-N", set: []string{"switch.load_balancing.mode=spray"}, long: true},
		},
		values: []value{
			{kpi: "imbalance (MMR)", metric: "imbalance", bound: atMost(1.1, own)},
			{kpi: "Jain's index (JFI)", metric: "imbalance_jain", bound: atLeast(0.99, own)},
			{kpi: "packets out of order", metric: "reordered"},
			{kpi: "payload sent again", of: retransmittedShare, unit: "%"},
			{kpi: "goodput to the end of the last flow, over line rate", of: efficiency(0), unit: "%"},
		},
	},
	{
		title: "AllReduce Benchmark", section: "9.1", name: "allreduce", scenario: "collective", any: true,
		cases: append(balancings(), testCase{
			label: "ECMP, ranks rack by rack",
			set:   []string{"workloads.collective.job.placement=packed"}, long: true,
		}),
		values: collective(),
	},
	{
		title: "AllToAll Benchmark", section: "9.2", name: "alltoall", scenario: "collective", any: true,
		cases:  balancings("workloads.collective.job.steps.0.collective={kind: alltoall, algorithm: direct, size: 16MB}"),
		values: collective(),
	},
	{
		title: "AllGather Benchmark", section: "9.3", name: "allgather", scenario: "collective", any: true,
		cases:  balancings("workloads.collective.job.steps.0.collective={kind: allgather, algorithm: ring, size: 16MB}"),
		values: collective(),
	},
	{
		title: "Synthetic JCT Under Controlled Conditions", section: "10.1", name: "jct", scenario: "training", any: true,
		cases: append(balancings(), testCase{
			label: "ECMP, ranks rack by rack",
			set:   []string{"workloads.train.job.placement=packed"}, long: true,
		}),
		values: []value{
			{kpi: "JCT", metric: "jct", unit: "ms", per: 1e6},
			{kpi: "JCT ratio", of: jctRatio, bound: &bound{limit: 1.05, soft: 1.15, source: appendixB}},
		},
	},
	{
		title: "Multi-Tenant JCT Interference", section: "10.3", name: "tenants", scenario: "tenants",
		cases: []testCase{
			{
				label: "one job",
				set: []string{"workloads=[{tag: job-a, job: {ranks: [h0, h4, h8, h12, h1, h5, h9, h13], iterations: 4, steps: " +
					"[{compute: 300us}, {collective: {kind: allreduce, algorithm: ring, size: 8MB}}]}}]"},
			},
			{label: "two jobs"},
			{label: "two jobs, spray", set: spray, long: true},
		},
		values: []value{{kpi: "JCT interference factor", of: interference}},
	},
	{
		title: "Link Failure Convergence", section: "11.2", name: "loss", scenario: "probe",
		cases:  []testCase{{label: "routes follow after 200 us"}},
		values: []value{{kpi: "duration of packet loss", of: lossDuration, unit: "us", per: 1e3}},
	},
	{
		title: "Link Failure Convergence", section: "11.2", name: "failure", scenario: "failure",
		cases: []testCase{
			{label: "ECMP"},
			{label: "flowlet", set: flowlet, long: true},
			{label: "spray", set: spray},
			{label: "REPS", set: []string{"host.entropy=reps"}, long: true},
			{label: "a spine, ECMP", set: spine},
			{label: "a spine, flowlet", set: with(flowlet, spine...), long: true},
			{label: "a spine, spray", set: with(spray, spine...), long: true},
			{label: "a spine, REPS", set: with(spine, "host.entropy=reps"), long: true},
		},
		values: []value{
			{kpi: "packets lost", metric: "drops"},
			{kpi: "iteration with the failure over those before", of: failureOverhead},
			{kpi: "iterations after it over those before", of: afterFailure},
		},
	},
	{
		title: "Zero-Impact Failover Measurement", section: "11.3", name: "zero-impact", scenario: "failure",
		cases: []testCase{
			{label: "ECMP, routes follow at once", set: []string{"faults.cut.reroute=0s"}, long: true},
			{label: "spray, routes follow at once", set: with(spray, "faults.cut.reroute=0s")},
		},
		values: []value{{
			kpi: "iteration with the failure over the longest before", of: failureOverLongest,
			bound: atMost(1, procedure),
		}},
	},
}

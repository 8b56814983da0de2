package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// What validate and run warn of, with the numbers; and nothing where nothing is off.
func TestWarnings(t *testing.T) {
	for set, want := range map[string]string{
		"seed=2": "",
		"host={ack_priority: data, ack_when_paused: true}": "host.ack_when_paused: hosts keep sending ACK, " +
			"NAK and CNP of priorities [3] while these are paused",
		"switch={buffer: 1MB, pfc: {xoff: 320KB}}": "s0: XOFF and headroom of every port " +
			"(5 ports) need 1.6MB + 67.82KB = 1.66782MB, but the shared buffer is 1MB",
		"switch.pfc.xoff=1059B": "",
		"switch.pfc.xoff=10B": "s0: pfc.xoff is 10B, no more than a full " +
			"packet of 1.058KB, so each packet triggers a PAUSE",
		"switch.ecn.kmin=1GB": "s0:h0, s0:h1, s0:h2 and 2 others: " +
			"switch.ecn.kmin is 1GB, but the shared buffer is 22MB, so no packet is marked; lower switch.ecn.kmin or raise " +
			"switch.buffer",
		"switch.ecn={mode: step, kmax: 1GB}": "s0:h0, s0:h1, s0:h2 and 2 others: " +
			"switch.ecn.kmax is 1GB, but the shared buffer is",
		"switch.ecn={kmax: 1GB}": "",
		"switch={buffer: 1MB, pfc: {xoff: 2MB}}": "s0: pfc.xoff 2MB is above the shared buffer, " +
			"1MB, which fills before a PAUSE is sent and drops lossless frames; lower switch.pfc.xoff",
		"switch={pfc: {xoff: 100KB, headroom: 5KB}}": "s0:h0, s0:h1, s0:h2 and 2 others: " +
			"pfc.headroom is 5KB, but 13.564KB can be in flight to a port with rate 40Gbps and cable delay 1us",
		"switch={pfc: {xoff: 100KB, priorities: [4]}}": "PFC is enabled on priorities [4], which carry " +
			"no packets: data has priority 3, and ACK, NAK and CNP have 6: data is lossy",
		"switch={pfc: {xoff: 100KB}, scheduler: {dwrr: {3: 3KB, 4: 1KB}}}": "scheduler.dwrr has no effect on priorities [3 4]",
	} {
		s := mustLoad(t, "incast", set)
		got := strings.Join(Warnings(s, s.Controllers), "\n")
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// TestWarningsOfMarks covers lossy queues that are shorter than ECN's thresholds, whatever marks by them. At 40 Gb/s
// auto is 5 KB for kmin and 200 KB for kmax.
func TestWarningsOfMarks(t *testing.T) {
	const lossy, of, dropped = "switch.pfc.priorities=[]", "s0:h0, s0:h1, s0:h2 and 2 others: ", ", so packets are dropped before "
	most := func(size, key string) string {
		return ", but a lossy queue holds at most " + size + " (switch." + key + ")"
	}
	for _, c := range []struct {
		controller string
		sets       []string
		want       string
	}{
		{"dcqcn", []string{lossy}, ""},
		{"dcqcn", []string{"switch.lossy_limit=50KB"}, ""}, // lossless
		{"dcqcn", []string{lossy, "switch.lossy_limit=200KB"}, ""},
		{
			"dcqcn",
			[]string{lossy, "switch.lossy_limit=199KB"},
			of + "switch.ecn.kmax is 200KB" + most("199KB", "lossy_limit") + dropped +
				"all are marked; lower switch.ecn.kmax or raise switch.lossy_limit",
		},
		{
			"dcqcn",
			[]string{lossy, "switch.lossy_limit=5KB"},
			of + "switch.ecn.kmin is 5KB" + most("5KB", "lossy_limit") + dropped + "any is marked; lower switch.ecn.kmin",
		},
		{
			"dcqcn",
			[]string{lossy, "switch.lossy_limit=50KB", "switch.ecn={mode: step, kmax: 50KB}"},
			of + "switch.ecn.kmax is 50KB" + most("50KB", "lossy_limit") + dropped + "any is marked",
		},
		{"dcqcn", []string{lossy, "switch.lossy_limit=50KB", "switch.ecn={mode: step, kmax: 49KB}"}, ""},
		{
			"dcqcn",
			[]string{lossy, "switch.lossy_limit=199KB", "switch.trim=true"},
			of + "switch.ecn.kmax is 200KB" + most("199KB", "lossy_limit") + ", so packets are trimmed before all are marked",
		},
		{
			"dcqcn",
			[]string{lossy, "switch.buffer=200KB", "switch.lossy_alpha=1"},
			of + "switch.ecn.kmax is 200KB" + most("100KB", "lossy_alpha") + dropped +
				"all are marked; lower switch.ecn.kmax or raise switch.lossy_alpha",
		},
		{
			"dcqcn",
			[]string{lossy, "switch.buffer=150KB"},
			of + "switch.ecn.kmax is 200KB" + most("150KB", "buffer") + dropped + "all are marked",
		},
		{"dcqcn", []string{lossy, "switch.lossy_limit=50KB", "switch.ecn.mode=off"}, ""},
		{"hpcc", []string{lossy, "switch.lossy_limit=50KB"}, ""}, // goes by no marks
		{"none", []string{lossy, "switch.lossy_limit=50KB"}, ""},
		{"dctcp", []string{lossy, "switch.lossy_limit=121KB"}, ""}, // 30 KB for each 10 Gbps
		{
			"dctcp",
			[]string{lossy, "switch.lossy_limit=100KB"},
			of + "the congestion control's step is 120KB" + most("100KB", "lossy_limit") + dropped +
				"any is marked; lower switch.ecn.kmax under switch.ecn.mode: step or raise switch.lossy_limit",
		},
		{
			"dcqcn",
			[]string{lossy, "switch.lossy_limit=50KB", "switch.detector=tcd", "switch.tcd={mark: step, q_len: 60KB}"},
			of + "switch.tcd.q_len is 60KB" + most("50KB", "lossy_limit") + dropped + "any is marked",
		},
	} {
		s := mustLoad(t, "incast", append(c.sets, "host.retransmit_timeout=1ms")...)
		got := ""
		for _, text := range Warnings(s, []string{c.controller}) {
			if strings.Contains(text, "a lossy queue holds") {
				got += text
			}
		}
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, %v: %q, want %q", c.controller, c.sets, got, c.want)
		}
	}
}

// ACKs that travel with data leave the control priority to CNPs, and to nothing where no CNP is sent.
func TestWarningsOfACKs(t *testing.T) {
	for _, c := range []struct {
		controller, pfc string
		want            string
	}{
		{"dcqcn", "host={}", ""},
		{"dcqcn", "host={ack_priority: data}", ""},
		{"hpcc", "host={}", ""},
		{"hpcc", "host={ack_priority: data}", "PFC is enabled on priorities [6], which carry no packets: data, ACK and NAK " +
			"have priority 3; change switch.pfc.priorities"},
		{
			"dcqcn", "host={ack_priority: data, control_priority: 5}",
			"PFC is enabled on priorities [6], which carry no packets: data, ACK and NAK have priority 3, CNP has 5; ",
		},
		{"pcn", "host={ack_priority: data}", ""},
	} {
		s := mustLoad(t, "incast", "switch={pfc: {xoff: 100KB, priorities: [3, 6]}, scheduler: {dwrr: {3: 3KB}}}", c.pfc)
		got := strings.Join(Warnings(s, []string{c.controller}), "\n")
		if pfc, _, _ := strings.Cut(got, "scheduler."); (c.want == "") != (pfc == "") || !strings.HasPrefix(pfc, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.controller, c.pfc, got, c.want)
		}
	}
	// Weights of data and control priority act while both carry packets.
	for controller, want := range map[string]string{
		"dcqcn": "",
		"hpcc": "scheduler.dwrr has no effect on priorities [3 6]: only [3] of them carries packets, so it shares with no other " +
			"(data, ACK and NAK have priority 3)",
	} {
		s := mustLoad(t, "incast", "switch.scheduler={dwrr: {3: 3KB, 6: 1KB}}", "host.ack_priority=data")
		if got := strings.Join(Warnings(s, []string{controller}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", controller, got, want)
		}
	}
}

// TestWarningsOfCycles checks that a cycle of buffers that routes can close is reported with its queues, if the data is
// lossless and its senders' routes close it.
func TestWarningsOfCycles(t *testing.T) {
	const bounces = "the routes from 150us on allow a cyclic buffer dependency: leaf2:spine0 > spine0:leaf3 > leaf3:spine1 > spine1:leaf2."
	ring := func(flows string) string {
		return "topology: {nodes: [{name: s0, kind: switch}, {name: s1, kind: switch}, {name: s2, kind: switch}, " +
			"{name: s3, kind: switch}, {name: s4, kind: switch}, {name: h0, kind: host}, {name: h1, kind: host}, " +
			"{name: h2, kind: host}, {name: h3, kind: host}, {name: h4, kind: host}], links: [{from: s0, to: s1}, " +
			"{from: s1, to: s2}, {from: s2, to: s3}, {from: s3, to: s4}, {from: s4, to: s0}, {from: h0, to: s0}, " +
			"{from: h1, to: s1}, {from: h2, to: s2}, {from: h3, to: s3}, {from: h4, to: s4}]}\n" +
			"controllers: [none]\nduration: 1ms\nflows:\n" + flows
	}
	const round = "  - {from: h0, to: h2, size: 1KB}\n  - {from: h1, to: h3, size: 1KB}\n  - {from: h2, to: h4, size: 1KB}\n" +
		"  - {from: h3, to: h0, size: 1KB}\n  - {from: h4, to: h1, size: 1KB}\n"
	const wheel = "the routes allow a cyclic buffer dependency: s0:s1 > s1:s2 > s2:s3 > s3:s4 > s4:s0."
	builtin, err := scenario.BuiltinSource("deadlock")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		sets       []string
		want       string // empty: nothing of cycles
	}{
		{"deadlock", string(builtin), nil, bounces},
		{"static routes", strings.ReplaceAll(string(builtin), "reroute: 50us", "reroute: never"), nil, ""},
		{
			"one link", strings.Replace(string(builtin), "{name: cut1, at: 100us", "{name: cut1, at: 9.96ms", 1), nil,
			"the routes from 10.01ms on",
		},
		{"cut and mended", strings.Replace(string(builtin), "down: true, reroute: 50us}",
			"down: true, reroute: 50us, for: 20us}", 1), nil, ""},
		{"lossy", string(builtin), []string{"switch.pfc.priorities=[]"}, ""},
		{"ring", ring(round), nil, wheel},
		{"credits", ring(round), []string{"switch.flow_control=cbfc"}, wheel},
		{"without a fifth", ring(strings.Replace(round, "  - {from: h2, to: h4, size: 1KB}\n", "", 1)), nil, ""},
	} {
		s := parse(t, c.text, c.sets...)
		got := ""
		for _, text := range Warnings(s, []string{"none"}) {
			if strings.Contains(text, "cycle") {
				got += text
			}
		}
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if pfc := c.name != "credits"; got != "" && strings.Contains(got, "watchdog") != pfc {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// Headers of more senders than a link has room for leave nothing for data, unless weights do.
func TestWarningsOfTrimming(t *testing.T) {
	const lossy = "switch.pfc.priorities=[]"
	for set, want := range map[string]string{
		"switch.trim=false": "",
		"switch.trim=true": "switch.trim: 16 hosts send to h16, and the trimmed packets of 12 of them " +
			"(98 bytes for each packet of 1098) fill its link. Priority 6 is strict",
		"switch={trim: true, pfc: {priorities: []}, scheduler: {dwrr: {3: 1KB, 6: 1KB}}}": "",
		"switch={trim: true, pfc: {priorities: []}, scheduler: {dwrr: {3: 1KB, 7: 1KB}}}": "scheduler.dwrr has no effect on priorities [3 7]",
	} {
		s := mustLoad(t, "trim-incast", set, lossy, "host={recovery: selective}", "controllers=[dcqcn]")
		if got := strings.Join(Warnings(s, s.Controllers), "\n"); (want == "") != (got == "") ||
			!strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// TestWarningsOfTimeouts checks the warning about an rto_low without effect, because it is not below the timeout.
func TestWarningsOfTimeouts(t *testing.T) {
	for host, want := range map[string]string{
		"{recovery: selective, retransmit_timeout: 60us}":                              "",
		"{recovery: selective, retransmit_timeout: 200us, selective: {rto_low: 60us}}": "",
		"{recovery: selective, retransmit_timeout: 60us, selective: {rto_low: 60us}}": "host.selective.rto_low " +
			"60us has no effect: it must be below host.retransmit_timeout, 60us",
		"{recovery: selective, retransmit_timeout: 0s, selective: {rto_low: 60us}}": "host.selective.rto_low " +
			"60us has no effect without a timeout",
	} {
		s := mustLoad(t, "trim-incast", "switch.pfc.priorities=[]", "host="+host, "controllers=[dcqcn]")
		if got := strings.Join(Warnings(s, s.Controllers), "\n"); (want == "") != (got == "") ||
			!strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}

// TestWarningsOfGrants checks the warning about a start rate of flows that send what they are granted.
func TestWarningsOfGrants(t *testing.T) {
	for name, want := range map[string]string{
		"dcqcn": "",
		"rccc":  "start_rate has no effect under rccc, because flows send what their receivers grant: remove it or set cc.rccc.initial_credit",
	} {
		s := mustLoad(t, "incast", "flows.incast.start_rate=10Gbps", "controllers=["+name+"]")
		if got := strings.Join(Warnings(s, s.Controllers), "\n"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestWarningsOfConstants checks that RCCC's constants for marks get a warning unless the fabric is oversubscribed.
func TestWarningsOfConstants(t *testing.T) {
	const idle = "cc.rccc.decrease, cc.rccc.mark_gain have no effect: "
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"cc.rccc.oversubscribed=true"}, ""},
		{nil, idle + "marks lower a receiver's rate only if the fabric is oversubscribed, which this one is not; " +
			"to enable them here, set cc.rccc.oversubscribed: true"},
		{[]string{"cc.rccc.oversubscribed=false"}, idle +
			"cc.rccc.oversubscribed is false, so marks do not lower a receiver's rate"},
		{[]string{"controllers=[dcqcn]"}, ""},
		{[]string{"controllers=[dcqcn]", "flows.incast.cc=rccc"}, idle + "marks lower a receiver's rate only if"},
	} {
		sets := append([]string{"controllers=[rccc]", "cc.rccc.mark_gain=0.7", "cc.rccc.decrease=0.3", "cc.rccc.share=0.9"},
			c.sets...)
		s := mustLoad(t, "incast", sets...)
		got := ""
		for _, text := range Warnings(s, s.Controllers) {
			if strings.Contains(text, "cc.rccc") {
				got += text
			}
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q: %q, want %q", c.sets, got, c.want)
		}
	}
}

// What is for programs on live fabrics does nothing in a run.
func TestWarningsOfPrograms(t *testing.T) {
	const ends = "controllers: [none]\nduration: 1ms\nflows: [{from: h0, to: h1, size: 1KB}]\n"
	for _, c := range []struct{ topology, want string }{
		{"star: {hosts: 3}", ""},
		{"star: {hosts: 3}, mtu: 4000", ""},
		{
			"star: {hosts: 3}, defaults: {env: {A: 1}, nat: true}, change_nodes: [{name: h0, exec: x, binds: ['/a:/b']}]",
			"env, binds, exec, nat of s0, h0, h1, h2: no effect in a run, which executes no programs on nodes",
		},
		{"star: {hosts: 3}, commands: {flap: nodes}", "commands flap: no effect in a run, which has no shell"},
		{"star: {hosts: 3}, l2: learn", "l2: learn: no effect in a run"},
		{"star: {hosts: 3, interface_mtu: 9000}", ""}, // headroom counts a frame that long
		{
			"star: {hosts: 3, interface_mtu: 9000}}\nswitch: {flow_control: cbfc",
			"interface_mtu of h0:s0, h1:s0, h2:s0: no effect in a run, which executes no programs; packets of flows use topology.mtu, 1000",
		},
		{"star: {hosts: 3}, change_links: [{from: s0, to: h2, interface_mtu: 1400}]", "interface_mtu of h2:s0: no effect"},
	} {
		s := parse(t, "topology: {"+c.topology+"}\n"+ends)
		got := strings.Join(Warnings(s, s.Controllers), "\n")
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.topology, got, c.want)
		}
	}
}

// TestWarningsOfIdleSettings checks that settings that have no effect under any congestion control, of the run or of
// the scenario, are reported with the reason.
func TestWarningsOfIdleSettings(t *testing.T) {
	for _, c := range []struct{ controller, set, want string }{
		{"dcqcn", "switch={ecn: {kmin: 9KB, kmax: 90KB, pmax: 0.1}}", ""},
		{
			"dcqcn", "switch={ecn: {mode: step, kmin: 9KB, kmax: 90KB}}",
			"switch.ecn.kmin has no effect: switch.ecn.mode is step",
		},
		{"dctcp", "switch={ecn: {kmax: 90KB}}", "switch.ecn.kmax has no effect: the congestion control makes switches mark " +
			"at a step of 30KB for each 10Gbps"},
		{"dctcp", "switch={ecn: {mode: step, kmax: 90KB}}", ""},
		{"hpcc", "switch={ecn: {kmax: 90KB}}", ""}, // for who compares it with others by --cc
		{
			"hpcc", "host={cnp_interval: 9us, coalesce_acks: 4}",
			"host.cnp_interval has no effect: no congestion control uses CNPs\nhost.coalesce_acks has no effect",
		},
		{"dcqcn", "host={cnp_interval: 9us, coalesce_acks: 4}", ""},
		{
			"dcqcn", "switch={cnm: {window: 9us}, cbfc: {period: 9us}}",
			"switch.cbfc.period has no effect: switch.flow_control is pfc\nswitch.cnm.window has no effect",
		},
		{"dcon", "switch={cnm: {window: 9us}}", ""},
		{
			"dcqcn", "switch={flow_control: cbfc, pfc: {xoff: 90KB}}",
			"switch.pfc.xoff has no effect: switch.flow_control is cbfc",
		},
		{"dcqcn", "switch={tcd: {q_len: 9KB}}", "switch.tcd.q_len has no effect: switch.detector is threshold"},
		{"dcqcn+tcd", "switch={tcd: {q_len: 9KB}}", ""},
		{
			"dcqcn", "switch={pfc: {per_rate: 40Gbps}, ecn: {per_rate: 40Gbps}}",
			"switch.ecn.per_rate has no effect: it scales switch.ecn.kmin and switch.ecn.kmax",
		},
		{"dcqcn", "switch={pfc: {per_rate: 40Gbps, headroom: 75KB}, ecn: {per_rate: 40Gbps, kmin: 9KB, kmax: 90KB}}", ""},
		{"dcqcn", "switch={detector: tcd, ecn: {mode: step}}", "switch.ecn.mode has no effect: switch.detector is tcd"},
		{
			"dcqcn", "switch={pfc: {alpha: 0.1, xoff: 90KB, xon: 9KB}}",
			"switch.pfc.xon has no effect: with switch.pfc.alpha, RESUME is sent",
		},
		{
			"dcqcn", "switch={pfc: {xoff: 90KB, xon: 9KB, xoff_to_xon: 4KB}}",
			"switch.pfc.xoff_to_xon has no effect: switch.pfc.xon sets",
		},
		{"dcqcn", "switch={pfc: {xoff: 90KB, xoff_to_xon: 4KB}}", ""},
		{"dcqcn", "switch={trim: true}", "switch.trim has no effect: no data is lossy"},
		{"dcqcn", "host={ack_when_paused: true}", "host.ack_when_paused has no effect: PFC is off for priority 6, which ACK, NAK and CNP use"},
	} {
		s := mustLoad(t, "incast", "controllers=["+c.controller+"]", "switch={}", c.set)
		got := strings.Join(Warnings(s, []string{c.controller}), "\n")
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.controller, c.set, got, c.want)
		}
	}
	// What one of a comparison has no use for is nothing to warn of, whichever of it is run.
	s := mustLoad(t, "incast", "controllers=[dctcp, dcqcn]", "switch={ecn: {kmax: 90KB}}")
	if got := Warnings(s, []string{"dctcp"}); got != nil {
		t.Errorf("%q", got)
	}
	for _, name := range scenario.BuiltinNames() {
		s := mustLoad(t, name)
		if got := idleSettings(warners(s, nil, s.Controllers)); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWarningsOfFlowsOfTheirOwn checks that flows' own priorities get no warning where PFC, credits and ECN apply by
// default, and that on periods longer than the run get one.
func TestWarningsOfFlowsOfTheirOwn(t *testing.T) {
	const text = "name: own\ntopology: star\nduration: 1ms\ncontrollers: [dcqcn]\nflows:\n" +
		"  - {tag: a, from: h0, to: h3, size: 1MB, priority: 2}\n" +
		"  - {tag: b, from: h1, to: h3, size: 1MB, on_off: {on: 10us, off: 10us}}\n"
	for set, want := range map[string]string{
		"seed=2":                      "",
		"switch.flow_control=cbfc":    "",
		"switch.pfc.priorities=[2,3]": "",
		"switch.cbfc.priorities=[3]":  "switch.cbfc.priorities has no effect: switch.flow_control is pfc",
		"flows.b.on_off.on=1ms":       "on_off of flows b has no effect: their first on period of 1ms lasts to the end of the run, at 1ms",
	} {
		s := parse(t, text, set)
		if got := strings.Join(Warnings(s, []string{"dcqcn"}), "\n"); got != want {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// TestWarningsOfReordering checks the warning about a tolerance so low that reordered packets count as lost.
func TestWarningsOfReordering(t *testing.T) {
	for reorder, want := range map[string]string{
		"auto": "",
		"1": "host.selective.reorder 1 mistakes reordered packets for lost ones: a flow's packets take several paths here and " +
			"can arrive up to 72 late; remove it or set it to 72",
	} {
		s := mustLoad(t, "load-balancing", "host={recovery: selective, selective: {reorder: "+reorder+"}}",
			"switch={pfc: {priorities: []}, lossy_limit: 100KB, load_balancing: {mode: spray}}", "controllers=[dcqcn]",
			"expect_unused=[pfc, ecn, controller]")
		got := ""
		for _, text := range Warnings(s, s.Controllers) {
			if strings.Contains(text, "selective.reorder") {
				got += text
			}
		}
		if got != want {
			t.Errorf("reorder %s: %q, want %q", reorder, got, want)
		}
	}
}

// TestWarningsOfFiles checks that a warning from reading a workload's file is passed on, with the workload's tag.
func TestWarningsOfFiles(t *testing.T) {
	s := mustLoad(t, "incast")
	s.Workloads = append(s.Workloads, scenario.Workload{Tag: "x", Warning: "the file lacks its end"})
	if got := Warnings(s, s.Controllers); !slices.Contains(got, "x: the file lacks its end") {
		t.Errorf("%q", got)
	}
}

func mustLoad(t *testing.T, name string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, text string, sets ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text), sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

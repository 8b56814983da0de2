package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func mustLoad(t *testing.T, name string, sets ...string) *Scenario {
	t.Helper()
	s, err := Load(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, err := Load(file, nil)
			if err == nil || s != nil {
				t.Fatal("accepted")
			}
			testenv.Golden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func TestEverything(t *testing.T) {
	s := mustLoad(t, "testdata/good.yaml")
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(s.View()); err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "testdata/good.json", b.String())
	b.Reset()
	if err := s.Describe(&b); err != nil {
		t.Fatal(err)
	}
	testenv.Golden(t, "testdata/good.txt", b.String())

	if s.Switch.PFC.Priorities != 1<<3|1<<4 || s.Switch.ECN.Priorities != 1<<4 ||
		s.Switch.ECN.Mode != switchagent.ECNStep ||
		s.Switch.PFC.XON != 96*units.KB || s.Switch.PFC.Alpha != 0.125 || s.Switch.ECN.PMax != 0.2 {
		t.Errorf("switch %+v", s.Switch)
	}
	// 1 by the controller, 1 of constant rate, and two rounds of h0..h3 to h0 and h3, none to itself.
	if len(s.Flows) != 2+2*6 || s.Flows[0].Size != 10*units.MB || s.Flows[1].Extra().ConstantRate != 5*units.Gbps {
		t.Errorf("%d flows: %+v", len(s.Flows), s.Flows)
	}
}

// An omitted key is the packages' default.
func TestDefaults(t *testing.T) {
	s, err := Parse("mine.yaml", []byte("topology: star\nflows: [{from: h0, to: h1, size: 1MB}]\nduration: 1ms\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := switchagent.Default(); s.Switch != want {
		t.Errorf("switch %+v, want %+v", s.Switch, want)
	}
	if want := settings.DefaultHost(); s.Host != want {
		t.Errorf("host %+v, want %+v", s.Host, want)
	}
	if s.Name != "mine" || s.Seed != 1 || s.Drain || s.Sample.Interval != vtime.Microsecond || len(s.Sample.Ports) != 0 ||
		len(s.Controllers) != 1 || s.Flows[0].Start != 0 {
		t.Errorf("scenario %+v", s)
	}
}

// PFC and ECN follow the data's priority, XON follows XOFF.
func TestFollowingDefaults(t *testing.T) {
	s := mustLoad(t, "incast", "host.data_priority=5", "switch.pfc.xoff=100KB")
	if s.Switch.PFC.Priorities != 1<<5 || s.Switch.ECN.Priorities != 1<<5 || s.Switch.PFC.XON != 98*units.KB {
		t.Errorf("switch %+v", s.Switch)
	}
}

// A scenario's credit_periods reach the switches, and make T_max.
func TestCreditPeriods(t *testing.T) {
	for text, want := range map[string]vtime.Time{"1": 40 * vtime.Microsecond, "5/2": 100 * vtime.Microsecond} {
		s := mustLoad(t, "incast", "switch={flow_control: cbfc, cbfc: {period: 40us}, detector: tcd, tcd: {credit_periods: "+
			text+"}}")
		if got := s.Switch.UndeterminedTime(2*units.KB, s.Switch.CBFC.Period, 40*units.Gbps, vtime.Microsecond,
			1000); got != want {
			t.Errorf("credit_periods %s: T_max %v, want %v", text, got, want)
		}
	}
}

// TestDCONBurst checks the experiment of the DCON paper's sections 3.1 and 6.1.1; docs/schemes/dcon.md discusses the
// details that the paper leaves open.
func TestDCONBurst(t *testing.T) {
	s := mustLoad(t, "dcon-burst")
	p := s.Topology
	id := func(name string) topologies.NodeID { return p.NodeByName(name).ID }
	port := func(node, peer string) topologies.PortID { return p.PortsBetween(id(node), id(peer))[0] }

	sw := s.Switch
	if sw.Buffer != 22*units.MB || sw.PFC.XOFF != 320*units.KB || sw.PFC.XON != 318*units.KB ||
		sw.PFC.Headroom != 75*units.KB ||
		sw.PFC.Alpha != 0 || sw.CNM.QECN != 200*units.KB || sw.CNM.QCNM != 0 || sw.ECN.KMax != 200*units.KB {
		t.Errorf("switch %+v", sw)
	}
	// The paper's switches are what the defaults come to at its rate, but for the headroom, which is less where the
	// cable needs less.
	defaults := switchagent.Default()
	stated := ResolveThresholds(p, EverySwitch(p, &sw))
	for i, got := range ResolveThresholds(p, EverySwitch(p, &defaults)).Ports {
		want := stated.Ports[i]
		want.Headroom = got.Headroom
		if got != want || got.Headroom > sw.PFC.Headroom {
			t.Errorf("%s: %+v by default, want %+v", p.Ports[i].Name, got, want)
		}
	}
	if len(s.Flows) != 2+14*35 {
		t.Fatalf("%d flows, want 492", len(s.Flows))
	}
	for i, want := range []Flow{
		{Tag: "f0", Source: id("H0"), Destination: id("R0")},
		{Tag: "f1", Source: id("H1"), Destination: id("R1")},
	} {
		want.Size, want.ExpectUnfinished = 250*units.MB, true
		want.Extras = &FlowExtras{Via: []topologies.NodeID{id("S1")}, StartRate: 20 * units.Gbps}
		if !reflect.DeepEqual(s.Flows[i], want) {
			t.Errorf("flow %d is %+v, want %+v", i, s.Flows[i], want)
		}
	}
	var burst units.Bytes
	perSender := map[topologies.NodeID]int{}
	for i, f := range s.Flows[2:] {
		perSender[f.Source]++
		burst += f.Size
		if start := 20*vtime.Millisecond + vtime.Time(i/14)*15*vtime.Microsecond; f.Tag != "burst" ||
			f.Destination != id("R1") ||
			f.Size != 64*units.KB || f.Start != start || f.Extras != nil {
			t.Fatalf("burst flow %d is %+v", i, f)
		}
	}
	if len(perSender) != 14 || perSender[id("H2")] != 35 || perSender[id("H15")] != 35 || burst != 31_360*units.KB {
		t.Errorf("burst of %v by %v", burst, perSender)
	}
	// The burst and what it stopped drain at R1's 40 Gb/s, headers included (1048 for 1000), while f0 and f1 must still
	// be sending at the end at up to line rate... of 20 Gb/s each.
	drained := 20*vtime.Millisecond + (40 * units.Gbps).TimeFor(int64(burst)*1048/1000)
	if s.Duration < drained+10*vtime.Millisecond || s.Duration > (20*units.Gbps).TimeFor(250e6) {
		t.Errorf("duration %v; the burst has drained at %v", s.Duration, drained)
	}
	if got := []Series{s.Panels[0].Series[0], s.Panels[1].Series[0], s.Panels[1].Series[1]}; got[0].Port != port("L2",
		"R1") ||
		got[0].Quantity != QueueBytes || got[1].Port != port("L2", "S1") || got[1].Quantity != IngressBytes ||
		got[1].Reference.Setting != "pfc.xoff" || got[2].Port != port("S1", "L2") || got[2].Quantity != QueueBytes {
		t.Errorf("queues %+v", got)
	}
	for i, want := range []topologies.PortID{port("L2", "S1"), port("S1", "L0"), port("S1", "L1")} {
		if got := s.Panels[2].Series[i]; got.Port != want || got.Quantity != PauseRate {
			t.Errorf("pause series %d is %+v", i, got)
		}
	}
	if got := s.Panels[3].Series; got[0].Tag != "f0" || got[1].Tag != "f1" || got[0].Quantity != Throughput {
		t.Errorf("throughput %+v", got)
	}
}

func TestBuiltins(t *testing.T) {
	for _, name := range BuiltinNames() {
		s := mustLoad(t, name)
		if s.Name != name || s.Description == "" || len(s.Panels) == 0 {
			t.Errorf("%s calls itself %q, %q, and has %d panels", name, s.Name, s.Description, len(s.Panels))
		}
		if _, err := spec.BuiltinSource(name); err == nil {
			t.Errorf("%s is a topology too: commands could not tell which is meant", name)
		}
	}
	if _, err := Load("dcon-burts", nil); err == nil || !strings.Contains(err.Error(), `did you mean "dcon-burst"?`) {
		t.Errorf("dcon-burts: %v", err)
	}
}

func TestSettings(t *testing.T) {
	s := mustLoad(t, "dcon-burst", "switch.pfc.xoff=256KB", "cc.dcqcn.g=1/128", "flows.2.count=10",
		"flows.f0.size=unbounded",
		"topology.rate=100Gbps", "topology.nodes.0.buffer=9MB", "seed=5")
	if s.Switch.PFC.XOFF != 256*units.KB || s.ControllerSettings["dcqcn"]["g"] != "1/128" || len(s.Flows) != 2+140 ||
		s.Flows[0].Size != 0 || s.Topology.Links[0].Rate != 100*units.Gbps ||
		s.Topology.NodeByName("L2").Buffer != 9*units.MB || s.Seed != 5 {
		t.Errorf("settings did not arrive: %+v", s.View())
	}
	if s := mustLoad(t, "incast", "topology=leafspine", "topology.leafspine.leaves=2", "flows.0.to=h7",
		"report=[]"); len(s.Topology.Hosts) != 8 {
		t.Errorf("topology %s", s.Topology.Summary())
	}
	_, err := Load("dcon-burst", []string{
		"switch.pfc.xof=256KB", "switch.pfc.xoff=256", "swich.buffer=1MB", "flows.9.count=1", "flows.fO.size=1MB",
		"topology.spines=3", "duration=40", "switch.pfc.xon=400KB",
	})
	if err == nil {
		t.Fatal("accepted")
	}
	testenv.Golden(t, "testdata/settings.golden", err.Error()+"\n")
}

// TestControllers checks that the registry judges controllers and their constants, and that its errors have the
// position in the file.
func TestControllers(t *testing.T) {
	const start = "topology: star\nflows: [{from: h0, to: h1, size: 1MB}]\nduration: 1ms\n"
	for text, want := range map[string]string{
		"controllers: [dcqcn, dcqn]":                                "x.yaml:4:22: ",
		"cc: {dcqcn: {g: two}}":                                     "x.yaml:4:17: dcqcn.g",
		"cc: {dcqcn: {g: 1, gg: 1}}":                                "x.yaml:4:20: ",
		"cc: {tcp: {g: 1}}":                                         "x.yaml:4:6: ",
		"cc: {dcqcn: 3}":                                            "x.yaml:4:13: expected a mapping",
		"cc: {dcqcn: {g: [1]}}":                                     "x.yaml:4:17: expected text",
		"cc: {dcqcn: {rai: 9e18}}":                                  "x.yaml:4:19: dcqcn.rai = \"9e18\": is above line, which is 40Gbps here",
		"cc: {timely: {hai: 1Tbps}}":                                "x.yaml:4:20: timely.hai = \"1Tbps\": is above line, which is 40Gbps here",
		"switch: {pfc: {per_rate: 9e18}, ecn: {per_rate: 100Gbps}}": "x.yaml:4:26: pfc.per_rate 9000000Tbps is outside 1Mbps..10Tbps",
		// However the constant is spelled.
		"cc: {swift: {Base-Target: soon}}": "x.yaml:4:27: swift.base_target = ",

		// What is wrong with a base's constants is reported there and not again.
		"cc: {dcqcn+win: {rai: 1Mbps}, dcqcn: {g: two}}":            "x.yaml:4:42: dcqcn.g",
		"cc: {timely+win: {t_low: 600us}}":                          "x.yaml:4:26: timely+win.t_low 600us is more than t_high, 500us",
		"cc: {timely+win: {t_high: 40us}, timely: {t_low: 45us}}":   "x.yaml:4:18: timely+win.t_low 45us",
		"cc: {dcqcn+win: {profile: b}, dcqcn: {byte_counter: 1MB}}": "x.yaml:4:17: dcqcn+win.byte_counter has no effect with profile=b",
		"controllers: [{name: one, cc: dcqcm, set: {g: 1}}]":        "x.yaml:4:31: ",
		"expect_unused: [pfc, pcf]": `x.yaml:4:22: "pcf" is not one of ` +
			`pfc, ecn, cnm, controller, flows, faults: did you mean "pfc"?`,
	} {
		_, err := Parse("x.yaml", []byte(start+text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "x.yaml:") != 1 {
			t.Errorf("%s: %v, want one problem that begins with %q", text, err, want)
		}
	}
	s, err := Parse("x.yaml", []byte(start+"controllers: DCQCN\ncc: {DCQCN: {g: 1/16}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("x.yaml", []byte(start+"cc: {timely+win: {t_low: 600us}, timely: {t_high: 700us}}"),
		nil); err != nil {
		t.Errorf("constants that only fit together: %v", err)
	}
	if s.Controllers[0] != "dcqcn" || s.ControllerSettings["dcqcn"]["g"] != "1/16" {
		t.Errorf("controllers %q, constants %q", s.Controllers, s.ControllerSettings)
	}
}

// TestEnd checks the keys for the end of a run, and for results without a warning.
func TestEnd(t *testing.T) {
	const start = "topology: star\nflows: [{tag: one, from: h0, to: h1, size: 1MB}]\n"
	for text, want := range map[string]string{
		"duration: 1ms\ndrain_limit: 1s": "x.yaml:4:1: drain_limit has no effect " +
			"without drain: true",
		"duration: 1ms\ndrain: true\ndrain_limit: 0s":                                         "x.yaml:5:14: drain_limit 0: remove drain",
		"duration: 1ms\ndrain: true\ndrain_limit: 2h":                                         "x.yaml:5:14: ",
		"duration: 1ms\ndrain: true\ndrain_limit: 3601s":                                      "x.yaml:5:14: drain_limit 3601s is above 3600s",
		"duration: 1ms\nworkloads: [{tag: a, all-to-all: {size: 1KB}, expect_unfinished: 2}]": "x.yaml:4:66: ",
	} {
		_, err := Parse("x.yaml", []byte(start+text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "x.yaml:") != 1 {
			t.Errorf("%s: %v, want one problem that begins with %q", text, err, want)
		}
	}
	// A size that is none is one mistake, and not also a flow that never ends.
	if _, err := Parse("x.yaml", []byte(start+"drain: true\nduration: 1ms"),
		[]string{"flows.one.size=-4MB"}); err == nil ||
		!strings.HasPrefix(err.Error(), `--set: size "-4MB" is negative`) || strings.Contains(err.Error(), "drain") {
		t.Errorf("%v", err)
	}
	for set, want := range map[string]string{
		"flows.one.size=unbounded": "x.yaml:3:1: drain waits until every flow has ended, but flow 0 (one, h0 to h1) never " +
			"ends: give it a size or remove drain",
	} {
		_, err := Parse("x.yaml", []byte(start+"drain: true\nduration: 1ms"), []string{set})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
	}
	for text, want := range map[string]vtime.Time{
		"duration: 1ms":                                0,
		"duration: 1ms\ndrain: true":                   vtime.Second,
		"duration: 200ms\ndrain: true":                 2 * vtime.Second,
		"duration: 3000s\ndrain: true":                 3600 * vtime.Second,
		"duration: 1ms\ndrain: true\ndrain_limit: 5ms": 5 * vtime.Millisecond,
	} {
		s, err := Parse("x.yaml", []byte(start+text), nil)
		if err != nil || s.DrainLimit != want {
			t.Errorf("%s: %v, %v, want %v", text, s.DrainLimit, err, want)
		}
	}
	s, err := Parse("x.yaml", []byte(start+"duration: 1ms\nworkloads: [{tag: a, all-to-all: {size: 1KB}, expect_unfinished: true}]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = s.WithSeed(7); err != nil {
		t.Fatal(err)
	}
	for i := range s.Flows {
		if f := &s.Flows[i]; f.ExpectUnfinished != (f.Tag == "a") {
			t.Errorf("flow %d of %s: %v", i, f.Tag, f.ExpectUnfinished)
		}
	}
}

// A run of NAME+win takes NAME's constants, but for its own.
func TestDerivedConstants(t *testing.T) {
	s := mustLoad(t, "incast", "cc={dcqcn: {g: 1/16, rai: 1Mbps}, dcqcn+win: {rai: 2Mbps}}")
	u, err := NewSetup(s, "dcqcn+win", s.Seed)
	if err != nil {
		t.Fatal(err)
	}
	if m := u.Flows[0].Settings.Map(); m["g"] != "0.0625" || m["rai"] != "2Mbps" || m["window"] == "" {
		t.Errorf("%v", m)
	}
}

// TestHostSettings checks that hosts have exactly the settings that the controller needs, and that the path includes
// the resulting headers.
func TestHostSettings(t *testing.T) {
	s := mustLoad(t, "incast")
	for name, change := range map[string]func(h *hostagent.Settings){
		"dcqcn": func(*hostagent.Settings) {}, "dcon+win": func(*hostagent.Settings) {},
		"dctcp":      func(h *hostagent.Settings) { h.Notify = hostagent.NotifyNone },
		"none":       func(h *hostagent.Settings) { h.Notify = hostagent.NotifyNone },
		"hpcc":       func(h *hostagent.Settings) { h.INT, h.Notify = true, hostagent.NotifyNone },
		"pcn+win":    func(h *hostagent.Settings) { h.Notify = hostagent.NotifyPCN },
		"timely+tcd": func(h *hostagent.Settings) { h.Ternary, h.Timestamps, h.Notify = true, true, hostagent.NotifyNone },
		"timely+win": func(h *hostagent.Settings) { h.Timestamps, h.Notify = true, hostagent.NotifyNone },
		"dcqcn+tcd":  func(h *hostagent.Settings) { h.Ternary = true },
	} {
		spec, err := cc.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		own, _, _, err := s.Under(name)
		if err != nil {
			t.Fatal(err)
		}
		want := own.Host
		change(&want)
		if got := *HostSettings(own, spec.Needs); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		// 58 B around a payload of 1000 and 24 B of line around a frame; 42 B of telemetry, or 8 of a timestamp, in
		// data and in ACKs. Two links of 40 Gb/s and 1 us each way.
		line, rtt := int64(1082), 4*vtime.Microsecond+2*200*(1082+86)
		switch {
		case name == "hpcc":
			line, rtt = 1124, 4*vtime.Microsecond+2*200*(1124+128)
		case strings.HasPrefix(name, "timely"):
			line, rtt = 1090, 4*vtime.Microsecond+2*200*(1090+94)
		}
		if env := Environment(s.Topology, &s.Flows[0], spec.Needs); env.LineMTU != line || env.BaseRTT != rtt {
			t.Errorf("%s: %+v, want a line MTU of %d and an RTT of %v", name, env, line, rtt)
		}
	}
}

// TestNetworkEnvironment checks that all flows of a fabric get the RTT of its longest path, and its oversubscription.
func TestNetworkEnvironment(t *testing.T) {
	s := parse(t, `name: x
topology: {delay: 1us, leafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4, rate: 40Gbps}}
controllers: [nscc]
flows: [{from: h0, to: h1, size: 1KB}, {from: h0, to: h4, size: 1KB}]
duration: 1ms
`)
	near, far := Environment(s.Topology, &s.Flows[0], cc.SwitchNeeds{}), Environment(s.Topology, &s.Flows[1],
		cc.SwitchNeeds{})
	// Two and four links of 1 us each way, frames of 1082 and 86 B of line.
	want := [3]vtime.Time{
		4*vtime.Microsecond + 2*200*(1082+86), 8*vtime.Microsecond + 4*200*(1082+86),
		8*vtime.Microsecond + 4*200*(1082+86),
	}
	if got := [3]vtime.Time{near.BaseRTT, far.BaseRTT, near.NetworkRTT}; got != want || far.NetworkRTT != near.NetworkRTT {
		t.Errorf("RTTs %v, want %v", got, want)
	}
	if near.Oversubscription != 2 || far.Oversubscription != 2 {
		t.Errorf("oversubscription %g and %g, want 2", near.Oversubscription, far.Oversubscription)
	}
}

// TestECNPorts checks that under RCCC links to hosts are not marked unless the scenario says so, and that they are
// under other controls.
func TestECNPorts(t *testing.T) {
	const text = `name: x
topology: {delay: 1us, star: {hosts: 4}}
controllers: [%s]
flows: [{from: h0, to: h1, size: 1KB}%s]
duration: 1ms
`
	for _, c := range []struct {
		controller, flows, ports string
		want                     switchagent.ECNPorts
	}{
		{"rccc", "", "auto", switchagent.ECNPortsToSwitches},
		{"rccc", "", "all", switchagent.ECNPortsAll},
		{"nscc", "", "auto", switchagent.ECNPortsAuto},
		{"nscc", "", "to-hosts", switchagent.ECNPortsToHosts},
		{"rccc", ", {from: h0, to: h2, size: 1KB, cc: nscc}", "auto", switchagent.ECNPortsAuto},
		{"rccc", ", {from: h0, to: h2, size: 1KB, cc: none}", "auto", switchagent.ECNPortsToSwitches},
		{"none", ", {from: h0, to: h2, size: 1KB, cc: rccc}", "auto", switchagent.ECNPortsToSwitches},
	} {
		s := parse(t, fmt.Sprintf(text, c.controller, c.flows), "switch.ecn.ports="+c.ports)
		u, err := NewSetup(s, c.controller, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := SwitchSettings(s, u.Needs)[0].ECN.Ports; got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestCNPInterval checks that receivers send CNPs as often as those of the simulator that the controller's constants
// come from, unless the scenario sets the interval.
func TestCNPInterval(t *testing.T) {
	const us = vtime.Microsecond
	for _, c := range []struct {
		sets []string
		want map[string]vtime.Time
	}{
		{nil, map[string]vtime.Time{"dcqcn": 50 * us, "dcon": 50 * us, "pcn": 50 * us, "none": 50 * us}},
		{[]string{"cc.dcqcn.profile=B"}, map[string]vtime.Time{
			"dcqcn": 0, "dcqcn+win": 0, "dcqcn+tcd": 0, "dcqcn+tcd+win": 0,
			"dcon": 50 * us, "pcn": 50 * us,
		}},
		{[]string{"cc.dcqcn+win.profile=b"}, map[string]vtime.Time{"dcqcn": 50 * us, "dcqcn+win": 0}},
		{[]string{"cc.dcqcn.profile=b", "host.cnp_interval=50us"}, map[string]vtime.Time{"dcqcn": 50 * us}},
		{[]string{"cc.dcqcn.profile=b", "host.cnp_interval=auto"}, map[string]vtime.Time{"dcqcn": 0}},
		{[]string{"host.cnp_interval=0s"}, map[string]vtime.Time{"dcqcn": 0, "dcon": 0}},
		{
			[]string{"controllers=[{name: nic, cc: dcqcn, set: {profile: b}}, {name: notified, cc: dcqcn, set: {profile: b}, " +
				"host: {cnp_interval: 4us}}, {name: high, cc: dcqcn, set: {profile: b}, host: {control_priority: 7}}]"},
			map[string]vtime.Time{"dcqcn": 50 * us, "nic": 0, "notified": 4 * us, "high": 0},
		},
	} {
		s := mustLoad(t, "incast", c.sets...)
		for name, want := range c.want {
			own, _, spec, err := s.Under(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := HostSettings(own, spec.Needs); got.CNPInterval != want {
				t.Errorf("%q: under %s a CNP each %v, want %v", c.sets, name, got.CNPInterval, want)
			} else if err := got.Validate(); err != nil {
				t.Errorf("%q: %s: %v", c.sets, name, err)
			}
		}
	}
	var text strings.Builder
	if err := mustLoad(t, "incast", "cc.dcqcn.profile=b", "controllers=[dcqcn, dcon]").Describe(&text); err != nil {
		t.Fatal(err)
	}
	if want := "cnp_interval auto: 50us, 0s (for every mark) under dcqcn"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, text.String())
	}
}

// PAUSE may let ACKs go; a want of credits may not.
func TestACKsWhenPausedAreOfPFC(t *testing.T) {
	s := mustLoad(t, "incast", "host.ack_when_paused=true", "host.ack_priority=data")
	if got := HostSettings(s, cc.SwitchNeeds{}); !got.ACKsWhenPaused || got.ACKPriority() != 3 {
		t.Errorf("under PFC %+v", got)
	}
	s = mustLoad(t, "incast", "host.ack_when_paused=true", "switch.flow_control=cbfc")
	if got := HostSettings(s, cc.SwitchNeeds{}); got.ACKsWhenPaused || got.ACKPriority() != 6 {
		t.Errorf("under CBFC %+v", got)
	}
}

// Two ways to one scenario give the same one.
func TestFileOrBuiltin(t *testing.T) {
	data, err := BuiltinSource("dcon-burst")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "copy.yaml")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	a, b := mustLoad(t, path), mustLoad(t, "dcon-burst")
	if a.Recipe, b.Recipe = nil, nil; !reflect.DeepEqual(a, b) {
		t.Error("the copy differs")
	}
}

func FuzzParseScenario(f *testing.F) {
	for _, name := range BuiltinNames() {
		data, err := BuiltinSource(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "seed=2")
	}
	good, err := os.ReadFile("testdata/good.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Replace(good, []byte("fabrics/two-leaves.yaml"), []byte("leafspine"), 1), "topology.leafspine.leaves=2")
	f.Fuzz(func(t *testing.T, data []byte, set string) {
		if len(data) > 1<<12 {
			return
		}
		s, err := Parse("fuzz.yaml", data, []string{set})
		if (err == nil) == (s == nil) {
			t.Fatalf("scenario %v, error %v", s, err)
		}
		if err != nil || len(s.Flows) > 1000 {
			return
		}
		if _, err := json.Marshal(s.View()); err != nil {
			t.Error(err)
		}
	})
}

package scenario

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/internal/lab"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func TestParseFaults(t *testing.T) {
	s := parse(t, lab.WithFaults(`
  - {name: cut, at: 1ms, for: 500us, every: 2ms, times: 3, link: "leaf0:spine0", down: true, reroute: 100us}
  - {at: 2ms, link: ["leaf0:spine1", "leaf1:spine1"], loss: 1%, one_way: true}
  - {at: 2ms, link: "leaf0:spine1", corrupt: 1/100}
  - {at: 2ms, link: "leaf0:spine1", ber: 1e-9}
  - {at: 2ms, link: "leaf0:spine1", delay: 7us}
  - {at: 2ms, link: "leaf0:spine1", rate: 10Gbps}
  - {at: 3ms, host: h0..h1, receiver: {rate: 5Gbps, buffer: 100KB}}
  - {at: 3ms, for: 1ms, host: h3, pause: [3, 4], interval: 50us}
  - {at: 9ms, link: "leaf1:spine0", down: false}
`))
	f := s.Faults
	ports, err := FindPorts(s.Topology, "leaf0:spine0")
	if err != nil {
		t.Fatal(err)
	}
	want := Fault{
		Name: "cut",
		Occurrence: settings.Occurrence{
			At: vtime.Millisecond, For: 500 * vtime.Microsecond, Every: 2 * vtime.Millisecond,
			Times: 3,
		},
		Ports: ports, Effect: settings.Effect{Kind: settings.FaultDown, Reroute: 100 * vtime.Microsecond},
	}
	if len(f) != 9 || !reflect.DeepEqual(f[0], want) {
		t.Fatalf("%d faults; the first %+v, want %+v", len(f), f[0], want)
	}
	if f[1].Kind != settings.FaultLoss || f[1].Probability != 0.01 || !f[1].OneWay || len(f[1].Ports) != 2 ||
		f[2].Kind != settings.FaultCorrupt ||
		f[2].Probability != 0.01 || f[3].Kind != settings.FaultBER || f[3].Probability != 1e-9 ||
		f[4].Delay != 7*vtime.Microsecond || f[5].Rate != 10*units.Gbps {
		t.Errorf("faults of links: %+v", f[1:6])
	}
	if r := (hostagent.SlowReceiver{
		Rate: 5 * units.Gbps, Buffer: 100 * units.KB, XOFF: 50 * units.KB,
		XON: 25 * units.KB,
	}); f[6].Receiver != r || len(f[6].NICs) != 2 {
		t.Errorf("receiver %+v", f[6])
	}
	if f[7].Priorities != 1<<3|1<<4 || f[7].Interval != 50*vtime.Microsecond || !f[8].Up || f[8].Reroute != vtime.Never {
		t.Errorf("%+v and %+v", f[7], f[8])
	}
	if s.Host.RetransmitTimeout != lossyTimeout || !s.reroutes() {
		t.Errorf("retransmission timeout %v, reroutes %v", s.Host.RetransmitTimeout, s.reroutes())
	}
	if _, err := json.Marshal(s.View()); err != nil {
		t.Error(err)
	}
	var b strings.Builder
	if err := s.Describe(&b); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"at 1ms for 500us, every 2ms, 3 times (cut): leaf0:spine0 down, routes follow after 100us",
		"at 2ms: leaf0:spine1 leaf1:spine1 loses 1 % of the frames, one way",
		"at 3ms: h0 h1 takes frames at 5Gbps; buffer 100KB, XOFF 50KB, XON 25KB",
		"at 3ms for 1ms: h3 sends PAUSE for priorities [3 4] every 50us",
		"at 9ms: leaf1:spine0 up, routes do not follow",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is not in\n%s", line, b.String())
		}
	}
	s = parse(t, lab.WithFaults("  - {name: cut, at: 1ms, link: \"leaf0:spine0\", down: true}"))
	if s.Host.RetransmitTimeout != lossyTimeout {
		t.Error("no retransmission timeout")
	}
	if s := parse(t, lab.WithFaults("  - {at: 1ms, link: \"leaf0:spine0\", delay: 3us}")); s.Host.RetransmitTimeout != 0 {
		t.Error("a fault that loses nothing has flows time out")
	}
}

func TestFaultMistakes(t *testing.T) {
	for item, want := range map[string]string{
		`{link: "leaf0:spine0", down: true}`:                                `missing key "at"`,
		`{at: 1ms, down: true}`:                                             `a fault needs link`,
		`{at: 1ms, link: "leaf0:spine0", host: h0, loss: 1}`:                `a fault has link or host, not both`,
		`{at: 1ms, link: "leaf0:spine0"}`:                                   `a fault needs one of down, loss, corrupt, ber, delay, rate`,
		`{at: 1ms, host: h0}`:                                               `a fault needs one of receiver, pause`,
		`{at: 1ms, link: "leaf0:spine0", pause: [3]}`:                       `pause is a fault of a host`,
		`{at: 1ms, link: "leaf0:spine0", loss: 1, delay: 1us}`:              `delay and loss are two faults`,
		`{at: 1ms, link: "leaf0:spine9", loss: 1}`:                          `no link from leaf0 to "spine9"`,
		`{at: 1ms, host: leaf0, pause: [3]}`:                                `leaf0 is a switch`,
		`{at: 1ms, link: "leaf0:spine0", loss: 2}`:                          `loss 2 is outside 0..1`,
		`{at: 1ms, link: "leaf0:spine0", delay: 0us}`:                       `delay 0s is outside 1ns..1s`,
		`{at: 1ms, link: "leaf0:spine0", rate: 1bps}`:                       `rate 1bps is outside 1Mbps..10Tbps`,
		`{at: 1ms, for: 1ms, every: 1ms, link: "leaf0:spine0", loss: 1}`:    `every 1ms must be longer than for, 1ms`,
		`{at: 1ms, every: 1ms, link: "leaf0:spine0", loss: 1}`:              `add for`,
		`{at: 1ms, for: 1us, times: 2, link: "leaf0:spine0", loss: 1}`:      `times needs the time between occurrences`,
		`{at: 1ms, for: 0s, link: "leaf0:spine0", loss: 1}`:                 `for 0:`,
		`{at: 1ms, link: "leaf0:spine0", down: true, one_way: true}`:        `a link goes down in both directions`,
		`{at: 1ms, link: "leaf0:spine0", loss: 1, reroute: 1ms}`:            `reroute applies only to links that go down`,
		`{at: 1ms, link: "leaf0:spine0", loss: 1, interval: 1ms}`:           `interval applies only to hosts that send PAUSE`,
		`{at: 1ms, for: 1ms, link: "leaf0:spine0", down: false}`:            `for has no effect on a link that comes up`,
		`{at: 1ms, host: h0, pause: []}`:                                    `pause needs priorities`,
		`{at: 1ms, host: h0, receiver: {buffer: 1KB}}`:                      `missing key "rate"`,
		`{at: 1ms, host: h0, receiver: {rate: 1Gbps, xoff: 1KB, xon: 1KB}}`: `xon 1KB must be below receiver.xoff 1KB`,
		`{at: 1ms, link: "leaf0:spine0", lost: 1}`:                          `unknown key "lost"`,
		`{at: 1ms, for: 5ms, link: "leaf0:spine0", loss: 1}, ` +
			`{at: 2ms, link: "spine0:leaf0", loss: 0.5}`: `fault number 0, also loss, is still active at the same place`,
		`oops`: `a fault must be a mapping such as`,
	} {
		_, err := Parse("x.yaml", []byte(lab.WithFaults("  ["+item+"]")), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "x.yaml:5:") {
			t.Errorf("%s: %v, want one about %q in line 5", item, err, want)
		}
	}
	for text, want := range map[string]string{
		"host: {retransmit_timeout: 0s}":                               "would then wait for ever",
		"switch: {pfc: {watchdog: {detect: 0s}}}":                      "write watchdog: off",
		"switch: {pfc: {watchdog: {restore: 0s}}}":                     "pfc.watchdog.restore 0s is outside",
		"switch: {flow_control: cbfc, pfc: {watchdog: {detect: 1ms}}}": "there is no PFC under flow_control cbfc",
		"switch: {pfc: {watchdog: {action: explode}}}":                 "is not one of drop, forward",
	} {
		_, err := Parse("x.yaml", []byte(lab.WithFaults("  - {at: 1ms, link: \"leaf0:spine0\", loss: 1}\n")+text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one about %q", text, err, want)
		}
	}
}

// TestRetransmitTimeout checks that flows get a default timeout if a frame may be lost, or refused by go-back-N because
// others overtake it. Variants with their own host settings get it too.
func TestRetransmitTimeout(t *testing.T) {
	const fault = "  - {at: 1ms, link: \"leaf0:spine0\", loss: 1}\n"
	ms := vtime.Millisecond
	for _, c := range []struct {
		faults, text  string
		base, variant vtime.Time
	}{
		{"", "controllers: [dcqcn, {name: v, cc: dcqcn, host: {ack_every: 2}}]", 0, 0},
		{fault, "controllers: [dcqcn, {name: v, cc: dcqcn, host: {ack_every: 2}}]", ms, ms},
		{fault, "controllers: [dcqcn, {name: v, cc: dcqcn, host: {retransmit_timeout: 2ms}}]", ms, 2 * ms},
		{
			fault, "host: {retransmit_timeout: 3ms}\ncontrollers: [dcqcn, {name: v, cc: dcqcn, host: {ack_every: 2}}]", 3 * ms,
			3 * ms,
		},
		{"", "controllers: [dcqcn, {name: v, cc: dcqcn, switch: {pfc: {priorities: []}}}]", 0, ms},
		{"", "controllers: [dcqcn, {name: v, cc: dcqcn, switch: {load_balancing: {mode: spray}}}]", 0, ms},
		{"", "controllers: [dcqcn, {name: v, cc: dcqcn, switch: {load_balancing: {mode: spray}}, host: {recovery: selective}}]", 0, 0},
		{"", "switch: {load_balancing: {mode: adaptive}}\ncontrollers: [dcqcn, {name: v, cc: dcqcn, set: {g: 0.1}}]", ms, ms},
		{"", "switch: {load_balancing: {mode: spray}}\nhost: {recovery: selective}\n" +
			"controllers: [dcqcn, {name: v, cc: dcqcn, host: {recovery: go-back-n}}]", 0, ms},
	} {
		text := lab.WithFaults(c.faults)
		if c.faults == "" {
			text = strings.Replace(text, "faults:\n", "", 1)
		}
		s := parse(t, text+c.text)
		variant := s.Variants[0].Host
		if variant == nil {
			variant = &s.Host
		}
		if s.Host.RetransmitTimeout != c.base || variant.RetransmitTimeout != c.variant {
			t.Errorf("%s%s: retransmit_timeout %v, of the variant %v, want %v and %v", c.faults, c.text,
				s.Host.RetransmitTimeout, variant.RetransmitTimeout, c.base, c.variant)
		}
	}
	const overtake, lost = "load balancing reorders packets", "faults or a PFC watchdog can lose the last packets"
	for _, c := range []struct{ faults, text, place, want string }{
		{"", "switch: {load_balancing: {mode: spray}}\nhost: {retransmit_timeout: 0s}", "x.yaml:5:28:", overtake},
		{"", "host: {entropy: reps, retransmit_timeout: 0s}", "x.yaml:4:43:", overtake},
		{"", "switch: {load_balancing: {mode: spray}}\n" +
			"controllers: [dcqcn, {name: v, cc: dcqcn, host: {retransmit_timeout: 0s}}]", "x.yaml:5:70:", overtake},
		{
			"", "host: {retransmit_timeout: 0s}\ncontrollers: [{name: v, cc: dcqcn, switch: {load_balancing: {mode: spray}}}]",
			"x.yaml:4:28:", overtake,
		},
		{"", "host: {recovery: selective, retransmit_timeout: 0s}\n" +
			"controllers: [{name: v, cc: dcqcn, switch: {load_balancing: {mode: spray}}}]", "", ""},
		{fault, "controllers: [dcqcn, {name: v, cc: dcqcn, host: {retransmit_timeout: 0s}}]", "x.yaml:6:70:", lost},
		{"", "controllers: [dcqcn, {name: v, cc: dcqcn, host: {retransmit_timeout: 0s}, " +
			"switch: {pfc: {watchdog: {detect: 1ms}}}}]", "x.yaml:4:70:", lost},
	} {
		text := lab.WithFaults(c.faults)
		if c.faults == "" {
			text = strings.Replace(text, "faults:\n", "", 1)
		}
		_, err := Parse("x.yaml", []byte(text+c.text), nil)
		if (err == nil) != (c.want == "") || err != nil &&
			(!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.place) ||
				strings.Count(err.Error(), "x.yaml:") > 1) {
			t.Errorf("%s%s: %v, want one about %q at %s", c.faults, c.text, err, c.want, c.place)
		}
	}
}

// TestFaultSettings: --set reaches into faults by their names, and into the watchdog.
func TestFaultSettings(t *testing.T) {
	s := mustLoad(t, "link-failure", "faults.cut.at=2ms", "faults.cut.reroute=never", "switch.pfc.watchdog.detect=1ms")
	if s.Faults[0].At != 2*vtime.Millisecond || s.Faults[0].Reroute != vtime.Never {
		t.Errorf("%+v", s.Faults[0])
	}
	if w := (switchagent.Watchdog{
		Detect:  vtime.Millisecond,
		Restore: 200 * vtime.Millisecond,
	}); s.Switch.PFC.Watchdog != w {
		t.Errorf("watchdog %+v", s.Switch.PFC.Watchdog)
	}
	if s := mustLoad(t, "link-failure", "switch.pfc.watchdog=off"); s.Switch.PFC.Watchdog.On() {
		t.Error("the watchdog is on")
	}
}

package sonic

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/vtime"
)

// defaults returns the files that sonic-buildimage gives an Arista-7050CX3-32S-C28S4 (BALANCED, t0) with ports at 100
// Gb/s: buffers_defaults_t0.j2 and pg_profile_lookup.ini of the platform, and the default qos_config.j2.
func defaults(t testing.TB) (config, lookup []byte) {
	t.Helper()
	config, err := os.ReadFile("testdata/config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	if lookup, err = os.ReadFile("testdata/pg_profile_lookup.ini"); err != nil {
		t.Fatal(err)
	}
	return config, lookup
}

func switches(config, lookup string) ([]*Switch, error) {
	c, err := Parse([]byte(config))
	if err != nil {
		return nil, err
	}
	var l Lookup
	if lookup != "" {
		if l, err = ParseLookup([]byte(lookup)); err != nil {
			return nil, err
		}
	}
	all, _, err := c.Switches(l)
	return all, err
}

// TestDefaults checks that the platform's defaults make a scenario that can run, and that its switch has each number of
// the templates.
func TestDefaults(t *testing.T) {
	config, lookup := defaults(t)
	all, err := switches(string(config), string(lookup))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || len(all[0].Ports) != 32 {
		t.Fatalf("%d groups", len(all))
	}
	text, notes := all[0].Scenario("config_db.json", "x", "")
	s, err := scenario.Parse("x.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	sw, plan := &s.Switch, s.Topology
	for name, c := range map[string][2]any{
		"hosts":           {len(plan.Hosts), 32},
		"rate":            {int64(plan.Links[0].Rate), int64(100e9)},
		"delay":           {plan.Links[0].Delay, 300 * vtime.Microsecond / 198}, // SONiC's formula has light at 198 m/us
		"interface MTU":   {plan.InterfaceMTU, 9100},
		"buffer":          {int64(sw.Buffer), int64(32732160 + 64*160000)},
		"priorities":      {sw.PFC.Priorities, uint8(1<<3 | 1<<4)},
		"alpha":           {sw.PFC.Alpha, 1.0},
		"xoff":            {int64(sw.PFC.XOFF), int64(0)},
		"xoff_to_xon":     {int64(sw.PFC.XOFFToXON), int64(4608)},
		"headroom":        {int64(sw.PFC.Headroom), int64(160000)},
		"detect":          {sw.PFC.Watchdog.Detect, 200 * vtime.Millisecond},
		"restore":         {sw.PFC.Watchdog.Restore, 200 * vtime.Millisecond},
		"forward":         {sw.PFC.Watchdog.Forward, false},
		"kmin":            {int64(sw.ECN.KMin), int64(1 << 20)},
		"kmax":            {int64(sw.ECN.KMax), int64(2 << 20)},
		"pmax":            {sw.ECN.PMax, 0.05},
		"ecn.priorities":  {sw.ECN.Priorities, uint8(1<<3 | 1<<4)},
		"quantum of 3":    {int(sw.Scheduler.Quantum[3]) * 14, int(sw.Scheduler.Quantum[0]) * 15},
		"data priority":   {int(s.Host.DataPriority), 3},
		"number of notes": {len(notes), 1},
	} {
		if fmt.Sprint(c[0]) != fmt.Sprint(c[1]) {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	if text := strings.Join(lint.Warnings(s, s.Controllers), "\n"); text != "" || s.DataPriorities() != 1<<3|1<<4 {
		t.Errorf("the scenario is warned of: %s", text)
	}
	// 1622016 B are the headroom of ten groups of 160000 B.
	if len(notes) != 1 || !strings.Contains(notes[0], "covers the headroom of 10 of 64 lossless priority groups") {
		t.Errorf("%q", notes)
	}
}

// small holds a configuration with parts to replace.
const small = `{
"PORT": {"Ethernet0": {"speed": "40000"}, "Ethernet4": {"speed": "40000"}, "Ethernet12": {"speed": "40000"}, "Ethernet8": {"speed": "40000", "admin_status": "down"}},
"CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet4": "40m", "Ethernet12": "5m"}},
"BUFFER_POOL": {"ingress_lossless_pool": {"size": "1000000", "mode": "static"}},
"BUFFER_PROFILE": {"mine": {"pool": "[BUFFER_POOL|ingress_lossless_pool]", "xon": "18432", "xoff": "40560", "size": "1248", "static_th": "50000"}},
"BUFFER_PG": {"Ethernet0,Ethernet4,Ethernet12|3": {"profile": "[BUFFER_PROFILE|mine]"}, "Ethernet0|0-2": {"profile": "[BUFFER_PROFILE|lossy]"}},
"PORT_QOS_MAP": {"Ethernet0,Ethernet4,Ethernet12": {"pfc_enable": "3"}},
"QUEUE": {"Ethernet0|3-4": {"wred_profile": "[WRED_PROFILE|W]", "scheduler": "[SCHEDULER|strict]"}},
"SCHEDULER": {"strict": {"type": "STRICT"}},
"WRED_PROFILE": {"W": {"ecn": "ecn_green", "green_min_threshold": "5000", "green_max_threshold": "200000", "green_drop_probability": "1"}},
"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}}
}`

// TestGroups: ports with equal settings are together; older forms of keys and references are read; static thresholds
// stay static.
func TestGroups(t *testing.T) {
	all, err := switches(small, "")
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, g := range all {
		groups = append(groups, fmt.Sprint(portRange(g.Ports), g.Delay, g.Headroom, g.XOFF, g.XON, g.Alpha, g.ECN != nil,
			len(g.Weights)))
	}
	want := []string{
		"Ethernet0202.02ns 40560 50000 18432 0 true 0", "Ethernet4202.02ns 40560 50000 18432 0 false 0",
		"Ethernet1225.252ns 40560 50000 18432 0 false 0",
	}
	if !slices.Equal(groups, want) {
		t.Errorf("%q, want %q", groups, want)
	}
	if g := GroupOf(all, "Ethernet12"); g != all[2] || GroupOf(all, "Ethernet8") != nil {
		t.Errorf("%+v", g)
	}
	if notes := Others(all, all[2]); len(notes) != 2 ||
		notes[0] != "Ethernet0 (40Gbps) has other settings (CABLE_LENGTH, WRED_PROFILE) and is ignored: import it with --port Ethernet0" {
		t.Errorf("%q", notes)
	}
	most, err := switches(strings.Replace(small, `"Ethernet12": "5m"`, `"Ethernet12": "40m"`, 1), "")
	if err != nil || len(most) != 2 || portRange(most[0].Ports) != "Ethernet4 to Ethernet12 (2)" ||
		portRange(most[1].Ports) != "Ethernet0" {
		t.Errorf("the group with most ports is not first: %s, %v", portRange(most[0].Ports), err)
	}
	text, _ := all[0].Scenario("x", "x", "")
	for _, line := range []string{
		"xoff: 50000B", "xon: 18432B", "headroom: 40560B", "buffer: 1040560B",
		"kmin: 5000B, kmax: 200000B, pmax: 0.01",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if _, err := scenario.Parse("x.yaml", []byte(text), nil); err != nil {
		t.Error(err)
	}
}

// TestServicePorts: two 10 Gb/s ports without a lossless profile, and one with two, are left out with their reasons,
// and the others imported.
func TestServicePorts(t *testing.T) {
	config, lookup := defaults(t)
	text := strings.Replace(string(config), `"PORT": {`, `"PORT": {
  "Ethernet128": {"speed": "10000"}, "Ethernet129": {"speed": "10000"}, "Ethernet130": {"speed": "100000"},`, 1)
	text = strings.Replace(text, `"PORT_QOS_MAP": {`, `"PORT_QOS_MAP": {
  "Ethernet128,Ethernet129,Ethernet130": {"pfc_enable": "3,4"},`, 1)
	text = strings.Replace(text, `"BUFFER_PG": {`, `"BUFFER_PG": {
  "Ethernet130|3": {"profile": "a"}, "Ethernet130|4": {"profile": "b"},`, 1)
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	l, err := ParseLookup(lookup)
	if err != nil {
		t.Fatal(err)
	}
	all, left, err := c.Switches(l)
	if err != nil || len(all) != 1 || len(all[0].Ports) != 32 || GroupOf(all, "Ethernet128") != nil {
		t.Fatalf("%d groups, %v", len(all), err)
	}
	want := []string{
		"Ethernet128, Ethernet129 (10Gbps) are ignored: BUFFER_PG has no lossless priority group, and the lookup file has " +
			"no line for 10000 (no CABLE_LENGTH)",
		"Ethernet130 (100Gbps) is ignored: BUFFER_PG has profile a for one lossless priority and b for another, " +
			"but pausenet supports one for all",
	}
	if notes := LeftOut(left); !slices.Equal(notes, want) {
		t.Errorf("%q, want %q", notes, want)
	}
	malformed := strings.Replace(text, `"speed": "10000"`, `"speed": "10G"`, 1)
	if _, err := switches(malformed, string(lookup)); err == nil ||
		!strings.Contains(err.Error(), "PORT|Ethernet128|speed") {
		t.Errorf("a malformed port: %v", err)
	}
}

// TestForms checks other forms of a configuration.
func TestForms(t *testing.T) {
	for _, c := range []struct{ name, old, with, text, note string }{
		{
			"dynamic model", `"profile": "[BUFFER_PROFILE|mine]"`, `"profile": "NULL"`, "alpha: 1\n",
			"which the file does not have: set switch.pfc.cell_size and switch.pfc.response",
		},
		{
			"MTUs", `"PORT": {"Ethernet0": {`,
			`"LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}}, ` +
				`"PORT": {"Ethernet0": {"mtu": "9100", `,
			"mtu: 1024, interface_mtu: 9100, star", "",
		},
		{
			"small packets", `"PORT": {`,
			`"LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "50"}}, "PORT": {`,
			"small_packets: 0.5\n", "",
		},
		{
			"MTU of short frames", `"PORT": {"Ethernet0": {`, `"PORT": {"Ethernet0": {"mtu": "1400", `, "topology: {star",
			"PORT's mtu 1400 is ignored",
		},
		{"alpha", `"static_th": "50000"`, `"dynamic_th": "-3"`, "alpha: 0.125\n", "xon 18432 without xon_offset is ignored"},
		{"no ECN", `"ecn_green"`, `"ecn_none"`, `ecn: {mode: "off"}`, `WRED profile W has ecn "ecn_none"`},
		// and headers of 160 B
		{
			"the largest MTU", `"PORT": {`, `"LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "9216"}}, "PORT": {`, "mtu: 9056, ",
			"",
		},
		{
			"alert", `"PFC_WD": {`,
			`"PFC_WD": {"Ethernet0": {"action": "alert", "detection_time": "200", "restoration_time": "400"}, `,
			"headroom", `action "alert"`,
		},
		{
			"forward", `"PFC_WD": {`,
			`"PFC_WD": {"Ethernet0": {"action": "forward", "detection_time": "200", "restoration_time": "400"}, `,
			"{detect: 200ms, restore: 400ms, action: forward}", "",
		},
		{
			"lossy", `"pfc_enable": "3"`, `"pfc_enable": ""`, "pfc: {priorities: []}",
			"PORT_QOS_MAP has no pfc_enable for these ports",
		},
		{
			"no pool", `"BUFFER_POOL": {`, `"BUFFER_POOL": {}, "X": {`, "headroom: 40560B",
			"BUFFER_POOL has no size for the ingress pool",
		},
	} {
		config := strings.Replace(small, c.old, c.with, 1)
		if c.name == "dynamic model" {
			config = strings.Replace(config, `"PORT": {`, `"DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "0"}}, "PORT": {`, 1)
		}
		all, err := switches(config, "")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text, notes := GroupOf(all, "Ethernet0").Scenario("x", "x", "")
		if !strings.Contains(text, c.text) || !strings.Contains(strings.Join(notes, "\n"), c.note) ||
			(c.note == "") != (len(notes) == 0) {
			t.Errorf("%s: %q\n%s", c.name, notes, text)
		}
		if _, err := scenario.Parse("x.yaml", []byte(text), nil); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, text)
		}
	}
}

// TestMistakes checks that each mistake is reported with its position.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{`"PORT": {`, `"PORT": [`, "line 2: invalid character"},
		{small, `[]`, "not a config_db.json"},
		{small, `{}`, "PORT: no port is up"},
		{`"BUFFER_POOL": {`, `"BUFFER_POOL": 3, "X": {`, "BUFFER_POOL: expected an object of rows"},
		{`"speed": "40000"}`, `"speed": "fast"}`, `PORT|Ethernet0|speed: "fast" is not a speed in Mbps`},
		{`"PORT": {"Ethernet0"`, `"PORT": {"x\nswitch: y": {"speed": "10"}, "Ethernet0"`, "is not a port's name"},
		{`"PORT": {"Ethernet0": {`, `"PORT": {"Ethernet0": {"mtu": "64K", `, `PORT|Ethernet0|mtu: "64K" is not an MTU`},
		{
			`"PORT": {`, `"LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "0"}}, "PORT": {`,
			`LOSSLESS_TRAFFIC_PATTERN|AZURE|mtu: "0" is not an MTU`,
		},
		{
			`"PORT": {`, `"LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"small_packet_percentage": "all"}}, "PORT": {`,
			`small_packet_percentage: "all" is not a percentage`,
		},
		{`"40m"`, `"40 feet"`, `CABLE_LENGTH|Ethernet0: "40 feet" is not a length such as 40m`},
		{`"pfc_enable": "3"`, `"pfc_enable": "3,x"`, `PORT_QOS_MAP|Ethernet0|pfc_enable: "3,x" is not a list of priorities`},
		{`"pfc_enable": "3"`, `"pfc_enable": "8"`, `PORT_QOS_MAP|Ethernet0|pfc_enable: "8" is not a list of priorities`},
		{`"pfc_enable": "3"`, `"pfc_enable": "4"`, "Ethernet0: BUFFER_PG has no profile for its lossless priorities [4]"},
		{`|mine]"}, "Ethernet0|0-2"`, `|mine]"}, "Ethernet0|x"`, `BUFFER_PG|Ethernet0|x: "x" is not a number or range`},
		{
			`"BUFFER_PROFILE": {"mine"`, `"BUFFER_PROFILE": {"other"`,
			"BUFFER_PG: Ethernet0 has profile mine, which is not in BUFFER_PROFILE",
		},
		{`"xoff": "40560"`, `"xoff": "much"`, `BUFFER_PROFILE|mine|xoff: "much" is not a number of bytes`},
		{`"xoff": "40560", `, ``, "BUFFER_PROFILE|mine needs xoff, the headroom"},
		{`"static_th": "50000"`, `"dynamic_th": "77"`, `BUFFER_PROFILE|mine|dynamic_th: "77" is not an exponent of -8 to 6`},
		{`"static_th": "50000"`, `"dynamic_th": "7"`, `BUFFER_PROFILE|mine|dynamic_th: "7" is not an exponent of -8 to 6`},
		{`"static_th": "50000"`, `"dynamic_th": "-9"`, `BUFFER_PROFILE|mine|dynamic_th: "-9" is not an exponent of -8 to 6`},
		{`, "static_th": "50000"`, ``, "BUFFER_PROFILE|mine needs dynamic_th or static_th"},
		{`"size": "1000000"`, `"size": "-1"`, `BUFFER_POOL|ingress_lossless_pool|size: "-1" is not a number of bytes`},
		{`"WRED_PROFILE": {"W"`, `"WRED_PROFILE": {"V"`, "QUEUE: Ethernet0 has W, which is not in WRED_PROFILE"},
		{
			`"green_max_threshold": "200000"`, `"green_max_threshold": "2000"`,
			"WRED_PROFILE|W: green_max_threshold 2000 is below green_min_threshold 5000",
		},
		{
			`"green_drop_probability": "1"`, `"green_drop_probability": "101"`,
			`WRED_PROFILE|W|green_drop_probability: "101" is not a percentage`,
		},
		{`"type": "STRICT"`, `"type": "DWRR"`, `SCHEDULER|strict|weight: "" is not a weight of 1 to 100`},
		{`"SCHEDULER": {`, `"SCHEDULER": {}, "X": {`, "QUEUE: Ethernet0 has strict, which is not in SCHEDULER"},
		{
			`"profile": "[BUFFER_PROFILE|mine]"`, `"profile": "NULL"`,
			"DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE|default_dynamic_th, but the file does not have that",
		},
		{
			`"PFC_WD": {`, `"PFC_WD": {"Ethernet0": {"action": "drop", "detection_time": "0"}, `,
			`PFC_WD|Ethernet0|detection_time: "0" is not a time of 1 to 10000 ms`,
		},
	} {
		config := strings.Replace(small, c.old, c.with, 1)
		if config == small {
			t.Fatalf("%s is not in it", c.old)
		}
		if _, err := switches(config, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.with, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":                       "the file has no profiles",
		"100000 5m 1 2":          "line 1 has 4 columns",
		"# x\nfast 5m 1 2 3 4 5": `line 2: "fast" is not a speed`,
	} {
		if _, err := ParseLookup([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse checks that any file gives either an error with a position, or a scenario that its reader accepts, unless
// it has values that no scenario can have.
func FuzzParse(f *testing.F) {
	config, lookup := defaults(f)
	f.Add(config, lookup)
	f.Add([]byte(small), []byte(""))
	f.Fuzz(func(t *testing.T, config, lookup []byte) {
		c, err := Parse(config)
		if err != nil {
			return
		}
		l, _ := ParseLookup(lookup)
		all, _, err := c.Switches(l)
		if err != nil {
			return
		}
		for _, s := range all {
			if text, _ := s.Scenario("x", "x", ""); strings.Contains(text, "%!") {
				t.Errorf("%s", text)
			}
		}
	})
}

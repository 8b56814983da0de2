package audit

import (
	"fmt"
	"strings"
	"testing"
)

// edges is a sound switch with two ports of 100 Gb/s and 300 m, of which each needs 48121 B. Its pool of 3 MB and alpha 1
// make XOFF of one congested group 1.5 MB.
const edges = `{"PORT": {"E0": {"speed": "100000", "mtu": "9100"}, "E1": {"speed": "100000", "mtu": "9100"}},
"CABLE_LENGTH": {"A": {"E0": "300m", "E1": "300m"}},
"PORT_QOS_MAP": {"E0": {"pfc_enable": "3", "dscp_to_tc_map": "A"}, "E1": {"pfc_enable": "3", "dscp_to_tc_map": "A"}},
"DSCP_TO_TC_MAP": {"A": {"26": "3", "48": "6"}},
"BUFFER_POOL": {"ingress_lossless_pool": {"size": "3000000"}},
"BUFFER_PROFILE": {"p": {"xoff": "48121", "dynamic_th": "0", "xon_offset": "9000"}, "q": {"xoff": "48121", "dynamic_th": "0"}},
"BUFFER_PG": {"E0|3": {"profile": "p"}, "E1|3": {"profile": "q"}},
"QUEUE": {"E0|3": {"wred_profile": "w"}, "E1|3": {"wred_profile": "w"}},
"WRED_PROFILE": {"w": {"ecn": "ecn_all", "green_min_threshold": "400000", "green_max_threshold": "800000"}},
"PFC_WD": {"E0": {"detection_time": "200", "restoration_time": "200"}, "E1": {"detection_time": "200", "restoration_time": "200"}}}`

// TestEdges checks each rule just inside and just outside of its limit.
func TestEdges(t *testing.T) {
	for _, c := range []struct {
		name, old, new string   // what differs from edges
		also           []string // pairs of further texts, as old and new
		more           []File
		want           string // severity and rule of each finding
	}{
		{name: "sound"},
		{name: "a byte short of the need", old: `"xoff": "48121", "dynamic_th": "0", "xon_offset"`, new: `"xoff": "48120", "dynamic_th": "0", "xon_offset"`, want: "warning headroom"},
		{name: "as much as the cable", old: `"xoff": "48121", "dynamic_th": "0", "xon_offset"`, new: `"xoff": "37500", "dynamic_th": "0", "xon_offset"`, want: "warning headroom"},
		{name: "a byte less than the cable", old: `"xoff": "48121", "dynamic_th": "0", "xon_offset"`, new: `"xoff": "37499", "dynamic_th": "0", "xon_offset"`, want: "error headroom"},
		{name: "Kmin a byte below XOFF", old: `"400000"`, new: `"1499999"`, want: "error ecn-first"}, // above Kmax
		{name: "Kmax at XOFF", old: `"800000"`, new: `"1500000"`},
		{name: "Kmax a byte above XOFF", old: `"800000"`, new: `"1500001"`, want: "warning ecn-first"},
		{name: "Kmin at XOFF", old: `"400000", "green_max_threshold": "800000"`, new: `"1500000", "green_max_threshold": "1500000"`, want: "error ecn-first"},
		{name: "xon_offset at XOFF", old: `"9000"`, new: `"1500000"`, want: "error threshold"},
		{name: "a pool that one group fills", old: `"3000000"`, new: `"3000000", "xoff": "48121"`},
		{name: "a pool that no group fills", old: `"3000000"`, new: `"3000000", "xoff": "48120"`, want: "error headroom-pool"},
		{name: "less headroom at a higher rate", old: `"E1": {"speed": "100000"`, new: `"E1": {"speed": "25000"`},
		{
			name: "more headroom at a lower rate", old: `"q": {"xoff": "48121"`, new: `"q": {"xoff": "48122"`,
			want: "", // equal rates and cables are not compared
		},
		{name: "detection as long as the drain", old: `"E0": {"detection_time": "200"`, new: `"E0": {"detection_time": "1"`},
		{name: "a pool that drains longer", old: `"3000000"`, new: `"2500000000"`, want: "error watchdog-time"},
		{name: "PFC on one more priority of a NIC", more: files(
			"x.clab.yml", "topology: {links: [{endpoints: [s:E0, h0:eth0]}]}", "h0/dcb", "prio-pfc 3:on 4:on\n"), want: "error pfc-ends"},
		{
			name: "a lossless group without PFC, and packets in it", old: `{"E0|3": {"profile": "p"}`,
			new: `{"E0|3-4": {"profile": "p"}`, want: "error profile",
		},
		{
			name: "a lossless group without PFC, and no packets in it", old: `{"E0|3": {"profile": "p"}`,
			new: `{"E0|3-4": {"profile": "p"}`, also: []string{
				`"PFC_WD"`, `"TC_TO_PRIORITY_GROUP_MAP": {"M": {"4": "0"}}, "PFC_WD"`,
				`"E0": {"pfc_enable"`, `"E0": {"tc_to_pg_map": "M", "pfc_enable"`,
			}, want: "warning profile",
		},
		{name: "a cable of 0 m, a byte short", old: `"A": {"E0": "300m"`, new: `"A": {"E0": "0m"`, also: []string{
			`"xoff": "48121", "dynamic_th": "0", "xon_offset"`, `"xoff": "10620", "dynamic_th": "0", "xon_offset"`,
		}, want: "warning headroom"}, // 48121 B less the 37500 B on the cable
		{name: "a poll as long as the detection", old: `"PFC_WD": {`, new: `"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, `},
		{
			name: "a poll longer than the detection", old: `"PFC_WD": {`, new: `"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "201"}, `,
			want: "warning watchdog-time",
		},
		{
			name: "a restore shorter than the detection", old: `"200", "restoration_time": "200"}, "E1"`,
			new: `"200", "restoration_time": "199"}, "E1"`, want: "warning watchdog-time",
		},
		{
			name: "a restore at once", old: `"200", "restoration_time": "200"}, "E1"`,
			new: `"200", "restoration_time": "0"}, "E1"`, want: "warning watchdog-time",
		},
		{name: "XON a byte below a static XOFF", old: `"dynamic_th": "0", "xon_offset": "9000"`, new: `"static_th": "900000", "xon": "899999"`},
		{
			name: "XON at a static XOFF", old: `"dynamic_th": "0", "xon_offset": "9000"`,
			new: `"static_th": "900000", "xon": "900000"`, want: "error threshold",
		},
		{
			name: "static thresholds that fill the pool", old: `"dynamic_th": "0", "xon_offset": "9000"`, new: `"static_th": "1500000"`,
			also: []string{`"xoff": "48121", "dynamic_th": "0"}`, `"xoff": "48121", "static_th": "1500000"}`},
		},
		{
			name: "static thresholds a byte above the pool", old: `"dynamic_th": "0", "xon_offset": "9000"`, new: `"static_th": "1500000"`,
			also: []string{`"xoff": "48121", "dynamic_th": "0"}`, `"xoff": "48121", "static_th": "1500001"}`},
			want: "error threshold",
		},
		{
			// Two frames of 9100 B and 116 B of headers, with two groups: 3 * 18432 B.
			name: "a pool for two frames of each group", old: `"3000000"`, new: `"55296"`, also: []string{
				`"400000"`, `"9000"`, `"800000"`, `"9000"`,
			},
		},
		{
			name: "a byte less for each group", old: `"3000000"`, new: `"55293"`, also: []string{`"400000"`, `"9000"`, `"800000"`, `"9000"`},
			want: "error threshold, error threshold",
		},
		{
			name: "more headroom with an unknown cable", old: `"A": {"E0": "300m", `, new: `"A": {`,
			also: []string{`"xoff": "48121", "dynamic_th": "0", "xon_offset"`, `"xoff": "50000", "dynamic_th": "0", "xon_offset"`},
		},
		{
			name: "more headroom at an unknown rate", old: `"E0": {"speed": "100000", "mtu"`, new: `"E0": {"mtu"`,
			also: []string{`"xoff": "48121", "dynamic_th": "0", "xon_offset"`, `"xoff": "50000", "dynamic_th": "0", "xon_offset"`},
		},
		{name: "Kmin at Kmax", old: `"400000"`, new: `"800000"`},
		{name: "Kmin at Kmax, and no pool's size", old: `"400000"`, new: `"800000"`, also: []string{`"size": "3000000"`, `"mode": "static"`}},
		{
			name: "Kmin above Kmax, and no pool's size", old: `"400000"`, new: `"800001"`,
			also: []string{`"size": "3000000"`, `"mode": "static"`}, want: "error ecn-first",
		},
		{
			name: "ToS 0 of a NIC with PFC", more: files("h0/cma_roce_tos", "0\n", "h0/dcb", "prio-pfc 3:on\n"),
			want: "error class, error trust",
		},
		{name: "ToS 0 of a NIC without PFC", more: files("h0/cma_roce_tos", "0\n", "h0/dcb", "prio-pfc 3:off\n"), want: "error class"},
		{name: "CNPs in another TC", more: files("h0/cnp_dscp", "48\n")},
		{name: "CNPs in data's TC", more: files("h0/cnp_dscp", "26\n"), want: "warning cnp"},
	} {
		text := edges
		if c.old != "" {
			if text = strings.Replace(edges, c.old, c.new, 1); text == edges {
				t.Fatalf("%s: nothing changed", c.name)
			}
		}
		text = strings.NewReplacer(c.also...).Replace(text)
		r, err := Audit(append(files("s/config_db.json", text), c.more...), Assumptions{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got []string
		for _, f := range r.Findings {
			got = append(got, fmt.Sprint(f.Severity, " ", f.Rule))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

// TestOrderByRate checks that rows of a lookup are compared along the cable and along the rate.
func TestOrderByRate(t *testing.T) {
	for table, want := range map[string]int{
		"25000 300m 1 1 60000 0\n100000 300m 1 1 60000 0\n": 0,
		"25000 300m 1 1 60001 0\n100000 300m 1 1 60000 0\n": 1,
		"100000 40m 1 1 60001 0\n100000 300m 1 1 60000 0\n": 1,
		"25000 300m 1 1 70000 0\n100000 2m 1 1 60000 0\n":   0, // nothing in common
		"400000 300m 1 1 900000 0\n100000 300m 1 1 70000 0": 0,
	} {
		r, err := Audit(files("s.pg_profile_lookup.ini", table), Assumptions{})
		if err != nil || len(r.Findings) != want {
			t.Errorf("%q: %+v, %v", table, r, err)
		}
	}
}

// TestMerge checks that findings of ports become one per file, and that a baseline knows the ports.
func TestMerge(t *testing.T) {
	broken := strings.ReplaceAll(edges, "ecn_all", "ecn_none")
	r, err := Audit(files("a/config_db.json", broken, "b/config_db.json", broken), Assumptions{})
	if err != nil || len(r.Findings) != 2 || fmt.Sprint(r.Findings[0].Ports) != "[a:E0 a:E1]" {
		t.Fatalf("%+v, %v", r, err)
	}
	known, _ := r.Baseline()
	one := strings.Replace(broken, `"E1|3": {"wred_profile": "w"}`, `"E1|3": {"wred_profile": "v"}`, 1)
	one = strings.Replace(one, `{"w": {`, `{"v": {"ecn": "ecn_all"}, "w": {`, 1)
	if r, err = Audit(files("a/config_db.json", one, "b/config_db.json", broken), Assumptions{}); err == nil {
		err = r.Accept(known)
	}
	if err != nil || len(r.Findings) != 1 || r.Suppressed != 1 {
		t.Errorf("other ports are accepted: %+v, %v", r, err)
	}
}

// TestSharedPool checks that a shared headroom pool for one group is enough for eight, and not for nine.
func TestSharedPool(t *testing.T) {
	for ports, want := range map[int]int{8: 0, 9: 1} {
		tables := map[string]string{}
		for i := range ports {
			tables["PORT"] += fmt.Sprintf(`"E%d": {"speed": "100000"},`, i)
			tables["PORT_QOS_MAP"] += fmt.Sprintf(`"E%d": {"pfc_enable": "3", "dscp_to_tc_map": "A"},`, i)
			tables["BUFFER_PG"] += fmt.Sprintf(`"E%d|3": {"profile": "p"},`, i)
			tables["QUEUE"] += fmt.Sprintf(`"E%d|3": {"wred_profile": "w"},`, i)
			tables["PFC_WD"] += fmt.Sprintf(`"E%d": {"detection_time": "200", "restoration_time": "200"},`, i)
		}
		text := edges
		for name, rows := range tables {
			start := strings.Index(text, `"`+name+`": {`) + len(name) + 5
			end := start + strings.Index(text[start:], "}},\n") + 1
			if name == "PFC_WD" {
				end = len(text) - 2
			}
			text = text[:start] + strings.TrimSuffix(rows, ",") + text[end:]
		}
		text = strings.Replace(text, `"3000000"`, `"9000000", "xoff": "48121"`, 1)
		r, err := Audit(files("s/config_db.json", text), Assumptions{})
		if err != nil || len(r.Findings) != want || want > 0 && r.Findings[0].Rule != "headroom-pool" {
			t.Errorf("%d ports: %+v, %v", ports, r, err)
		}
	}
}

// TestSharedSum checks that a shared headroom pool for all groups together is enough, whatever their number: one of 48121
// B and eight of 100 B.
func TestSharedSum(t *testing.T) {
	s := &Switch{Name: "s", Pools: map[string]*Pool{"ingress_lossless_pool": {Name: "p"}}}
	for i := range 9 {
		of := &Profile{XOFF: 100}
		if i == 0 {
			of.XOFF = 48121
		}
		p := &Port{Switch: s, Name: fmt.Sprint(i), Up: true, PFC: 1 << 3, PFCToPG: [8]int{3: 3}}
		p.Groups[3] = of
		s.Ports = append(s.Ports, p)
	}
	for shared, want := range map[int64]int{48920: 1, 48921: 0} {
		s.Pools["ingress_lossless_pool"].Shared = shared
		a := &auditor{fabric: &Fabric{Switches: []*Switch{s}}, report: &Report{}, rule: &Rules[2]}
		if checkSharedPool(a); len(a.report.Findings) != want {
			t.Errorf("%d B: %d findings, want %d", shared, len(a.report.Findings), want)
		}
	}
}

package audit

import (
	"fmt"
	"strings"
	"testing"
)

func files(pairs ...string) (list []File) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, File{pairs[i], []byte(pairs[i+1])})
	}
	return list
}

// TestReaders reads each format in the forms that its program prints.
func TestReaders(t *testing.T) {
	const port = `"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}, "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m"}}`
	f, ignored, err := Read(files(
		"fabric/pg_profile_lookup.ini", "# speed cable size xon xoff threshold xon_offset\n100000 40m 4608 4608 160000 -1 9216\n"+
			"100000 300m 4608 4608 200000 -1 9216\n",
		"fabric/leaf0/config_db.json", `{"DEVICE_METADATA": {"localhost": {"hostname": "tor", "type": "ToRRouter"}}, `+port+`}`,
		"fabric/leaf0/port_config.ini", "# name lanes alias index speed fec\nEthernet0 1,2 Eth1 1 100000 rs\n",
		"fabric/leaf0/lldp.json", `{"lldp": {"interface": {"Ethernet0": {"chassis": {"h0": {"mgmt-ip": "1.1.1.1"}},
			"port": {"id": {"type": "mac", "value": "00:11"}, "descr": "eth1"}}}}}`,
		"fabric/leaf1.config_db.json", `{"PORT": {"Ethernet0": {"speed": "100000", "mtu": "9100", "fec": "none"}}, `+port+`}`,
		"fabric/leaf1.switch.json", `[{"SWITCH_TABLE:switch": {"ecmp_hash_seed": "7"}, "OP": "SET"}]`,
		"fabric/lc0/qos.json", `{"PORT_QOS_MAP": {"Ethernet8": {"pfc_enable": "4"}},
			"QUEUE": {"chassis|asic0|Ethernet8|4": {"wred_profile": "w"}}, "WRED_PROFILE": {"w": {"ecn": "ecn_all"}}}`,
		"fabric/h0@eth1.dcb", "pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:on 5:off 6:off 7:off\n"+
			"dscp-prio 0:0 AF31:3 48:6\n",
		"fabric/h0@eth1.ethtool", "Settings for eth1:\n\tSpeed: 100000Mb/s\nFEC parameters for eth1:\nActive FEC encoding: RS\n",
		"fabric/h0@eth1.ip_link", "3: eth1: <BROADCAST,UP> mtu 9000 qdisc mq state UP\n",
		"fabric/h0@eth1.cma_roce_tos", "106\n",
		"fabric/notes.txt", "nothing\n",
		"fabric/package.json", `{"name": "x"}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(ignored); got != "[fabric/notes.txt fabric/package.json]" {
		t.Errorf("ignored %s", got)
	}
	summary := (&Report{Ignored: ignored}).Summary()
	if want := "ignored for their format: fabric/notes.txt, fabric/package.json"; !strings.HasSuffix(summary, want) {
		t.Errorf("the summary: %s", summary)
	}
	byName := map[string]*Switch{}
	for _, s := range f.Switches {
		byName[s.Name] = s
	}
	tor, leaf1, card := byName["tor"], byName["leaf1"], byName["lc0"]
	if tor == nil || leaf1 == nil || card == nil || len(f.Hosts) != 1 || len(f.Links) != 1 {
		t.Fatalf("%v, %d hosts, %d links", byName, len(f.Hosts), len(f.Links))
	}
	p := tor.port("Ethernet0")
	if p.Speed != 100_000 || p.FEC != "rs" || p.Metres != 40 || tor.Seed != 0 {
		t.Errorf("tor: %+v, seed %d", p, tor.Seed)
	}
	if g := p.Groups[3]; g == nil || g.XOFF != 160_000 || g.Alpha != 0.5 || g.Offset != 9216 || g.Place.Line != 2 {
		t.Errorf("tor's group 3: %+v", g)
	}
	if p := leaf1.port("Ethernet0"); leaf1.Seed != 7 || p.MTU != 9100 || p.FEC != "none" || p.Groups[3] == nil {
		t.Errorf("leaf1: %+v, seed %d", p, leaf1.Seed)
	}
	if p := card.port("Ethernet8"); p.PFC.String() != "4" || p.Queues[4].WRED == nil || !p.Queues[4].WRED.ECN {
		t.Errorf("a chassis's card: %+v", p)
	}
	h := f.Hosts[0]
	if h.Label() != "h0:eth1" || h.PFC.String() != "3,4" || h.Prio[26] != 3 || h.Prio[48] != 6 || h.Speed != 100_000 || h.FEC != "rs" ||
		h.MTU != 9000 || h.ToS != 106 {
		t.Errorf("%+v", h)
	}
	// LLDP names the device by its files, here leaf0, whose hostname is tor.
	if l := f.Links[0]; l.Hosts[1] != h || l.Ports[0] != p {
		t.Errorf("%+v", l)
	}
}

// TestReadErrors checks that a mistake names the file and the key.
func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"PORT": {"Ethernet0": {"speed": "fast"}}}`, `PORT|Ethernet0|speed: "fast" is not a number`},
		{`{"PORT": {"Ethernet0": {"mtu": "1"}}}`, `PORT|Ethernet0|mtu: "1" is not a number from 68 to 65535`},
		{`{"PORT": {"E": {}}, "CABLE_LENGTH": {"A": {"E": "5"}}}`, ``},
		{`{"PORT": {"E": {}}, "CABLE_LENGTH": {"A": {"E": "far"}}}`, `CABLE_LENGTH|A|E: "far" is not a length`},
		{`{"PORT": {"E": {}}, "PORT_QOS_MAP": {"E": {"pfc_enable": "8"}}}`, `PORT_QOS_MAP|E|pfc_enable: "8" is not a list`},
		{`{"PORT": {"E": {}}, "BUFFER_PG": {"E|x": {"profile": "p"}}}`, `BUFFER_PG|E|x: "x" is not a number or range`},
		{
			`{"PORT": {"E": {}}, "BUFFER_PG": {"E|3": {"profile": "p"}}, "BUFFER_PROFILE": {"p": {"xoff": "-1"}}}`,
			`BUFFER_PROFILE|p: xoff: "-1" is not a number`,
		},
		{`{"PORT": `, `not a JSON object of tables`},
		{`{"PO`, `not JSON: unexpected end`},
		{``, `not JSON: unexpected end`},
		{`{"PORT": {"E": {}}, "BUFFER_PG": []}`, `BUFFER_PG: expected rows of fields`},
		{`{"PORT": {"E": {}}, "PORT_QOS_MAP": {"E": "x"}}`, `PORT_QOS_MAP: expected rows of fields`},
		{`{"PORT": {"E": {}}, "MOTD": ["not of this audit"]}`, ``},
	} {
		_, err := Audit(files("s/config_db.json", c.text), Assumptions{})
		got := fmt.Sprint(err)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(got, c.want) || !strings.HasPrefix(got, "s/config_db.json")) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
	for name, text := range map[string]string{
		"h0.cma_roce_tos": "256", "h0.cnp_dscp": "64", "h0.mlnx_qos": "PFC configuration:\ndscp2prio mapping:\n prio:9 dscp:1,\n",
		"h0.dcb": "dscp-prio AF99:3\n", "s.lldp.json": `{"lldp": {"interface": 3}}`, "x.clab.yml": "topology: [",
	} {
		if _, err := Audit(files(name, text), Assumptions{}); err == nil || strings.Count(err.Error(), name) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBaseline checks that a baseline accepts its findings, also on other lines, and no new one.
func TestBaseline(t *testing.T) {
	config := `{"PORT": {"E": {"speed": "100000"}}, "PORT_QOS_MAP": {"E": {"pfc_enable": "3"}}}`
	before, err := Audit(files("s/config_db.json", config), Assumptions{})
	if err != nil || len(before.Findings) != 2 { // trust, watchdog
		t.Fatalf("%+v, %v", before, err)
	}
	known, err := before.Baseline()
	if err != nil {
		t.Fatal(err)
	}
	after, err := Audit(files("s/config_db.json", "\n\n"+strings.Replace(config, `"speed": "100000"`, `"speed": "100000"}, "F": {`, 1),
		"h0/mlnx_qos", "Priority trust state: pcp\n"), Assumptions{})
	if err == nil {
		err = after.Accept(known)
	}
	if err != nil || len(after.Findings) != 1 || after.Findings[0].Rule != "trust" || after.Suppressed != 2 {
		t.Errorf("%+v, %v", after, err)
	}
	if err := after.Accept([]byte(`{"other": 1}`)); err == nil {
		t.Error("another file is accepted as a baseline")
	}
}

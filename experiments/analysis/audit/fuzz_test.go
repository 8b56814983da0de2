package audit

import (
	"fmt"
	"testing"
)

// audited audits files, and writes all forms of the report.
func audited(t *testing.T, list ...File) {
	t.Helper()
	r, err := Audit(list, Assumptions{})
	if err != nil {
		return
	}
	for _, f := range r.Findings {
		if f.Rule == "" || f.File == "" || f.Message == "" || f.Remedy == "" {
			t.Errorf("%+v lacks a part", f)
		}
	}
	if err := r.Markdown(discard{}); err != nil {
		t.Error(err)
	}
	if err := r.Text(discard{}); err != nil {
		t.Error(err)
	}
	r.SARIF("")
	data, err := r.Baseline()
	if err == nil {
		err = r.Accept(data)
	}
	if err != nil || len(r.Findings) > 0 {
		t.Errorf("%d findings are not accepted by their own baseline: %v", len(r.Findings), err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// smallConfig is a configuration with each table that is read.
const smallConfig = `{"DEVICE_METADATA":{"localhost":{"hostname":"s","type":"LeafRouter"}},
"PORT":{"Ethernet0":{"speed":"100000","mtu":"9100","fec":"rs"},"Ethernet4":{"speed":"400000"}},
"CABLE_LENGTH":{"AZURE":{"Ethernet0":"300m","Ethernet4":"5m"}},
"PORT_QOS_MAP":{"global":{"dscp_to_tc_map":"A"},"Ethernet0":{"pfc_enable":"3,4","tc_to_pg_map":"A","pfc_to_queue_map":"[X|A]"}},
"DSCP_TO_TC_MAP":{"A":{"26":"3","48":"6"}},"TC_TO_PRIORITY_GROUP_MAP":{"A":{"3":"3"}},"MAP_PFC_PRIORITY_TO_QUEUE":{"A":{"3":"3"}},
"BUFFER_POOL":{"ingress_lossless_pool":{"size":"1000000","xoff":"9000"}},
"BUFFER_PROFILE":{"p":{"xoff":"30000","dynamic_th":"-3","xon":"1","xon_offset":"9000","size":"0"},"q":{"xoff":"3","static_th":"9"}},
"BUFFER_PG":{"Ethernet0|3-4":{"profile":"p"},"Ethernet4|3":{"profile":"q"}},
"QUEUE":{"Ethernet0|3-4":{"wred_profile":"w","scheduler":"c"}},"SCHEDULER":{"c":{"type":"STRICT"}},
"WRED_PROFILE":{"w":{"ecn":"ecn_all","green_min_threshold":"900000","green_max_threshold":"1","green_drop_probability":"5"}},
"PFC_WD":{"GLOBAL":{"POLL_INTERVAL":"200"},"Ethernet0":{"detection_time":"1","restoration_time":"1","action":"drop"}}}`

// FuzzConfig reads any text as the configuration of a switch.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(smallConfig), []byte("100000 300m 1 1 1 0\n"), []byte("# name lanes speed\nEthernet0 1 100000\n"))
	f.Add([]byte(`{"PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}}}`), []byte("10 0m 1 1 1 99"), []byte("x"))
	f.Fuzz(func(t *testing.T, config, table, ports []byte) {
		audited(t, File{"s/config_db.json", config}, File{"s/pg_profile_lookup.ini", table}, File{"s/port_config.ini", ports},
			File{"s/switch.json", config})
	})
}

// FuzzNIC reads any text as the output of a NIC's programs.
func FuzzNIC(f *testing.F) {
	f.Add([]byte("DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n\tprio:3 dscp:26,24,\n" +
		"PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0\n"))
	f.Add([]byte("106\n"))
	f.Add([]byte("Settings for eth0:\n\tSpeed: 100000Mb/s\nFEC parameters for eth0:\nActive FEC encoding: RS\n"))
	f.Add([]byte("2: eth0: <UP> mtu 9000 qdisc mq\n"))
	f.Add([]byte("pfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off\n"))
	f.Add([]byte("dscp-prio 0:0 CS6:6 AF31:3 26:3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var list []File
		for _, name := range []string{"mlnx_qos", "cma_roce_tos", "cnp_dscp", "cnp_802p_prio", "other"} {
			one := File{"h0/" + name, data}
			audited(t, one)
			list = append(list, one)
		}
		audited(t, list...)
	})
}

// FuzzCabling reads any text as cabling.
func FuzzCabling(f *testing.F) {
	f.Add([]byte(`{"lldp":{"interface":[{"1":{"chassis":{"b":{}},"port":{"id":{"type":"ifname","value":"2"}}}}]}}`))
	f.Add([]byte(`{"lldp":{"interface":{"1":{"chassis":{"b":{}},"port":{"id":{"type":"mac"},"descr":"2"}}}}}`))
	f.Add([]byte("topology: {links: [{endpoints: [a:1, b:2]}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		switches := File{"a/config_db.json", []byte(`{"PORT": {"1": {"speed": "100000"}}, "PORT_QOS_MAP": {"1": {"pfc_enable": "3"}}}`)}
		audited(t, switches, File{"x.clab.yml", data})
		audited(t, switches, File{"a/lldp.json", append([]byte(`{"lldp": `), data...)}, File{"b/lldp.json", data})
	})
}

// FuzzEOS reads any text as the running configuration of an Arista switch.
func FuzzEOS(f *testing.F) {
	f.Add([]byte(eosSample))
	f.Add([]byte("interface Ethernet1-4\n   mtu 9214\n   speed forced 100gfull\n   priority-flow-control priority 3,4 no-drop\n"))
	f.Add([]byte("interface Ethernet1\n  tx-queue 3\n   random-detect ecn minimum-threshold 3 milliseconds maximum-threshold 9 bytes\n"))
	f.Fuzz(func(t *testing.T, data []byte) { audited(t, File{"s/running-config", data}) })
}

// FuzzNVUE reads any text as the configuration of a Cumulus switch.
func FuzzNVUE(f *testing.F) {
	f.Add([]byte(nvueSample))
	f.Add([]byte("set:\n  interface:\n    swp1-2: {qos: {pfc: {profile: x}}}\n  qos: {roce: {mode: lossy}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) { audited(t, File{"s/nvue.yaml", data}) })
}

// FuzzJunos reads any text as the configuration of a Juniper switch.
func FuzzJunos(f *testing.F) {
	f.Add([]byte(junosSample))
	f.Add([]byte("set class-of-service forwarding-classes class a queue-num 3 no-loss pfc-priority 3\nset interfaces et-0/0/0 mtu 9216\n"))
	f.Add([]byte("interfaces { inactive: et-0/0/1 { mtu 1; } }\napply-groups [ a b ];\ngroups { a { class-of-service { x; } } }\n"))
	f.Fuzz(func(t *testing.T, data []byte) { audited(t, File{"s/junos.conf", data}) })
}

// FuzzSlurm reads any text as a topology.conf.
func FuzzSlurm(f *testing.F) {
	f.Add([]byte("SwitchName=s0 Nodes=h[0-3,07],x1\nSwitchName=s1 Switches=s[0-1] LinkSpeed=100\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		audited(t, File{"topology.conf", data}, File{"x.clab.yml", []byte("topology: {links: [{endpoints: [s0:1, h0:2]}]}")})
	})
}

// FuzzIBNet reads any text as the output of ibnetdiscover.
func FuzzIBNet(f *testing.F) {
	f.Add([]byte(ibnetSample))
	f.Fuzz(func(t *testing.T, data []byte) { audited(t, File{"ibnetdiscover", data}) })
}

// FuzzMinigraph reads any text as a minigraph of SONiC.
func FuzzMinigraph(f *testing.F) {
	f.Add([]byte(minigraphSample))
	f.Fuzz(func(t *testing.T, data []byte) {
		audited(t, File{"minigraph.xml", data}, File{"a/config_db.json", []byte(`{"PORT": {"Ethernet0": {"alias": "Ethernet1/1"}}}`)})
	})
}

// FuzzBaseline reads any text as a baseline.
func FuzzBaseline(f *testing.F) {
	f.Add([]byte(`{"accepted": [{"id": "1", "rule": "mtu"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Report{Findings: []*Finding{{Rule: "mtu"}}}
		if err := r.Accept(data); err != nil && len(r.Findings) != 1 {
			t.Error(fmt.Sprint(err))
		}
	})
}

package audit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// config holds the tables of a switch.
type config map[string]map[string]map[string]any

// nic holds the settings of a host.
type nic struct {
	name           string
	trust          string
	prio           [64]int
	pfc            Priorities
	tos            int
	cnpDSCP, cnp   int
	mtu, speed     int
	fec            string
	leaf, leafPort string
}

// fabric is a two-tier fabric whose configuration is drawn.
type fabric struct {
	switches map[string]config
	seeds    map[string]int
	hosts    []*nic
	links    [][2]string
	cabling  string // clab, lldp or minigraph
	tree     map[string][]string
	lossless int // priority
	dscp     int
	system   map[string]kind // of switches; absent: SONiC
}

// pick returns one of several values.
func pick[V any](r *rand.Rand, all ...V) V { return all[r.IntN(len(all))] }

// sound draws a sound configuration. Its sizes are computed here, apart from the rules: the headroom is the cable both
// ways, three frames of the port's MTU, and a part more.
func sound(r *rand.Rand) *fabric {
	f := &fabric{
		switches: map[string]config{}, seeds: map[string]int{},
		cabling: pick(r, "clab", "lldp", "minigraph"), lossless: pick(r, 3, 4), dscp: pick(r, 26, 24), tree: map[string][]string{},
		system: map[string]kind{},
	}
	leaves, spines, per := 2+r.IntN(3), 2+r.IntN(2), 2+r.IntN(2)
	down, up, mtu := pick(r, 25_000, 100_000, 200_000), pick(r, 100_000, 400_000), pick(r, 9100, 4200)
	near, far := pick(r, 3, 5, 10), pick(r, 40, 100, 300)
	pool := pick(r, 16, 32, 64) << 20
	alpha := pick(r, 0, -1, -2)
	shared := r.IntN(2) == 0
	fec := pick(r, "rs", "none")
	type end struct {
		port  string
		speed int
		cable int
	}
	ports := map[string][]end{}
	add := func(sw string, speed, cable int) string {
		port := fmt.Sprintf("Ethernet%d", 4*len(ports[sw]))
		ports[sw] = append(ports[sw], end{port, speed, cable})
		return port
	}
	for l := range leaves {
		leaf := fmt.Sprintf("leaf%d", l)
		f.seeds[leaf] = 0
		for range per {
			h := &nic{
				name: fmt.Sprintf("h%d", len(f.hosts)), trust: "dscp", pfc: 1 << f.lossless, tos: f.dscp*4 + r.IntN(3), cnpDSCP: 48, cnp: 6,
				mtu: mtu, speed: down, fec: fec, leaf: leaf, leafPort: add(leaf, down, near),
			}
			for d := range 64 {
				h.prio[d] = d / 8
			}
			h.prio[f.dscp] = f.lossless
			f.hosts = append(f.hosts, h)
			f.tree[leaf] = append(f.tree[leaf], h.name)
			f.links = append(f.links, [2]string{leaf + ":" + h.leafPort, h.name + ":eth0"})
		}
		for s := range spines {
			spine := fmt.Sprintf("spine%d", s)
			f.seeds[spine] = 10
			f.tree[spine] = append(f.tree[spine], leaf)
			f.links = append(f.links, [2]string{leaf + ":" + add(leaf, up, far), spine + ":" + add(spine, up, far)})
		}
	}
	for _, sw := range sortedKeys(ports) {
		all := ports[sw]
		c := config{
			"DEVICE_METADATA": {"localhost": {"hostname": sw}}, "PORT": {}, "CABLE_LENGTH": {"AZURE": {}}, "PORT_QOS_MAP": {}, "BUFFER_PG": {},
			"BUFFER_PROFILE": {"ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"}},
			"BUFFER_POOL":    {"ingress_lossless_pool": {"size": fmt.Sprint(pool), "type": "ingress", "mode": "dynamic"}},
			"QUEUE":          {}, "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}},
			"SCHEDULER": {"data": {"type": "DWRR", "weight": "15"}, "best": {"type": "DWRR", "weight": "14"}, "control": {"type": "STRICT"}},
			"WRED_PROFILE": {"AZURE_LOSSLESS": {
				"ecn": "ecn_all", "green_min_threshold": fmt.Sprint(100_000 + r.IntN(200_000)),
				"green_max_threshold": fmt.Sprint(400_000 + r.IntN(500_000)), "green_drop_probability": "5",
			}},
			"DSCP_TO_TC_MAP": {"AZURE": {}}, "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {}}, "TC_TO_QUEUE_MAP": {"AZURE": {}},
			"MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {}}, "LOSSLESS_TRAFFIC_PATTERN": {"AZURE": {"mtu": "1024", "small_packet_percentage": "100"}},
		}
		for d := range 64 {
			c["DSCP_TO_TC_MAP"]["AZURE"][fmt.Sprint(d)] = fmt.Sprint(d / 8)
		}
		c["DSCP_TO_TC_MAP"]["AZURE"][fmt.Sprint(f.dscp)] = fmt.Sprint(f.lossless)
		for n := range 8 {
			for _, table := range []string{"TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "MAP_PFC_PRIORITY_TO_QUEUE"} {
				c[table]["AZURE"][fmt.Sprint(n)] = fmt.Sprint(n)
			}
		}
		most := 0
		for _, p := range all {
			c["PORT"][p.port] = map[string]any{
				"speed": fmt.Sprint(p.speed), "mtu": fmt.Sprint(mtu), "fec": fec, "admin_status": "up", "lanes": "1",
			}
			c["CABLE_LENGTH"]["AZURE"][p.port] = fmt.Sprintf("%dm", p.cable)
			c["PORT_QOS_MAP"][p.port] = map[string]any{
				"pfc_enable": fmt.Sprint(f.lossless), "dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE", "tc_to_queue_map": "AZURE",
				"pfc_to_queue_map": "AZURE",
			}
			name := fmt.Sprintf("pg_lossless_%d_%dm_profile", p.speed, p.cable)
			xoff := 2*5*p.cable*p.speed/8000 + 3*(mtu+140) + 2000 + r.IntN(1000)
			if c["BUFFER_PROFILE"][name] == nil {
				c["BUFFER_PROFILE"][name] = map[string]any{
					"pool": "ingress_lossless_pool", "size": "4608", "xon": "4608", "xoff": fmt.Sprint(xoff), "xon_offset": "4608",
					"dynamic_th": fmt.Sprint(alpha),
				}
			}
			most = max(most, xoff)
			c["BUFFER_PG"][fmt.Sprintf("%s|%d", p.port, f.lossless)] = map[string]any{"profile": name}
			c["BUFFER_PG"][p.port+"|0"] = map[string]any{"profile": "ingress_lossy_profile"}
			for q := range 8 {
				row := map[string]any{"scheduler": "best"}
				switch q {
				case f.lossless:
					row = map[string]any{"scheduler": "data", "wred_profile": "AZURE_LOSSLESS"}
				case 6:
					row["scheduler"] = "control"
				}
				c["QUEUE"][fmt.Sprintf("%s|%d", p.port, q)] = row
			}
			c["PFC_WD"][p.port] = map[string]any{"action": "drop", "detection_time": "200", "restoration_time": "200"}
		}
		if shared {
			c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = fmt.Sprint(most * max(2, len(all)/4))
		}
		f.switches[sw] = c
	}
	return f
}

// files renders the fabric.
func (f *fabric) files(t testing.TB) (list []File) {
	add := func(name, text string) { list = append(list, File{name, []byte(text)}) }
	for _, sw := range sortedKeys(f.tree) {
		below := "Nodes"
		if strings.HasPrefix(sw, "spine") {
			below = "Switches"
		}
		add(sw+".topology.conf", "# scheduler\nSwitchName="+sw+" "+below+"="+strings.Join(f.tree[sw], ",")+"\n")
	}
	for _, sw := range sortedKeys(f.switches) {
		c := f.switches[sw]
		if k := f.system[sw]; k != unknown {
			ending := map[kind]string{eosConfig: "/running-config", nvueConfig: ".nvue.yaml", junosConfig: ".conf"}[k]
			add(sw+ending, render(k, sw, c, f.lossless))
			continue
		}
		data, err := json.MarshalIndent(c, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		add(sw+"/config_db.json", string(data))
		add(sw+"/switch.json", fmt.Sprintf("[{\"SWITCH_TABLE:switch\": {\"ecmp_hash_seed\": \"%d\"}, \"OP\": \"SET\"}]", f.seeds[sw]))
	}
	for _, h := range f.hosts {
		var b strings.Builder
		fmt.Fprintf(&b, "DCBX mode: OS controlled\nPriority trust state: %s\ndscp2prio mapping:\n", h.trust)
		for n := range 8 {
			fmt.Fprintf(&b, "\tprio:%d dscp:", n)
			for d := 63; d >= 0; d-- {
				if h.prio[d] == n {
					fmt.Fprintf(&b, "%02d,", d)
				}
			}
			b.WriteString("\n")
		}
		b.WriteString("default priority:\nReceive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=262016\nCable len: 7\n" +
			"PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled  ")
		for n := range 8 {
			fmt.Fprintf(&b, "   %d", h.pfc>>n&1)
		}
		b.WriteString("\n\tbuffer      0   0   0   1   0   0   0   0\ntc: 0 ratelimit: unlimited, tsa: vendor\n\t priority:  1\n")
		add(h.name+"/mlnx_qos", b.String())
		add(h.name+"/cma_roce_tos", fmt.Sprintf("%d\n", h.tos))
		add(h.name+"/cnp_dscp", fmt.Sprintf("%d\n", h.cnpDSCP))
		add(h.name+"/cnp_802p_prio", fmt.Sprintf("%d\n", h.cnp))
		add(h.name+"/ethtool", fmt.Sprintf("Settings for eth0:\n\tSpeed: %dMb/s\n\tDuplex: Full\n"+
			"FEC parameters for eth0:\nActive FEC encoding: %s\n",
			h.speed, map[string]string{"rs": "RS", "none": "Off"}[h.fec]))
		add(h.name+"/ip_link", fmt.Sprintf("2: eth0: <BROADCAST,UP> mtu %d qdisc mq state UP\n", h.mtu))
	}
	links := make([][2]string, len(f.links))
	for i, l := range f.links {
		links[i] = l
		if sw, port, _ := strings.Cut(l[0], ":"); f.system[sw] == junosConfig {
			links[i][0] = sw + ":" + junosName(port)
		}
		if sw, port, _ := strings.Cut(l[1], ":"); f.system[sw] == junosConfig {
			links[i][1] = sw + ":" + junosName(port)
		}
	}
	switch f.cabling {
	case "minigraph":
		text := "<DeviceMiniGraph><PngDec><DeviceInterfaceLinks>\n"
		for _, l := range links {
			here, port, _ := strings.Cut(l[0], ":")
			there, remote, _ := strings.Cut(l[1], ":")
			text += "<DeviceLinkBase>\n <ElementType>DeviceInterfaceLink</ElementType>\n" + fmt.Sprintf(
				" <EndDevice>%s</EndDevice>\n <EndPort>%s</EndPort>\n <StartDevice>%s</StartDevice>\n <StartPort>%s</StartPort>\n",
				there, remote, here, port) + "</DeviceLinkBase>\n"
		}
		add("minigraph.xml", text+"</DeviceInterfaceLinks></PngDec></DeviceMiniGraph>\n")
		return list
	case "clab":
		text := "name: two-tier\ntopology:\n  nodes: {}\n  links:\n"
		for _, l := range links {
			text += fmt.Sprintf("    - endpoints: [%q, %q]\n", l[0], l[1])
		}
		add("two-tier.clab.yml", text)
		return list
	}
	neighbours := map[string][]string{}
	for _, l := range links {
		here, port, _ := strings.Cut(l[0], ":")
		there, remote, _ := strings.Cut(l[1], ":")
		neighbours[here] = append(neighbours[here], fmt.Sprintf(
			`{%q: {"via": "LLDP", "chassis": {%q: {"id": {"type": "mac", "value": "00:11"}}}, "port": {"id": {"type": "ifname", "value": %q}}}}`,
			port, there, remote))
	}
	for here, all := range neighbours {
		add(here+"/lldp.json", `{"lldp": {"interface": [`+strings.Join(all, ",\n")+"]}}")
	}
	return list
}

// anySwitch draws a switch, and anyPort one of its ports.
func (f *fabric) anySwitch(r *rand.Rand) (string, config) {
	names := sortedKeys(f.switches)
	name := names[r.IntN(len(names))]
	return name, f.switches[name]
}

func (f *fabric) anyPort(r *rand.Rand) (config, string) {
	_, c := f.anySwitch(r)
	ports := sortedKeys(c["PORT"])
	return c, ports[r.IntN(len(ports))]
}

// own gives a port its own copy of a map, with a change.
func own(c config, port, field, table, from, to string) {
	copied := map[string]any{}
	for k, v := range c[table]["AZURE"] {
		copied[k] = v
	}
	copied[from] = to
	c[table]["OTHER"] = copied
	c["PORT_QOS_MAP"][port][field] = "OTHER"
}

// fault breaks a sound fabric.
type fault struct {
	name, rule string
	// also lists rules that the same fault breaks as well.
	also   []string
	breaks func(r *rand.Rand, f *fabric)
	// others lists the systems beside SONiC whose files can state the fault: e (EOS), n (NVUE), j (Junos).
	others string
}

var faults = []fault{
	{"headroom below the cable", "headroom", []string{"headroom-order"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		pg := c["BUFFER_PG"][fmt.Sprintf("%s|%d", port, f.lossless)]
		c["BUFFER_PROFILE"][pg["profile"].(string)]["xoff"] = fmt.Sprint(100 + r.IntN(3000))
	}, "n"},
	{"headroom short of a frame", "headroom", []string{"headroom-order"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		var speed, cable int
		name := c["BUFFER_PG"][fmt.Sprintf("%s|%d", port, f.lossless)]["profile"].(string)
		fmt.Sscanf(name, "pg_lossless_%d_%dm_profile", &speed, &cable)
		c["BUFFER_PROFILE"][name]["xoff"] = fmt.Sprint(2*5*cable*speed/8000*1100/1164 + 1140)
	}, "n"},
	{"headroom of a longer cable is less", "headroom-order", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		row := c["BUFFER_PROFILE"][c["BUFFER_PG"][fmt.Sprintf("%s|%d", port, f.lossless)]["profile"].(string)]
		copied := map[string]any{}
		for k, v := range row {
			copied[k] = v
		}
		var xoff int
		fmt.Sscan(row["xoff"].(string), &xoff)
		copied["xoff"] = fmt.Sprint(xoff + 1000 + r.IntN(1000))
		c["BUFFER_PROFILE"]["short"] = copied
		c["PORT"]["Ethernet252"] = map[string]any{"speed": c["PORT"][port]["speed"], "mtu": c["PORT"][port]["mtu"]}
		c["PORT_QOS_MAP"]["Ethernet252"] = c["PORT_QOS_MAP"][port]
		for q := range 8 {
			c["QUEUE"][fmt.Sprintf("Ethernet252|%d", q)] = c["QUEUE"][fmt.Sprintf("%s|%d", port, q)]
		}
		c["PFC_WD"]["Ethernet252"] = c["PFC_WD"][port]
		c["CABLE_LENGTH"]["AZURE"]["Ethernet252"] = "1m"
		c["BUFFER_PG"][fmt.Sprintf("Ethernet252|%d", f.lossless)] = map[string]any{"profile": "short"}
	}, "n"},
	{"shared headroom pool too small", "headroom-pool", nil, func(r *rand.Rand, f *fabric) {
		_, c := f.anySwitch(r)
		c["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"] = fmt.Sprint(1000 + r.IntN(10_000))
	}, ""},
	{"no profile for a lossless group", "profile", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		delete(c["BUFFER_PG"], fmt.Sprintf("%s|%d", port, f.lossless))
	}, ""},
	{"static thresholds above the pool", "threshold", []string{"ecn-first"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		row := c["BUFFER_PROFILE"][c["BUFFER_PG"][fmt.Sprintf("%s|%d", port, f.lossless)]["profile"].(string)]
		delete(row, "dynamic_th")
		row["static_th"] = fmt.Sprint(80<<20 + r.IntN(1<<20))
	}, ""},
	{"alpha too small", "threshold", []string{"ecn-first"}, func(r *rand.Rand, f *fabric) {
		_, c := f.anySwitch(r)
		for _, row := range c["BUFFER_PROFILE"] {
			row["dynamic_th"] = "-8"
		}
		c["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = fmt.Sprint(1<<20 + r.IntN(1<<20))
	}, ""},
	{"Kmin above XOFF", "ecn-first", nil, func(r *rand.Rand, f *fabric) {
		_, c := f.anySwitch(r)
		c["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_min_threshold"] = fmt.Sprint(33<<20 + r.IntN(1<<20))
		c["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_max_threshold"] = fmt.Sprint(35<<20 + r.IntN(1<<20))
	}, ""},
	{"lossless queue without WRED", "ecn-queue", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		delete(c["QUEUE"][fmt.Sprintf("%s|%d", port, f.lossless)], "wred_profile")
	}, "enj"},
	{"WRED drops", "ecn-queue", nil, func(r *rand.Rand, f *fabric) {
		_, c := f.anySwitch(r)
		c["WRED_PROFILE"]["AZURE_LOSSLESS"]["ecn"] = "ecn_none"
	}, "enj"},
	{"PFC off at one end", "pfc-ends", []string{"profile", "class"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		c["PORT_QOS_MAP"][port]["pfc_enable"] = ""
	}, "enj"},
	{"PFC of a NIC on another priority", "pfc-ends", []string{"class"}, func(r *rand.Rand, f *fabric) {
		f.hosts[r.IntN(len(f.hosts))].pfc = 1 << pick(r, 1, 2, 5)
	}, "enj"},
	{"DSCP to a lossy TC", "class", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		own(c, port, "dscp_to_tc_map", "DSCP_TO_TC_MAP", fmt.Sprint(f.dscp), fmt.Sprint(pick(r, 0, 1, 2)))
	}, "enj"},
	{"TC to another priority group", "class", []string{"ecn-queue"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		own(c, port, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", fmt.Sprint(f.lossless), "0")
	}, ""},
	{"PAUSE stops another queue", "class", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		own(c, port, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", fmt.Sprint(f.lossless), fmt.Sprint(pick(r, 0, 1, 2)))
	}, "j"},
	{"DSCP in another priority of a NIC", "class", nil, func(r *rand.Rand, f *fabric) {
		f.hosts[r.IntN(len(f.hosts))].prio[f.dscp] = pick(r, 0, 1, 2)
	}, "enj"},
	{"ToS of another class", "class", nil, func(r *rand.Rand, f *fabric) {
		f.hosts[r.IntN(len(f.hosts))].tos = 4 * pick(r, 10, 18, 34+8)
	}, "enj"},
	{"trust by VLAN tag", "trust", nil, func(r *rand.Rand, f *fabric) { f.hosts[r.IntN(len(f.hosts))].trust = "pcp" }, "enj"},
	{"CNPs behind data", "cnp", nil, func(r *rand.Rand, f *fabric) {
		h := f.hosts[r.IntN(len(f.hosts))]
		h.cnpDSCP, h.cnp = f.dscp, f.lossless
	}, "enj"},
	{"no watchdog", "watchdog", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		delete(c["PFC_WD"], port)
	}, "enj"},
	{"watchdog too fast", "watchdog-time", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		c["PFC_WD"][port]["detection_time"] = "1"
		c["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = fmt.Sprint(128 << 20)
	}, "e"},
	{"another MTU", "mtu", nil, func(r *rand.Rand, f *fabric) { f.hosts[r.IntN(len(f.hosts))].mtu = 1500 }, "enj"},
	{"another MTU between switches", "mtu", nil, func(r *rand.Rand, f *fabric) {
		c := f.switches["spine0"]
		ports := sortedKeys(c["PORT"])
		c["PORT"][ports[r.IntN(len(ports))]]["mtu"] = "1500"
	}, "enj"},
	{"another speed", "speed", nil, func(r *rand.Rand, f *fabric) { f.hosts[r.IntN(len(f.hosts))].speed = 50_000 }, "enj"},
	{"another FEC", "fec", nil, func(r *rand.Rand, f *fabric) {
		h := f.hosts[r.IntN(len(f.hosts))]
		h.fec = map[string]string{"rs": "none", "none": "rs"}[h.fec]
	}, "enj"},
	{"another cable", "cable", nil, func(r *rand.Rand, f *fabric) {
		c := f.switches["spine1"]
		ports := sortedKeys(c["PORT"])
		c["CABLE_LENGTH"]["AZURE"][ports[r.IntN(len(ports))]] = "2m"
	}, "nj"},
	{"equal hash seeds", "ecmp", nil, func(r *rand.Rand, f *fabric) { f.seeds[fmt.Sprintf("spine%d", r.IntN(2))] = 0 }, ""},
	{"reference to no profile", "reference", []string{"profile", "ecn-queue"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		switch r.IntN(3) {
		case 0:
			c["BUFFER_PG"][fmt.Sprintf("%s|%d", port, f.lossless)]["profile"] = "nobody"
		case 1:
			c["QUEUE"][fmt.Sprintf("%s|%d", port, f.lossless)]["wred_profile"] = "nobody"
		default:
			c["PORT_QOS_MAP"][port]["dscp_to_tc_map"] = "nobody"
		}
	}, ""},
	{"cable to a port that is down", "port", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		c["PORT"][port]["admin_status"] = "down"
	}, "enj"},
	{"cable to a port that does not exist", "port", nil, func(r *rand.Rand, f *fabric) {
		i := r.IntN(len(f.links))
		device, _, _ := strings.Cut(f.links[i][0], ":")
		f.links[i][0] = device + ":Ethernet999"
	}, "enj"},
	{"port without DSCP's map", "trust", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		delete(c["PORT_QOS_MAP"][port], "dscp_to_tc_map")
	}, "enj"},
	{"thresholds reversed", "ecn-first", nil, func(r *rand.Rand, f *fabric) {
		_, c := f.anySwitch(r)
		c["WRED_PROFILE"]["AZURE_LOSSLESS"]["green_max_threshold"] = fmt.Sprint(50_000 + r.IntN(1000))
	}, "enj"},
	{"watchdog restores early", "watchdog-time", nil, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		c["PFC_WD"][port]["restoration_time"] = "50"
	}, "ej"},
	{"topology.conf has a host elsewhere", "topology", nil, func(r *rand.Rand, f *fabric) {
		f.tree["leaf0"][0], f.tree["leaf1"][0] = f.tree["leaf1"][0], f.tree["leaf0"][0]
	}, "enj"},
	{"topology.conf has a leaf elsewhere", "topology", nil, func(r *rand.Rand, f *fabric) {
		f.tree["leaf0"] = append(f.tree["leaf0"], "leaf1")
	}, "enj"},
	{"reference to no map", "reference", []string{"profile", "ecn-queue", "class", "pfc-ends", "cable"}, func(r *rand.Rand, f *fabric) {
		c, port := f.anyPort(r)
		c["PORT_QOS_MAP"][port]["dscp_to_tc_map"] = "nobody"
	}, "enj"},
}

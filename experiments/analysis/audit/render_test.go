package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// render writes the configuration of a switch as another system's. Maps and profiles that a system has only once for all
// ports are those of the port that differs.
func render(k kind, name string, c config, lossless int) string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch k {
	case eosConfig:
		renderEOS(w, name, c, lossless)
	case nvueConfig:
		renderNVUE(w, name, c)
	case junosConfig:
		renderJunos(w, name, c, lossless)
	}
	if text := b.String(); k == junosConfig && len(c["PORT"])%2 == 0 { // with braces
		b.Reset()
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			words := strings.Fields(strings.TrimPrefix(line, "set "))
			b.WriteString(strings.Join(words[:len(words)-1], " {\n") + " {\n" + words[len(words)-1] + ";\n")
			b.WriteString(strings.Repeat("}\n", len(words)-1))
		}
	}
	return b.String()
}

// text returns a field of a port's row, or of a row by key.
func (c config) text(table, key, field string) string {
	v, _ := c[table][key][field].(string)
	return v
}

// queueOf returns the WRED profile of a port's lossless queue; nil: none.
func (c config) wred(port string, lossless int) map[string]any {
	return c["WRED_PROFILE"][c.text("QUEUE", fmt.Sprintf("%s|%d", port, lossless), "wred_profile")]
}

func renderEOS(w func(string, ...any), name string, c config, lossless int) {
	w("! device: %s (DCS-7060X5, EOS-4.32.1F)\n!\nhostname %s\n!", name, name)
	dscp := "AZURE"
	for _, port := range sortedKeys(c["PORT"]) {
		if m := c.text("PORT_QOS_MAP", port, "dscp_to_tc_map"); m != "" && m != "AZURE" && c["DSCP_TO_TC_MAP"][m] != nil {
			dscp = m
		}
	}
	for _, d := range sortedKeys(c["DSCP_TO_TC_MAP"][dscp]) {
		w("qos map dscp %s to traffic-class %s", d, c.text("DSCP_TO_TC_MAP", dscp, d))
	}
	for _, tc := range sortedKeys(c["TC_TO_QUEUE_MAP"]["AZURE"]) {
		w("qos map traffic-class %s to tx-queue %s", tc, c.text("TC_TO_QUEUE_MAP", "AZURE", tc))
	}
	w("!\nqos profile CONTROL\n   uc-tx-queue 6\n      priority strict")
	for i, port := range sortedKeys(c["PORT"]) {
		row := c["PORT"][port]
		speed, _ := strconv.Atoi(row["speed"].(string))
		w("!\ninterface %s\n   description link\n   mtu %s", port, row["mtu"])
		w("   speed %s", []string{fmt.Sprintf("forced %dgfull", speed/1000), fmt.Sprintf("%dg-1", speed/1000)}[i%2])
		w("   no switchport\n   %s", map[any]string{
			"rs": "error-correction encoding reed-solomon", "none": "no error-correction encoding", nil: "load-interval 5",
		}[row["fec"]])
		if row["admin_status"] == "down" {
			w("   shutdown")
		}
		switch c.text("PORT_QOS_MAP", port, "dscp_to_tc_map") {
		case "":
			w("   qos trust cos")
		case "nobody":
			w("   service-profile nobody")
		default:
			w([]string{"   qos trust dscp\n   service-profile CONTROL", "   service-profile CONTROL"}[i%2])
		}
		if pfc := c.text("PORT_QOS_MAP", port, "pfc_enable"); pfc != "" {
			w("   priority-flow-control on\n   priority-flow-control priority %s no-drop", pfc)
		}
		if wd := c["PFC_WD"][port]; wd != nil {
			ms := func(table, key, field string) string {
				n, _ := strconv.Atoi(c.text(table, key, field))
				return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64)
			}
			w("   priority-flow-control pause watchdog")
			w("   priority-flow-control pause watchdog port timer timeout %s polling-interval %s recovery-time %s",
				ms("PFC_WD", port, "detection_time"), ms("PFC_WD", "GLOBAL", "POLL_INTERVAL"), ms("PFC_WD", port, "restoration_time"))
		}
		w("   !\n   tx-queue %d", lossless)
		if of := c.wred(port, lossless); of != nil {
			w("      random-detect %s minimum-threshold %s bytes maximum-threshold %s bytes max-mark-probability %s",
				map[any]string{"ecn_all": "ecn", "ecn_none": "drop"}[of["ecn"]], of["green_min_threshold"], of["green_max_threshold"],
				of["green_drop_probability"])
		} else {
			w("      bandwidth percent 50")
		}
	}
}

func renderNVUE(w func(string, ...any), name string, c config) {
	w("- header:\n    model: SN5600\n    nvue-api-version: nvue_v1\n- set:\n    system:\n      hostname: %s\n    interface:", name)
	ports := sortedKeys(c["PORT"])
	for _, port := range ports {
		row := c["PORT"][port]
		speed, _ := strconv.Atoi(row["speed"].(string))
		w("      %s:\n        type: swp\n        link:\n          mtu: %s\n          speed: %dG", port, row["mtu"], speed/1000)
		if fec := row["fec"]; fec != nil {
			w("          fec: %s", map[any]string{"rs": "rs", "none": "off"}[fec])
		}
		w("          state:\n            %s: {}", map[bool]string{true: "down", false: "up"}[row["admin_status"] == "down"])
		mapping := port
		if c.text("PORT_QOS_MAP", port, "dscp_to_tc_map") == "nobody" {
			mapping = "nobody"
		}
		w("        qos:\n          mapping:\n            profile: m-%s", mapping)
		w("          congestion-control:\n            profile: c-%s", port)
		if c.text("PORT_QOS_MAP", port, "pfc_enable") != "" {
			w("          pfc:\n            profile: p-%s", port)
		}
		if c["PFC_WD"][port] != nil {
			w("          pfc-watchdog:\n            state: enable")
		}
	}
	w("    qos:\n      pfc-watchdog:\n        polling-interval: 200\n        robustness: 2\n      mapping:")
	for _, port := range ports {
		m := c.text("PORT_QOS_MAP", port, "dscp_to_tc_map")
		w("        m-%s:\n          trust: %s\n          dscp:", port, map[bool]string{true: "l2", false: "l3"}[m == ""])
		if c["DSCP_TO_TC_MAP"][m] == nil {
			m = "AZURE"
		}
		for _, d := range sortedKeys(c["DSCP_TO_TC_MAP"][m]) {
			w("            '%s':\n              switch-priority: %s", d, c.text("DSCP_TO_TC_MAP", m, d))
		}
	}
	w("      egress-queue-mapping:\n        default-global:\n          switch-priority:")
	for _, tc := range sortedKeys(c["TC_TO_QUEUE_MAP"]["AZURE"]) {
		w("            '%s':\n              traffic-class: %s", tc, c.text("TC_TO_QUEUE_MAP", "AZURE", tc))
	}
	w("      egress-scheduler:\n        default-global:\n          traffic-class:\n            '6':\n              mode: strict")
	w("      congestion-control:\n        default-global: {}")
	for _, port := range ports {
		if !slices.ContainsFunc(sortedKeys(c["QUEUE"]), func(key string) bool {
			return strings.HasPrefix(key, port+"|") && c.text("QUEUE", key, "wred_profile") != ""
		}) {
			w("        c-%s:\n          traffic-class:\n            '0':\n              ecn: enable", port)
		}
		for key := range c["QUEUE"] {
			of, q := c["WRED_PROFILE"][c.text("QUEUE", key, "wred_profile")], numbersOf(key)
			if of != nil && strings.HasPrefix(key, port+"|") {
				ecn, red := "enable", "disable"
				if of["ecn"] != "ecn_all" {
					ecn, red = red, ecn
				}
				w("        c-%s:\n          traffic-class:\n            '%s':\n              min-threshold: %s", port, q, of["green_min_threshold"])
				w("              max-threshold: %s\n              ecn: %s\n              red: %s\n              probability: 100",
					of["green_max_threshold"], ecn, red)
			}
		}
	}
	w("      pfc:")
	for _, port := range ports {
		pfc := c.text("PORT_QOS_MAP", port, "pfc_enable")
		if pfc == "" {
			continue
		}
		xoff, _ := strconv.Atoi(c.text("BUFFER_PROFILE", c.text("BUFFER_PG", port+"|"+pfc, "profile"), "xoff"))
		w("        p-%s:\n          switch-priority:\n            '%s': {}\n          tx: enable\n          rx: enable", port, pfc)
		w("          cable-length: %s", strings.TrimSuffix(c.text("CABLE_LENGTH", "AZURE", port), "m"))
		w("          port-buffer: %d B\n          xoff-threshold: 10000 B", 10_000+xoff)
	}
}

// junosName returns the name of a port in Junos.
func junosName(port string) string { return strings.Replace(port, "Ethernet", "et-0/0/", 1) }

func renderJunos(w func(string, ...any), name string, c config, lossless int) {
	w("set system host-name %s", name)
	const cos = "set class-of-service "
	for tc := range 8 {
		if tc == lossless {
			w(cos+"forwarding-classes class tc%d queue-num %d no-loss pfc-priority %d", tc, tc, tc)
		} else {
			w(cos+"forwarding-classes class tc%d queue-num %d", tc, tc)
		}
	}
	for _, m := range sortedKeys(c["DSCP_TO_TC_MAP"]) {
		for _, d := range sortedKeys(c["DSCP_TO_TC_MAP"][m]) {
			dscp, _ := strconv.Atoi(d)
			w(cos+"classifiers dscp %s forwarding-class tc%s loss-priority low code-points %06b", m, c.text("DSCP_TO_TC_MAP", m, d), dscp)
		}
	}
	w(cos + "schedulers control priority strict-high")
	for _, port := range sortedKeys(c["PORT"]) {
		row, of := c["PORT"][port], junosName(port)
		mtu, _ := strconv.Atoi(row["mtu"].(string))
		speed, _ := strconv.Atoi(row["speed"].(string))
		w("set interfaces %s mtu %d", of, mtu+14)
		w("set interfaces %s speed %dg", of, speed/1000)
		w("set interfaces %s unit 0 family inet address 10.0.0.0/31", of)
		if fec := row["fec"]; fec != nil {
			w("set interfaces %s ether-options fec %s", of, map[any]string{"rs": "fec91", "none": "none"}[fec])
		}
		if row["admin_status"] == "down" {
			w("set interfaces %s disable", of)
		}
		in := cos + "interfaces " + of + " "
		if m := c.text("PORT_QOS_MAP", port, "dscp_to_tc_map"); m == "" {
			w(in + "unit 0 classifiers ieee-802.1 tags")
		} else {
			w(in+"unit 0 classifiers dscp %s", m)
		}
		w(in+"scheduler-map s-%s", port)
		w(cos+"scheduler-maps s-%s forwarding-class tc6 scheduler control", port)
		w(cos+"scheduler-maps s-%s forwarding-class tc%d scheduler d-%s", port, lossless, port)
		w(cos+"schedulers d-%s transmit-rate percent 50", port)
		if wred := c.wred(port, lossless); wred != nil {
			w(cos+"schedulers d-%s drop-profile-map loss-priority any protocol any drop-profile w", port)
			if wred["ecn"] == "ecn_all" {
				w(cos+"schedulers d-%s explicit-congestion-notification", port)
			}
			for _, key := range []string{"green_min_threshold", "green_max_threshold"} {
				n, _ := strconv.Atoi(wred[key].(string))
				w(cos+"drop-profiles w interpolate fill-level %d", n/10_000)
			}
		}
		if c.text("PORT_QOS_MAP", port, "pfc_enable") == "" {
			continue
		}
		w(in+"congestion-notification-profile p-%s", port)
		profile := fmt.Sprintf(cos+"congestion-notification-profile p-%s ", port)
		if c["PFC_WD"][port] != nil {
			w(profile + "pfc-watchdog poll-interval 100")
			w(profile+"pfc-watchdog recovery %s", c.text("PFC_WD", port, "restoration_time"))
		}
		w(profile+"input cable-length %s", strings.TrimSuffix(c.text("CABLE_LENGTH", "AZURE", port), "m"))
		for d := range 64 {
			if c.text("DSCP_TO_TC_MAP", "AZURE", fmt.Sprint(d)) == fmt.Sprint(lossless) {
				w(profile+"input dscp code-point %06b pfc", d)
			}
		}
		queues := "AZURE"
		if m := c.text("PORT_QOS_MAP", port, "pfc_to_queue_map"); c["MAP_PFC_PRIORITY_TO_QUEUE"][m] != nil {
			queues = m
		}
		w(profile+"output ieee-802.1 code-point %03b flow-control-queue %s", lossless,
			c.text("MAP_PFC_PRIORITY_TO_QUEUE", queues, fmt.Sprint(lossless)))
	}
}

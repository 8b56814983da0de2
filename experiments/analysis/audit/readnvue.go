package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/units"
)

// nvueWords are NVUE's names for settings of SONiC, in messages of the rules.
var nvueWords = words(`green_min_threshold => min-threshold
green_max_threshold => max-threshold
headroom (xoff) => headroom (port-buffer less xoff-threshold)
set xoff to => set port-buffer less xoff-threshold to
pfc_enable: %v => qos pfc switch-priority: %v
PORT_QOS_MAP|%s has no dscp_to_tc_map => %s: the mapping's trust is not l3 or both
the port has PFC, but no dscp_to_tc_map => the port has PFC, but does not trust DSCP
set dscp_to_tc_map => set qos mapping trust l3
PFC_WD has no row for it => the interface has no qos pfc-watchdog
add the port to PFC_WD (SONiC: config pfcwd start --action drop) => nv set interface NAME qos pfc-watchdog
detection_time => polling-interval times robustness
POLL_INTERVAL => polling-interval
tc_to_queue_map leads priority => egress-queue-mapping leads switch-priority
QUEUE|%s|%d: no wred_profile => %s: congestion-control has no traffic-class %d
give the queue a WRED profile with ecn_all => enable ecn for the traffic class
ecn is not ecn_all or ecn_green => red is enabled, and ecn is not
set ecn to ecn_all => set ecn to enable
set admin_status to up => set link state up
STRICT => strict`)

// nvue holds what all ports of a Cumulus switch share.
type nvue struct {
	s      *Switch
	qos    *node
	roce   string // mode; "": off
	metres int64  // of qos roce cable-length; -1: not stated
}

// readNVUE reads nv config show of a Cumulus switch (NVIDIA, Cumulus Linux User Guide, Quality of Service and RoCE). It
// has no defaults; those of the guide hold, and those of qos roce.
func (s *Switch) readNVUE(root *node) error {
	set := root
	if at := root.child("set"); at != nil {
		set = at
	}
	s.words = nvueWords
	if name := set.value("system", "hostname"); name != "" {
		s.Name = name
	}
	u := &nvue{s: s, qos: set.child("qos"), metres: -1}
	if roce := u.qos.child("roce"); roce != nil && !off(roce.value("enable")) && !off(roce.value("state")) {
		if u.roce = roce.value("mode"); u.roce == "" {
			u.roce = "lossless"
		}
		if roce.child("cable-length") != nil {
			var err error
			if u.metres, err = roce.number("m", 0, 1_000_000, "cable-length"); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"traffic-pool", "advance-buffer-config"} {
		if at := u.qos.child(name); at != nil {
			s.Unread = append(s.Unread, at.place())
		}
	}
	for _, n := range set.child("interface").children() {
		names, err := portNames(n.word)
		if err != nil {
			return n.errorf("%w", err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, "swp") || n.value("type") == "swp" {
				if err := u.port(name, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// off reports whether a value means that something is off.
func off(value string) bool {
	return slices.Contains([]string{"off", "disable", "disabled", "false", "no"}, value)
}

// profile returns the profile of a feature for an interface, and the place that sets it.
func (u *nvue) profile(n *node, feature string) *node {
	name := n.value("qos", feature, "profile")
	if name == "" {
		return u.qos.get(feature, "default-global")
	}
	at := u.qos.get(feature, name)
	if at == nil && name != "default-global" && u.qos.child(feature) != nil {
		u.s.Missing = append(u.s.Missing, Missing{n.get("qos", feature, "profile", name).place(), "qos " + feature, name})
	}
	return at
}

// port reads an interface.
func (u *nvue) port(name string, n *node) error {
	p := u.s.plainPort(name, n)
	link := n.child("link")
	mtu, err := link.number("", 68, 65_535, "mtu")
	if err != nil {
		return err
	}
	p.MTU = int(mtu)
	if text := link.value("speed"); text != "" && text != "auto" {
		if p.Speed = eosSpeed(strings.ToLower(text)); p.Speed == 0 {
			return link.child("speed").errorf("%q is not a speed such as 100G", text)
		}
	}
	p.FEC = fecName(link.value("fec"))
	p.Up = link.get("state", "down") == nil
	for _, setting := range []string{"mtu", "speed", "fec"} {
		if at := link.child(setting); at != nil {
			p.Places[setting] = at.place()
		}
	}
	for _, step := range []func(*Port, *node) error{u.mapping, u.queues, u.congestion, u.pfc, u.watchdog} {
		if err := step(p, n); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for each number of the keys below a node: "3", "0,3" or "0-2".
func each(of *node, most int, f func(number int, n *node) error) error {
	for _, n := range of.children() {
		all, err := n.spans(n.word, most)
		if err != nil {
			return err
		}
		for _, number := range all {
			if err := f(number, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// mapping reads trust and the map of DSCPs.
func (u *nvue) mapping(p *Port, n *node) error {
	m := u.profile(n, "mapping")
	trust := m.value("trust")
	if m == nil && n.value("qos", "mapping", "profile") != "" { // no file has the profile
		p.Trusted, p.Unmapped = true, true
		return nil
	}
	if trust == "" && u.roce != "" {
		trust = "both"
	}
	if at := m.child("trust"); at != nil {
		p.Places["dscp"] = at.place()
	}
	// Without trust, Cumulus takes the priority of tagged frames; the ports of a bridge may have them.
	bridged := n.child("bridge") != nil
	p.Trusted = trust == "l3" || trust == "both" || bridged && trust != "port"
	p.Unmapped = trust != "l3" && trust != "both"
	return each(m.child("dscp"), 63, func(dscp int, at *node) error {
		sp, err := at.number("", 0, 7, "switch-priority")
		p.DSCP[dscp], p.Places["dscp"] = int(sp), at.place()
		return err
	})
}

// queues reads the map from switch priorities to queues, and the queues that are strict.
func (u *nvue) queues(p *Port, n *node) error {
	if u.roce != "" {
		for sp := range 8 {
			p.TCToQueue[sp] = map[int]int{3: 3, 6: 6}[sp]
		}
		p.Queues[6].Scheduler = "STRICT"
	}
	at := u.qos.get("egress-queue-mapping", "default-global", "switch-priority")
	if at != nil {
		p.Places["queue"] = at.place()
	}
	err := each(at, 7, func(sp int, at *node) error {
		tc, err := at.number("", 0, 7, "traffic-class")
		p.TCToQueue[sp], p.Places["queue"] = int(tc), at.place()
		return err
	})
	copy(p.PFCQueue[:], p.TCToQueue[:8]) // PAUSE of a priority stops its queue
	if err != nil {
		return err
	}
	return each(u.profile(n, "egress-scheduler").child("traffic-class"), 7, func(tc int, at *node) error {
		p.Queues[tc].Scheduler = strings.ToUpper(at.value("mode"))
		p.Queues[tc].Place = at.place()
		return nil
	})
}

// congestion reads the thresholds of ECN and RED.
func (u *nvue) congestion(p *Port, n *node) error {
	enabled := []int{0}
	if u.roce != "" {
		enabled = []int{0, 3}
	}
	for _, tc := range enabled {
		at := u.qos.child("roce")
		if at == nil {
			at = n
		}
		p.Queues[tc].Place = at.place()
		p.Queues[tc].WRED = &WRED{
			Name: "default-global", ECN: true, KMin: 150_000, KMax: 1_500_000, PMax: 1,
			Place: at.place(),
		}
	}
	return each(u.profile(n, "congestion-control").child("traffic-class"), 7, func(tc int, at *node) error {
		w := &WRED{Name: at.up.up.word, KMin: 150_000, KMax: 1_500_000, PMax: 1, Place: at.place()}
		for _, of := range []struct {
			key  string
			into *int64
		}{{"min-threshold", &w.KMin}, {"max-threshold", &w.KMax}} {
			if at.child(of.key) == nil {
				continue
			}
			b, err := units.ParseBytes(at.value(of.key))
			if err != nil || b < 0 || b > mostBytes {
				return at.child(of.key).errorf("%q is not a number of bytes", at.value(of.key))
			}
			*of.into = int64(b)
		}
		percent, err := at.number("", 0, 100, "probability")
		if w.ECN = !off(at.value("ecn")); percent > 0 {
			w.PMax = float64(percent) / 100
		}
		if p.Queues[tc].WRED = w; !w.ECN && (at.child("red") == nil || off(at.value("red"))) {
			p.Queues[tc].WRED = nil
		}
		p.Queues[tc].Place = at.place()
		return err
	})
}

// pfc reads the priorities, the cable and the headroom. Without port-buffer, Cumulus computes the headroom.
func (u *nvue) pfc(p *Port, n *node) error {
	p.Metres = u.metres
	at := u.profile(n, "pfc")
	switch {
	case at == nil && u.roce == "":
		return nil
	case at == nil || at.child("switch-priority") == nil:
		if strings.HasPrefix(u.roce, "lossless") {
			p.PFC = 1 << 3
		}
		p.Places["pfc"] = u.qos.child("roce").place()
	default:
		p.Places["pfc"] = at.child("switch-priority").place()
		err := each(at.child("switch-priority"), 7, func(sp int, _ *node) error {
			p.PFC |= 1 << sp
			return nil
		})
		if err != nil {
			return err
		}
	}
	p.QoS = true
	if at.child("cable-length") != nil {
		p.Places["cable"] = at.child("cable-length").place()
		var err error
		if p.Metres, err = at.number("m", 0, 1_000_000, "cable-length"); err != nil {
			return err
		}
	}
	if off(at.value("tx")) || off(at.value("rx")) { // one direction alone is not lossless
		p.PFC = 0
		p.Places["pfc"] = at.place()
		return nil
	}
	buffer, err := at.number("B", 0, mostBytes, "port-buffer")
	xoff, err2 := at.number("B", 0, mostBytes, "xoff-threshold")
	if err != nil || err2 != nil || buffer == 0 {
		return cmp.Or(err, err2)
	}
	of := &Profile{
		Name: at.word, XOFF: max(buffer-xoff, 1), XON: -1, Offset: -1, Place: at.child("port-buffer").place(),
	}
	for _, sp := range p.PFC.All() {
		p.Groups[sp] = of
	}
	return nil
}

// watchdog reads the watchdog of PFC. It detects after robustness polls, and restores after one without PAUSE.
func (u *nvue) watchdog(p *Port, n *node) error {
	at := n.get("qos", "pfc-watchdog")
	if at == nil || off(at.value("state")) {
		return nil
	}
	global := u.qos.child("pfc-watchdog")
	poll, err := global.number("", 1, 100_000, "polling-interval")
	polls, err2 := global.number("", 1, 1000, "robustness")
	poll, polls = cmp.Or(poll, 100), cmp.Or(polls, 3)
	p.Watchdog = &Watchdog{Detect: int(poll * polls), Restore: -1, Poll: int(poll), Place: at.place()}
	return cmp.Or(err, err2)
}

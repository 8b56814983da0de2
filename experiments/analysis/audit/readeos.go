package audit

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// eosWords are EOS's names for settings of SONiC, in messages of the rules.
var eosWords = words(`green_min_threshold => minimum-threshold
green_max_threshold => maximum-threshold
pfc_enable: %v => priority-flow-control: no-drop on %v
PORT_QOS_MAP|%s has no dscp_to_tc_map => %s does not have qos trust dscp
the port has PFC, but no dscp_to_tc_map => the port has PFC, but does not trust DSCP
set dscp_to_tc_map => qos trust dscp
PFC_WD has no row for it => no priority-flow-control pause watchdog for it
add the port to PFC_WD (SONiC: config pfcwd start --action drop) => priority-flow-control pause watchdog default timeout SECONDS
detection_time => timeout
restoration_time => recovery-time
POLL_INTERVAL => polling-interval
tc_to_queue_map leads => qos map traffic-class leads
QUEUE|%s|%d: no wred_profile => %s, tx-queue %d: no random-detect ecn
give the queue a WRED profile with ecn_all => random-detect ecn in the queue's block
ecn is not ecn_all or ecn_green => random-detect drop, not random-detect ecn
set ecn to ecn_all => use random-detect ecn
set admin_status to up => no shutdown
STRICT => priority strict`)

// eos holds what all ports of an Arista switch share.
type eos struct {
	s        *Switch
	root     *node
	dscp     [64]int // to traffic classes
	queue    [mostTC + 1]int
	allOff   *node // priority-flow-control all off
	profiles bool  // the file has QoS profiles
	watchdog Watchdog
}

// eosLine holds a line with its words.
type eosLine struct {
	*node
	words []string
}

// is reports whether a line starts with words.
func (l eosLine) is(words ...string) bool {
	if len(l.words) < len(words) {
		return false
	}
	for i, word := range words {
		if l.words[i] != word {
			return false
		}
	}
	return true
}

// after returns the word behind a word; "" if it is absent.
func (l eosLine) after(word string) string {
	for i := range len(l.words) - 1 {
		if l.words[i] == word {
			return l.words[i+1]
		}
	}
	return ""
}

// readEOS reads the running configuration of an Arista switch (EOS User Manual, Quality of Service and Priority Flow
// Control). Defaults that such a file leaves out are EOS's.
func (s *Switch) readEOS(root *node) error {
	e := &eos{s: s, root: root, watchdog: Watchdog{Detect: -1, Restore: -1}}
	s.words = eosWords
	for d := range e.dscp {
		e.dscp[d] = [8]int{1, 0, 2, 3, 4, 5, 6, 7}[d/8]
	}
	for tc := range e.queue {
		e.queue[tc] = tc
	}
	for _, n := range root.below {
		if err := e.global(eosLine{n, strings.Fields(n.word)}); err != nil {
			return err
		}
	}
	for _, n := range root.below {
		name, found := strings.CutPrefix(n.word, "interface ")
		if !found || !strings.HasPrefix(name, "Ethernet") {
			continue
		}
		names, err := portNames(name)
		if err != nil {
			return n.errorf("%w", err)
		}
		for _, name := range names {
			if err := e.port(name, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// global reads a line outside of interfaces and profiles.
func (e *eos) global(l eosLine) error {
	switch {
	case l.is("hostname") && len(l.words) == 2:
		e.s.Name = l.words[1]
	case l.is("qos", "profile"):
		e.profiles = true
	case l.is("priority-flow-control", "all", "off"):
		e.allOff = l.node
	case l.is("priority-flow-control", "pause", "watchdog"):
		return e.readWatchdog(&e.watchdog, l)
	case l.is("dcbx", "application"):
		e.unread(l)
	case l.is("qos", "map", "dscp"), l.is("qos", "map", "traffic-class"):
		from, to, found := strings.Cut(strings.Join(l.words[3:], " "), " to ")
		target := strings.Fields(to)
		if !found || len(target) < 2 || target[1] == "name" {
			return nil // a named map, which counts where a port names it
		}
		into, most := e.dscp[:], mostTC
		if l.words[2] == "traffic-class" {
			if into, most = e.queue[:], 63; target[0] != "tx-queue" && target[0] != "uc-tx-queue" {
				return nil
			}
		} else if target[0] != "traffic-class" {
			return nil
		}
		all, err := l.spans(from, len(into)-1)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(target[1])
		if err != nil || n < 0 || n > most {
			return l.errorf("%q is not a number from 0 to %d", target[1], most)
		}
		for _, each := range all {
			into[each] = n
		}
	}
	return nil
}

// lines returns the lines that hold for an interface, from the least to the most specific: of its Port-Channel, its
// profile, and its own.
func (e *eos) lines(n *node) (all []eosLine) {
	for _, own := range n.below {
		l := eosLine{own, strings.Fields(own.word)}
		if l.is("channel-group") && len(l.words) > 1 {
			if bundle := e.root.child("interface Port-Channel" + l.words[1]); bundle != nil && bundle != n {
				for _, of := range bundle.below {
					if f := (eosLine{of, strings.Fields(of.word)}); !f.is("switchport") && !f.is("mtu") && !f.is("channel-group") {
						all = append(all, e.profile(f)...)
					}
				}
			}
		}
	}
	for _, own := range n.below {
		all = append(all, e.profile(eosLine{own, strings.Fields(own.word)})...)
	}
	return all
}

// profile returns a line, or the lines of the profile that it names.
func (e *eos) profile(l eosLine) []eosLine {
	if !l.is("service-profile") || len(l.words) < 2 {
		return []eosLine{l}
	}
	profile := e.root.child("qos profile " + l.words[1])
	if profile == nil && e.profiles {
		e.s.Missing = append(e.s.Missing, Missing{l.place(), "qos profile", l.words[1]})
	}
	all := []eosLine{l}
	for _, n := range profile.children() {
		all = append(all, eosLine{n, strings.Fields(n.word)})
	}
	return all
}

// port reads an interface.
func (e *eos) port(name string, n *node) error {
	p := e.s.plainPort(name, n)
	p.DSCP, p.TCToQueue = e.dscp, e.queue
	copy(p.PFCQueue[:], e.queue[:]) // PAUSE of a priority stops the queue of its traffic class
	on, noDrop, trust := false, Priorities(0), ""
	policy, mapped := eosLine{}, false
	routed, access := false, false
	w := e.watchdog
	watching := w.Detect >= 0
	var err error
	for _, l := range e.lines(n) {
		switch {
		case l.is("no", "switchport"):
			routed = true
		case l.is("switchport", "access"), l.is("switchport", "mode"):
			access = l.words[len(l.words)-1] != "trunk"
		case l.is("qos", "trust"), l.is("no", "qos", "trust"):
			if trust = l.words[len(l.words)-1]; l.words[0] == "no" {
				trust = "none"
			}
			p.Places["dscp"] = l.place()
		case l.is("service-policy", "type", "qos", "input"):
			policy = l
		case l.is("qos", "map", "dscp"):
			mapped = true
			e.unread(l)
		case l.is("dcbx", "mode") && !l.is("dcbx", "mode", "none"):
			e.unread(l) // a neighbour may take PFC's priorities from this switch
		case l.is("priority-flow-control", "pause", "watchdog"), l.is("no", "priority-flow-control", "pause", "watchdog"):
			if watching = l.words[0] != "no"; watching {
				err = e.readWatchdog(&w, l)
			}
		case l.is("priority-flow-control", "priority"):
			err = l.priority(&noDrop)
			p.Places["pfc"] = l.place()
		case l.is("priority-flow-control"), l.is("no", "priority-flow-control"):
			on = l.words[len(l.words)-1] == "on"
			p.Places["pfc"], p.QoS = l.place(), true
		case l.is("tx-queue"), l.is("uc-tx-queue"):
			err = p.eosQueue(l)
		default:
			err = p.eosLink(l)
		}
		if err != nil {
			return err
		}
	}
	if on && e.allOff == nil {
		p.PFC = noDrop
	} else if e.allOff != nil {
		p.Places["pfc"] = e.allOff.place()
	}
	p.QoS = p.QoS || noDrop != 0
	// By default a routed port trusts DSCP, and a switched port CoS. Frames on a trunk may have tags with a CoS.
	if err := e.classify(p, policy, mapped, trust == "dscp" || trust == "" && routed, !routed && !access); err != nil {
		return err
	}
	if watching && p.PFC != 0 {
		w.Place = cmp.Or(w.Place, n.place())
		p.Watchdog = &w
	}
	return nil
}

// eosLink reads a line about the link: its state, MTU, rate or FEC.
func (p *Port) eosLink(l eosLine) (err error) {
	switch {
	case l.is("shutdown"), l.is("no", "shutdown"):
		p.Up = l.words[0] == "no"
	case l.is("mtu"):
		p.MTU, err = l.size()
		p.Places["mtu"] = l.place()
	case l.is("speed"):
		p.Speed = eosSpeed(l.words[len(l.words)-1])
		p.Places["speed"] = l.place()
	case l.is("error-correction", "encoding"), l.is("no", "error-correction", "encoding"):
		p.FEC = map[string]string{"reed-solomon": "rs", "fire-code": "fc", "encoding": "none"}[l.words[len(l.words)-1]]
		p.Places["fec"] = l.place()
	}
	return err
}

// unread records a line that is not read.
func (e *eos) unread(l eosLine) { e.s.Unread = append(e.s.Unread, l.place()) }

// classify sets whether the classes of DSCPs at a port are known: by its trust, and by the policy map that a line
// names.
func (e *eos) classify(p *Port, policy eosLine, mapped, byDSCP, tagged bool) error {
	if policy.node != nil {
		before := len(e.s.Unread) + len(e.s.Missing)
		all, err := e.policy(p, policy)
		if err != nil {
			return err
		}
		mapped = mapped || !all && !byDSCP || len(e.s.Unread)+len(e.s.Missing) > before
		byDSCP = byDSCP || all
		p.Places["dscp"] = policy.place()
	}
	p.Trusted = byDSCP || mapped || tagged
	p.Unmapped = mapped || !byDSCP
	return nil
}

// policy sets the traffic classes of DSCPs by the policy map that a line of a port names: the first class that matches
// decides. all reports whether the policy has a class for every DSCP. What is not read leaves the classes unknown.
func (e *eos) policy(p *Port, l eosLine) (all bool, err error) {
	name := l.words[len(l.words)-1]
	at := e.named("policy-map", name)
	if at == nil {
		e.s.Missing = append(e.s.Missing, Missing{l.place(), "policy-map", name})
		return false, nil
	}
	var decided [64]bool
	for _, n := range at.below {
		class := eosLine{n, strings.Fields(n.word)}
		if !class.is("class") || len(class.words) < 2 {
			continue
		}
		matched, err := e.matched(class)
		if err != nil {
			return false, err
		}
		tc := -1
		for _, n := range n.below {
			if set := (eosLine{n, strings.Fields(n.word)}); set.is("set", "traffic-class") {
				v, err := strconv.Atoi(set.words[len(set.words)-1])
				if err != nil || v < 0 || v > 7 {
					return false, set.errorf("%q is not a traffic class from 0 to 7", set.words[len(set.words)-1])
				}
				tc = v
			}
		}
		for _, d := range matched {
			if !decided[d] && tc >= 0 {
				p.DSCP[d] = tc
			}
			decided[d] = true
		}
		all = all || tc >= 0 && len(matched) == len(decided)
	}
	return all, nil
}

// matched returns the DSCPs of a class of a policy map; none if its class map is absent or not read.
func (e *eos) matched(class eosLine) (all []int, err error) {
	name := class.words[len(class.words)-1]
	if name == "class-default" {
		return class.spans("0-63", 63)
	}
	at := e.named("class-map", name)
	if at == nil {
		e.s.Missing = append(e.s.Missing, Missing{class.place(), "class-map", name})
	}
	for _, n := range at.children() {
		l := eosLine{n, strings.Fields(n.word)}
		if !l.is("match", "dscp") || len(l.words) < 3 {
			e.unread(l)
			continue
		}
		for _, word := range l.words[2:] {
			if d, named := dscpNames[strings.ToUpper(word)]; named {
				all = append(all, d)
				continue
			}
			some, err := l.spans(word, 63)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// named returns the class map or policy map with a name.
func (e *eos) named(what, name string) *node {
	for _, n := range e.root.below {
		if words := strings.Fields(n.word); words[0] == what && words[len(words)-1] == name && len(words) > 1 {
			return n
		}
	}
	return nil
}

// size parses a line's last word as an MTU.
func (l eosLine) size() (int, error) {
	n, err := strconv.Atoi(l.words[len(l.words)-1])
	if err != nil || n < 68 || n > 65_535 {
		return 0, l.errorf("%q is not an MTU from 68 to 65535", l.words[len(l.words)-1])
	}
	return n, nil
}

// priority reads priority-flow-control priority N no-drop or drop.
func (l eosLine) priority(into *Priorities) error {
	if len(l.words) < 3 {
		return l.errorf("expected a priority, such as priority-flow-control priority 3 no-drop")
	}
	all, err := l.spans(l.words[2], 7)
	for _, n := range all {
		if *into &^= 1 << n; l.words[len(l.words)-1] == "no-drop" {
			*into |= 1 << n
		}
	}
	return err
}

// eosSpeed returns the rate in Mb/s of a speed such as 100gfull, 400g-8, 10000full or auto; 0: unknown.
func eosSpeed(text string) int64 {
	rest := strings.TrimLeft(text, "0123456789")
	n, _ := strconv.ParseInt(text[:len(text)-len(rest)], 10, 32)
	if strings.HasPrefix(rest, "g") {
		n *= 1000
	}
	return n
}

// readWatchdog reads the times and the action of a line of the watchdog. Times are in seconds.
func (e *eos) readWatchdog(w *Watchdog, l eosLine) error {
	for _, of := range []struct {
		word string
		into *int
	}{{"timeout", &w.Detect}, {"recovery-time", &w.Restore}, {"polling-interval", &w.Poll}} {
		text := l.after(of.word)
		if text == "" || text == "auto" {
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || seconds < 0 || seconds > 1000 || math.IsNaN(seconds) {
			return l.errorf("%q is not a time in seconds from 0 to 1000", text)
		}
		*of.into = int(math.Round(seconds * 1000))
		w.Place = l.place()
	}
	w.Action = cmp.Or(l.after("action"), w.Action)
	return nil
}

// eosQueue reads the block of an egress queue.
func (p *Port) eosQueue(block eosLine) error {
	if len(block.words) < 2 {
		return nil
	}
	all, err := block.spans(block.words[1], 15)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q > 7 {
			continue
		}
		of := &p.Queues[q]
		of.Place = block.place()
		for _, n := range block.below {
			l := eosLine{n, strings.Fields(n.word)}
			switch {
			case l.is("priority", "strict"):
				of.Scheduler = "STRICT"
			case l.is("no", "priority"):
				of.Scheduler = "WRR"
			case l.is("random-detect") && l.after("minimum-threshold") != "":
				if of.WRED, err = p.eosWRED(l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// eosWRED reads random-detect ecn or drop. Thresholds in segments or in time at an unknown rate have no size in bytes.
func (p *Port) eosWRED(l eosLine) (*WRED, error) {
	w := &WRED{Name: l.word, ECN: l.is("random-detect", "ecn"), Place: l.place(), PMax: 1}
	for _, of := range []struct {
		word string
		into *int64
	}{{"minimum-threshold", &w.KMin}, {"maximum-threshold", &w.KMax}} {
		n, err := strconv.ParseInt(l.after(of.word), 10, 64)
		if err != nil || n < 0 || n > mostBytes/1_000_000 {
			return nil, l.errorf("%s: %q is not a number", of.word, l.after(of.word))
		}
		unit := l.after(l.after(of.word))
		scale := map[string]int64{"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}[unit]
		if ms := map[string]int64{"microseconds": 1, "milliseconds": 1000}[unit]; ms > 0 && p.Speed > 0 {
			n, scale = n*ms*p.Speed/8, 1 // 1 Mb/s is a bit in a microsecond
		}
		if scale == 0 {
			w.Unit, scale = cmp.Or(unit, "?"), 1
		}
		*of.into = min(n*scale, mostBytes)
	}
	if text := cmp.Or(l.after("max-mark-probability"), l.after("drop-probability")); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 100 {
			return nil, l.errorf("%q is not a probability from 0 to 100", text)
		}
		w.PMax = float64(n) / 100
	}
	return w, nil
}

package audit

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

// junosWords are Junos's names for settings of SONiC, in messages of the rules.
var junosWords = words(`green_min_threshold => first fill-level
green_max_threshold => last fill-level
pfc_enable: %v => congestion-notification-profile: %v
PORT_QOS_MAP|%s has no dscp_to_tc_map => %s has no classifiers dscp
the port has PFC, but no dscp_to_tc_map => the port has PFC, but no classifier by DSCP
set dscp_to_tc_map => set classifiers dscp NAME
PFC_WD has no row for it => its congestion-notification-profile has no pfc-watchdog
add the port to PFC_WD (SONiC: config pfcwd start --action drop) => set congestion-notification-profile NAME pfc-watchdog
detection_time => detection times poll-interval
restoration_time => recovery
POLL_INTERVAL => poll-interval
tc_to_queue_map leads => forwarding-classes leads
QUEUE|%s|%d: no wred_profile => %s, queue %d: its scheduler has no drop-profile-map
give the queue a WRED profile with ecn_all => set drop-profile-map and explicit-congestion-notification in its scheduler
ecn is not ecn_all or ecn_green => no explicit-congestion-notification
set ecn to ecn_all => set explicit-congestion-notification
pfc_to_queue_map: priority %d -> queue %d => flow-control-queue: priority %d -> queue %d (-1: none)
make tc_to_queue_map and pfc_to_queue_map agree => make queue-num and flow-control-queue agree
set admin_status to up => delete interfaces NAME disable
STRICT => strict-high`)

// junos holds what all ports of a Juniper switch share.
type junos struct {
	s       *Switch
	cos     *node
	classes map[string]junosClass
}

// junosClass represents a forwarding class.
type junosClass struct {
	queue, priority int // priority: of PFC; -1: none
	noLoss          bool
	at              *node
}

// readJunos reads the configuration of a Juniper switch (Juniper, Traffic Management User Guide, QFX Series).
func (s *Switch) readJunos(root *node) error {
	if err := s.inherit(root, nil); err != nil {
		return err
	}
	s.words = junosWords
	s.Name = cmp.Or(root.value("system", "host-name"), s.Name)
	j := &junos{s: s, cos: root.child("class-of-service"), classes: map[string]junosClass{}}
	if err := j.readClasses(); err != nil {
		return err
	}
	interfaces := root.child("interfaces")
	for _, n := range interfaces.children() {
		if strings.HasPrefix(n.word, "interface-range") {
			s.Unread = append(s.Unread, n.place())
		}
	}
	names := map[string]bool{}
	for _, list := range []*node{interfaces, j.cos.child("interfaces")} {
		for _, n := range list.children() {
			if strings.Contains(n.word, "-") && !strings.ContainsAny(n.word, "*?[<") { // et-0/0/0, not ae0, lo0 or all
				names[n.word] = true
			}
		}
	}
	for _, name := range sortedKeys(names) {
		if err := j.port(name, interfaces.child(name)); err != nil {
			return err
		}
	}
	return nil
}

// inherit adds the statements of the groups that apply-groups names, at each level of a configuration (Junos OS CLI
// User Guide, Configuration Groups). path holds the nodes from the root to at.
func (s *Switch) inherit(root *node, path []*node) error {
	at := root
	if len(path) > 0 {
		at = path[len(path)-1]
	}
	if len(path) > mostNested {
		return at.errorf("nested deeper than %d levels", mostNested)
	}
	if except := at.child("apply-groups-except"); except != nil {
		s.Unread = append(s.Unread, except.place())
	}
	for _, name := range at.child("apply-groups").children() {
		groups := []*node{root.get("groups", name.word)}
		for _, of := range path {
			var below []*node
			for _, g := range groups {
				for _, n := range g.children() {
					if n.word == of.word || n.matches(of.word) {
						below = append(below, n)
					}
				}
			}
			groups = below
		}
		for _, g := range groups {
			if err := at.merge(g, 0); err != nil {
				return err
			}
		}
	}
	for _, n := range slices.Clone(at.below) {
		if len(path) > 0 || n.word != "groups" {
			if err := s.inherit(root, append(slices.Clip(path), n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches reports whether a wildcard of a group, such as <et-*>, matches a word.
func (n *node) matches(word string) bool {
	pattern, found := strings.CutPrefix(n.word, "<")
	if !found || !strings.HasSuffix(pattern, ">") {
		return false
	}
	plain := strings.NewReplacer("/", ".")
	match, err := path.Match(plain.Replace(strings.TrimSuffix(pattern, ">")), plain.Replace(word))
	return err == nil && match
}

// merge adds the statements of a group to n: those below a wildcard to each statement that it matches. A setting that n
// has keeps its own value, which comes first.
func (n *node) merge(from *node, depth int) error {
	if depth > mostNested {
		return from.errorf("nested deeper than %d levels", mostNested)
	}
	for _, of := range from.children() {
		into := []*node{}
		if strings.HasPrefix(of.word, "<") {
			for _, each := range n.below {
				if of.matches(each.word) {
					into = append(into, each)
				}
			}
		} else {
			into = append(into, n.add(of.word, of.file, of.line))
		}
		for _, each := range into {
			if err := each.merge(of, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// readClasses reads the forwarding classes.
func (j *junos) readClasses() error {
	all := j.cos.child("forwarding-classes")
	for _, n := range all.child("class").children() {
		c := junosClass{priority: -1, noLoss: n.find("no-loss") != nil, at: n}
		for _, of := range []struct {
			key  string
			most int64
			into *int
		}{{"queue-num", 15, &c.queue}, {"pfc-priority", 7, &c.priority}} {
			if at := n.find(of.key); at != nil && len(at.below) > 0 {
				v, err := at.below[0].asNumber("", 0, of.most)
				if err != nil {
					return err
				}
				*of.into = int(v)
			}
		}
		j.classes[n.word] = c
	}
	return nil
}

// settings returns the nodes of class-of-service for an interface: its own, then those of wildcards.
func (j *junos) settings(name string) (all []*node) {
	if own := j.cos.get("interfaces", name); own != nil {
		all = append(all, own)
	}
	for _, n := range j.cos.child("interfaces").children() {
		if match, err := path.Match(strings.ReplaceAll(n.word, "/", "."),
			strings.ReplaceAll(name, "/", ".")); n.word == "all" ||
			err == nil && match && n.word != name {
			all = append(all, n)
		}
	}
	return all
}

// named returns the node of a table that a setting of an interface names. A name of no row is recorded.
func (j *junos) named(settings []*node, table *node, what string, words ...string) *node {
	for _, n := range settings {
		at := n.get(words...)
		if at == nil {
			for _, unit := range n.child("unit").children() {
				if at == nil {
					at = unit.get(words...)
				}
			}
		}
		if at == nil || len(at.below) == 0 {
			continue
		}
		name := at.below[0].word
		row := table.child(name)
		if row == nil && table != nil && name != "default" && name != "dscp-default" {
			j.s.Missing = append(j.s.Missing, Missing{at.place(), what, name})
		}
		return row
	}
	return nil
}

// port reads an interface. n holds its own settings; nil: none.
func (j *junos) port(name string, n *node) error {
	settings := j.settings(name)
	at := n
	if at == nil && len(settings) > 0 {
		at = settings[0]
	}
	p := j.s.plainPort(name, at)
	for tc := range p.TCToPG {
		p.TCToPG[tc], p.TCToQueue[tc] = -1, tc%8
	}
	if err := j.link(p, n); err != nil {
		return err
	}
	if len(settings) == 0 {
		return nil
	}
	for _, setting := range []string{"pfc", "dscp", "pg", "queue"} {
		p.Places[setting] = settings[0].place()
	}
	classifier := j.named(settings, j.cos.get("classifiers", "dscp"), "classifiers dscp", "classifiers", "dscp")
	byTag := false
	for _, s := range settings {
		byTag = byTag || s.find("classifiers").find("ieee-802.1") != nil
	}
	routed := n.find("inet") != nil || n.find("inet6") != nil
	p.Trusted = classifier != nil || !byTag || !routed
	p.Unmapped = classifier == nil
	profile := j.named(settings, j.cos.child("congestion-notification-profile"), "congestion-notification-profile",
		"congestion-notification-profile")
	p.QoS = profile != nil || classifier != nil
	class, err := j.classify(classifier)
	if err != nil {
		return err
	}
	if err := j.pfc(p, profile, class); err != nil {
		return err
	}
	if err := j.queues(p, j.named(settings, j.cos.child("scheduler-maps"), "scheduler-maps",
		"scheduler-map")); err != nil {
		return err
	}
	return j.watchdog(p, profile)
}

// link reads the rate, MTU and FEC of an interface.
func (j *junos) link(p *Port, n *node) error {
	if n == nil {
		return nil
	}
	p.Up = n.child("disable") == nil
	mtu, err := n.number("", 82, 65_535, "mtu")
	if p.Places["mtu"] = n.place(); n.child("mtu") != nil {
		p.Places["mtu"] = n.child("mtu").place()
	}
	if mtu > 0 {
		p.MTU = int(mtu) - 14 // it counts the header of Ethernet
	}
	for _, unit := range n.child("unit").children() {
		inet, err2 := unit.number("", 68, 65_535, "family", "inet", "mtu")
		if err = cmp.Or(err, err2); inet > 0 {
			p.MTU, p.Places["mtu"] = int(inet), unit.get("family", "inet", "mtu").place()
		}
	}
	options := []*node{n, n.child("ether-options"), n.child("gigether-options")}
	for _, of := range options {
		if text := of.value("speed"); text != "" && text != "auto" {
			if p.Speed, p.Places["speed"] = eosSpeed(strings.ToLower(text)), of.child("speed").place(); p.Speed == 0 {
				return of.child("speed").errorf("%q is not a speed such as 100g", text)
			}
		}
		if text := of.value("fec"); text != "" {
			p.FEC = map[string]string{"fec91": "rs", "fec119": "rs", "fec74": "fc", "none": "none"}[text]
			p.Places["fec"] = of.child("fec").place()
		}
	}
	return err
}

// dscpOf parses a code point: six bits, a number, or a name of RFC 2474 and others.
func dscpOf(n *node, bits int) (int, error) {
	if v, named := dscpNames[strings.ToUpper(n.word)]; named && bits == 6 {
		return v, nil
	}
	if n.word == "be" {
		return 0, nil
	}
	if len(n.word) == bits {
		if v, err := strconv.ParseInt(n.word, 2, 8); err == nil {
			return int(v), nil
		}
	}
	v, err := n.asNumber("", 0, 1<<bits-1)
	if err != nil {
		err = n.errorf("%q is not a code point of %d bits, such as %0*b", n.word, bits, bits, 3)
	}
	return int(v), err
}

// classify returns the forwarding class of each DSCP; "" for those that a classifier does not name.
func (j *junos) classify(classifier *node) (class [64]string, err error) {
	for _, of := range classifier.child("forwarding-class").children() {
		if _, found := j.classes[of.word]; !found && len(j.classes) > 0 && !strings.Contains(junosDefaults, " "+of.word+" ") {
			j.s.Missing = append(j.s.Missing, Missing{of.place(), "forwarding-classes class", of.word})
		}
		for _, level := range of.child("loss-priority").children() {
			for _, point := range level.child("code-points").children() {
				d, err := dscpOf(point, 6)
				if err != nil {
					return class, err
				}
				class[d] = of.word
			}
		}
	}
	return class, nil
}

// junosDefaults lists the forwarding classes that exist without a statement.
const junosDefaults = " best-effort fcoe no-loss network-control mcast "

// pfc reads the priorities with PFC and the classes of DSCPs. A class with PFC has the number of its queue as its
// traffic class; its DSCPs without PFC, and all others, have that of the queue and 8.
func (j *junos) pfc(p *Port, profile *node, class [64]string) error {
	if profile != nil {
		p.Places["pfc"] = profile.place()
	}
	input := profile.child("input")
	for _, point := range input.get("ieee-802.1", "code-point").children() {
		n, err := dscpOf(point, 3)
		if err != nil {
			return err
		}
		if point.find("pfc") != nil {
			p.PFC |= 1 << n
		}
	}
	byTag := p.PFC
	paused := map[int]bool{}
	for _, point := range input.get("dscp", "code-point").children() {
		d, err := dscpOf(point, 6)
		if err != nil {
			return err
		}
		if c := j.classes[class[d]]; point.find("pfc") != nil && class[d] != "" && c.noLoss && c.priority >= 0 {
			p.PFC |= 1 << c.priority
			paused[d] = true
		}
		for _, c := range j.classes {
			if p.Unmapped && point.find("pfc") != nil && c.noLoss && c.priority >= 0 { // no classifier says which class
				p.PFC |= 1 << c.priority
			}
		}
	}
	queues := [8]int{-1, -1, -1, -1, -1, -1, -1, -1} // of the classes with a priority
	for d := range 64 {
		c := j.classes[class[d]]
		p.DSCP[d] = 8 + c.queue%8
		switch {
		case class[d] == "":
		case paused[d]:
			p.DSCP[d] = c.queue % 8
			p.TCToPG[c.queue%8], queues[c.priority] = c.priority, c.queue%8
		case c.noLoss && byTag != 0: // tags decide; the file does not say which priority the DSCP's frames have
			p.Unmapped = true
		}
	}
	if input.child("cable-length") != nil {
		var err error
		if p.Metres, err = input.number("", 0, 1_000_000, "cable-length"); err != nil {
			return err
		}
		p.Places["cable"] = input.child("cable-length").place()
	}
	return j.output(p, profile, queues)
}

// output reads the queues that PAUSE stops. Without the statement they are those of the classes.
func (j *junos) output(p *Port, profile *node, queues [8]int) error {
	output := profile.get("output", "ieee-802.1", "code-point")
	for n := range 8 {
		if p.PFCQueue[n] = queues[n]; output != nil {
			p.PFCQueue[n] = -1
		}
	}
	if output != nil {
		p.Places["queue"] = output.place()
	}
	for _, point := range output.children() {
		n, err := dscpOf(point, 3)
		if err != nil {
			return err
		}
		for _, at := range point.child("flow-control-queue").children() {
			q, err := at.asNumber("", 0, 15)
			if err != nil {
				return err
			}
			if p.PFCQueue[n] < 0 || int(q) == queues[n] {
				p.PFCQueue[n] = int(q)
			}
		}
	}
	return nil
}

// queues reads the schedulers of the classes' queues.
func (j *junos) queues(p *Port, schedulers *node) error {
	for _, of := range schedulers.child("forwarding-class").children() {
		c, found := j.classes[of.word]
		name := of.value("scheduler")
		scheduler := j.cos.get("schedulers", name)
		if scheduler == nil && name != "" {
			j.s.Missing = append(j.s.Missing, Missing{of.place(), "schedulers", name})
		}
		if !found || scheduler == nil || c.queue > 7 {
			continue
		}
		q := &p.Queues[c.queue]
		q.Place = scheduler.place()
		if q.Scheduler = "WRR"; strings.Contains(scheduler.value("priority"), "strict") {
			q.Scheduler = "STRICT"
		}
		drop := scheduler.find("drop-profile")
		if drop == nil || len(drop.below) == 0 {
			continue
		}
		name = drop.below[0].word
		profile := j.cos.get("drop-profiles", name)
		if profile == nil {
			j.s.Missing = append(j.s.Missing, Missing{drop.place(), "drop-profiles", name})
		}
		w := &WRED{
			Name: name, Unknown: profile == nil, ECN: scheduler.child("explicit-congestion-notification") != nil, PMax: 1,
			Unit: "%", Place: scheduler.place(),
		}
		if levels := profile.find("fill-level").children(); len(levels) > 0 {
			w.Place = levels[0].up.place()
			for i, into := range map[int]*int64{0: &w.KMin, len(levels) - 1: &w.KMax} {
				v, err := levels[i].asNumber("", 0, 100)
				if err != nil {
					return err
				}
				*into = v
			}
		}
		q.WRED = w
	}
	return nil
}

// watchdog reads pfc-watchdog of a congestion notification profile.
func (j *junos) watchdog(p *Port, profile *node) error {
	at := profile.child("pfc-watchdog")
	if at == nil {
		return nil
	}
	poll, err := at.number("", 0, 100_000, "poll-interval")
	polls, err2 := at.number("", 0, 1000, "detection")
	recovery, err3 := at.number("", 0, 1_000_000, "recovery")
	poll = cmp.Or(poll, 100)
	p.Watchdog = &Watchdog{
		Detect: int(poll * cmp.Or(polls, 2)), Restore: int(cmp.Or(recovery, 200)), Poll: int(poll),
		Action: at.value("watchdog-action"), Place: at.place(),
	}
	return cmp.Or(err, err2, err3)
}

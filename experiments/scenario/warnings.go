package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Warnings are what is off with a scenario under these controllers or variants, though it can be run: settings by which
// lossless frames may be lost, and such that cannot act. Each is a sentence with its numbers. Of several controllers it
// says which is meant, unless all are.
func Warnings(s *Scenario, controllers []string) []string {
	var texts []string
	under := map[string][]string{} // the controllers that a text is about
	for _, name := range controllers {
		own, name, spec, err := s.Under(name)
		if err != nil {
			continue // Check says so
		}
		for _, text := range own.warnings(spec) {
			if under[text] == nil {
				texts = append(texts, text)
			}
			under[text] = append(under[text], name)
		}
	}
	for i, text := range texts {
		if names := under[text]; len(names) < len(controllers) {
			texts[i] = fmt.Sprintf("under %s: %s", strings.Join(names, ", "), text)
		}
	}
	return append(texts, s.idleSettings(controllers)...)
}

// idleSettings warns of settings of switches and hosts that differ from their defaults and act neither under these
// controllers nor under any that the scenario lists: what some of a comparison's runs have no use for is nothing to
// warn of.
func (s *Scenario) idleSettings(controllers []string) (texts []string) {
	idle := map[string]string{} // why; by key
	var keys []string
	first := true
	for _, name := range slices.Concat(controllers, s.Controllers) {
		own, _, spec, err := s.Under(name)
		if err != nil {
			continue
		}
		if own.cnpAuto {
			own.Host.CNPInterval = settings.CNPAuto // as nobody has said otherwise
		}
		w := warner{s: own, spec: spec, needs: spec.Needs}
		if all, err := own.flowControllers(spec); err == nil {
			w.needs = all.needs
		}
		why := w.idle()
		if first {
			first, idle, keys = false, why, slices.Sorted(maps.Keys(why))
		}
		maps.DeleteFunc(idle, func(key, _ string) bool { return why[key] == "" })
	}
	byReason := map[string][]string{}
	var reasons []string
	for _, key := range keys {
		if why := idle[key]; why != "" {
			if byReason[why] == nil {
				reasons = append(reasons, why)
			}
			byReason[why] = append(byReason[why], key)
		}
	}
	for _, why := range reasons {
		have := "has"
		if len(byReason[why]) > 1 {
			have = "have"
		}
		texts = append(texts, fmt.Sprintf("%s %s no effect: %s", strings.Join(byReason[why], ", "), have, why))
	}
	return texts
}

// LiveWarnings are those of a live fabric under a congestion control, of the switches with some indexes or of all. What
// its programs send may have any priority.
func (s *Scenario) LiveWarnings(spec *cc.Spec, switches ...int) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs, live: true, only: switches}
	w.buffers()
	w.pauses()
	w.marks()
	w.headrooms()
	w.cycles()
	w.unmarked()
	return w.texts
}

// files warns of what the readers of workloads' files left out.
func (w *warner) files() {
	for i := range w.s.Workloads {
		if own := &w.s.Workloads[i]; own.warning != "" {
			w.texts = append(w.texts, own.Tag+": "+own.warning)
		}
	}
}

// warnings are those of a run under a congestion control.
func (s *Scenario) warnings(spec *cc.Spec) []string {
	w := warner{s: s, spec: spec, needs: spec.Needs}
	if all, err := s.flowControllers(spec); err == nil { // Check says so otherwise
		w.needs = all.needs
	}
	w.files()
	w.buffers()
	w.pauses()
	w.marks()
	w.headrooms()
	w.cycles()
	w.priorities()
	w.scheduler()
	w.trimming()
	w.timeouts()
	w.reordering()
	w.telemetry()
	w.controllers()
	w.grants()
	w.constants()
	w.weights()
	w.periods()
	w.qps()
	w.balancing()
	w.polarisation()
	w.programs()
	return w.texts
}

type warner struct {
	s     *Scenario
	spec  *cc.Spec
	needs cc.SwitchNeeds // of all flows' congestion controls
	live  bool
	only  []int // switches that it is about; empty: all
	texts []string
}

// isAbout says whether the switch with an index is one of those.
func (w *warner) isAbout(index int) bool { return len(w.only) == 0 || slices.Contains(w.only, index) }

func (w *warner) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}

// Few are a few of the names, and how many others there are.
func Few(names []string) string {
	const most = 3
	if len(names) <= most+1 { // and never one other
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

// timeouts warns of a low timeout of selective repeat that has been set and takes the place of none.
func (w *warner) timeouts() {
	h := &w.s.Host
	low, high := h.Selective.LowTimeout, h.RetransmitTimeout
	if h.Recovery != hostagent.SelectiveRepeat || low == hostagent.Default().Selective.LowTimeout {
		return
	}
	switch {
	case high == 0:
		w.warn("host.selective.rto_low %v has no effect: there is no timeout; host.retransmit_timeout is what to set", low)
	case low >= high:
		w.warn("host.selective.rto_low %v has no effect: host.retransmit_timeout is %v, and it takes the place of a longer one", low, high)
	}
}

// reordering warns of a threshold of selective repeat below what packets on several paths overtake each other by.
func (w *warner) reordering() {
	h := HostSettings(w.s, w.needs)
	if h.Recovery != hostagent.SelectiveRepeat || w.s.Switch.Trim {
		return
	}
	if needed := tolerance(w.s, w.needs, h.Selective.Cap); h.Selective.Reorder < min(needed, 32) {
		w.warn("host.selective.reorder %d takes packets for lost that others overtake: a flow's packets take several paths here, on which the latest may be %d late; leave it out, or set %d",
			h.Selective.Reorder, needed, needed)
	}
}

// trimming warns of incasts whose trimmed packets alone can fill the port that they meet at, where nothing is left for
// data then.
func (w *warner) trimming() {
	s := w.s
	quantum := &s.Switch.Scheduler.Quantum
	data, control := s.Host.DataPriority, s.Host.ControlPriority
	if !s.Switch.Trim || quantum[data] > 0 && quantum[control] > 0 || quantum[data] == 0 &&
		(quantum[control] > 0 || data >= control) {
		return
	}
	op := wire.OpWriteMiddle
	if s.Host.Recovery == hostagent.SelectiveRepeat {
		op = wire.OpWriteOnly
	}
	line := s.Topology.Framing.LineBytes
	full, trimmed := line(s.Topology.IP.DataLen(op, s.Topology.MTU)), line(s.Topology.IP.TrimmedLen(op))
	senders, most, to := map[[2]topologies.NodeID]bool{}, map[topologies.NodeID]int64{}, topologies.NodeID(0)
	for i := range s.Flows {
		if f := &s.Flows[i]; !senders[[2]topologies.NodeID{f.Source, f.Destination}] {
			senders[[2]topologies.NodeID{f.Source, f.Destination}] = true
			if most[f.Destination]++; most[f.Destination] > most[to] {
				to = f.Destination
			}
		}
	}
	if n := most[to]; n*trimmed > full {
		w.warn("switch.trim: %d hosts send to %s, and %d of them at once fill its link with trimmed packets (%d bytes of %d), which go in priority %d: "+
			"that is strict, and leaves nothing for data, so that flows may never end. Weights leave each a share, such as NDP's 10 headers a packet "+
			"(section 3.1): switch.scheduler.dwrr: {%d: %dB, %d: %dB}",
			n, s.Topology.Nodes[to].Name, full/trimmed+1, trimmed, full, control, data, s.Topology.IP.DataLen(op,
				s.Topology.MTU), control, 10*s.Topology.IP.TrimmedLen(op))
	}
}

// buffers warns of switches whose buffer does not hold what PFC lets in.
func (w *warner) buffers() {
	plan, s := w.s.Topology, &w.s.Switch
	lossless := bits.OnesCount8(s.PFC.Priorities)
	if s.FlowControl != switchagent.FlowPFC || lossless == 0 {
		return
	}
	type kind struct {
		buffer, xoff, headroom units.Bytes
		ports                  int
	}
	var all []kind
	switches := map[kind][]string{}
	for i, own := range EverySwitch(plan, s) {
		if !w.isAbout(i) {
			continue
		}
		node := &plan.Nodes[plan.Switch[i]]
		buffer, ports := own.Resolve(fill.Cables(plan, node.ID, w.live))
		k := kind{buffer: buffer, ports: len(ports)}
		for i := range ports {
			k.xoff += ports[i].XOFF * units.Bytes(lossless)
			k.headroom += ports[i].Headroom * units.Bytes(lossless)
		}
		if switches[k] == nil {
			all = append(all, k)
		}
		switches[k] = append(switches[k], node.Name)
	}
	of := "every port"
	if lossless > 1 {
		of = fmt.Sprintf("every port and each of %d lossless priorities", lossless)
	}
	for _, k := range all {
		where := Few(switches[k])
		switch {
		case s.PFC.Alpha > 0 && k.headroom >= k.buffer:
			w.warn("%s: the headroom of %s is %v, and the shared buffer is %v: nothing is left of it to share, and XOFF is 0; "+
				"switch.buffer must be more, or switch.pfc.headroom less", where, of, k.headroom, k.buffer)
		case s.PFC.Alpha > 0:
		case s.PFC.XOFF != switchagent.Auto && s.PFC.XOFF > k.buffer:
			w.warn("%s: pfc.xoff %v is above the shared buffer, %v: it is full before a PAUSE is sent, and lossless frames are dropped; switch.pfc.xoff must be lower, or switch.buffer higher, or either auto",
				where, s.PFC.XOFF, k.buffer)
		case k.xoff+k.headroom > k.buffer:
			w.warn("%s: XOFF and headroom of %s (%d) are %v + %v = %v, and the shared buffer is %v: lossless frames may be dropped; "+
				"switch.buffer must be %v or more, or auto, or switch.pfc.xoff lower or auto",
				where, of, k.ports, k.xoff, k.headroom, k.xoff+k.headroom, k.buffer, k.xoff+k.headroom)
		}
	}
}

// pauses warns of switches that send a PAUSE for each packet.
func (w *warner) pauses() {
	plan, s := w.s.Topology, &w.s.Switch
	if s.FlowControl != switchagent.FlowPFC || s.PFC.Priorities == 0 || s.PFC.Alpha > 0 {
		return
	}
	packet := units.Bytes(plan.IP.DataLen(wire.OpWriteMiddle, plan.MTU))
	switches := map[units.Bytes][]string{}
	for i, own := range EverySwitch(plan, s) {
		if xoff := own.PFC.XOFF; w.isAbout(i) && xoff != switchagent.Auto && xoff <= packet {
			switches[xoff] = append(switches[xoff], plan.Nodes[plan.Switch[i]].Name)
		}
	}
	for _, xoff := range slices.Sorted(maps.Keys(switches)) {
		w.warn("%s: pfc.xoff is %v, and a full packet is %v: each one that arrives triggers a PAUSE; raise switch.pfc.xoff, or set it to auto",
			Few(switches[xoff]), xoff, packet)
	}
}

// marks warns of lossy queues that drop packets before ECN marks them: a congestion control that goes by marks then
// learns of the queue by losses alone. It also warns of lossless queues that never get long enough for marks.
func (w *warner) marks() {
	plan := w.s.Topology
	type kind struct {
		level
		before string // what packets are dropped before
		most   units.Bytes
		key    string // of most
		lossy  bool
	}
	var all []kind
	ports := map[kind][]string{}
	switches := SwitchSettings(w.s, w.needs)
	resolved := ResolveThresholds(plan, switches)
	for i, own := range switches {
		marks := own.ECN.Mode == switchagent.ECNRED || own.ECN.Mode == switchagent.ECNStep
		marked := own.ECN.Priorities & w.data()
		if !marks || marked == 0 || !w.isAbout(i) {
			continue
		}
		lossy := marked&^w.lossless() != 0
		most, key := resolved.Buffers[i], "switch.buffer"
		if lossy && own.LossyAlpha > 0 { // at most, where the buffer has nothing else
			most, key = units.Bytes(float64(most)*own.LossyAlpha/(1+own.LossyAlpha)), "switch.lossy_alpha"
		}
		if lossy && own.LossyLimit <= most {
			most, key = own.LossyLimit, "switch.lossy_limit"
		}
		for _, id := range plan.Nodes[plan.Switch[i]].Ports {
			first, last := w.levels(own, &resolved.Ports[id])
			k := kind{first, "any is", most, key, lossy}
			if first.at < most {
				k.level, k.before = last, "all are"
			}
			if resolved.Ports[id].Unmarked || first.at < most && (!lossy || last.at <= most) {
				continue
			}
			if ports[k] == nil {
				all = append(all, k)
			}
			ports[k] = append(ports[k], PortLabel(plan, id))
		}
	}
	lost := "dropped"
	if w.s.Switch.Trim {
		lost = "trimmed"
	}
	for _, k := range all {
		if !k.lossy {
			w.warn("%s: %s is %v, and the shared buffer is %v: no packet is marked; lower %s, or raise %s", Few(ports[k]),
				k.name, k.at, k.most, k.by, k.key)
			continue
		}
		w.warn("%s: %s is %v, and a lossy queue holds at most %v (%s): packets are %s before %s marked; lower %s, or raise %s",
			Few(ports[k]), k.name, k.at, k.most, k.key, lost, k.before, k.by, k.key)
	}
}

// level is a length of a queue at which ECN marks, and the setting that it is lowered by.
type level struct {
	name, by string
	at       units.Bytes
}

// levels returns the lengths of a port's queue from which ECN marks the first packets and all of them.
func (w *warner) levels(own *switchagent.Settings, t *switchagent.Thresholds) (first, all level) {
	of := func(key string, at units.Bytes) level { return level{key, key, at} }
	red, tcd := w.s.Switch.ECN.Mode == switchagent.ECNRED, own.Detector == switchagent.DetectorTCD
	all = of("switch.ecn.kmax", t.KMax)
	switch {
	case tcd && !own.TCD.RED:
		all = of("switch.tcd.q_len", t.QLen)
	case tcd || own.ECN.Mode == switchagent.ECNRED:
		return of("switch.ecn.kmin", t.KMin), all
	case red && w.needs.CNM:
		all = of("switch.cnm.ecn_threshold", t.KMax)
	case red:
		all = level{"the congestion control's step", "switch.ecn.kmax under switch.ecn.mode: step", t.KMax}
	}
	return all, all
}

// headrooms warns of ports whose headroom is less than what their cable can have in flight, as faults make it.
func (w *warner) headrooms() {
	plan, s := w.s.Topology, &w.s.Switch
	lossless := bits.OnesCount8(s.PFC.Priorities)
	if set := w.s.UnpausedACKs(); set != 0 {
		w.warn("host.ack_when_paused: hosts send ACK, NAK and CNP of priorities %v although these are paused, without end, and no headroom is enough for that: "+
			"lossless frames may be dropped", keys.PriorityList(set))
	}
	if s.FlowControl != switchagent.FlowPFC || lossless == 0 || s.PFC.Headroom == switchagent.Auto {
		return
	}
	type kind struct {
		cable    switchagent.Cable
		headroom units.Bytes
	}
	var all []kind
	ports := map[kind][]string{}
	note := func(id topologies.PortID, c switchagent.Cable, headroom units.Bytes) {
		if f := c.InFlight(&s.PFC); f.Buffered > headroom {
			k := kind{c, headroom}
			if ports[k] == nil {
				all = append(all, k)
			}
			ports[k] = append(ports[k], PortLabel(plan, id))
		}
	}
	for i, own := range EverySwitch(plan, s) {
		if !w.isAbout(i) {
			continue
		}
		node := &plan.Nodes[plan.Switch[i]]
		cables := fill.Cables(plan, node.ID, w.live)
		_, thresholds := own.Resolve(cables)
		for k, id := range node.Ports {
			note(id, cables[k], thresholds[k].Headroom)
			for _, c := range w.s.ChangedCables(id, cables[k]) {
				note(id, c.Cable, thresholds[k].Headroom)
			}
		}
	}
	for _, k := range all {
		f := k.cable.InFlight(&s.PFC)
		w.warn("%s: pfc.headroom is %v, and %v can be in flight to a port of %v, %v (%v): lossless frames may be dropped; it must be %v or more, or auto",
			Few(ports[k]), k.headroom, f.Sum(), k.cable.Rate, k.cable.Delay, &f, f.Sum())
	}
}

// UnpausedACKs are the lossless priorities of which hosts send ACK, NAK and CNP while PFC pauses them.
func (s *Scenario) UnpausedACKs() uint8 {
	if !s.Host.ACKsWhenPaused || s.Switch.FlowControl != switchagent.FlowPFC {
		return 0
	}
	set := uint8(1) << s.Host.ControlPriority // of CNP in any case
	if s.Host.ACKsWithData {
		set |= s.DataPriorities()
	}
	return set & s.Switch.PFC.Priorities
}

// ChangedCable is a cable as a fault makes it, and the fault's index.
type ChangedCable struct {
	Cable switchagent.Cable
	Fault int
}

// ChangedCables are the cable c of a switch's port as each fault by itself makes it that gives it another delay or
// rate.
func (s *Scenario) ChangedCables(id topologies.PortID, c switchagent.Cable) (cables []ChangedCable) {
	peer := s.Topology.Ports[id].Peer
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Kind != settings.FaultDelay && f.Kind != settings.FaultRate {
			continue
		}
		out := slices.Contains(f.Ports, id) || !f.OneWay && slices.Contains(f.Ports, peer)
		in := slices.Contains(f.Ports, peer) || !f.OneWay && slices.Contains(f.Ports, id)
		now := c
		if out && f.Kind == settings.FaultDelay {
			now.Delay = f.Delay
		}
		if in && f.Kind == settings.FaultDelay {
			now.PeerDelay = f.Delay
		}
		if out && f.Kind == settings.FaultRate {
			now.Rate = f.Rate
		}
		if in && f.Kind == settings.FaultRate {
			now.PeerRate = f.Rate
		}
		if now != c {
			cables = append(cables, ChangedCable{now, i})
		}
	}
	return cables
}

// mostReroutes bounds how many states of the links are searched for a cycle.
const mostReroutes = 64

// cycles warns of routes by which queues can wait for one another in a cycle: the plan's own, and those that follow
// faults.
func (w *warner) cycles() {
	plan, s := w.s.Topology, &w.s.Switch
	lossless := s.PFC.Priorities
	if s.FlowControl == switchagent.FlowCBFC {
		lossless = s.CBFC.Priorities
	}
	if lossless&w.data() == 0 || len(w.only) > 0 {
		return
	}
	every, free, paths := w.trips()
	d := plan.DependenciesOf(plan.Routes(), free)
	for _, path := range paths {
		d.AddPath(path)
	}
	w.cycle(d, "")
	for _, state := range w.reroutes() {
		routes := plan.RoutesOver(func(id topologies.PortID) bool { return !state.down[plan.Ports[id].Link] })
		w.cycle(plan.DependenciesOf(&routes, every), fmt.Sprintf(" from %v on", state.at))
	}
}

// cycle warns of a cycle if there is one.
func (w *warner) cycle(d *topologies.Dependencies, when string) {
	cycle := d.Cycle()
	if cycle == nil {
		return
	}
	names := make([]string, len(cycle))
	for i, id := range cycle {
		names[i] = PortLabel(w.s.Topology, id)
	}
	remedy := ""
	if w.s.Switch.FlowControl == switchagent.FlowPFC {
		remedy = "; switch.pfc.watchdog ends a deadlock at the price of what it drops"
	}
	w.warn("the routes%s can close a cycle of buffers: %s. Each of these queues can wait for the next, and the last for the first, which is a "+
		"deadlock. Routes that never lead down and up again have no cycle%s", when, strings.Join(names, " > "), remedy)
}

// trips are the pairs of interfaces of which one may send to the other, those of them that go by any shortest path, and
// the paths of the others. In a live fabric anybody may send to anybody.
func (w *warner) trips() (every, free [][2]int, paths [][]topologies.PortID) {
	plan := w.s.Topology
	if w.live {
		routes := plan.Routes()
		first := map[int32]int{} // an interface of each leaf, and of its last one
		for h, leaf := range routes.Leaf {
			if _, found := first[leaf]; !found {
				first[leaf] = h
			}
		}
		for _, a := range first {
			for _, b := range first {
				every = append(every, [2]int{a, b})
			}
		}
		slices.SortFunc(every, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
		return every, every, nil
	}
	back := HostSettings(w.s, w.needs).ACKsWithData
	all, some := map[[2]int]bool{}, map[[2]int]bool{}
	add := func(seen map[[2]int]bool, to *[][2]int, trip [2]int) {
		if !seen[trip] {
			seen[trip] = true
			*to = append(*to, trip)
		}
	}
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		trip := [2]int{plan.Interface(f.Source, f.Pair.From), plan.Interface(f.Destination, f.Pair.To)}
		add(all, &every, trip)
		if back {
			answers := [2]int{trip[1], trip[0]}
			add(all, &every, answers)
			add(some, &free, answers)
		}
		if via := f.Extra().Via; len(via) > 0 {
			paths = append(paths, plan.PathVia(f.Source, f.Destination, via, f.Pair)[1:])
		} else {
			add(some, &free, trip)
		}
	}
	return every, free, paths
}

// linkState is which links are down when routes follow, by link.
type linkState struct {
	at   vtime.Time
	down map[int]bool
}

// reroutes are the first states of the links that routes follow, each once.
func (w *warner) reroutes() (states []linkState) {
	plan := w.s.Topology
	type change struct {
		at   vtime.Time
		link int // negative: routes follow
		up   bool
	}
	var changes []change
	for i := range w.s.Faults {
		f := &w.s.Faults[i]
		if f.Kind != settings.FaultDown {
			continue
		}
		for n, at := 1, f.At; at <= w.s.Duration; n, at = n+1, at+f.Every {
			note := func(at vtime.Time, up bool) {
				for _, id := range f.Ports {
					changes = append(changes, change{at, plan.Ports[id].Link, up})
				}
				if f.Reroute != vtime.Never {
					changes = append(changes, change{at: at + f.Reroute, link: -1})
				}
			}
			note(at, f.Up)
			if f.For > 0 {
				note(at+f.For, true)
			}
			if f.Every == 0 || n == f.Times || n == mostReroutes {
				break
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return int(min(max(a.at-b.at, -1), 1)) })
	down := map[int]bool{}
	seen := map[string]bool{fmt.Sprint(down): true}
	for _, c := range changes {
		if c.link >= 0 {
			if delete(down, c.link); !c.up {
				down[c.link] = true
			}
			continue
		}
		if key := fmt.Sprint(down); !seen[key] && len(states) < mostReroutes { // Sprint has a map's keys in their order
			seen[key] = true
			states = append(states, linkState{c.at, maps.Clone(down)})
		}
	}
	return states
}

// data are the priorities of flows' data; in a live fabric the hosts'.
func (w *warner) data() uint8 {
	if w.live {
		return 1 << w.s.Host.DataPriority
	}
	return w.s.DataPriorities()
}

// used are the priorities that a run's packets have.
func (w *warner) used() (set uint8) {
	host := HostSettings(w.s, w.needs)
	set = w.data()
	if !host.ACKsWithData {
		set |= 1 << host.ControlPriority
	}
	if host.Notify != hostagent.NotifyNone {
		set |= 1 << host.ControlPriority
	}
	if w.needs.CNM {
		set |= 1 << cnmPriority
	}
	return set
}

// cnmPriority is that of CNMs.
const cnmPriority = 7

// carries says what the run's packets are and which priorities they have.
func (w *warner) carries() string {
	host := HostSettings(w.s, w.needs)
	data := fmt.Sprintf("priority %d", host.DataPriority)
	if set := w.data(); set&(set-1) != 0 || set != 1<<host.DataPriority {
		data = fmt.Sprintf("priorities %v", keys.PriorityList(set))
	}
	text := fmt.Sprintf("data has %s, ACK, NAK and CNP %d", data, host.ControlPriority)
	if host.ACKsWithData {
		text = fmt.Sprintf("data, ACK and NAK have %s", data)
		if host.Notify != hostagent.NotifyNone {
			text += fmt.Sprintf(", CNP %d", host.ControlPriority)
		}
	}
	if w.needs.CNM {
		text += fmt.Sprintf(", CNMs %d", cnmPriority)
	}
	return text
}

// priorities warns of flow control and marking where nothing goes.
func (w *warner) priorities() {
	s := &w.s.Switch
	name, key, set := "PFC is", "pfc.priorities", s.PFC.Priorities
	if s.FlowControl == switchagent.FlowCBFC {
		name, key, set = "credits are", "cbfc.priorities", s.CBFC.Priorities
	}
	data := w.data()
	if idle := set &^ w.used(); idle != 0 {
		why := ""
		if set&data == 0 {
			why = ": data is lossy"
		}
		w.warn("%s on priorities %v, which carry nothing: %s%s; switch.%s is what to change",
			name, keys.PriorityList(idle), w.carries(), why, key)
	}
	if e := &s.ECN; e.Mode != switchagent.ECNOff && (w.needs.ECN || w.needs.PCN) && e.Priorities&data == 0 {
		w.warn("ECN marks priorities %v, and %s: no packet of a flow is marked; switch.ecn.priorities is what to change",
			keys.PriorityList(e.Priorities), w.carries())
	}
}

// unmarked warns of priorities that programs on a live fabric may choose for RDMA, and in which no congestion control
// hears of a queue.
func (w *warner) unmarked() {
	e := &w.s.Switch.ECN
	chosen := w.lossless() | 1<<w.s.Host.DataPriority
	if unmarked := chosen &^ e.Priorities; e.Mode != switchagent.ECNOff && (w.needs.ECN || w.needs.PCN) && unmarked != 0 {
		w.warn("ECN marks priorities %v, and RDMA may have %v too, in which %s is told of no congestion; switch.ecn.priorities is what to change",
			keys.PriorityList(e.Priorities), keys.PriorityList(unmarked), w.spec.Name)
	}
}

// balancing warns of keys of load balancing that its mode has no use for, or the topology.
func (w *warner) balancing() {
	if several, uneven := w.choices(); !several {
		if w.s.Switch.Balancing != switchagent.Default().Balancing {
			w.warn("switch.load_balancing has no effect: no switch has several equal-cost ports")
		}
		if w.s.Host.Entropy != hostagent.EntropyFlow {
			w.warn("host.entropy %v has no effect: no switch has several equal-cost ports", w.s.Host.Entropy)
		}
		if w.s.Topology.Weighted() {
			w.warn("the topology's weights of links have no effect: no switch has several equal-cost ports")
		}
		return
	} else if w.s.Topology.Weighted() && !uneven {
		w.warn("the topology's weights of links have no effect: no two links of equal cost have different ones")
	}
	if e := w.s.Host.Entropy; e != hostagent.EntropyFlow {
		switch lb := &w.s.Switch.Balancing; {
		case lb.Mode != switchagent.BalanceECMP:
			w.warn("host.entropy %v has no effect: switches choose by load_balancing.mode %v, and not by a hash", e, lb.Mode)
		case lb.Fields != switchagent.HashFiveTuple && lb.Fields != switchagent.HashPorts:
			w.warn("host.entropy %v has no effect: switches hash %v only, and not the source port", e, lb.Fields)
		}
	}
	b, usual := &w.s.Switch.Balancing, switchagent.Default().Balancing
	idle := func(key, of string, changed bool) {
		if changed {
			w.warn("switch.load_balancing.%s has no effect: it is of %s, and the mode is %v", key, of, b.Mode)
		}
	}
	if b.Mode != switchagent.BalanceECMP {
		idle("seed", "ecmp", b.Seed != usual.Seed)
		idle("fields", "ecmp", b.Fields != usual.Fields)
	}
	if !b.Flowlets() {
		idle("gap", "flowlet, and adaptive by the flowlet", b.Gap != usual.Gap)
	}
	if b.Mode != switchagent.BalanceSpray {
		idle("order", "spray", b.RoundRobin)
	}
	if b.Mode != switchagent.BalanceAdaptive {
		idle("by", "adaptive", b.ByFlowlet)
	}
}

// choices says whether any switch has several equal-cost ports, and whether links' weights prefer any of them.
func (w *warner) choices() (several, uneven bool) {
	for _, ports := range w.s.Topology.Routes().Groups {
		distinct := len(slices.Compact(slices.Sorted(slices.Values(ports))))
		several = several || distinct > 1
		uneven = uneven || distinct > 1 && distinct < len(ports)
	}
	return several, uneven
}

// mostPolarised bounds the flows whose paths polarisation looks at.
const mostPolarised = 20_000

// polarisation warns of switches that choose among far fewer of their equal-cost ports than a hash of their flows alone
// would: the switches before them have chosen those flows by the same hash, or what is hashed is the same of all.
func (w *warner) polarisation() {
	plan, b := w.s.Topology, &w.s.Switch.Balancing
	if b.Mode != switchagent.BalanceECMP || plan.Balancing.Moving || !plan.Balancing.OneSeed &&
		plan.Balancing.Fields == 0 {
		return
	}
	type choice struct{ sw, group int32 }
	type taken struct {
		flows int
		again bool // a switch before has chosen among ports for them by the same hash
		ports map[topologies.PortID]bool
	}
	routes, portsOf := plan.Routes(), w.s.PortsOf(w.s.Seed)
	choices := map[choice]*taken{}
	for i := range w.s.Flows[:min(len(w.s.Flows), mostPolarised)] {
		f := &w.s.Flows[i]
		ports, err := portsOf(i)
		if err != nil {
			return // Check says so
		}
		leaf := int(routes.Leaf[plan.Ports[plan.Nodes[f.Destination].Ports[f.Pair.To]].Interface])
		chosen := false
		for _, id := range paths.Forward(plan, f.Source, f.Destination, ports)[1:] {
			sw := plan.Nodes[plan.Ports[id].Node].Index
			group := routes.ToLeaf[sw*routes.Leaves+leaf]
			if group == topologies.AtLeaf || len(routes.Groups[group]) < 2 {
				continue
			}
			c := choices[choice{int32(sw), group}]
			if c == nil {
				c = &taken{ports: map[topologies.PortID]bool{}}
				choices[choice{int32(sw), group}] = c
			}
			c.flows++
			c.ports[id] = true
			c.again, chosen = c.again || chosen && plan.Balancing.OneSeed, true
		}
	}
	keys := slices.SortedFunc(maps.Keys(choices), func(a, b choice) int { return cmp.Or(cmp.Compare(a.sw, b.sw), cmp.Compare(a.group, b.group)) })
	byTier := map[int][]choice{}
	for _, key := range keys {
		tier := plan.Nodes[plan.Switch[key.sw]].Tier
		byTier[tier] = append(byTier[tier], key)
	}
	var names []string
	var example string
	for _, tier := range slices.Sorted(maps.Keys(byTier)) {
		var all, several []float64
		// whether each takes one port for flows that the same hash has dealt out before, and how often that would be, a
		// logarithm
		one, product := true, 0.0
		for _, key := range byTier[tier] {
			c := choices[key]
			all = append(all, chance(len(routes.Groups[key.group]), len(c.ports), c.flows))
			if c.flows > 1 {
				several = append(several, all[len(all)-1])
				one = one && c.again && len(c.ports) == 1
				product += all[len(all)-1]
			}
		}
		if together(several) >= 1e-9 && !(one && product < math.Log(1e-3)) {
			continue
		}
		worst := slices.Index(all, slices.Min(all))
		if names == nil {
			key := byTier[tier][worst]
			c := choices[key]
			example = fmt.Sprintf("%s has %d equal-cost ports for %d flows, which take %d of them",
				plan.Nodes[plan.Switch[key.sw]].Name, len(routes.Groups[key.group]), c.flows, len(c.ports))
		}
		for i, key := range byTier[tier] {
			if name := plan.Nodes[plan.Switch[key.sw]].Name; all[i] < 0 && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if names == nil {
		return
	}
	why, remedy := fmt.Sprintf("they hash %v only", b.Fields), "load_balancing.fields: 5-tuple"
	if plan.Balancing.OneSeed {
		why, remedy = "the switches before them have chosen these flows by the same hash, of one seed", "load_balancing.seed: own"
	}
	w.warn("hashes are polarised at %s: %s; %s; switch.%s is what to change", Few(names), example, why, remedy)
}

// chance bounds the logarithm of the probability that so many flows take no more than used of n ports, each at random.
func chance(n, used, flows int) float64 {
	ways := 0.0 // to pick the ports, as a logarithm
	for i := range used {
		ways += math.Log(float64(n-i) / float64(i+1))
	}
	return min(0, ways+float64(flows)*math.Log(float64(used)/float64(n)))
}

// together is how often events with these logarithms of probabilities come together, or rarer ones (Fisher's method):
// the logarithm of a probability that is uniform has an exponential distribution, and the sum of as many Erlang's.
func together(logarithms []float64) float64 {
	sum := 0.0
	for _, x := range logarithms {
		sum -= x
	}
	if sum == 0 {
		return 1
	}
	p := 0.0
	for i := range logarithms {
		of, _ := math.Lgamma(float64(i + 1))
		p += math.Exp(float64(i)*math.Log(sum) - sum - of)
	}
	return p
}

// scheduler warns of weights that change nothing: those of priorities that carry nothing, or of one alone, that is
// served when it would be served anyway.
func (w *warner) scheduler() {
	used, weighted := w.used(), uint8(0)
	for p, quantum := range w.s.Switch.Scheduler.Quantum {
		if quantum > 0 {
			weighted |= 1 << p
		}
	}
	shared := weighted & used
	// One alone: strict priorities are served before it, those above it as before, and those below it only now.
	strict := used &^ weighted
	if weighted == 0 || bits.OnesCount8(shared) > 1 || shared != 0 && strict&(shared-1) != 0 {
		return
	}
	why := "none of them carries anything"
	if shared != 0 {
		why = fmt.Sprintf("of them only %v carries packets, and so shares with nobody", keys.PriorityList(shared))
	}
	w.warn("scheduler.dwrr weighs priorities %v, which has no effect: %s (%s)",
		keys.PriorityList(weighted), why, w.carries())
}

// telemetry warns where HPCC's counters go round before the next ACK at its least rate: it would hear nothing any more.
func (w *warner) telemetry() {
	const leastRate = "min_rate" // a controller from a file, or another module, need not have it
	if !w.spec.Needs.INT || len(w.s.Flows) == 0 || !slices.ContainsFunc(w.spec.Parameters,
		func(p cc.Parameter) bool { return p.Name == leastRate }) {
		return
	}
	plan := w.s.Topology
	fastest := units.Rate(0)
	for i := range plan.Links {
		fastest = max(fastest, plan.Links[i].Rate)
	}
	limit := min(wire.INTTimeWrap, fastest.TimeFor(wire.INTTxWrap)) / 2
	env := Environment(plan, &w.s.Flows[0], w.spec.Needs)
	settings, err := w.s.Resolver().Resolve(w.spec, w.spec.Constants(w.s.ControllerSettings), env)
	if err != nil {
		return // Check says so
	}
	least := units.Rate(settings.Rate(leastRate))
	every := HostSettings(w.s, w.spec.Needs).AckEvery
	if gap := least.TimeFor(env.LineMTU) * vtime.Time(every); gap >= limit {
		w.warn("at its least rate, %v, %s gets an ACK every %v (%d packets of %d B of line), and a port of %v counts what it sends in telemetry "+
			"for %v before it may be taken for less: flows would stay at that rate; a greater cc.%s.min_rate, or a lower host.ack_every",
			least, w.spec.Name, gap, every, env.LineMTU, fastest, limit, w.spec.Name)
	}
}

// weights warns of weights among no others.
func (w *warner) weights() {
	type class struct {
		host           topologies.NodeID
		port, priority uint8
	}
	of := func(f *Flow) class {
		c := class{f.Source, f.Pair.From, w.s.Host.DataPriority}
		if own := f.own(); own.Priority > 0 {
			c.priority = own.Priority - 1
		}
		return c
	}
	alone := map[class]int{} // 1 + the flow of weight that is alone in a class; -1: there are others
	for i := range w.s.Flows {
		if own := w.s.Flows[i].own(); own.Weight > 0 && alone[of(&w.s.Flows[i])] == 0 {
			alone[of(&w.s.Flows[i])] = 1 + i
		}
	}
	if len(alone) == 0 {
		return
	}
	for i := range w.s.Flows {
		if c := of(&w.s.Flows[i]); alone[c] > 0 && alone[c] != 1+i {
			alone[c] = -1
		}
	}
	for _, i := range slices.Sorted(maps.Values(alone)) {
		if i > 0 {
			f := &w.s.Flows[i-1]
			w.warn("the weight of flow %d (%s) has no effect: no other flow of %s has its priority; leave weight out", i-1,
				f.Tag, w.s.Topology.Nodes[f.Source].Name)
		}
	}
}

// periods warns of flows whose first time on lasts as long as the run may.
func (w *warner) periods() {
	end := w.s.Duration
	if w.s.Drain {
		end += w.s.DrainLimit
	}
	for i := range w.s.Flows {
		if f := &w.s.Flows[i]; f.own().Off > 0 && f.Start+f.own().On >= end {
			w.warn("on_off of flows %s has no effect: from their start they are on for %v, and the run has ended by then, at %v",
				f.Tag, f.own().On, end)
		}
	}
}

// qps warns of QPs that nothing is left for: no flow of the tag has as many packets, or messages.
func (w *warner) qps() {
	type kind struct {
		tag string
		of  QPs
	}
	var all []kind
	longest := map[kind]units.Bytes{} // of the flows' sizes; 0: one is unbounded
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		k := kind{f.Tag, f.own().QPs}
		if k.of.Count <= 1 {
			continue
		}
		size, seen := longest[k]
		if !seen {
			all = append(all, k)
		}
		if seen && size == 0 || f.Size == 0 {
			longest[k] = 0
		} else {
			longest[k] = max(size, f.Size)
		}
	}
	for _, k := range all {
		used := len(k.of.Split(longest[k], w.s.Topology.MTU))
		if used == k.of.Count {
			continue
		}
		unit := fmt.Sprintf("%d packets of %dB", used, w.s.Topology.MTU)
		if k.of.Message > 0 {
			unit = fmt.Sprintf("%d messages of %v", used, k.of.Message)
		}
		if used == 1 {
			unit = strings.Replace(unit, "s of ", " of ", 1)
		}
		w.warn("flows %s have %d QPs, and the longest is %v, %s: the others carry nothing; qps %d is enough", k.tag,
			k.of.Count, longest[k], unit, used)
	}
}

// grants warns of a rate to begin with where receivers' grants are all that a flow goes by.
func (w *warner) grants() {
	for i := range w.s.Flows {
		f := &w.s.Flows[i]
		spec := w.spec
		if own := f.own().CC; own != "" {
			var err error
			if spec, err = w.s.lookup(own); err != nil {
				continue // Check says so
			}
		}
		if spec.Needs.Grants && f.Extra().StartRate > 0 {
			w.warn("start_rate has no effect under %s, whose flows send what their receivers grant: leave it out, or set cc.%s.initial_credit", spec.Name, spec.Name)
		}
	}
}

// constants warns of constants of the flows' congestion controls that have been set and have no effect.
func (w *warner) constants() {
	seen := []string{}
	for i := range w.s.Flows {
		spec := w.spec
		if own := w.s.Flows[i].own().CC; own != "" {
			var err error
			if spec, err = w.s.lookup(own); err != nil {
				continue // Check says so
			}
		}
		if slices.Contains(seen, spec.Name) {
			continue
		}
		seen = append(seen, spec.Name)
		byReason := map[string][]string{}
		for _, name := range slices.Sorted(maps.Keys(w.s.ControllerSettings[spec.Name])) {
			if why := w.s.IdleConstant(spec, name); why != "" {
				byReason[why] = append(byReason[why], "cc."+spec.Name+"."+name)
			}
		}
		for why, keys := range byReason { // a control has one reason
			have := "has"
			if len(keys) > 1 {
				have = "have"
			}
			w.warn("%s %s no effect: %s", strings.Join(keys, ", "), have, why)
		}
	}
}

// IdleConstant says why a constant of a congestion control has no effect in the scenario; empty: it has one.
func (s *Scenario) IdleConstant(spec *cc.Spec, name string) string {
	if spec.Idle == nil || len(s.Flows) == 0 {
		return ""
	}
	set, err := s.Resolver().Resolve(spec, spec.Constants(s.ControllerSettings),
		Environment(s.Topology, &s.Flows[0], spec.Needs))
	if err != nil {
		return "" // Check says so
	}
	if names, why := spec.Idle(&set); slices.Contains(names, name) {
		return why
	}
	return ""
}

// controllers warns of a congestion control that no flow is under.
func (w *warner) controllers() {
	for i := range w.s.Flows {
		if own := w.s.Flows[i].own(); own.CC == "" {
			return
		}
	}
	if len(w.s.Flows) > 0 {
		w.warn("no flow is under %s: each has a congestion control of its own (cc), so that controllers and --cc decide nothing but what runs are called", w.spec.Name)
	}
}

// idle are the settings of switches and hosts that differ from their defaults and cannot act, and why.
func (w *warner) idle() map[string]string {
	why := map[string]string{}
	usual := switchagent.Default()
	data := w.s.DataPriorities()
	usual.PFC.Priorities, usual.CBFC.Priorities, usual.ECN.Priorities = data, data, data
	usual.PFC.XON = w.s.Switch.PFC.XON // which follows XOFF
	for _, row := range settings.Switch(&w.s.Switch).Differ(settings.Switch(&usual)) {
		if text := w.idleOfSwitch(row.Name); text != "" {
			why["switch."+row.Name] = text
		}
	}
	if p := &w.s.Switch.PFC; p.XON != switchagent.Auto &&
		(p.XOFF == switchagent.Auto || p.XON != max(0, p.XOFF-p.XOFFToXON)) && w.s.Switch.FlowControl == switchagent.FlowPFC {
		switch { // XON has been given
		case p.Alpha > 0:
			why["switch.pfc.xon"] = "with switch.pfc.alpha RESUME is sent switch.pfc.xoff_to_xon below what XOFF is then"
		case p.XOFFToXON != usual.PFC.XOFFToXON:
			why["switch.pfc.xoff_to_xon"] = "switch.pfc.xon says when RESUME is sent"
		}
	}
	hosts := settings.DefaultHost()
	for _, row := range settings.Host(&w.s.Host).Differ(settings.Host(&hosts)) {
		if text := w.idleOfHost(row.Name); text != "" {
			why["host."+row.Name] = text
		}
	}
	return why
}

// idleOfSwitch says why a setting of switches cannot act; empty: it can.
func (w *warner) idleOfSwitch(key string) string {
	s := &w.s.Switch
	group, _, _ := strings.Cut(key, ".")
	switch {
	case group == "cbfc" && s.FlowControl != switchagent.FlowCBFC:
		return "switch.flow_control is pfc"
	case group == "pfc" && s.FlowControl != switchagent.FlowPFC:
		return "switch.flow_control is cbfc"
	case key == "pfc.per_rate" && s.PFC.Alpha == 0 && s.PFC.Headroom == switchagent.Auto:
		return "it scales switch.pfc.alpha and switch.pfc.headroom, and neither is set"
	case key == "ecn.per_rate" && s.ECN.KMin == switchagent.Auto && s.ECN.KMax == switchagent.Auto:
		return "it scales switch.ecn.kmin and switch.ecn.kmax, and auto goes by each port's rate anyway"
	case group == "cnm" && !w.needs.CNM:
		return "no switch detects bursts, which is DCON's"
	case group == "tcd" && !ternary(w.s, w.needs):
		return "switch.detector is threshold, and no congestion control has TCD's"
	case key == "detector" && w.needs.PCN:
		return "PCN has its own"
	case key == "tcd.epsilon" && (s.TCD.TMax != 0 || s.FlowControl != switchagent.FlowPFC):
		return "it is of the formula that switch.tcd.t_max: auto stands for under PFC"
	case key == "tcd.credit_periods" && (s.TCD.TMax != 0 || s.FlowControl != switchagent.FlowCBFC):
		return "it is what switch.tcd.t_max: auto stands for under credits"
	case key == "trim" && w.data()&^w.lossless() == 0:
		return "no data is lossy: switch.pfc.priorities is what to change"
	case key == "trim_victim" && !s.Trim:
		return "switch.trim is false"
	case group == "ecn":
		return w.idleOfECN(key)
	}
	return ""
}

// lossless are the priorities that flow control is on.
func (w *warner) lossless() uint8 {
	if w.s.Switch.FlowControl == switchagent.FlowCBFC {
		return w.s.Switch.CBFC.Priorities
	}
	return w.s.Switch.PFC.Priorities
}

// idleOfECN says why a setting of marks cannot act; empty: it can.
func (w *warner) idleOfECN(key string) string {
	set, own := &w.s.Switch.ECN, SwitchSettings(w.s, w.needs)[0]
	tcd := own.Detector == switchagent.DetectorTCD
	red := own.ECN.Mode == switchagent.ECNRED
	if tcd {
		red = own.TCD.RED
	}
	switch {
	case key == "ecn.mode" && set.Mode == switchagent.ECNStep && w.s.Switch.Detector == switchagent.DetectorTCD &&
		!w.needs.PCN:
		return "switch.detector is tcd, which marks by switch.tcd.mark"
	case key == "ecn.mode", key == "ecn.priorities", key == "ecn.kmin" && set.KMin == set.KMax:
		return ""
	case !tcd && own.ECN.Mode == switchagent.ECNOff: // as somebody has said, or for those that --cc compares with
		return ""
	case !tcd && own.ECN.Mode == switchagent.ECNPCN:
		return "PCN marks by what waited, and not by the queue's length"
	case key == "ecn.at" && tcd:
		return "TCD marks what leaves"
	case tcd && !red:
		return "switch.tcd.mark is step: TCD marks by switch.tcd.q_len"
	case red || key == "ecn.per_rate" || key == "ecn.at" || key == "ecn.ports":
		return ""
	// in its place switch.cnm.ecn_threshold counts; these are the others'
	case set.Mode == switchagent.ECNRED && w.needs.CNM:
		return ""
	case set.Mode == switchagent.ECNRED:
		return "the congestion control has switches mark by a step of 30KB for each 10Gbps; switch.ecn.mode: step has them mark above switch.ecn.kmax"
	case key == "ecn.kmin" || key == "ecn.pmax":
		return "switch.ecn.mode is step, which goes by switch.ecn.kmax alone"
	}
	return ""
}

// idleOfHost says why a setting of hosts cannot act; empty: it can.
func (w *warner) idleOfHost(key string) string {
	h := HostSettings(w.s, w.needs)
	switch {
	case key == "selective.rto_low_packets" && h.RetransmitTimeout == 0:
		return "there is no timeout; host.retransmit_timeout is what to set"
	case key == "coalesce_acks" && w.needs.ACK:
		return "a congestion control works by ACKs; host.ack_every is for all"
	case key == "cnp_interval" && h.Notify == hostagent.NotifyNone:
		return "no congestion control has receivers send CNPs"
	case key == "ack_when_paused" && w.s.Switch.FlowControl != switchagent.FlowPFC:
		return "switch.flow_control is cbfc"
	case key == "ack_when_paused" && !h.ACKsWithData && w.lossless()&(1<<h.ControlPriority) == 0:
		return fmt.Sprintf("PFC is not on priority %d, which ACK, NAK and CNP have", h.ControlPriority)
	}
	return ""
}

// programs warns of what a topology says for programs, which a run has not.
func (w *warner) programs() {
	plan := w.s.Topology
	var nodes, keys, verbs, links []string
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		own := n.Programs.Keys()
		if len(own) > 0 {
			nodes = append(nodes, n.Name)
		}
		for _, key := range own {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if len(nodes) > 0 {
		w.warn("%s of %s: no effect in a run, which has no programs; pausenet up deploys what programs on nodes find",
			strings.Join(keys, ", "), Few(nodes))
	}
	for _, c := range plan.Commands {
		verbs = append(verbs, c.Name)
	}
	if len(verbs) > 0 {
		w.warn("commands %s: no effect in a run, which has no shell; they are verbs of pausenet up", Few(verbs))
	}
	if plan.LearnGateway {
		w.warn("l2: learn: no effect in a run, whose hosts send no ARP and no neighbour discovery")
	}
	pfc := w.s.Switch.FlowControl == switchagent.FlowPFC && w.s.Switch.PFC.Priorities != 0
	for i := range plan.Links {
		// headroom counts a longer one
		if a := &plan.Ports[plan.Links[i].A]; a.MTU != plan.UsualInterfaceMTU() &&
			(!pfc || a.MTU < plan.UsualInterfaceMTU()) {
			links = append(links, PortLabel(plan, a.ID))
		}
	}
	if len(links) > 0 {
		w.warn("interface_mtu of %s: no effect in a run, which has no programs; flows' packets go by topology.mtu, %d",
			Few(links), plan.MTU)
	}
}

package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Unbounded replaces the size of a flow that sends until the run ends.
const Unbounded = "unbounded"

func (d *decoder) flows(v *yamlspec.Value) {
	for _, item := range v.Mappings("a flow must be a mapping such as {from: H0, to: R0, size: 1MB}") {
		d.flow(item)
	}
}

// flowEntry represents one entry of flows: count flows from each sender to each receiver, interval apart.
type flowEntry struct {
	Flow
	extras   FlowExtras
	count    int
	interval vtime.Time
}

// newFlowEntry returns an entry with defaults. Its size is above 0, so that an invalid size does not make the flow
// endless.
func newFlowEntry() *flowEntry { return &flowEntry{Flow: Flow{Tag: DefaultTag, Size: 1}, count: 1} }

func (e *flowEntry) keys() keys.Table {
	return append(keys.Table{
		keys.Names("from").Need().Means("senders: hosts, or " +
			"[interfaces](topologies.md#hosts-of-several-ports) of hosts with several ports: `h0.2`"),
		keys.Names("to").Need().Means("receivers, as `from`; no host sends to itself"),
		keys.Size("size", &e.Size).Need().Or(Unbounded, 0).
			NotZero("a flow sends at least 1B; write " + Unbounded + " for a flow that sends until the run ends").Means(
			"payload bytes; `unbounded`: sends until the run ends"),
		tagKey(&e.Tag),
		keys.Time("start", &e.Start).Means("start time"),
		keys.Time("jitter", &e.extras.Jitter).Means(
			"each flow starts later by a random time below this, chosen by the seed"),
		keys.Integer("count", &e.count).Between("1", strconv.Itoa(mostNumbers)).Means(
			"flows from each sender to each receiver; needs `interval`"),
		keys.Time("interval", &e.interval).Usually("none").Means("time between their starts; `0s` starts all at once"),
		keys.Names("via").Usually("ECMP's choice").Means(
			"switches that the path must include; they must lie on a shortest path: [below](#routing)"),
		keys.Rate("start_rate", &e.extras.StartRate).Usually("the controller's: line rate").Means(
			"start the flow as if it had converged to this rate"),
		keys.Rate("constant_rate", &e.extras.ConstantRate).Usually("none").Means(
			"pace the flow at this rate, without congestion control"),
		unfinishedKey(&e.ExpectUnfinished),
	}, e.extras.Own.Keys()...)
}

// tagKey returns the key of a flow's tag.
func tagKey(tag *string) keys.Key {
	return keys.Matching("tag", tag, tagName, "use only letters, digits and _ . + / -").Means(
		"name by which results are grouped")
}

func unfinishedKey(expected *bool) keys.Key {
	return keys.Flag("expect_unfinished", expected).Means(
		"`true`: the flow may outlast the run, and the verdict does not warn of it")
}

// Keys returns the keys that both a flow and a workload may have.
func (o *Own) Keys() keys.Table {
	return keys.Table{
		keys.Text(ownController, &o.CC).Usually("the run's").Means(
			"congestion control of this flow, built-in or from a file"),
		keys.OwnPriority("priority", &o.Priority).Usually("host.data_priority").Means("priority of its data; see below"),
		keys.Integer("weight", &o.Weight).Between("1", strconv.Itoa(mostWeight)).Usually("1").Means(
			"packets that it may send per turn at the NIC; see below"),
		keys.Time("stop", &o.Stop).Usually("none").
			NotZero("the flow would never start; remove stop to send the whole flow").Means(
			"time after which the flow sends nothing new; see below"),
		keys.GroupOf("on_off", &keys.Group{Example: "{on: 10us, off: 40us}"}).Usually("none").Means(
			"`{on: 10us, off: 40us}`: from its start, the flow repeatedly sends for 10 us and is silent for 40 us"),
		keys.Time("on_off.on", &o.On).Need().NotZero(alwaysOn).Means("how long it sends"),
		keys.Time("on_off.off", &o.Off).Need().NotZero(alwaysOn).Means("how long it is silent then"),
		keys.GroupOf("qps", &keys.Group{Short: "count"}).Usually("1").Means(
			"queue pairs that carry the flow: a number, or `{count: 4, message: 1MB, via: [spine0, spine1]}`; see below"),
		keys.Integer("qps.count", &o.QPs.Count).Need().Between("1", strconv.Itoa(MostQPs)).Means(
			"queue pairs, each with its own UDP source port"),
		keys.Size("qps.message", &o.QPs.Message).Usually("equal shares of the packets").NotZero(
			"give the size of the messages that the QPs send in turn, or remove message to split the packets evenly").Means(
			"the QPs take messages of this size in turn"),
		keys.Names("qps.via").Usually("ECMP's choice").Means(
			"switches that their paths lead through, one each in turn; only of a flow, not of a workload"),
	}
}

// alwaysOn completes the error about a period of 0.
const alwaysOn = "remove on_off for a flow that sends all the time"

// flow reads one entry of flows.
func (d *decoder) flow(v *yamlspec.Value) {
	e := newFlowEntry()
	m := e.keys().Decode(v)
	senders, receivers := d.ends(m.Get("from")), d.ends(m.Get("to"))
	d.checkTimes(v, m, e)
	vias := d.vias(m, &e.extras)
	d.own(m, &e.extras.Own)
	d.checkRates(m, &e.extras)
	if n := len(d.s.Flows) + len(senders)*len(receivers)*e.count; n > d.s.mostFlows() {
		v.Errorf("%s", d.s.tooMany(float64(n), FlowMemory))
		return
	}
	if d.s.Topology == nil || !d.areSwitches(slices.Concat(e.extras.Via, e.extras.QPVia), vias) {
		return
	}
	pairs := d.pairs(senders, receivers)
	if len(pairs) == 0 && len(senders) > 0 && len(receivers) > 0 {
		m.Get("to").Errorf("%s would send to itself: name another host in to", d.s.Topology.Nodes[senders[0].host].Name)
		return
	}
	for _, pair := range pairs {
		if !d.checkPath(m, pair, &e.extras) {
			return
		}
	}
	d.add(e, pairs)
}

// add adds the flows of an entry between pairs of ends, in chronological order.
func (d *decoder) add(e *flowEntry, pairs []Flow) {
	x := &e.extras
	if x.Jitter > 0 || len(x.Via) > 0 || len(x.QPVia) > 0 || x.StartRate > 0 || x.ConstantRate > 0 || x.Own != (Own{}) {
		e.Extras = x
	}
	for i := range e.count {
		for _, pair := range pairs {
			g := e.Flow
			g.Source, g.Destination, g.Pair, g.Named = pair.Source, pair.Destination, pair.Pair, pair.Named
			g.Start += vtime.Time(i) * e.interval
			if x.Jitter > 0 {
				own := *x
				own.listedStart = g.Start
				g.Extras = &own
			}
			d.s.Flows = append(d.s.Flows, g)
		}
	}
}

// checkTimes reports times of an entry that contradict each other.
func (d *decoder) checkTimes(v *yamlspec.Value, m *yamlspec.Mapping, e *flowEntry) {
	switch between := m.Get("interval"); {
	case between == nil && e.count > 1:
		m.Key("count").Errorf("count %d needs an interval between the starts, such as interval: 15us (0 starts "+
			"all flows at once)",
			e.count)
	case between != nil && m.Get("count") == nil:
		m.Key("interval").Errorf("interval has no effect without count")
	}
	if jitter := &e.extras.Jitter; *jitter >= d.s.Duration && *jitter > 0 && d.s.Duration > 0 {
		m.Get("jitter").Errorf("jitter %v must be less than the run's duration, %v", *jitter, d.s.Duration)
		*jitter = 0
	}
	first := e.Start + e.extras.Jitter
	d.checkStart(m, v, first, e.interval, e.count)
	last := first + e.interval*vtime.Time(e.count-1)
	if stop := e.extras.Stop; stop > 0 && stop <= last && (d.s.Duration == 0 || stop < d.s.Duration) {
		m.Get("stop").Errorf("stop %v must be later than the last start, %v", stop, last)
	}
}

// vias reads the switches on the paths of a flow and its QPs. It returns their positions in the file.
func (d *decoder) vias(m *yamlspec.Mapping, x *FlowExtras) (at []*yamlspec.Value) {
	x.Via, at = d.find(m.Get("via"))
	qps := m.Get("qps")
	if !qps.IsMapping() || !qps.Has("via") {
		return at
	}
	found, more := d.find(qps.At("via"))
	x.QPVia = found
	if n := x.QPs.Count; n > 1 && len(found) > n {
		qps.At("via").Errorf("via names %d switches for %d QPs, but each QP takes one: remove switches or raise count",
			len(found), n)
	}
	return append(at, more...)
}

// areSwitches reports the first node of a path that is a host.
func (d *decoder) areSwitches(path []topologies.NodeID, at []*yamlspec.Value) bool {
	for i, id := range path {
		if n := &d.s.Topology.Nodes[id]; n.Kind == topologies.Host {
			at[i].Errorf("%s is a host, and a path goes through switches: name a switch", n.Name)
			return false
		}
	}
	return true
}

// checkRates reports rates that the flow's congestion control, or its absence, ignores.
func (d *decoder) checkRates(m *yamlspec.Mapping, x *FlowExtras) {
	if x.CC != "" && x.ConstantRate > 0 {
		m.Get(ownController).Errorf("a flow of constant rate has no congestion control: remove cc or constant_rate")
	}
	if x.StartRate > 0 && x.ConstantRate > 0 {
		m.Key("constant_rate").Errorf("a flow of constant rate has no congestion control to start: remove " +
			"start_rate or constant_rate")
	}
}

// ownController names the key of the congestion control of a flow or workload.
const ownController = "cc"

// MostQPs limits the QPs of a flow, as NCCL's NCCL_IB_QPS_PER_CONNECTION does.
const MostQPs = 128

// mostWeight limits a flow's weight.
const mostWeight = 1000

// own checks and completes the settings of a flow or workload that override the run's.
func (d *decoder) own(m *yamlspec.Mapping, own *Own) {
	if own.QPs.Count <= 1 {
		if qps := m.Get("qps"); qps.IsMapping() && own.QPs.Count == 1 {
			qps.Mapping().Key("count").Errorf("a flow of one QP has nothing to split: remove qps or raise count")
		}
		own.QPs = QPs{}
	}
	if own.Weight == 1 {
		own.Weight = 0 // the default
	}
	if own.On == 0 || own.Off == 0 {
		own.On, own.Off = 0, 0 // one of them is invalid
	}
	if end := d.s.Duration; end > 0 && own.Stop >= end {
		m.Get("stop").Errorf("stop %v must be before the end of the run (duration %v)", own.Stop, end)
		own.Stop = 0
	}
	if own.CC != "" {
		name := own.CC
		own.CC = ""
		if spec := d.lookup(m.Get(ownController), name); spec != nil {
			own.CC = spec.Name
		}
	}
}

// end represents a host, or one of its interfaces.
type end struct {
	host  topologies.NodeID
	place uint8
	named bool // the scenario names the interface
}

// ends returns the hosts or interfaces ("h0.2") that v names, and reports other names.
func (d *decoder) ends(v *yamlspec.Value) (ends []end) {
	for _, n := range v.Names() {
		if d.nodes == nil {
			continue
		}
		if e, ok := d.end(n.Text, n.At); ok {
			ends = append(ends, e)
		}
	}
	return ends
}

// end returns the host or interface of a name.
func (d *decoder) end(name string, at *yamlspec.Value) (e end, ok bool) {
	id, known := d.nodes[name]
	if !known {
		host, place, err := d.s.Topology.End(name)
		if err != nil {
			at.Errorf("%v", err)
			return end{}, false
		}
		return end{host, place, true}, true
	}
	if n := &d.s.Topology.Nodes[id]; n.Kind != topologies.Host {
		at.Errorf("%s is a switch: flows run between hosts", n.Name)
		return end{}, false
	}
	return end{host: id}, true
}

// hosts returns the hosts among nodes, and reports other nodes.
func (d *decoder) hosts(nodes []topologies.NodeID, at []*yamlspec.Value) []topologies.NodeID {
	var hosts []topologies.NodeID
	for i, id := range nodes {
		if n := &d.s.Topology.Nodes[id]; n.Kind != topologies.Host {
			at[i].Errorf("%s is a switch: flows run between hosts", n.Name)
			continue
		}
		hosts = append(hosts, id)
	}
	return hosts
}

// between returns a flow between two ends.
func between(from, to end) (f Flow) {
	f = Flow{Source: from.host, Destination: to.host, Pair: topologies.Pair{From: from.place, To: to.place}}
	if from.named {
		f.Named |= topologies.NamedFrom
	}
	if to.named {
		f.Named |= topologies.NamedTo
	}
	return f
}

// pairs returns a flow from each sender to each receiver other than itself.
func (d *decoder) pairs(senders, receivers []end) (pairs []Flow) {
	for _, s := range senders {
		for _, r := range receivers {
			if s.host != r.host {
				pairs = append(pairs, between(s, r))
			}
		}
	}
	return pairs
}

// checkStart reports flows that would start after the run has ended.
func (d *decoder) checkStart(m *yamlspec.Mapping, v *yamlspec.Value, start, interval vtime.Time, count int) {
	end := d.s.Duration
	if end == 0 {
		return
	}
	at := m.Get("start")
	if at == nil {
		at = v
	}
	switch {
	case start >= end:
		at.Errorf("start %v must be before the end of the run (duration %v)", start, end)
	case count > 1 && interval > 0 && vtime.Time(count-1) > (end-1-start)/interval:
		m.Get("count").Errorf("the last of %d flows would start after the end of the run (duration %v): set "+
			"count to %d or less",
			count, end, (end-1-start)/interval+1)
	}
}

// checkPath reports rates above the sender's line rate, interfaces that no switches connect, and vias that no shortest
// path includes.
func (d *decoder) checkPath(m *yamlspec.Mapping, ends Flow, f *FlowExtras) bool {
	plan := d.s.Topology
	from, to := &plan.Nodes[ends.Source], &plan.Nodes[ends.Destination]
	pairs := plan.PairsVia(from.ID, to.ID, nil, ends.Pair, ends.Named)
	if len(pairs) == 0 {
		m.Get("to").Errorf("no switch connects %s and %s: name interfaces of one plane", ends.from(plan), ends.to(plan))
		return false
	}
	line := plan.Ports[from.Ports[pairs[0].From]].Rate
	for _, pair := range pairs {
		line = min(line, plan.Ports[from.Ports[pair.From]].Rate)
	}
	for _, given := range []struct {
		key  string
		rate units.Rate
	}{{"start_rate", f.StartRate}, {"constant_rate", f.ConstantRate}} {
		if given.rate > line {
			m.Get(given.key).Errorf("%v exceeds the line rate of %s, %v", given.rate, from.Name, line)
			return false
		}
	}
	for i, id := range f.QPVia {
		if via := append(slices.Clip(f.Via), id); len(plan.PairsVia(from.ID, to.ID, via, ends.Pair, ends.Named)) == 0 {
			names := m.Get("qps").At("via").Names()
			names[min(i, len(names)-1)].At.Errorf("no shortest path from %s to %s goes through %s; the shortest paths are %s",
				ends.from(plan), ends.to(plan), d.list(via), d.paths(from, to, pairs))
			return false
		}
	}
	if len(plan.PairsVia(from.ID, to.ID, f.Via, ends.Pair, ends.Named)) == 0 {
		m.Get("via").Errorf("no shortest path from %s to %s goes through %s; the shortest paths are %s",
			ends.from(plan), ends.to(plan), d.list(f.Via), d.paths(from, to, pairs))
		return false
	}
	return true
}

func (d *decoder) list(nodes []topologies.NodeID) string {
	names := d.s.Topology.NamesOf(nodes)
	return strings.Join(names, " and ")
}

// paths returns the shortest paths between two hosts by pairs of their interfaces, hop by hop: "L0, S0 or S1, L2".
func (d *decoder) paths(from, to *topologies.Node, pairs []topologies.Pair) string {
	const most = 6
	var of []string
	for _, pair := range pairs[:min(len(pairs), most)] {
		if path := d.pathsBy(from, to, pair); !slices.Contains(of, path) {
			of = append(of, path)
		}
	}
	return strings.Join(of, "; ")
}

func (d *decoder) pathsBy(from, to *topologies.Node, pair topologies.Pair) string {
	const most = 6
	plan := d.s.Topology
	var hops []string
	at := []topologies.NodeID{plan.PeerNode(from.Ports[pair.From]).ID}
	for len(at) > 0 && at[0] != to.ID {
		names, next := []string{}, []topologies.NodeID{}
		seen := map[topologies.NodeID]bool{}
		for _, id := range at {
			n := &plan.Nodes[id]
			names = append(names, n.Name)
			for _, port := range plan.NextHops(n.Index, plan.Interface(to.ID, pair.To)) {
				if peer := plan.PeerNode(port).ID; !seen[peer] {
					seen[peer] = true
					next = append(next, peer)
				}
			}
		}
		if len(names) > most {
			names = append(names[:most], fmt.Sprintf("%d more", len(names)-most))
		}
		hops = append(hops, strings.Join(names, " or "))
		at = next
	}
	return strings.Join(hops, ", ")
}

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// maxFlows bounds the flows of a scenario, by memory: a flow takes some 0.3 KB in a run. The experiments of the DCON
// paper's section 6.2 have 10 000.
const maxFlows = 4_000_000

// Unbounded is the size, as users write it, of a flow that sends until the run ends.
const Unbounded = "unbounded"

func (d *decoder) flows(v *yamlspec.Value) {
	for _, item := range v.Items() {
		if !item.IsMapping() {
			item.Errorf("a flow is a mapping such as {from: H0, to: R0, size: 1MB}")
			continue
		}
		d.flow(item)
	}
}

// flow reads one entry of flows. It stands for count flows from each sender to each receiver, interval apart.
func (d *decoder) flow(v *yamlspec.Value) {
	m := v.Mapping()
	f, extras := Flow{Tag: DefaultTag}, FlowExtras{}
	if tag := m.Get("tag"); tag.String(&f.Tag) && !tagName.MatchString(f.Tag) {
		tag.Errorf("tag %q: a tag is letters, digits and _ . + / -", f.Tag)
	}
	from, to := m.Need("from"), m.Need("to")
	senders, receivers := d.ends(from), d.ends(to)

	switch size := m.Need("size"); {
	case size.Raw() == Unbounded:
	case !size.Bytes(&f.Size):
		f.Size = 1 // this mistake is the size's: that the flow never ends would be another
	case f.Size == 0:
		f.Size = 1
		size.Errorf("size 0: a flow sends at least 1B; write %s for one that sends until the run ends", Unbounded)
	}
	m.Get("start").Time(&f.Start)
	count, interval := 1, vtime.Time(0)
	m.Get("count").Int(&count, 1, maxFlows)
	between := m.Get("interval")
	switch between.Time(&interval); {
	case between == nil && count > 1:
		m.Key("count").Errorf("count %d needs an interval between the starts, such as interval: 15us (0 to start all at once)", count)
	case between != nil && count == 1 && m.Get("count") == nil:
		m.Key("interval").Errorf("interval has no effect without a count")
	}
	if jitter := m.Get("jitter"); jitter.Time(&extras.Jitter) && extras.Jitter >= d.s.Duration && d.s.Duration > 0 {
		jitter.Errorf("jitter %v is not less than the run's duration, %v", extras.Jitter, d.s.Duration)
		extras.Jitter = 0
	}
	d.checkStart(m, v, f.Start+extras.Jitter, interval, count)

	via, viaAt := d.find(m.Get("via"))
	extras.Via = via
	m.Get("start_rate").Rate(&extras.StartRate)
	m.Get("constant_rate").Rate(&extras.ConstantRate)
	m.Get("expect_unfinished").Bool(&f.ExpectUnfinished)
	qps := d.own(m, &extras.Own)
	if at := m.Get("stop"); extras.Stop > 0 && extras.Stop <= f.Start+extras.Jitter+interval*vtime.Time(count-1) {
		at.Errorf("stop %v is not after the start, %v", extras.Stop, f.Start+extras.Jitter+interval*vtime.Time(count-1))
	}
	if extras.CC != "" && extras.ConstantRate > 0 {
		m.Get(ownController).Errorf("a flow of constant rate has no congestion control: drop cc or constant_rate")
	}
	if extras.StartRate > 0 && extras.ConstantRate > 0 {
		m.Key("constant_rate").Errorf("a flow of constant rate has no controller to preset: drop start_rate or constant_rate")
	}
	var qpViaAt []*yamlspec.Value
	if qps.IsMapping() && qps.Has("via") {
		extras.QPVia, qpViaAt = d.find(qps.At("via"))
		if n := extras.QPs.Count; n > 0 && len(extras.QPVia) > n {
			qps.At("via").Errorf("via names %d switches, and there are %d QPs, which take one each: leave some out, or have more QPs", len(extras.QPVia), n)
		}
	}
	m.Done()

	if len(d.s.Flows)+len(senders)*len(receivers)*count > maxFlows {
		v.Errorf("more than %d flows", maxFlows)
		return
	}
	if d.s.Topology == nil {
		return
	}
	viaAt = append(viaAt, qpViaAt...)
	for i, id := range append(slices.Clip(via), extras.QPVia...) {
		if n := &d.s.Topology.Nodes[id]; n.Kind == topologies.Host {
			viaAt[i].Errorf("%s is a host: a path goes through switches", n.Name)
			return
		}
	}
	pairs := d.pairs(senders, receivers)
	if len(pairs) == 0 && len(senders) > 0 && len(receivers) > 0 {
		to.Errorf("%s would send to itself", d.s.Topology.Nodes[senders[0].host].Name)
		return
	}
	for _, pair := range pairs {
		if !d.checkPath(m, pair, &extras) {
			return
		}
	}
	if extras.Jitter > 0 || len(via) > 0 || len(extras.QPVia) > 0 || extras.StartRate > 0 || extras.ConstantRate > 0 ||
		extras.Own != (Own{}) {
		f.Extras = &extras
	}
	// Chronological within the entry, so that a flow's number says something about its start.
	for i := range count {
		for _, pair := range pairs {
			g := f
			g.Source, g.Destination, g.Pair, g.Named = pair.Source, pair.Destination, pair.Pair, pair.Named
			g.Start = f.Start + vtime.Time(i)*interval
			if extras.Jitter > 0 {
				own := extras
				own.listedStart = g.Start
				g.Extras = &own
			}
			d.s.Flows = append(d.s.Flows, g)
		}
	}
}

// ownController is the key of a flow's, or a workload's, own congestion control.
const ownController = "cc"

// MostQPs bounds the QPs of a flow. NCCL's NCCL_IB_QPS_PER_CONNECTION has 128 at most.
const MostQPs = 128

// qps reads a flow's QPs: their number, or a mapping.
func (d *decoder) qps(v *yamlspec.Value, own *Own) {
	q := &own.QPs
	if !v.IsMapping() {
		v.Int(&q.Count, 1, MostQPs)
	} else {
		m := v.Mapping()
		m.Need("count").Int(&q.Count, 1, MostQPs)
		if at := m.Get("message"); at.Bytes(&q.Message) && q.Message == 0 {
			at.Errorf("message 0: give the size of the messages that QPs take in turn, or leave it out for equal shares of the packets")
		}
		m.Get("via") // flow reads it
		m.Done()
		if q.Count == 1 {
			m.Key("count").Errorf("a flow of one QP has nothing to split: leave qps out, or give it more")
		}
	}
	if q.Count <= 1 {
		*q = QPs{}
	}
}

// mostWeight bounds a flow's weight.
const mostWeight = 1000

// stop reads when a flow is to stop.
func (d *decoder) stop(v *yamlspec.Value, own *Own) {
	if !v.Time(&own.Stop) {
		return
	}
	switch end := d.s.Duration; {
	case own.Stop == 0:
		v.Errorf("stop 0: the flow would never start; leave it out for one that sends what it has")
	case end > 0 && own.Stop >= end:
		v.Errorf("stop %v is not before the run's end (duration %v)", own.Stop, end)
		own.Stop = 0
	}
}

// onOff reads the periods of a flow that does not send all the time.
func (d *decoder) onOff(v *yamlspec.Value, own *Own) {
	if v == nil {
		return
	}
	if !v.IsMapping() {
		v.Errorf("on_off is a mapping such as {on: 10us, off: 40us}")
		return
	}
	if v.Has("true") || v.Has("false") {
		v.Errorf(`on_off has keys true and false: a program that goes by YAML 1.1 has read on and off as those; write {"on": 10us, "off": 40us}`)
		return
	}
	m := v.Mapping()
	on, off := m.Need("on"), m.Need("off")
	both := on.Time(&own.On) && off.Time(&own.Off)
	m.Done()
	if both && (own.On == 0 || own.Off == 0) {
		v.Errorf("on_off: a time of 0: leave on_off out for a flow that sends all the time")
		both = false
	}
	if !both {
		own.On, own.Off = 0, 0
	}
}

// own reads what flows may have of their own, and is where their QPs are said.
func (d *decoder) own(m *yamlspec.Mapping, own *Own) (qps *yamlspec.Value) {
	qps = m.Get("qps")
	d.qps(qps, own)
	if priority := 0; m.Get("priority").Int(&priority, 0, 7) {
		own.Priority = uint8(1 + priority)
	}
	if m.Get("weight").Int(&own.Weight, 1, mostWeight) && own.Weight == 1 {
		own.Weight = 0 // as others have it
	}
	d.stop(m.Get("stop"), own)
	d.onOff(m.Get("on_off"), own)
	if at, name := m.Get(ownController), ""; at.String(&name) {
		spec := d.lookup(at, name)
		if spec == nil {
			return qps
		}
		own.CC = spec.Name
	}
	return qps
}

// end is a host, or one of its interfaces.
type end struct {
	host  topologies.NodeID
	place uint8
	named bool // the interface is
}

// ends are the hosts, or their interfaces ("h0.2"), that v names; others are reported.
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

// end is the host, or one of its interfaces, of a name.
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

// hosts are the nodes that are hosts; others are reported.
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

// between are a flow's ends.
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

// pairs are each sender with each receiver other than itself.
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
		at.Errorf("start %v is not before the run's end (duration %v)", start, end)
	case count > 1 && interval > 0 && vtime.Time(count-1) > (end-1-start)/interval:
		m.Get("count").Errorf("the last of %d flows would start after the run's end (duration %v): %d fit",
			count, end, (end-1-start)/interval+1)
	}
}

// checkPath reports rates above the sender's line rate, interfaces that switches do not join, and vias that no shortest
// path goes through.
func (d *decoder) checkPath(m *yamlspec.Mapping, ends Flow, f *FlowExtras) bool {
	plan := d.s.Topology
	from, to := &plan.Nodes[ends.Source], &plan.Nodes[ends.Destination]
	pairs := plan.PairsVia(from.ID, to.ID, nil, ends.Pair, ends.Named)
	if len(pairs) == 0 {
		m.Get("to").Errorf("no switches join %s and %s: name interfaces of one plane", ends.from(plan), ends.to(plan))
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
			m.Get(given.key).Errorf("%v is above the line rate of %s, %v", given.rate, from.Name, line)
			return false
		}
	}
	for i, id := range f.QPVia {
		if via := append(slices.Clip(f.Via), id); len(plan.PairsVia(from.ID, to.ID, via, ends.Pair, ends.Named)) == 0 {
			names := m.Get("qps").At("via").Names()
			names[min(i, len(names)-1)].At.Errorf("no shortest path from %s to %s goes through %s; they are %s",
				ends.from(plan), ends.to(plan), d.list(via), d.paths(from, to, pairs))
			return false
		}
	}
	if len(plan.PairsVia(from.ID, to.ID, f.Via, ends.Pair, ends.Named)) == 0 {
		m.Get("via").Errorf("no shortest path from %s to %s goes through %s; they are %s",
			ends.from(plan), ends.to(plan), d.list(f.Via), d.paths(from, to, pairs))
		return false
	}
	return true
}

func (d *decoder) list(nodes []topologies.NodeID) string {
	names := make([]string, len(nodes))
	for i, id := range nodes {
		names[i] = d.s.Topology.Nodes[id].Name
	}
	return strings.Join(names, " and ")
}

// paths writes the shortest paths between two hosts by pairs of their interfaces hop by hop: "L0, S0 or S1, L2".
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

// pathsBy is paths by one pair.
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

// from and to are how the scenario names the flow's ends: by host, or by interface.
func (f *Flow) from(plan *topologies.Plan) string {
	if f.Named&topologies.NamedFrom != 0 {
		return plan.EndName(f.Source, f.Pair.From)
	}
	return plan.Nodes[f.Source].Name
}

func (f *Flow) to(plan *topologies.Plan) string {
	if f.Named&topologies.NamedTo != 0 {
		return plan.EndName(f.Destination, f.Pair.To)
	}
	return plan.Nodes[f.Destination].Name
}

package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
)

// connection identifies flows that share a path: a listed flow, or the messages of a workload between two hosts.
type connection struct {
	entry       int // index of the listed flow, or -1 less the workload's index
	source, end topologies.NodeID
}

// connectionOf returns the connection of a flow; ok is false for a flow that a workload draws from the seed.
func connectionOf(s *scenario.Scenario, flow int) (k connection, ok bool) {
	f := &s.Flows[flow]
	k = connection{flow, f.Source, f.Destination}
	i := s.WorkloadOf(flow)
	if i >= 0 {
		k.entry = -1 - i
	}
	return k, i < 0 || f.Waits()
}

// way is one choice of a connection: the path of its data, and that of its ACKs and CNPs.
type way struct {
	ports paths.Ports // that lead along it
	along [byteKinds][]topologies.PortID
	share float64 // part of all source ports that lead along it
}

// Kinds of bytes that take different paths.
const (
	payload = iota
	acks
	byteKinds
)

// sender is a connection with its bytes, by kind, and the ways among which it chooses.
type sender struct {
	connection
	bytes [byteKinds]float64
	ways  []way
}

// fit holds the ways of all connections that agree best with the bytes of the dumps.
type fit struct {
	senders []sender
	chosen  [][]int // by variant, by sender: an index of ways
	at      map[connection]int
}

// sampled counts the source ports from which the ways of a connection are found.
const sampled = 512

// waysOf returns the different ways of a connection.
func waysOf(plan *topologies.Plan, k connection, first paths.Ports) (all []way) {
	for i := range sampled {
		w := way{ports: first, share: 1. / sampled}
		w.ports.Source = uint16(wire.MinEntropyPort + i)
		w.along = [byteKinds][]topologies.PortID{
			paths.Forward(plan, k.source, k.end, w.ports), paths.Back(plan, k.source, k.end, w.ports),
		}
		if at := slices.IndexFunc(all, w.same); at >= 0 {
			all[at].share += w.share
		} else {
			all = append(all, w)
		}
	}
	return all
}

func (w *way) same(other way) bool {
	return slices.Equal(w.along[payload], other.along[payload]) && slices.Equal(w.along[acks], other.along[acks])
}

// sentBytes returns the bytes that a port has sent, by kind; -1: the dumps do not tell.
func (c *Case) sentBytes() [][byteKinds]float64 {
	all := make([][byteKinds]float64, len(c.plan.Ports))
	for i := range all {
		all[i] = [byteKinds]float64{-1, -1}
	}
	for _, received := range []bool{true, false} { // what a port sent counts more than what its peer received
		for _, p := range c.pairs {
			var sum [byteKinds]float64
			known := false
			for i := range p.given.Class {
				value, has := p.given.Bytes(i, received)
				kind := payload
				if uint8(i) == c.control {
					kind = acks
				}
				sum[kind] += float64(value)
				known = known || has
			}
			id := p.node.Ports[p.index]
			if received {
				id = c.plan.Ports[id].Peer
			}
			if known {
				all[id] = sum
			}
		}
	}
	return all
}

// residual holds, by port and kind, the bytes that the chosen ways send beyond those of the dumps, and their weights.
type residual struct {
	rest, weight [][byteKinds]float64
}

// add adds the bytes of a sender along a way, times a sign, and returns by how much the sum of the weighted squares
// grows.
func (r *residual) add(s *sender, w *way, sign float64) (change float64) {
	for kind, path := range w.along {
		v := s.bytes[kind] * sign
		for _, p := range path[1:] {
			rest := &r.rest[p][kind]
			change += r.weight[p][kind] * v * (2**rest + v)
			*rest += v
		}
	}
	return change
}

// Constants of the search for ways.
const (
	restarts = 24
	cooling  = 400  // steps for each connection
	variants = 5    // ways that are as good
	slack    = 0.05 // of the square of a mean connection's bytes, by which they may be worse
)

// fitPaths chooses a way for each connection, so that the bytes of all ports come closest to those of the dumps.
func (c *Case) fitPaths(senders []sender) *fit {
	f := &fit{senders: senders, at: map[connection]int{}}
	r := residual{make([][byteKinds]float64, len(c.plan.Ports)), make([][byteKinds]float64, len(c.plan.Ports))}
	sent := c.sentBytes()
	var mean [byteKinds]float64
	for i := range senders {
		f.at[senders[i].connection] = i
		for kind := range mean {
			mean[kind] += senders[i].bytes[kind] / float64(len(senders))
		}
	}
	for i, n := range sent {
		for kind, known := range n {
			if known >= 0 && mean[kind] > 0 && c.plan.Nodes[c.plan.Ports[i].Node].Kind == topologies.Switch {
				r.rest[i][kind] = -known
				r.weight[i][kind] = 1 / (mean[kind] * mean[kind])
			}
		}
	}
	var free []int
	for i := range senders {
		if len(senders[i].ways) > 1 {
			free = append(free, i)
		} else {
			r.add(&senders[i], &senders[i].ways[0], 1)
		}
	}
	type candidate struct {
		energy float64
		chosen []int
	}
	var all []candidate
	for n := range restarts {
		random := rand.New(rand.NewPCG(uint64(n), 0))
		own := residual{slices.Clone(r.rest), r.weight}
		x := candidate{chosen: make([]int, len(senders))}
		for _, i := range free {
			x.chosen[i] = random.IntN(len(senders[i].ways))
			own.add(&senders[i], &senders[i].ways[x.chosen[i]], 1)
		}
		for step := range cooling * len(free) {
			warmth := 0.5 * math.Pow(0.001, float64(step)/float64(cooling*len(free)))
			i := free[random.IntN(len(free))]
			s, next := &senders[i], random.IntN(len(senders[i].ways))
			change := own.add(s, &s.ways[x.chosen[i]], -1) + own.add(s, &s.ways[next], 1)
			if change <= 0 || random.Float64() < math.Exp(-change/warmth) {
				x.chosen[i] = next
			} else {
				own.add(s, &s.ways[next], -1)
				own.add(s, &s.ways[x.chosen[i]], 1)
			}
		}
		for i := range own.rest {
			for kind, rest := range own.rest[i] {
				x.energy += own.weight[i][kind] * rest * rest
			}
		}
		if !slices.ContainsFunc(all, func(y candidate) bool { return slices.Equal(x.chosen, y.chosen) }) {
			all = append(all, x)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.energy, b.energy) })
	for _, x := range all {
		if len(f.chosen) < variants && x.energy <= all[0].energy+slack {
			f.chosen = append(f.chosen, x.chosen)
		}
	}
	return f
}

// apply gives the flows of a run their ways. Under a link that is down the ports are those that lead along the same way
// over the other links, if any do.
func (f *fit) apply(u *scenario.Setup, under *Fault, seed uint64) {
	chosen := f.chosen[0]
	if n := uint64(len(f.chosen)); seed >= noiseSeed && seed < noiseSeed+variants {
		chosen = f.chosen[(seed-noiseSeed+1)%n]
	}
	var next func(sw, to int) []topologies.PortID
	if under.Kind == LinkDown {
		plan := u.Scenario.Topology
		if down, err := portAt(plan, under.Place); err == nil {
			routes := plan.RoutesOver(func(p topologies.PortID) bool { return p != down && p != plan.Ports[down].Peer })
			next = routes.Next
		}
	}
	found := map[int]paths.Ports{}
	for i := range u.Flows {
		k, ok := connectionOf(u.Scenario, i)
		at, has := f.at[k]
		if !ok || !has {
			continue
		}
		ports, had := found[at]
		if !had {
			ports = f.senders[at].leading(u.Scenario.Topology, chosen[at], next)
			found[at] = ports
		}
		u.Flows[i].Ports = ports
	}
}

// leading returns ports that lead along a way, by the given routes if there are any.
func (s *sender) leading(plan *topologies.Plan, chosen int, next func(sw, to int) []topologies.PortID) paths.Ports {
	w := &s.ways[chosen]
	if next == nil {
		return w.ports
	}
	for i := range sampled {
		ports := w.ports
		ports.Source = uint16(wire.MinEntropyPort + i)
		if w.same(way{along: [byteKinds][]topologies.PortID{
			paths.Follow(plan, s.source, s.end, ports, next), paths.Follow(plan, s.end, s.source, ports.Back(plan), next),
		}}) {
			return ports
		}
	}
	return w.ports
}

// sendersOf returns the connections of a run's flows with their ways and bytes: the bytes of the runs, in which
// perftest's replace those of its flows, and which add up to the bytes that each host has sent and received.
func (c *Case) sendersOf(u *scenario.Setup, runs []*result) []sender {
	if len(u.QPs) > 0 || u.Scenario.Topology.Moving() || u.Scenario.Topology.Hash == topologies.HashHPCC {
		return nil
	}
	var all []sender
	at := map[connection]int{}
	for i := range u.Flows {
		k, ok := connectionOf(u.Scenario, i)
		if !ok {
			return nil
		}
		if _, had := at[k]; !had {
			at[k] = len(all)
			s := sender{connection: k, ways: waysOf(c.plan, k, u.Flows[i].Ports)}
			if len(u.Scenario.Flows[i].Extra().Via) > 0 {
				s.ways = []way{{ports: u.Flows[i].Ports, share: 1, along: [byteKinds][]topologies.PortID{
					paths.Forward(c.plan, k.source, k.end, u.Flows[i].Ports), paths.Back(c.plan, k.source, k.end, u.Flows[i].Ports),
				}}}
			}
			all = append(all, s)
		}
		for _, r := range runs {
			all[at[k]].bytes[payload] += float64(r.delivered[i]) / float64(len(runs)) *
				float64(c.plan.MTU+82) / float64(c.plan.MTU)
		}
	}
	sent := c.sentBytes()
	for i := range all { // several tests between two hosts share their bytes
		s := &all[i]
		if bytes := c.tested[[2]topologies.NodeID{s.source, s.end}]; bytes > 0 && s.entry >= 0 {
			s.bytes[payload] = bytes
		}
	}
	var total [byteKinds]map[topologies.PortID]float64
	total[payload], total[acks] = map[topologies.PortID]float64{}, map[topologies.PortID]float64{}
	for i := range all {
		w := &all[i].ways[0]
		total[payload][w.along[payload][0]] += all[i].bytes[payload]
		total[acks][w.along[acks][0]] += all[i].bytes[payload]
	}
	for i := range all {
		s, w := &all[i], &all[i].ways[0]
		own := s.bytes[payload]
		for kind := range byteKinds {
			port := w.along[kind][0]
			if known := sent[port][kind]; known >= 0 && total[kind][port] > 0 {
				s.bytes[kind] = own * known / total[kind][port]
			}
		}
	}
	return all
}

// counted returns the sum of a counter over ports. known is false if a port's dumps do not have it.
func (c *Case) counted(name string, ports ...topologies.PortID) (sum uint64, known bool) {
	for _, id := range ports {
		has := false
		for _, p := range c.pairs {
			if p.node.Ports[p.index] != id {
				continue
			}
			for _, v := range p.given.Values(p.node.Kind == topologies.Host) {
				if v.Name == name && v.Known {
					sum, has = sum+v.Value, true
				}
			}
		}
		if !has {
			return 0, false
		}
	}
	return sum, true
}

// carried returns the bytes that a link carried, and whether the dumps have them all.
func (c *Case) carried(port topologies.PortID) (bytes float64, known bool) {
	sent := c.sentBytes()
	known = true
	for _, id := range []topologies.PortID{port, c.plan.Ports[port].Peer} {
		for _, n := range sent[id] {
			known = known && n >= 0
			bytes += max(0, n)
		}
	}
	return bytes, known
}

// ruledOut reports whether a counter of the dumps excludes a fault, which lasted all the time: a link that carried
// frames was not down, and a NIC that sent no PAUSE had no storm.
func (c *Case) ruledOut(f *Fault) bool {
	var ports []topologies.PortID // of the place
	port, err := portAt(c.plan, f.Place)
	if err == nil {
		ports = []topologies.PortID{port}
		bytes, known := c.carried(port)
		if f.Kind == LinkDown {
			return bytes > floors[traffics]
		} else if known && bytes == 0 {
			return true // nothing passes
		}
	} else if i := slices.IndexFunc(c.plan.Nodes, func(n topologies.Node) bool { return n.Name == f.Place }); i >= 0 {
		ports = c.plan.Nodes[i].Ports
	}
	pause := fmt.Sprintf("tx_prio%d_pause", c.lossless)
	is := func(counter string, above bool, ports ...topologies.PortID) bool {
		sum, known := c.counted(counter, ports...)
		return known && sum > 0 == above
	}
	switch f.Kind {
	case BitErrors:
		return is("rx_crc_errors_phy", false, port, c.plan.Ports[port].Peer)
	case resimulate.Storm: // a slow NIC need not pause: its ACKs are late
		return is(pause, false, ports...)
	case NoPFC:
		return is(pause, true, ports...)
	case NoECN:
		return is("ecn_marked", true, ports...)
	case Watchdog:
		return is(fmt.Sprintf("storms_prio%d", c.lossless), false, ports...)
	case DeafNIC:
		return is("rp_cnp_handled", false, ports...)
	case resimulate.Priority:
		sum, _ := c.counted(fmt.Sprintf("tx_prio%d_bytes", c.lossless), ports...)
		return float64(sum) > floors[traffics]
	}
	return false
}

// firstValue returns the value of a fault that runs at each place. A slow link or NIC that matters carries what its
// rate allows, so its rate follows from the bytes of the dumps.
func (c *Case) firstValue(k *kind, at string) float64 {
	if k.name != resimulate.SlowLink && k.name != resimulate.SlowNIC {
		return k.values[0]
	}
	port, err := portAt(c.plan, at)
	ends := []topologies.PortID{port}
	if err != nil { // a host: what its switch sent to it
		ends[0] = c.plan.Ports[c.plan.Nodes[c.plan.NodeByName(at).ID].Ports[0]].Peer
	} else {
		ends = append(ends, c.plan.Ports[port].Peer)
	}
	sent, most := c.sentBytes(), 0.0
	for _, id := range ends {
		frames := float64(c.plan.MTU+82) / float64(c.plan.MTU+106) // without FCS, preamble and gap
		most = max(most, (sent[id][payload]+sent[id][acks])/frames*8/c.window.Seconds()/float64(c.plan.Ports[id].Rate))
	}
	if most < 0.02 || most > 0.9 {
		return k.values[0]
	}
	return most
}

// idleByChance returns the probability that no connection uses a link, if each chooses among its source ports at
// random.
func (f *fit) idleByChance(plan *topologies.Plan, link int) float64 {
	p := 1.0
	for i := range f.senders {
		s := &f.senders[i]
		if s.bytes[payload] < floors[traffics] {
			continue
		}
		unused := 0.0
		for k := range s.ways {
			uses := func(id topologies.PortID) bool { return plan.Ports[id].Link == link }
			if !slices.ContainsFunc(s.ways[k].along[payload], uses) && !slices.ContainsFunc(s.ways[k].along[acks], uses) {
				unused += s.ways[k].share
			}
		}
		p *= unused
	}
	return p
}

// rare is the probability from which on a link without frames needs an explanation.
const rare = 0.1

// surprise returns the square that the distance of a fault gets for links without frames that it does not explain.
func (c *Case) surprise(f *Fault) float64 {
	most := 0.0
	for link, chance := range c.idle {
		if f.Kind != LinkDown || f.Place != link {
			most = max(most, -2*spread*spread*math.Log(chance/rare))
		}
	}
	return most
}

// locate fits the paths by the runs of the healthy fabric, and finds the links without frames.
func (c *Case) locate(runs []*result) {
	senders := c.sendersOf(runs[0].setup, runs)
	if len(senders) == 0 {
		return
	}
	c.fit, c.idle = c.fitPaths(senders), map[string]float64{}
	for _, name := range c.trunks() {
		port, _ := portAt(c.plan, name) // it has that name
		if bytes, known := c.carried(port); known && bytes < floors[traffics] {
			c.idle[name] = max(1e-9, c.fit.idleByChance(c.plan, c.plan.Ports[port].Link))
		}
	}
}

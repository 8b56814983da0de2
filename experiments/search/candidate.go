package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/topologies"
)

// candidate holds one scenario of the family. Its slices are never changed, only replaced.
type candidate struct {
	settings []string // values of the family's parameters, in their order; "": the file's own
	flows    []flow
	faults   []fault
}

type flow struct {
	group                 int
	from, to, size, start string
}

type fault struct {
	group    int
	link, at string
}

// Member returns the n-th random scenario of the family. Combinations that no scenario may be are drawn again.
func (f *Family) Member(n uint64) (text string, err error) {
	for attempt := range uint64(20) {
		text = f.text(f.draw(explore.NewRandom(f.Seed+attempt<<32, n)))
		if _, err = (scenario.Reading{}).Parse(f.File, []byte(text)); err == nil {
			return text, nil
		}
	}
	return "", fmt.Errorf("scenario %d of the family: %w", n, err)
}

// text returns the scenario.
func (f *Family) text(c *candidate) string {
	flows := make([]string, len(c.flows))
	for i, x := range c.flows {
		g := &f.flows[x.group]
		tag, start := "", ""
		if g.tag != "" {
			tag = "tag: " + g.tag + ", "
		}
		if x.start != "" {
			start = ", start: " + x.start
		}
		flows[i] = fmt.Sprintf("{%sfrom: %s, to: %s, size: %s%s%s}", tag, x.from, x.to, x.size, start, g.with)
	}
	faults := make([]string, len(c.faults))
	for i, x := range c.faults {
		faults[i] = fmt.Sprintf("{at: %s, link: %q%s}", x.at, x.link, f.faults[x.group].with)
	}
	return f.template.Text(f.settingsOf(c), flows, faults)
}

func (f *Family) settingsOf(c *candidate) (all []explore.Setting) {
	for i, v := range c.settings {
		if v != "" {
			all = append(all, explore.Setting{Path: f.vary[i].path, Value: v})
		}
	}
	return all
}

// seedOf returns the seed of a candidate's runs: the family's, or the one that it varies.
func (f *Family) seedOf(c *candidate) uint64 {
	for i, v := range c.settings {
		if n, err := strconv.ParseUint(v, 10, 31); f.vary[i].path == "seed" && err == nil {
			return n
		}
	}
	return f.seed
}

// plan returns the topology under a candidate's settings, nil if they make none.
func (f *Family) plan(c *candidate) *topologies.Plan {
	key := strings.Join(c.settings, "\x00")
	if plan, known := f.plans[key]; known {
		return plan
	}
	var plan *topologies.Plan
	if s, err := (scenario.Reading{Live: true}).Parse(f.File,
		[]byte(f.template.Text(f.settingsOf(c), nil, nil))); err == nil {
		plan = s.Topology
	}
	if len(f.plans) > 1000 {
		clear(f.plans)
	}
	f.plans[key] = plan
	return plan
}

// draw returns a random candidate.
func (f *Family) draw(r *explore.Random) *candidate {
	c := new(candidate)
	for range 20 {
		c.settings = nil
		for i := range f.vary {
			c.settings = append(c.settings, f.vary[i].values.Draw(r))
		}
		if f.plan(c) != nil {
			break
		}
	}
	plan := f.plan(c)
	for i := range f.flows {
		for range number(f.flows[i].count.Draw(r)) {
			c.flows = append(c.flows, f.drawFlow(i, plan, r))
		}
	}
	for i := range f.faults {
		for range number(f.faults[i].count.Draw(r)) {
			c.faults = append(c.faults, f.drawFault(i, plan, r))
		}
	}
	return c
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func (f *Family) drawFlow(group int, plan *topologies.Plan, r *explore.Random) flow {
	g := &f.flows[group]
	from, to := g.from.hosts(plan), g.to.hosts(plan)
	x := flow{group: group, from: pick(from, r), to: pick(to, r), size: g.size.Draw(r)}
	for range 20 {
		if x.from != x.to {
			break
		}
		x.to = pick(to, r)
	}
	if g.start != nil {
		x.start = g.start.Draw(r)
	}
	return x
}

func (f *Family) drawFault(group int, plan *topologies.Plan, r *explore.Random) fault {
	g := &f.faults[group]
	return fault{group: group, link: pick(g.links.links(plan), r), at: g.at.Draw(r)}
}

func pick(names []string, r *explore.Random) string {
	if len(names) == 0 {
		return "none"
	}
	return names[r.Intn(len(names))]
}

// hosts returns the names of hosts.
func (e ends) hosts(plan *topologies.Plan) []string {
	if e.word == "" || plan == nil {
		return e.names
	}
	return plan.NamesOf(plan.Hosts)
}

// links returns the labels of links.
func (e ends) links(plan *topologies.Plan) (labels []string) {
	if e.word == "" || plan == nil {
		return e.names
	}
	for i := range plan.Links {
		a := plan.Links[i].A
		host := plan.Nodes[plan.Ports[a].Node].Kind == topologies.Host || plan.PeerNode(a).Kind == topologies.Host
		if e.word == "all" || (e.word == "hosts") == host {
			labels = append(labels, scenario.PortLabel(plan, a))
		}
	}
	return labels
}

// change returns a candidate that differs from c in one to three places.
func (f *Family) change(c *candidate, r *explore.Random) *candidate {
	changed := *c
	for range 1 + r.Intn(3) {
		f.changeOnce(&changed, r)
	}
	return &changed
}

func (f *Family) changeOnce(c *candidate, r *explore.Random) {
	plan := f.plan(c)
	places := len(f.vary) + 3*min(len(f.flows), 1) + 2*min(len(f.faults), 1)
	switch at := r.Intn(places); {
	case at < len(f.vary):
		old := c.settings
		c.settings = slices.Clone(old)
		c.settings[at] = f.vary[at].values.Change(c.settings[at], r)
		if f.plan(c) == nil {
			c.settings = old
		}
	case at < len(f.vary)+3*min(len(f.flows), 1):
		f.changeFlow(c, plan, r)
	default:
		f.changeFault(c, plan, r)
	}
}

// changeFlow adds a flow, removes one, or changes one.
func (f *Family) changeFlow(c *candidate, plan *topologies.Plan, r *explore.Random) {
	group := r.Intn(len(f.flows))
	g := &f.flows[group]
	var of []int // the flows of the group
	for i := range c.flows {
		if c.flows[i].group == group {
			of = append(of, i)
		}
	}
	least, most := bounds(g.count)
	what := r.Intn(6)
	if len(of) == 0 && what > 0 {
		return
	}
	switch what {
	case 0: // add
		if len(of) < most {
			c.flows = append(slices.Clip(c.flows), f.drawFlow(group, plan, r))
		}
		return
	case 1: // remove
		if len(of) > least {
			at := of[r.Intn(len(of))]
			c.flows = slices.Delete(slices.Clone(c.flows), at, at+1)
		}
		return
	}
	c.flows = slices.Clone(c.flows)
	x := &c.flows[of[r.Intn(len(of))]]
	fresh := f.drawFlow(group, plan, r)
	switch what {
	case 2:
		x.size = g.size.Change(x.size, r)
	case 3:
		if g.start != nil {
			x.start = g.start.Change(x.start, r)
		}
	case 4: // like another flow's receiver: congestion needs flows that meet
		if other := c.flows[r.Intn(len(c.flows))]; other.to != x.from && slices.Contains(g.to.hosts(plan), other.to) {
			x.to = other.to
		}
	default:
		x.from, x.to = fresh.from, fresh.to
	}
}

// changeFault adds a fault, removes one, or changes one.
func (f *Family) changeFault(c *candidate, plan *topologies.Plan, r *explore.Random) {
	group := r.Intn(len(f.faults))
	g := &f.faults[group]
	var of []int
	for i := range c.faults {
		if c.faults[i].group == group {
			of = append(of, i)
		}
	}
	least, most := bounds(g.count)
	switch what := r.Intn(3); {
	case what == 0 && len(of) < most || what == 2 && len(of) == 0:
		c.faults = append(slices.Clip(c.faults), f.drawFault(group, plan, r))
	case what == 1 && len(of) > least:
		at := of[r.Intn(len(of))]
		c.faults = slices.Delete(slices.Clone(c.faults), at, at+1)
	case what == 2:
		c.faults = slices.Clone(c.faults)
		c.faults[of[r.Intn(len(of))]] = f.drawFault(group, plan, r)
	}
}

// bounds returns the ends of a range of counts.
func bounds(r *explore.Range) (least, most int) {
	if r.Values != nil {
		n := number(r.Values[0])
		return n, n
	}
	return int(r.Low), int(r.High)
}

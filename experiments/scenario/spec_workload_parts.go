package scenario

import (
	"math"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/experiments/workload"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// mostLoad is the highest load that a workload may have: above it, a percentage was meant.
const mostLoad = 2

// sizes reads size, one for all flows, or sizes: a built-in distribution's name, or a file relative to the scenario's.
func (d *decoder) sizes(m *yamlspec.Mapping, w *Workload) *workload.Sizes {
	one, of := m.Get("size"), m.Get("sizes")
	switch {
	case one != nil && of != nil:
		m.Key("size").Errorf("size and sizes exclude each other: give one of them")
		return nil
	case one != nil:
		var size units.Bytes
		if !one.Bytes(&size) {
			return nil
		}
		if size == 0 {
			one.Errorf("size 0: a flow sends at least 1B")
			return nil
		}
		w.View.Size = size
		return workload.Fixed(int64(size))
	}
	name := ""
	if !m.Need("sizes").String(&name) {
		return nil
	}
	sizes, err := workload.BuiltinSizes(name)
	if err != nil {
		path, data := d.read(of, name, err)
		if data == nil {
			return nil
		}
		if sizes = workload.ParseSizes(of.Report(), name, path, data); sizes == nil {
			return nil
		}
	}
	w.View.Sizes = &SizesView{Name: name, Mean: sizes.Mean(), Points: sizes.Points}
	return sizes
}

// read is the file that v names, relative to the scenario's folder. unknown is what to say if it does not look like
// one.
func (d *decoder) read(v *yamlspec.Value, name string, unknown error) (path string, data []byte) {
	path = name
	if !filepath.IsAbs(name) {
		path = filepath.Join(d.dir, name)
	}
	if unknown != nil && !strings.ContainsAny(name, "./") && !v.Report().Sources.IsFile(path, IsFile) {
		v.Errorf("%v, and there is no file %s", unknown, path)
		return path, nil
	}
	data, err := v.Report().Sources.Read(path, yamlspec.TableFile)
	if err != nil {
		v.Errorf("%v", err)
		return path, nil
	}
	if data == nil {
		data = []byte{}
	}
	return path, data
}

// hostSet reads hosts, all of them if v is absent, as indexes of hosts; nil if there are none to be used.
func (d *decoder) hostSet(v *yamlspec.Value, names *[]string) []int {
	if d.s.Topology == nil {
		return nil
	}
	if v == nil {
		all := make([]int, len(d.s.Topology.Hosts))
		for i := range all {
			all[i] = i
		}
		return all
	}
	found, at := d.find(v)
	var hosts []int
	seen := map[topologies.NodeID]bool{}
	for _, id := range d.hosts(found, at) {
		n := &d.s.Topology.Nodes[id]
		if !seen[id] {
			hosts, *names = append(hosts, n.Index), append(*names, n.Name)
		}
		seen[id] = true
	}
	if len(hosts) == 0 && len(v.Items()) == 0 {
		v.Errorf("the list of hosts is empty: name at least one host, or remove the key for all hosts")
	}
	return hosts
}

// host is a host's name by its index.
func (d *decoder) host(index int) string {
	return d.s.Topology.Nodes[d.s.Topology.Hosts[index]].Name
}

var relations = []string{workload.Anywhere: "anywhere", workload.Across: "across-racks", workload.Within: "within-rack"}

func (d *decoder) relation(m *yamlspec.Mapping, w *Workload) workload.Relation {
	w.View.Pairs = relations[workload.Anywhere]
	m.Get("pairs").Choice(&w.View.Pairs, relations...)
	for i, name := range relations {
		if name == w.View.Pairs {
			return workload.Relation(i)
		}
	}
	return workload.Anywhere
}

// readClock reads when a workload begins and ends: until a time, or after a number of events, whose key is given.
// Without either it ends with the run. It says whether what it read can be used.
func (d *decoder) readClock(m *yamlspec.Mapping, c *workload.Clock, count string, w *Workload) bool {
	start, until, number := m.Get("start"), m.Get("until"), m.Get(count)
	before := d.root.Report().Count()
	start.Time(&c.Start)
	number.Int(&c.Count, 1, maxFlows)
	if d.root.Report().Count() != before {
		return false
	}
	c.Until = d.s.Duration
	switch {
	case until.Time(&c.Until):
		if c.Until <= c.Start {
			until.Errorf("until %v must be later than start %v", c.Until, c.Start)
		}
		w.View.Until = nanoseconds(c.Until)
	case number != nil:
		c.Until = vtime.Never
	case start != nil && d.s.Duration > 0 && c.Start >= d.s.Duration:
		start.Errorf("start %v must be before the end of the run (duration %v)", c.Start, d.s.Duration)
	}
	w.View.Start, w.View.Count = nanoseconds(c.Start), c.Count
	return d.root.Report().Count() == before
}

// readRounds reads when the rounds of a workload begin that does the same again and again.
func (d *decoder) readRounds(m *yamlspec.Mapping, c *workload.Clock, w *Workload) bool {
	c.Count, c.Until = 1, vtime.Never
	start, rounds, interval := m.Get("start"), m.Get("rounds"), m.Get("interval")
	var every vtime.Time
	before := d.root.Report().Count()
	start.Time(&c.Start)
	rounds.Int(&c.Count, 1, maxFlows)
	interval.Time(&every)
	switch {
	case d.root.Report().Count() != before:
		return false
	case interval != nil && every == 0:
		interval.Errorf("interval must be above 0")
	case interval != nil && c.Count == 1:
		m.Key("interval").Errorf("interval has no effect with one round: add rounds or remove interval")
	case interval == nil && c.Count > 1:
		m.Key("rounds").Errorf("%d rounds need an interval between them, such as interval: 100us", c.Count)
	}
	c.Every = float64(max(every, 1))
	if last := c.Start + vtime.Time(c.Count-1)*every; d.s.Duration > 0 && last >= d.s.Duration {
		at := start
		if at == nil {
			at = m.Key("rounds")
		}
		at.Errorf("the last round would start at %v, but the run lasts only %v", last, d.s.Duration)
		return false
	}
	w.View.Start, w.View.Count, w.View.Interval = nanoseconds(c.Start), c.Count, nanoseconds(every)
	return true
}

// readLoad reads how often something happens, by load or by interval. The result is the time between two events, in
// picoseconds: given the hosts that send, the mean payload of an event, and which part of it goes to another rack.
func (d *decoder) readLoad(m *yamlspec.Mapping, w *Workload) func(senders []int, payload, across float64) float64 {
	load, of, interval := m.Get("load"), m.Get("of"), m.Get("interval")
	if load == nil && of != nil {
		m.Key("of").Errorf("of has no effect without load: add a load or remove of")
	}
	var every vtime.Time
	switch {
	case load != nil && interval != nil:
		m.Key("interval").Errorf("load and interval exclude each other: give one of them")
		return nil
	case interval != nil:
		if !interval.Time(&every) {
			return nil
		}
		if every == 0 {
			interval.Errorf("interval must be above 0")
			return nil
		}
		return func([]int, float64, float64) float64 { return float64(every) }
	}
	if m.Need("load") == nil {
		return nil
	}
	part := 0.0
	if !load.Float(&part) {
		return nil
	}
	switch {
	case !checkLoad(load, part):
		return nil
	case of == nil:
		load.Errorf("load %g needs of, the capacity that it refers to: write of: core or of: hosts", part)
		return nil
	case !of.Choice(&w.View.Of, "core", "hosts"):
		return nil
	}
	w.View.Load = part
	return func(senders []int, payload, across float64) float64 {
		capacity := hostCapacity(d.s.Topology, senders)
		if w.View.Of == "core" {
			capacity = coreCapacity(d.s.Topology, senders)
			payload = float64(payload * across)
			switch {
			case capacity == 0:
				of.Errorf("of: core needs a link between switches, and the senders' switch has none: write of: hosts")
				return math.Inf(1)
			case across == 0:
				of.Errorf("of: core needs flows that leave their rack, and none does: write of: hosts")
				return math.Inf(1)
			}
		}
		w.View.Capacity = capacity
		return payload * 8 * float64(vtime.Second) / float64(part*float64(capacity))
	}
}

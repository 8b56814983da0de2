package scenario

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// mostLoad limits the load of a workload. A larger number is likely a percentage without its sign.
const mostLoad = 2

// sizes resolves size, which applies to all flows, or sizes: a built-in distribution's name, or a file relative to the
// scenario's.
func (d *decoder) sizes(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) *workload.Sizes {
	one, of := m.Get("size"), m.Get("sizes")
	switch {
	case one != nil && of != nil:
		m.Key("size").Errorf("size and sizes exclude each other: give one of them")
		return nil
	case one != nil:
		return workload.Fixed(int64(e.View.Size))
	case of == nil:
		v.Errorf("missing key %q, one size for all flows, or %q, a distribution", "size", "sizes")
		return nil
	}
	sizes, err := workload.BuiltinSizes(e.sizes)
	if err != nil {
		if _, wrong := units.ParseBytes(e.sizes); wrong == nil {
			of.Errorf("sizes is a distribution: for one size write size: %s", e.sizes)
			return nil
		}
		path, data := d.read(of, e.sizes, err)
		if data == nil {
			return nil
		}
		if sizes = workload.ParseSizes(of.Report(), e.sizes, path, data); sizes == nil {
			return nil
		}
	}
	e.View.Sizes = &SizesView{Name: e.sizes, Mean: sizes.Mean(), Points: sizes.Points}
	return sizes
}

// read returns the file that v names, relative to the scenario's folder. unknown is the error for a name that does not
// look like a file's.
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

// hostSet reads hosts, as indexes; all hosts if v is absent, and nil if no named host is usable.
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

// host returns the name of a host by its index.
func (d *decoder) host(index int) string {
	return d.s.Topology.Nodes[d.s.Topology.Hosts[index]].Name
}

var relations = []string{workload.Anywhere: "anywhere", workload.Across: "across-racks", workload.Within: "within-rack"}

func (e *workloadEntry) relation() workload.Relation {
	e.View.Pairs = cmp.Or(e.View.Pairs, relations[workload.Anywhere])
	return workload.Relation(slices.Index(relations, e.View.Pairs))
}

// readClock checks the start and the end of a workload. It ends at a time, after a number of events, or with the run.
func (d *decoder) readClock(m *yamlspec.Mapping, e *workloadEntry) bool {
	c, until := &e.clock, m.Get("until")
	e.View.Start, e.View.Until, e.View.Count = nanoseconds(c.Start), nanoseconds(c.Until), c.Count
	switch {
	case until != nil && c.Until <= c.Start:
		until.Errorf("until %v must be later than start %v", c.Until, c.Start)
	case until != nil:
		return true
	case c.Count > 0:
		c.Until = vtime.Never
		return true
	case d.s.Duration > 0 && c.Start >= d.s.Duration:
		m.Get("start").Errorf("start %v must be before the end of the run (duration %v)", c.Start, d.s.Duration)
	default:
		c.Until = d.s.Duration
		return true
	}
	return false
}

// readRounds checks the starts of the rounds of a periodic workload.
func (d *decoder) readRounds(m *yamlspec.Mapping, e *workloadEntry) bool {
	c := &e.clock
	rounds := m.Key("rounds")
	c.Count, c.Until, c.Every = max(c.Count, 1), vtime.Never, float64(max(e.interval, 1))
	switch {
	case e.interval > 0 && c.Count == 1:
		m.Key("interval").Errorf("interval has no effect with one round: add rounds or remove interval")
	case e.interval == 0 && c.Count > 1:
		rounds.Errorf("%d rounds need an interval between them, such as interval: 100us", c.Count)
	}
	if last := c.Start + vtime.Time(c.Count-1)*e.interval; d.s.Duration > 0 && last >= d.s.Duration {
		at := m.Get("start")
		if at == nil {
			at = rounds
		}
		at.Errorf("the last round would start at %v, but the run lasts only %v", last, d.s.Duration)
		return false
	}
	e.View.Start, e.View.Count, e.View.Interval = nanoseconds(c.Start), c.Count, nanoseconds(e.interval)
	return true
}

// readLoad reads the frequency of events, from load or interval. It returns a function that computes the time between
// two events, in picoseconds, from the sending hosts, an event's mean payload, and the fraction of it that goes to
// another rack.
func (d *decoder) readLoad(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) func(senders []int, payload,
	across float64) float64 {
	load, of, part := m.Get("load"), m.Get("of"), e.View.Load
	if load == nil && of != nil {
		m.Key("of").Errorf("of has no effect without load: add a load or remove of")
	}
	switch {
	case load != nil && e.interval > 0:
		m.Key("interval").Errorf("load and interval exclude each other: give one of them")
		return nil
	case e.interval > 0:
		return func([]int, float64, float64) float64 { return float64(e.interval) }
	case load == nil:
		v.Errorf("missing key %q or %q", "interval", "load")
		return nil
	case !checkLoad(load, part):
		return nil
	case of == nil:
		load.Errorf("load %g needs of, the capacity that it refers to: write of: core or of: hosts", part)
		return nil
	}
	return func(senders []int, payload, across float64) float64 {
		capacity := hostCapacity(d.s.Topology, senders)
		if e.View.Of == "core" {
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
		e.View.Capacity = capacity
		return payload * 8 * float64(vtime.Second) / float64(part*float64(capacity))
	}
}

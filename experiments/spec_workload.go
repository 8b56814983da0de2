package experiments

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/workload"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
)

// mostLoad is the highest load that a workload may have: above it, a percentage was meant.
const mostLoad = 2

// workloadKinds are the keys that say what a workload is, one to an item, and what reads them. A reader leaves what it
// reads in the workload and says whether it can be used.
var workloadKinds = []struct {
	key  string
	read func(*decoder, *yamlspec.Value, *yamlspec.Mapping, *Workload) bool
}{
	{"poisson", (*decoder).poisson},
	{"incast", (*decoder).incast},
	{"all-to-all", (*decoder).allToAll},
	{"permutation", (*decoder).permutation},
	{"csv", (*decoder).flowTable},
}

// workloadKind is the key that says what a workload is, "" if there is none: its tag if it has no other.
func workloadKind(v *yamlspec.Value) string {
	for _, kind := range workloadKinds {
		if v.IsMapping() && v.Has(kind.key) {
			return kind.key
		}
	}
	return ""
}

// workloads reads the workloads and draws their flows. It comes after the listed flows.
func (d *decoder) workloads(v *yamlspec.Value) {
	for _, item := range v.Items() {
		d.workload(item)
	}
	if d.s.Topology != nil {
		if err := d.s.draw(); err != nil {
			v.Errorf("%v", err)
		}
	}
}

// workload reads one item: a tag, and the key of its kind with what belongs to it.
func (d *decoder) workload(v *yamlspec.Value) {
	if !v.IsMapping() {
		v.Errorf("a workload is a mapping such as {tag: search, poisson: {sizes: websearch, load: 0.8, of: core}}")
		return
	}
	m := v.Mapping()
	w := Workload{}
	tag := m.Get("tag")
	if tag.String(&w.Tag) && !tagName.MatchString(w.Tag) {
		tag.Errorf("tag %q: a tag is letters, digits and _ . + / -", w.Tag)
	}
	usable, kinds := false, []string{}
	for _, kind := range workloadKinds {
		kinds = append(kinds, kind.key)
		part := m.Get(kind.key)
		switch {
		case part == nil:
		case w.View.Kind != "":
			m.Key(kind.key).Errorf("a workload is of one kind: this one is %s already", w.View.Kind)
		default:
			w.View.Kind = kind.key
			if w.Tag == "" {
				w.Tag = kind.key
			}
			usable = kind.read(d, part, m, &w)
		}
	}
	m.Done()
	if w.View.Kind == "" {
		v.Errorf("a workload says what it is by one of these keys: %s", strings.Join(kinds, ", "))
	}
	if !usable {
		return
	}
	w.View.Tag = w.Tag
	same := 0
	for i := range d.s.Workloads {
		if d.s.Workloads[i].Tag == w.Tag {
			same++
		}
	}
	w.purpose = fmt.Sprintf("workload %s %d", w.Tag, same)
	d.s.Workloads = append(d.s.Workloads, w)
}

func (d *decoder) poisson(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.Poisson{Clock: workload.Clock{Random: true}}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		from, to := d.hostSet(m.Get("from"), &w.View.From), d.hostSet(m.Get("to"), &w.View.To)
		relation := d.relation(m, w)
		d.readClock(m, &p.Clock, "flows", w)
		rate := d.readLoad(m, w)
		if p.Sizes == nil || from == nil || to == nil || rate == nil {
			return false
		}
		p.Pairs = workload.NewPairs(from, to, racks(d.s.Topology), relation)
		if p.Pairs.Len() == 0 {
			v.Errorf("no sender has a receiver %s", w.View.Pairs)
			return false
		}
		senders := make([]int, p.Pairs.Len())
		for i := range senders {
			senders[i] = p.Pairs.First(i)
		}
		p.Every = rate(senders, p.Sizes.Mean(), p.Pairs.AcrossPart())
		w.View.Interval = p.Every / float64(vtime.Nanosecond)
		w.draw = p.Flows
		return d.bounded(v, p.Every, p.Expected())
	})
}

func (d *decoder) incast(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.Incast{}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		from, to := d.hostSet(m.Get("from"), &w.View.From), d.hostSet(m.Get("to"), &w.View.To)
		relation := d.relation(m, w)
		arrivals := "periodic"
		m.Get("arrivals").Choice(&arrivals, "periodic", "poisson")
		p.Random = arrivals == "poisson"
		w.View.Arrivals = arrivals
		d.readClock(m, &p.Clock, "events", w)
		rate := d.readLoad(m, w)
		degree := m.Need("degree")
		if !degree.Int(&p.Degree, 1, topologies.MaxHosts) || p.Sizes == nil || from == nil || to == nil || rate == nil {
			return false
		}
		w.View.Degree = p.Degree
		p.Pairs = workload.NewPairs(to, from, racks(d.s.Topology), relation)
		if p.Pairs.Len() == 0 {
			v.Errorf("no receiver has a sender %s", w.View.Pairs)
			return false
		}
		for i := range p.Pairs.Len() {
			if n := p.Pairs.Choices(p.Pairs.First(i)); n < p.Degree {
				degree.Errorf("%s can receive from %d hosts, not from %d", d.host(p.Pairs.First(i)), n, p.Degree)
				return false
			}
		}
		p.Every = rate(from, p.Sizes.Mean()*float64(p.Degree), p.Pairs.AcrossPart())
		w.View.Interval = p.Every / float64(vtime.Nanosecond)
		w.draw = p.Flows
		return d.bounded(v, p.Every, p.Expected()*float64(p.Degree))
	})
}

func (d *decoder) allToAll(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.AllToAll{}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		from, to := d.hostSet(m.Get("from"), &w.View.From), d.hostSet(m.Get("to"), &w.View.To)
		relation := d.relation(m, w)
		if !d.readRounds(m, &p.Clock, w) || p.Sizes == nil || from == nil || to == nil {
			return false
		}
		p.Pairs = workload.NewPairs(from, to, racks(d.s.Topology), relation)
		if p.Pairs.Len() == 0 {
			v.Errorf("no sender has a receiver %s", w.View.Pairs)
			return false
		}
		w.draw = p.Flows
		return d.bounded(v, p.Every, p.Expected()*float64(p.PerRound()))
	})
}

func (d *decoder) permutation(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	p := &workload.Permutation{}
	return d.rule(v, func(m *yamlspec.Mapping) bool {
		p.Sizes = d.sizes(m, w)
		p.Hosts = d.hostSet(m.Get("hosts"), &w.View.From)
		if !d.readRounds(m, &p.Clock, w) || p.Sizes == nil || p.Hosts == nil {
			return false
		}
		if len(p.Hosts) < 2 {
			v.Errorf("a permutation has at least two hosts")
			return false
		}
		w.draw = p.Flows
		return d.bounded(v, p.Every, p.Expected()*float64(len(p.Hosts)))
	})
}

// rule reads the mapping of a workload that has one. It says no after any mistake in it.
func (d *decoder) rule(v *yamlspec.Value, read func(m *yamlspec.Mapping) bool) bool {
	if !v.IsMapping() {
		v.Errorf("expected a mapping such as {sizes: websearch}")
		return false
	}
	before := v.Report().Count()
	m := v.Mapping()
	usable := read(m)
	m.Done()
	return usable && v.Report().Count() == before && d.s.Topology != nil
}

// bounded reports more flows, or more of them at a time, than anybody wants.
func (d *decoder) bounded(v *yamlspec.Value, every, flows float64) bool {
	switch {
	case flows+float64(len(d.s.Flows)) > maxFlows:
		v.Errorf("about %.0f flows: at most %d are possible", flows, maxFlows)
	case every < 1 && flows > 1:
		v.Errorf("one flow a picosecond or more: the load is too high for flows of this size")
	default:
		return true
	}
	return false
}

// sizes reads size, one for all flows, or sizes: a built-in distribution's name, or a file relative to the scenario's.
func (d *decoder) sizes(m *yamlspec.Mapping, w *Workload) *workload.Sizes {
	one, of := m.Get("size"), m.Get("sizes")
	switch {
	case one != nil && of != nil:
		m.Key("size").Errorf("size and sizes: one of them says how long the flows are")
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

// read is the file that v names, relative to the scenario's folder. unknown is what to say if it does not look like one.
func (d *decoder) read(v *yamlspec.Value, name string, unknown error) (path string, data []byte) {
	path = name
	if !filepath.IsAbs(name) {
		path = filepath.Join(d.dir, name)
	}
	if unknown != nil && !strings.ContainsAny(name, "./") && !isFile(path) {
		v.Errorf("%v, and no file %s", unknown, path)
		return path, nil
	}
	data, err := os.ReadFile(path)
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
		v.Errorf("a set of hosts has at least one")
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

// readClock reads when a workload begins and ends: until a time, or after a number of events, whose key is given. Without
// either it ends with the run.
func (d *decoder) readClock(m *yamlspec.Mapping, c *workload.Clock, count string, w *Workload) {
	start, until, number := m.Get("start"), m.Get("until"), m.Get(count)
	start.Time(&c.Start)
	number.Int(&c.Count, 1, maxFlows)
	c.Until = d.s.Duration
	switch {
	case until.Time(&c.Until):
		if c.Until <= c.Start {
			until.Errorf("until %v is not after start %v", c.Until, c.Start)
		}
		w.View.Until = nanoseconds(c.Until)
	case number != nil:
		c.Until = vtime.Never
	case start != nil && d.s.Duration > 0 && c.Start >= d.s.Duration:
		start.Errorf("start %v is not before the run's end (duration %v)", c.Start, d.s.Duration)
	}
	w.View.Start, w.View.Count = nanoseconds(c.Start), c.Count
}

// readRounds reads when the rounds of a workload begin that does the same again and again.
func (d *decoder) readRounds(m *yamlspec.Mapping, c *workload.Clock, w *Workload) bool {
	c.Count, c.Until = 1, vtime.Never
	start, rounds, interval := m.Get("start"), m.Get("rounds"), m.Get("interval")
	var every vtime.Time
	start.Time(&c.Start)
	rounds.Int(&c.Count, 1, maxFlows)
	switch {
	case interval.Time(&every) && every == 0:
		interval.Errorf("interval must be positive")
	case interval != nil && c.Count == 1:
		m.Key("interval").Errorf("interval has no effect without several rounds")
	case interval == nil && c.Count > 1:
		m.Key("rounds").Errorf("%d rounds need an interval between them, such as interval: 100us", c.Count)
	}
	c.Every = float64(max(every, 1))
	if last := c.Start + vtime.Time(c.Count-1)*every; d.s.Duration > 0 && last >= d.s.Duration {
		at := start
		if at == nil {
			at = m.Key("rounds")
		}
		at.Errorf("the last round would start at %v, not before the run's end (duration %v)", last, d.s.Duration)
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
		m.Key("of").Errorf("of says what a load is a part of, and there is no load")
	}
	var every vtime.Time
	switch {
	case load != nil && interval != nil:
		m.Key("interval").Errorf("load and interval: one of them says how often")
		return nil
	case interval != nil:
		if !interval.Time(&every) {
			return nil
		}
		if every == 0 {
			interval.Errorf("interval must be positive")
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
	case part <= 0:
		load.Errorf("load must be positive")
		return nil
	case part > mostLoad:
		load.Errorf("load %g is above %d: write 0.8 or 80%%", part, mostLoad)
		return nil
	case of == nil:
		load.Errorf("load %g of what? Write of: core or of: hosts", part)
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
				of.Errorf("the senders' switch has no link to another switch: there is no core")
				return math.Inf(1)
			case across == 0:
				of.Errorf("no flow leaves its rack: nothing loads the core")
				return math.Inf(1)
			}
		}
		w.View.Capacity = capacity
		return payload * 8 * float64(vtime.Second) / float64(part*float64(capacity))
	}
}

// flowTable reads flows from a file like flows.csv: a line of column names, then a line a flow. Columns that it does not
// know are passed over.
func (d *decoder) flowTable(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	name := ""
	if !v.String(&name) {
		return false
	}
	path, data := d.read(v, name, nil)
	if data == nil || d.s.Topology == nil {
		return false
	}
	before := v.Report().Count()
	w.View.file(name, data)
	t := flowReader{decoder: d, w: w}
	var columns map[string]int
	for row := range v.Report().Rows(path, data, ",") {
		if columns == nil {
			if columns = t.header(row); columns == nil {
				return false
			}
			continue
		}
		if len(row.Fields) != t.width {
			row.Line.Errorf("%d fields, and the first line has %d", len(row.Fields), t.width)
			continue
		}
		f := Flow{Tag: w.Tag}
		at := func(column string) *yamlspec.Value { return row.Fields[columns[column]] }
		if _, tagged := columns["tag"]; tagged {
			if f.Tag = at("tag").Raw(); !tagName.MatchString(f.Tag) {
				at("tag").Errorf("tag %q: a tag is letters, digits and _ . + / -", f.Tag)
			}
		}
		source, sourceOK := t.end(at("src"))
		destination, destinationOK := t.end(at("dst"))
		size, err := strconv.ParseInt(at("size_bytes").Raw(), 10, 62)
		if err != nil || size < 0 {
			at("size_bytes").Errorf("%q is not a number of bytes (0: %s)", at("size_bytes").Raw(), Unbounded)
		}
		f.Size = units.Bytes(size)
		if f.Start, err = units.ParseTime(at("start_ns").Raw() + "ns"); err != nil {
			at("start_ns").Errorf("%q is not a time in nanoseconds", at("start_ns").Raw())
		}
		f.Source, f.Destination = source, destination
		if sourceOK && destinationOK {
			t.add(row, at("start_ns"), f)
		}
	}
	if columns == nil {
		v.Errorf("%s has no line of column names", path)
	}
	return v.Report().Count() == before
}

// flowReader reads a file of flows into a workload.
type flowReader struct {
	*decoder
	w     *Workload
	width int // columns
}

// header is the columns by name; nil if one is missing.
func (t *flowReader) header(row yamlspec.Row) map[string]int {
	columns := map[string]int{}
	for i, f := range row.Fields {
		columns[f.Raw()] = i
	}
	t.width = len(row.Fields)
	for _, need := range []string{"src", "dst", "size_bytes", "start_ns"} {
		if _, ok := columns[need]; !ok {
			row.Line.Errorf("no column %s: the first line names the columns, such as tag,src,dst,size_bytes,start_ns", need)
			return nil
		}
	}
	return columns
}

// end is the host that v names.
func (t *flowReader) end(v *yamlspec.Value) (topologies.NodeID, bool) {
	id, ok := t.nodes[v.Raw()]
	switch {
	case !ok:
		v.Errorf("no node %q in topology %s%s", v.Raw(), t.s.Topology.Name, yamlspec.Suggest(v.Raw(), t.names))
	case t.s.Topology.Nodes[id].Kind != topologies.Host:
		v.Errorf("%s is a switch: flows run between hosts", v.Raw())
		ok = false
	}
	return id, ok
}

// add adds a flow of the file.
func (t *flowReader) add(row yamlspec.Row, start *yamlspec.Value, f Flow) {
	switch {
	case f.Source == f.Destination:
		row.Line.Errorf("%s would send to itself", t.s.Topology.Nodes[f.Source].Name)
	case t.s.Duration > 0 && f.Start >= t.s.Duration:
		start.Errorf("start %v is not before the run's end (duration %v)", f.Start, t.s.Duration)
	case len(t.w.flows) == maxFlows:
		row.Line.Errorf("more than %d flows", maxFlows)
	default:
		t.w.flows = append(t.w.flows, f)
	}
}

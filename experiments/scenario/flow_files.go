package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// flowTable reads flows from a file such as flows.csv: a line of column names, then one line for each flow. It ignores
// unknown columns.
func (d *decoder) flowTable(v *yamlspec.Value, _ *yamlspec.Mapping, e *workloadEntry) bool {
	w, name := e.Workload, e.file
	path, data := d.read(v, name, nil)
	if data == nil || d.s.Topology == nil {
		return false
	}
	before := v.Report().Count()
	w.View.file(name, data)
	t := flowReader{decoder: d, w: w, owns: map[Own]*FlowExtras{}}
	var columns map[string]int
	for row := range v.Report().Rows(path, data, ",") {
		if columns == nil {
			if columns = t.header(row); columns == nil {
				return false
			}
			continue
		}
		if len(row.Fields) != t.width {
			row.Line.Errorf("the line has %d fields, but the header has %d", len(row.Fields), t.width)
			continue
		}
		f := Flow{Tag: w.Tag}
		at := func(column string) *yamlspec.Value { return row.Fields[columns[column]] }
		if _, tagged := columns["tag"]; tagged {
			if f.Tag = at("tag").Raw(); !tagName.MatchString(f.Tag) {
				at("tag").Errorf("tag %q: use only letters, digits and _ . + / -", f.Tag)
			}
		}
		source, sourceOK := t.end(at("src").Raw(), at("src"))
		destination, destinationOK := t.end(at("dst").Raw(), at("dst"))
		size, err := strconv.ParseInt(at("size_bytes").Raw(), 10, 62)
		if err != nil || size < 0 {
			at("size_bytes").Errorf("%q is not a number of bytes (0 means %s)", at("size_bytes").Raw(), Unbounded)
		}
		f.Size = units.Bytes(size)
		if f.Start, err = units.ParseTime(at("start_ns").Raw() + "ns"); err != nil {
			at("start_ns").Errorf("%q is not a time in nanoseconds", at("start_ns").Raw())
		}
		ends := between(source, destination)
		f.Source, f.Destination, f.Pair, f.Named = ends.Source, ends.Destination, ends.Pair, ends.Named
		f.Extras = t.extras(f.Start, func(column string) *yamlspec.Value {
			if _, there := columns[column]; there {
				return at(column)
			}
			return nil
		})
		if sourceOK && destinationOK {
			t.add(row, at("start_ns"), f)
		}
	}
	if columns == nil {
		v.Errorf("%s is empty: write a header such as tag,src,dst,size_bytes,start_ns, then one line for each flow", path)
	} else if len(w.flows) == 0 && v.Report().Count() == before {
		v.Errorf("%s has no flows: add one line for each flow below the header", path)
	}
	return v.Report().Count() == before
}

// flowReader reads the flows of a file into a workload.
type flowReader struct {
	*decoder
	w     *Workload
	width int // number of columns
	owns  map[Own]*FlowExtras
}

// extras reads the optional columns of a row, nil if the row sets none of them. An empty field means that the column
// is not set.
func (t *flowReader) extras(start vtime.Time, column func(string) *yamlspec.Value) *FlowExtras {
	own := Own{}
	if at := column(ownController); at != nil && at.Raw() != "" {
		if spec, err := t.s.Lookup(at.Raw()); err != nil {
			at.Errorf("%v", err)
		} else {
			own.CC = spec.Name
		}
	}
	if at := column("qps"); at != nil && at.Raw() != "" {
		n, err := strconv.Atoi(at.Raw())
		if err != nil || n < 1 || n > MostQPs {
			at.Errorf("%q is not a number of QPs from 1 to %d", at.Raw(), MostQPs)
		} else if n > 1 {
			own.QPs.Count = n
		}
	}
	if at := column("priority"); at != nil && at.Raw() != "" {
		if n, err := strconv.Atoi(at.Raw()); err != nil || n < 0 || n > 7 {
			at.Errorf("%q is not a priority from 0 to 7", at.Raw())
		} else {
			own.Priority = uint8(1 + n)
		}
	}
	if at := column("weight"); at != nil && at.Raw() != "" {
		if n, err := strconv.Atoi(at.Raw()); err != nil || n < 1 || n > mostWeight {
			at.Errorf("%q is not a weight from 1 to %d", at.Raw(), mostWeight)
		} else if n > 1 {
			own.Weight = n
		}
	}
	if at := column("stop_ns"); at != nil && at.Raw() != "" {
		stop, err := units.ParseTime(at.Raw() + "ns")
		switch {
		case err != nil:
			at.Errorf("%q is not a time in nanoseconds", at.Raw())
		case stop <= start:
			at.Errorf("stop %v must be later than the start, %v", stop, start)
		default:
			own.Stop = stop
		}
	}
	return t.shared(own)
}

// shared returns the extras that all flows with these settings share.
func (t *flowReader) shared(own Own) *FlowExtras {
	extras, known := t.owns[own]
	if !known {
		extras = own.extras()
		t.owns[own] = extras
	}
	return extras
}

// header returns the index of each column by name, or nil if a required column is missing.
func (t *flowReader) header(row yamlspec.Row) map[string]int {
	columns := map[string]int{}
	for i, f := range row.Fields {
		columns[f.Raw()] = i
	}
	t.width = len(row.Fields)
	for _, need := range []string{"src", "dst", "size_bytes", "start_ns"} {
		if _, ok := columns[need]; !ok {
			row.Line.Errorf("no column %s: the header must name the columns, such as tag,src,dst,size_bytes,start_ns", need)
			return nil
		}
	}
	return columns
}

// add checks a flow of the file and appends it.
func (t *flowReader) add(row yamlspec.Row, start *yamlspec.Value, f Flow) {
	switch {
	case f.Source == f.Destination:
		row.Line.Errorf("%s would send to itself: name another host as destination", t.s.Topology.Nodes[f.Source].Name)
	case t.s.Duration > 0 && f.Start >= t.s.Duration:
		start.Errorf("start %v must be before the end of the run (duration %v)", f.Start, t.s.Duration)
	case len(t.s.Topology.PairsVia(f.Source, f.Destination, nil, f.Pair, f.Named)) == 0:
		row.Line.Errorf("no switch connects %s and %s: name interfaces of one plane", f.from(t.s.Topology),
			f.to(t.s.Topology))
	case len(t.w.flows) == t.s.mostFlows():
		row.Line.Errorf("%s", t.s.tooMany(float64(len(t.w.flows)+1), FlowMemory))
	default:
		t.w.flows = append(t.w.flows, f)
	}
}

// hpccFlows reads a flow file of HPCC's simulator (simulation/mix/flow.txt). The value is its name, or {file: NAME,
// origin: TIME}, where origin is the file's time at which the run starts.
//
// The file holds words separated by blanks: the number of flows, then for each flow its source, destination, priority
// group, destination port, bytes, and start in seconds. hpccFlows ignores the rest. A host's number is the index of its
// node in the topology. Topology files of the simulator number nodes in the same way.
func (d *decoder) hpccFlows(v *yamlspec.Value, _ *yamlspec.Mapping, e *workloadEntry) bool {
	before := v.Report().Count()
	w, name, file := e.Workload, e.file, v
	if v.IsMapping() {
		file = v.At("file")
		if v.Has("origin") {
			if d.s.Origin != 0 && d.s.Origin != e.origin {
				v.At("origin").Errorf("origin %v differs from another file's, %v: all files of a run need the same origin",
					e.origin,
					d.s.Origin)
			}
			d.s.Origin, w.View.Origin = e.origin, nanoseconds(e.origin)
		}
	}
	path, data := d.read(file, name, nil)
	if data == nil || d.s.Topology == nil {
		return false
	}
	w.View.file(name, data)
	t := flowReader{decoder: d, w: w, owns: map[Own]*FlowExtras{}}
	words := v.Report().Words(path, data)
	defer words.Close()
	count := 0
	if !words.Int(&count, "number of flows", 0, d.s.mostFlows()) {
		return false
	}
	for range count {
		var source, destination, group, port, size int
		if !words.Int(&source, "source of a flow", 0, len(d.s.Topology.Nodes)-1) {
			return false
		}
		sourceAt := words.Last()
		if !words.Int(&destination, "destination of a flow", 0, len(d.s.Topology.Nodes)-1) {
			return false
		}
		destinationAt := words.Last()
		if !words.Int(&group, "priority group", 0, 7) {
			return false
		}
		own := Own{}
		if group != int(d.s.Host.DataPriority) {
			own.Priority = uint8(1 + group)
		}
		if !words.Int(&port, "destination port", 0, 0xFFFF) || !words.Int(&size, "size in bytes", 1, 1<<40) {
			return false
		}
		start := words.Next("start in seconds")
		if start == nil {
			return false
		}
		at, err := units.ParseTime(start.Raw() + "s")
		switch {
		case err != nil:
			start.Errorf("%q is not a time in seconds", start.Raw())
			continue
		case at < d.s.Origin:
			start.Errorf("%s s is before the origin, %v", start.Raw(), d.s.Origin)
			continue
		}
		f := Flow{
			Tag: w.Tag, Source: topologies.NodeID(source), Destination: topologies.NodeID(destination),
			Size: units.Bytes(size), Start: at - d.s.Origin, hpccPort: uint32(1 + port), Extras: t.shared(own),
		}
		if d.defaultTag {
			f.Tag = hpccTag(port)
		}
		if t.isHost(sourceAt, f.Source) && t.isHost(destinationAt, f.Destination) {
			t.add(yamlspec.Row{Line: sourceAt}, start, f)
		}
	}
	return v.Report().Count() == before
}

// isHost reports whether a node is a host, and adds an error at its position in the file if not.
func (t *flowReader) isHost(at *yamlspec.Value, id topologies.NodeID) bool {
	n := &t.s.Topology.Nodes[id]
	if n.Kind != topologies.Host {
		at.Errorf("node %d is the switch %s: flows run between hosts", id, n.Name)
	}
	return n.Kind == topologies.Host
}

// fixed assigns the graph of a file to a workload, with its ranks at hosts. If there are more hosts than ranks, the
// first hosts get the ranks.
func (d *decoder) fixed(at *yamlspec.Value, w *Workload, g *steps.Graph, hosts []int) bool {
	switch {
	case len(hosts) < g.Ranks:
		at.Errorf("the file has %d ranks, but ranks names only %d hosts", g.Ranks, len(hosts))
		return false
	case g.Added() == 0:
		at.Errorf("the file has no operations")
		return false
	case len(g.Messages) > d.s.mostMessages(StreamMemory):
		at.Errorf("%s", d.s.tooMany(float64(len(g.Messages)), StreamMemory))
		return false
	}
	w.messages = len(g.Messages)
	place := w.place
	w.place = func(random workload.Stream) []topologies.NodeID { return place(random)[:g.Ranks] }
	w.build = func(workload.Stream, []topologies.NodeID, bool) (*steps.Graph, error) { return g, nil }
	return true
}

// goal reads a schedule in GOAL: {file: NAME, ranks: HOSTS, calc: TIME}.
func (d *decoder) goal(_ *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	hosts, file := d.ranks(m, e.Workload), m.Get("file")
	if hosts == nil {
		return false
	}
	path, data := d.read(file, e.file, nil)
	if data == nil {
		return false
	}
	e.View.file(e.file, data)
	e.View.Calc = nanoseconds(e.calc)
	g, err := steps.ReadGOAL(data, e.calc)
	if err != nil {
		file.Errorf("%s: %v", path, err)
		return false
	}
	return d.fixed(file, e.Workload, g, hosts)
}

// chakra reads Chakra execution traces: {files: NAME with %d, ranks: HOSTS, algorithm: ALGORITHM}.
func (d *decoder) chakra(v *yamlspec.Value, m *yamlspec.Mapping, e *workloadEntry) bool {
	w, name, file := e.Workload, e.file, m.Get("files")
	hosts := d.ranks(m, w)
	if hosts == nil {
		return false
	}
	if strings.Count(name, "%d") != 1 {
		file.Errorf("%q must contain %%d for the rank, such as trace.%%d.et", name)
		return false
	}
	var traces [][]byte
	var all []byte
	missing := "" // first missing file; there may be fewer traces than hosts
	for rank := range hosts {
		own := strings.Replace(name, "%d", strconv.Itoa(rank), 1)
		path := own
		if !filepath.IsAbs(own) {
			path = filepath.Join(d.dir, own)
		}
		if rank > 0 && !v.Report().Sources.IsFile(path, IsFile) {
			missing = cmp.Or(missing, own)
			continue
		}
		if missing != "" {
			file.Errorf("%s exists, but %s does not: name the traces of ranks 0, 1, 2 and so on without a gap", own, missing)
			return false
		}
		_, data := d.read(file, own, nil)
		if data == nil {
			return false
		}
		traces, all = append(traces, data), append(all, data...)
	}
	w.View.file(name, all)
	var g *steps.Graph
	var err error
	g, w.Warning, err = collective.ReadChakra(traces, func(kind string, _ int) collective.Spec {
		v := &w.View
		return collective.Spec{Algorithm: cmp.Or(v.Algorithm, defaultAlgorithm(kind)), Chunks: v.Chunks, Group: v.Group}
	})
	if err != nil {
		file.Errorf("%s: %v", name, err)
		return false
	}
	return d.fixed(file, w, g, hosts)
}

// messages reads a table of dependent messages: a header with the columns id, src, dst, size_bytes and after, and
// optionally start_ns and compute_ns, then one line for each message.
func (d *decoder) messages(v *yamlspec.Value, _ *yamlspec.Mapping, e *workloadEntry) bool {
	w, name := e.Workload, e.file
	path, data := d.read(v, name, nil)
	if data == nil || d.s.Topology == nil {
		return false
	}
	before := v.Report().Count()
	w.View.file(name, data)
	t := messageReader{
		flowReader: flowReader{decoder: d, w: w}, g: &steps.Graph{Ranks: len(d.s.Topology.Hosts)},
		byID: map[string]int{},
	}
	for row := range v.Report().Rows(path, data, ",") {
		if t.columns == nil {
			if !t.header(row) {
				return false
			}
			continue
		}
		t.add(row)
	}
	if v.Report().Count() != before {
		return false
	}
	t.join()
	if v.Report().Count() != before {
		return false
	}
	if _, cycle := t.g.Order(); cycle != nil {
		v.Errorf("%s: messages wait for each other in a cycle and can never start: %s", path, t.g.DescribeCycle(cycle))
		return false
	}
	hosts := make([]int, t.g.Ranks)
	for i := range hosts {
		hosts[i] = i
	}
	w.place = func(workload.Stream) []topologies.NodeID { return d.s.Topology.Hosts }
	return d.fixed(v, w, t.g, hosts)
}

// messageReader reads a table of messages into a graph.
type messageReader struct {
	flowReader
	g       *steps.Graph
	columns map[string]int
	rows    []messageRow
	byID    map[string]int
}

// messageRow holds a message's operations and the ids of the messages that it waits for.
type messageRow struct {
	source, destination int32
	begins              int32 // the operation that waits: the send, or the compute before it
	send, receive       int32
	start               vtime.Time
	after               *yamlspec.Value
}

// header reads the names of the columns.
func (t *messageReader) header(row yamlspec.Row) bool {
	t.columns, t.width = map[string]int{}, len(row.Fields)
	for i, f := range row.Fields {
		t.columns[f.Raw()] = i
	}
	for _, need := range []string{"id", "src", "dst", "size_bytes", "after"} {
		if _, ok := t.columns[need]; !ok {
			row.Line.Errorf("no column %s: the header must name the columns, such as id,src,dst,size_bytes,after", need)
			return false
		}
	}
	return true
}

// add reads a message.
func (t *messageReader) add(row yamlspec.Row) {
	if len(row.Fields) != t.width {
		row.Line.Errorf("the line has %d fields, but the header has %d", len(row.Fields), t.width)
		return
	}
	at := func(column string) *yamlspec.Value { return row.Fields[t.columns[column]] }
	source, sourceOK := t.host(at("src"))
	destination, destinationOK := t.host(at("dst"))
	size, err := strconv.ParseInt(at("size_bytes").Raw(), 10, 62)
	if err != nil || size < 1 {
		at("size_bytes").Errorf("%q is not a number of bytes (at least 1)", at("size_bytes").Raw())
		return
	}
	id := at("id").Raw()
	if _, twice := t.byID[id]; twice || id == "" {
		at("id").Errorf("id %q is empty or used twice: give each message its own", id)
		return
	}
	times := map[string]vtime.Time{}
	for _, column := range []string{"start_ns", "compute_ns"} {
		if k, has := t.columns[column]; has && row.Fields[k].Raw() != "" {
			if times[column], err = units.ParseTime(row.Fields[k].Raw() + "ns"); err != nil || times[column] > maxDuration {
				row.Fields[k].Errorf("%q is not a time in nanoseconds of at most %v", row.Fields[k].Raw(), maxDuration)
				return
			}
		}
	}
	if !sourceOK || !destinationOK {
		return
	}
	if source == destination {
		row.Line.Errorf("%s would send to itself: name another host as destination", at("src").Raw())
		return
	}
	nodes := t.s.Topology.Nodes
	m := messageRow{
		source: int32(nodes[source].Index), destination: int32(nodes[destination].Index),
		start: times["start_ns"], after: at("after"),
	}
	m.begins = t.g.Added()
	var compute []steps.Wait
	if took := times["compute_ns"]; took > 0 {
		compute = []steps.Wait{{Operation: t.g.Add(steps.Operation{Rank: m.source, Duration: took, Unit: 1})}}
	}
	m.send, m.receive = t.g.Message(m.source, m.destination, size, compute, nil)
	t.byID[id] = len(t.rows)
	t.rows = append(t.rows, m)
}

func (t *messageReader) host(v *yamlspec.Value) (topologies.NodeID, bool) {
	id, known := t.nodes[v.Raw()]
	switch {
	case !known:
		v.Errorf("no node %q in topology %s%s", v.Raw(), t.s.Topology.Name, spelling.Suggest(v.Raw(), t.names))
	case t.s.Topology.Nodes[id].Kind != topologies.Host:
		v.Errorf("%s is a switch: messages go between hosts", v.Raw())
		known = false
	}
	return id, known
}

// join makes each message wait for the messages in its column after.
func (t *messageReader) join() {
	for i := range t.rows {
		m := &t.rows[i]
		var waits []steps.Wait
		if m.start > 0 {
			waits = append(waits, steps.Wait{Operation: t.g.Add(steps.Operation{Rank: m.source, Duration: m.start})})
		}
		for _, id := range strings.Fields(m.after.Raw()) {
			k, known := t.byID[id]
			if !known {
				m.after.Errorf("no message %q", id)
				continue
			}
			switch on := &t.rows[k]; m.source {
			case on.destination:
				waits = append(waits, steps.Wait{Operation: on.receive})
			case on.source:
				waits = append(waits, steps.Wait{Operation: on.send})
			default:
				host := t.s.Topology.Nodes[t.s.Topology.Hosts[m.source]].Name
				m.after.Errorf("message %s is neither to nor from %[2]s: a message can wait only for messages that its source, "+
					"%[2]s, receives or sends", id,
					host)
			}
		}
		if len(waits) > 0 {
			t.g.SetWaits(m.begins, waits...)
		}
	}
}

// file notes the name and the content of a workload's file.
func (v *WorkloadView) file(name string, data []byte) {
	sum := sha256.Sum256(data)
	v.File, v.SHA256 = name, hex.EncodeToString(sum[:])
}

package experiments

import (
	"strconv"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

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
		v.Errorf("%s is empty: its first line names the columns, such as tag,src,dst,size_bytes,start_ns, and each other line is a flow", path)
	} else if len(w.flows) == 0 && v.Report().Count() == before {
		v.Errorf("%s has no flow: each line below the first is one", path)
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

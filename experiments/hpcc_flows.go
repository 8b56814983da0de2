package experiments

import (
	"fmt"
	"strconv"

	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// The destination ports by which the scripts of HPCC's simulator tell flows apart (its analysis/fct_analysis.py), and the
// tags that flows of these ports have here. Flows of another port N have the tag "portN".
const (
	hpccNormalPort, hpccNormal = 100, "normal"
	hpccIncastPort, hpccIncast = 200, "incast"
	hpccPortPrefix             = "port"
)

// hpccTag is the tag of flows to a port.
func hpccTag(port int) string {
	switch port {
	case hpccNormalPort:
		return hpccNormal
	case hpccIncastPort:
		return hpccIncast
	}
	return hpccPortPrefix + strconv.Itoa(port)
}

// hpccFlows reads a flow file of HPCC's simulator (simulation/mix/flow.txt): its name, or {file: NAME, origin: TIME} with
// the time in the file at which the run begins. The file is words between blanks: the number of flows; and for each its
// source, its destination, priority group, destination port, bytes, and start in seconds. What follows is not read. Hosts are
// named by their numbers: a node's place in the topology, which in one of the simulator's is the node's own number.
func (d *decoder) hpccFlows(v *yamlspec.Value, _ *yamlspec.Mapping, w *Workload) bool {
	before := v.Report().Count()
	file, name := v, ""
	if v.IsMapping() {
		m := v.Mapping()
		file = m.Need("file")
		origin := m.Get("origin")
		var t vtime.Time
		if origin.Time(&t) {
			if d.s.origin != 0 && d.s.origin != t {
				origin.Errorf("origin %v: another file's is %v, and the run has one clock", t, d.s.origin)
			}
			d.s.origin, w.View.Origin = t, nanoseconds(t)
		}
		m.Done()
	}
	if !file.String(&name) {
		return false
	}
	path, data := d.read(file, name, nil)
	if data == nil || d.s.Topology == nil {
		return false
	}
	w.View.file(name, data)
	t := flowReader{decoder: d, w: w}
	words := v.Report().Words(path, data)
	defer words.Close()
	count := 0
	if !words.Int(&count, "number of flows", 0, maxFlows) {
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
		if group != int(d.s.Host.DataPriority) {
			words.Last().Errorf("priority group %d: every flow here is of host.data_priority, %d", group, d.s.Host.DataPriority)
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
		case at < d.s.origin:
			start.Errorf("%s s is before the origin, %v", start.Raw(), d.s.origin)
			continue
		}
		f := Flow{
			Tag: w.Tag, Source: topologies.NodeID(source), Destination: topologies.NodeID(destination),
			Size: units.Bytes(size), Start: at - d.s.origin, hpccPort: 1 + port,
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

// isHost reports a node that is none.
func (t *flowReader) isHost(at *yamlspec.Value, id topologies.NodeID) bool {
	n := &t.s.Topology.Nodes[id]
	if n.Kind != topologies.Host {
		at.Errorf("node %d is the switch %s: flows run between hosts", id, n.Name)
	}
	return n.Kind == topologies.Host
}

// hpccPort is a flow's destination port in the simulator: its file's, or what the simulator's scripts expect, 200 of an incast and
// 100 of others.
func (s *Scenario) hpccPort(flow int) int {
	if port := s.Flows[flow].hpccPort; port > 0 {
		return port - 1
	}
	w, tag := s.workloadOf(flow), s.Flows[flow].Tag
	var port int
	if _, err := fmt.Sscanf(tag, hpccPortPrefix+"%d", &port); err == nil && port >= 0 && port <= 0xFFFF {
		return port
	}
	if tag == hpccIncast || w != nil && w.View.Kind == "incast" {
		return hpccIncastPort
	}
	return hpccNormalPort
}

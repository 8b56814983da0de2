package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/table"
)

// Header heads a replay. Times are in virtual ns. Its columns are those of a record, whose rows are of the ports in
// Rows, and
//
//	flow.tag, flow.source, flow.destination, flow.size, flow.start, flow.fct (-1: it has not ended), flow.ideal,
//	flow.slowdown (millionths), flow.resent          one row each, a number for each flow
//	pfc.time, pfc.port, pfc.priority, pfc.pause      one row each, a number for each PFC frame; pause is 1 for a PAUSE, 0 for a RESUME
//	panel.N.time, panel.N.value                      of each panel a row for each series; values are rounded
//	why.parent, why.word                             one row each, a number for each node of the trees of flows' time; parent -1: at the top
//	why.node, why.root, why.time                     a row for each flow, a number for each part of its time: its node, the word of its root, ps
type Header struct {
	Label       string `json:"label"` // distinguishes the runs of a page
	Scenario    string `json:"scenario"`
	Description string `json:"description"`
	Controller  string `json:"controller"`
	Seed        uint64 `json:"seed"`
	Fabric      string `json:"fabric"`
	Status      string `json:"status"`
	Verdict     string `json:"verdict"`
	Fingerprint string `json:"fingerprint"`
	Command     string `json:"command"`
	Version     string `json:"version"`
	// values over time exist for all ports, not only for sampled ones
	Recorded   bool                 `json:"recorded"`
	Interval   float64              `json:"interval"`
	Duration   float64              `json:"duration"`
	XOFF       float64              `json:"xoff"`   // bytes; 0 if it is not one number
	Quanta     float64              `json:"quanta"` // the duration of a PAUSE in units of 512 bit times
	Priority   uint8                `json:"priority"`
	Nodes      []Node               `json:"nodes"`
	Links      []Link               `json:"links"`
	Ports      []string             `json:"ports"` // interface names; link l has the ports 2l, its A's, and 2l+1
	Rows       []int                `json:"rows"`
	Hosts      []int                `json:"hosts"` // nodes of the rows of cnps
	Tags       []string             `json:"tags"`
	Panels     []scenario.PanelView `json:"panels"`
	Default    bool                 `json:"report_default"` // the run chose the panels
	Spans      []scenario.SpanView  `json:"spans"`
	LookAt     []string             `json:"look_at"`
	Events     []Event              `json:"events"`
	MoreEvents int                  `json:"more_events"` // number of further events
	// parts missing from the folder, each with a remedy, and changed files
	Missing []string `json:"missing"`
	Why     *Why     `json:"why"` // null: the run was made without --why
	Columns []column `json:"columns"`
}

// Node represents a switch or a host.
type Node struct {
	Name string `json:"name"`
	Host bool   `json:"host"`
	Tier int    `json:"tier"`
}

// Link represents a cable between two nodes.
type Link struct {
	A     int     `json:"a"`
	B     int     `json:"b"`
	Rate  float64 `json:"rate"`  // bit/s
	Delay float64 `json:"delay"` // ns
}

// Event represents a fault, a storm or a deadlock.
type Event struct {
	Time     int64  `json:"time"`
	Kind     string `json:"kind"`
	Position string `json:"place"`
	Detail   string `json:"detail"`
}

// mostEvents limits the events of a replay.
const mostEvents = 500

// reading holds the state of reading a folder.
type reading struct {
	path     string
	manifest rundir.Manifest
	head     Header
	writer
	nodes, ports map[string]int
	slowdowns    []int64 // by flow, in millionths; endless for unfinished flows
}

// Read reads a run's folder and returns its replay with the given label. Mistakes in its files are rundir.FileErrors.
// The warnings name files that were changed after the run; the replay contains them, too.
func Read(path, label string) (packed []byte, warnings []string, err error) {
	r := &reading{path: path, nodes: map[string]int{}, ports: map[string]int{}}
	if err := rundir.ReadJSON(filepath.Join(path, rundir.ManifestFile), &r.manifest); err != nil {
		return nil, nil, err
	}
	if r.manifest.Status == rundir.StatusRunning {
		return nil, nil, &rundir.FileError{Path: path, Err: errors.New(
			"the run has not ended, or was killed: wait for it, or run it again")}
	}
	r.takeManifest(label)
	var summary struct {
		VirtualNS int64 `json:"virtual_ns"`
	}
	if err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), &summary); err == nil && summary.VirtualNS > 0 {
		r.head.Duration = float64(summary.VirtualNS) // a run that drains may end before its duration, or after it
	}
	if err := errors.Join(r.flows(), r.overTime(), r.pauses(), r.events(), r.panels(), r.why()); err != nil {
		return nil, nil, err
	}
	if r.manifest.Status == rundir.StatusComplete {
		warnings = rundir.Changed(path, r.files()...)
		r.head.Missing = append(r.head.Missing, warnings...)
	}
	packed, err = r.pack(&r.head, func(all []column) { r.head.Columns = all })
	return packed, warnings, err
}

// files returns the files that the replay was read from.
func (r *reading) files() []string {
	all := []string{
		rundir.ManifestFile, rundir.Flows.Name, rundir.PFC.Name, rundir.Events.Name, rundir.Panels.Name,
		rundir.Why.Name, rundir.Causes.Name,
	}
	if r.head.Recorded {
		return append(all, rundir.RecordFile)
	}
	return append(all, rundir.Ports.Name, rundir.Rates.Name)
}

// takeManifest copies values from the manifest.
func (r *reading) takeManifest(label string) {
	m, v := &r.manifest, &r.manifest.Configuration
	h := &r.head
	*h = Header{
		Label: label, Scenario: m.Scenario, Description: v.Description, Controller: m.Controller, Seed: m.Seed,
		Fabric: m.Fabric, Status: m.Status,
		Verdict: string(m.Verdict), Fingerprint: m.Fingerprint, Command: m.Command, Version: m.Version,
		Interval: v.Sample.Interval, Duration: v.Duration,
		Panels: v.Report, Default: v.ReportDefault, Spans: v.Spans, LookAt: v.LookAt,
	}
	var set struct {
		PFC struct {
			XOFF   float64 `json:"xoff_bytes"`
			Quanta float64 `json:"quanta"`
		} `json:"pfc"`
		Priority uint8 `json:"data_priority"`
	}
	// What is of another version, perhaps, may lack them.
	_ = json.Unmarshal(v.Switch.RawMessage, &set)
	_ = json.Unmarshal(v.Host.RawMessage, &set)
	h.XOFF, h.Quanta, h.Priority = set.PFC.XOFF, set.PFC.Quanta, set.Priority
	for i, n := range v.Topology.Nodes {
		h.Nodes = append(h.Nodes, Node{n.Name, n.Kind == "host", n.Tier})
		r.nodes[n.Name] = i
	}
	for _, l := range v.Topology.Links {
		for _, end := range []string{l.A, l.B} {
			r.ports[end] = len(h.Ports)
			h.Ports = append(h.Ports, end)
		}
		h.Links = append(h.Links, Link{r.nodeOf(l.A), r.nodeOf(l.B), float64(l.Rate), l.Delay})
	}
}

// nodeOf returns the node of an interface, whose name is the node's with a suffix such as -eth1.
func (r *reading) nodeOf(port string) int {
	return r.nodes[port[:max(0, strings.LastIndex(port, "-eth"))]]
}

// end returns the node at an end of a flow. For a host with several ports the name has the port's number, as in "h0.2".
func (r *reading) end(name string) int {
	if node, known := r.nodes[name]; known {
		return node
	}
	host, _, _ := strings.Cut(name, ".")
	return r.nodes[host]
}

// portOf returns the host's port that such a name has; ok is false if it names no port.
func (r *reading) portOf(name string) (port int, ok bool) {
	host, number, found := strings.Cut(name, ".")
	if found {
		port, ok = r.ports[host+"-eth"+number]
	}
	return port, ok
}

// read reads a table of the folder. If it does not exist, the replay lists it as missing.
func read[Row any](r *reading, t *table.Table[Row], without string, each func(*Row) error) error {
	err := rundir.Read(r.path, t, each)
	if errors.Is(err, fs.ErrNotExist) {
		r.head.Missing = append(r.head.Missing, fmt.Sprintf("no %s, so there are no %s: run it again", t.Name, without))
		return nil
	}
	return err
}

func (r *reading) flows() error {
	tags := map[string]int{}
	var all [9]row
	err := read(r, rundir.Flows, "flows", func(f *rundir.FlowRow) error {
		tag, known := tags[f.Tag]
		if !known {
			tag = len(r.head.Tags)
			tags[f.Tag] = tag
			r.head.Tags = append(r.head.Tags, f.Tag)
		}
		from, to := r.end(f.Source), r.end(f.Destination)
		ideal, slowdown := int64(0), int64(0)
		if f.Finished() {
			ideal, slowdown = f.Ideal, int64(math.Round(f.Slowdown*1e6))
			r.slowdowns = append(r.slowdowns, slowdown)
		} else {
			r.slowdowns = append(r.slowdowns, endless)
		}
		for i, v := range []int64{
			int64(tag), int64(from), int64(to), f.Size, f.Start, f.FCT, ideal, slowdown,
			f.Retransmitted,
		} {
			all[i].add(v)
		}
		return nil
	})
	for i, name := range []string{"tag", "source", "destination", "size", "start", "fct", "ideal", "slowdown", "resent"} {
		r.put("flow."+name, all[i])
	}
	return err
}

func (r *reading) pauses() error {
	var at, port, priority, pause row
	err := read(r, rundir.PFC, "PAUSE frames", func(f *rundir.PFCRow) error {
		id, known := r.ports[f.Port]
		if !known {
			return fmt.Errorf("there is no port %q in the manifest's configuration", f.Port)
		}
		on := int64(0)
		if f.Event == "pause" {
			on = 1
		}
		at.add(f.Time)
		port.add(int64(id))
		priority.add(int64(f.Priority))
		pause.add(on)
		return nil
	})
	r.put("pfc.time", at)
	r.put("pfc.port", port)
	r.put("pfc.priority", priority)
	r.put("pfc.pause", pause)
	return err
}

func (r *reading) events() error {
	return read(r, rundir.Events, "faults", func(row *rundir.EventRow) error {
		if len(r.head.Events) == mostEvents {
			r.head.MoreEvents++
			return nil
		}
		e := Event{Time: row.Time, Kind: strings.ReplaceAll(row.Event, "_", " "), Position: row.Node, Detail: row.Detail}
		if row.Peer != "" {
			e.Position += " to " + row.Peer
		}
		r.head.Events = append(r.head.Events, e)
		return nil
	})
}

func (r *reading) panels() error {
	if len(r.head.Panels) == 0 {
		return nil
	}
	times, all := make([][]row, len(r.head.Panels)), make([][]row, len(r.head.Panels))
	for i := range r.head.Panels {
		n := len(r.head.Panels[i].Series)
		times[i], all[i] = make([]row, n), make([]row, n)
	}
	err := read(r, rundir.Panels, "plots of the scenario's", func(row *rundir.PanelRow) error {
		if row.Panel >= len(all) || row.Series >= len(all[row.Panel]) {
			return fmt.Errorf("there is no series %d of panel %d in the manifest's configuration", row.Series, row.Panel)
		}
		times[row.Panel][row.Series].add(row.Time)
		all[row.Panel][row.Series].add(int64(math.Round(row.Value)))
		return nil
	})
	for i := range all {
		r.put(fmt.Sprintf("panel.%d.time", i), times[i]...)
		r.put(fmt.Sprintf("panel.%d.value", i), all[i]...)
	}
	return err
}

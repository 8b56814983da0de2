package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// mostFlows limits the flows of a record. A record of a run with more flows has neither their paths nor their values
// over time.
const mostFlows = 200_000

// Record holds values over time of all ports, hosts and flows, in addition to a run's CSV files. It receives them at
// each sample, between two events, so recording adds no work per frame.
type Record struct {
	plan  *topologies.Plan
	head  recordHeader
	times row

	queue, ingress, paused, sent, marks, cnms []row   // by port
	cnps                                      []row   // by host
	paths                                     []row   // by flow; nil if there are too many flows
	first                                     []int32 // by flow, the index of its first sample
	rate, goodput, rtt                        []row   // by flow, at each sample while it is active
}

// recordHeader heads a record.
type recordHeader struct {
	Priority uint8    `json:"priority"` // of data: queues, accounts and bytes count this priority
	Ports    []string `json:"ports"`    // interface names, in the order of rows
	Hosts    []string `json:"hosts"`
	Columns  []column `json:"columns"`
}

// Port holds a port's values at a sample; counts are of the run so far.
type Port struct {
	Queue, Ingress uint64 // bytes of data's priority: in the egress queue, and received here and still in the switch
	Paused         bool
	Sent           int64  // bytes of the data's priority
	Marks, CNMs    uint64 // packets marked and CNMs sent by the port
}

// NewRecord returns an empty record for a run with this number of flows. Path adds the path of each.
func NewRecord(plan *topologies.Plan, priority uint8, flows int) *Record {
	r := &Record{plan: plan, head: recordHeader{Priority: priority}}
	for i := range plan.Ports {
		r.head.Ports = append(r.head.Ports, plan.Ports[i].Name)
	}
	for _, id := range plan.Hosts {
		r.head.Hosts = append(r.head.Hosts, plan.Nodes[id].Name)
	}
	for _, rows := range []*[]row{&r.queue, &r.ingress, &r.paused, &r.sent, &r.marks, &r.cnms} {
		*rows = make([]row, len(plan.Ports))
	}
	r.cnps = make([]row, len(plan.Hosts))
	if flows <= mostFlows {
		for _, rows := range []*[]row{&r.paths, &r.rate, &r.goodput, &r.rtt} {
			*rows = make([]row, flows)
		}
		r.first = make([]int32, flows)
	}
	return r
}

// Flows reports whether the record has flows over time.
func (r *Record) Flows() bool { return r.paths != nil }

// Path records the path of a flow: the ports that its packets leave by.
func (r *Record) Path(flow int, ports []topologies.PortID) {
	for _, id := range ports {
		link := r.plan.Ports[id].Link
		side := int64(0)
		if r.plan.Links[link].B == id {
			side = 1
		}
		r.paths[flow].add(2*int64(link) + side)
	}
}

// Sample begins a sample.
func (r *Record) Sample(now vtime.Time) { r.times.add(now.RoundNanoseconds()) }

// Port records the state of a port at the sample.
func (r *Record) Port(id int, p Port) {
	r.queue[id].add(int64(p.Queue))
	r.ingress[id].add(int64(p.Ingress))
	paused := int64(0)
	if p.Paused {
		paused = 1
	}
	r.paused[id].add(paused)
	r.sent[id].add(p.Sent)
	r.marks[id].add(int64(p.Marks))
	r.cnms[id].add(int64(p.CNMs))
}

// Host records how many CNPs the host with this index has received.
func (r *Record) Host(index int, cnps int64) { r.cnps[index].add(cnps) }

// Flow records a flow that is active, or that has ended since the last sample: its controller's rate, 0 once it has
// ended, and its goodput since the last sample, both in bit/s, and its last RTT.
func (r *Record) Flow(flow int, rate, goodput float64, rtt vtime.Time) {
	if r.rate[flow].count == 0 {
		r.first[flow] = int32(r.times.count - 1)
	}
	r.rate[flow].add(int64(rate + 0.5))
	r.goodput[flow].add(int64(goodput + 0.5))
	r.rtt[flow].add(rtt.RoundNanoseconds())
}

// Write writes the record into a run's folder.
func (r *Record) Write(folder *files.Folder) error {
	var w writer
	w.put(columnTimes, r.times)
	w.put(columnQueue, r.queue...)
	w.put(columnIngress, r.ingress...)
	w.put(columnPaused, r.paused...)
	w.put(columnSent, r.sent...)
	w.put(columnMarks, r.marks...)
	w.put(columnCNMs, r.cnms...)
	w.put(columnCNPs, r.cnps...)
	if r.Flows() {
		w.put(columnPaths, r.paths...)
		w.put(columnFirst, numbers(r.first))
		w.put(columnRate, r.rate...)
		w.put(columnGoodput, r.goodput...)
		w.put(columnRTT, r.rtt...)
	}
	data, err := w.pack(&r.head, func(all []column) { r.head.Columns = all })
	if err != nil {
		return err
	}
	return folder.Write(rundir.RecordFile, data)
}

// Names of the columns over time. Those of ports have a row for each, with a number for each sample.
const (
	columnTimes   = "times" // of samples, ns
	columnQueue   = "queue"
	columnIngress = "ingress"
	columnPaused  = "paused"
	columnSent    = "sent"
	columnMarks   = "marks"
	columnCNMs    = "cnms"
	columnCNPs    = "cnps"  // by host
	columnPaths   = "paths" // by flow, as are the columns below: twice the link, plus 1 for its end B
	columnFirst   = "first" // one row
	columnRate    = "rate"
	columnGoodput = "goodput"
	columnRTT     = "rtt" // ns
)

// numbers returns a row with the values of all.
func numbers[T int32 | int64](all []T) (r row) {
	for _, v := range all {
		r.add(int64(v))
	}
	return r
}

// recorded holds a decoded record.
type recorded struct {
	recordHeader
	data []byte
}

// readRecord reads a run's record; nil: there is none.
func readRecord(path string) (*recorded, error) {
	name := filepath.Join(path, rundir.RecordFile)
	packed, err := files.Read(name, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &recorded{}
	if r.data, err = unpack(packed, &r.recordHeader); err == nil {
		bytes := 0
		for i := range r.Columns {
			bytes += max(0, r.Columns[i].Bytes)
		}
		if bytes != len(r.data) {
			err = errors.New("damaged: the lengths of its columns do not add up to its size")
		}
	}
	if err != nil {
		return nil, &rundir.FileError{Path: name, Err: fmt.Errorf("%w: run the scenario again", err)}
	}
	return r, nil
}

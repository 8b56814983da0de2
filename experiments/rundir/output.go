package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/vtime"
)

// Output is a run's CSV files. What was measured is written as the run goes, so that nothing is lost when it is stopped.
type Output struct {
	folder *files.Folder
	ports  csvFile
	pauses csvFile
	rates  csvFile
	events csvFile
}

// Files that HPCC's simulator writes, for the scripts that read them.
const (
	HPCCFlowsFile  = "fct.txt"
	HPCCPausesFile = "pfc.txt"
)

// PerfettoFile is a trace that ui.perfetto.dev opens.
const PerfettoFile = "trace.pftrace"

// PanicFile has the stack of a congestion control that has panicked.
const PanicFile = "panic.txt"

// RecordFile has all ports over time (package replay).
const RecordFile = "record.bin"

// Files are all files that a run may leave in its folder, but for the manifest.
var Files = []string{
	"flows.csv", "ports.csv", "pfc.csv", "rates.csv", "links.csv", "events.csv", "panels.csv", CollectivesFile, SummaryFile, "capture.pcapng", PerfettoFile, "figure.svg",
	"figure.png", "figure.pdf", HPCCFlowsFile, HPCCPausesFile, PanicFile, RecordFile, WhyFile, CausesFile, RecoveryFile, QPsFile, SumsFile,
	"flows.parquet", "ports.parquet", "pfc.parquet", "rates.parquet", "links.parquet", "events.parquet", "panels.parquet", "why.parquet", "causes.parquet",
	"recovery.parquet", "qps.parquet", "collectives.parquet",
}

// IsFile reports whether a run's folder may hold a file of this name.
func IsFile(name string) bool { return name == ManifestFile || slices.Contains(Files, name) }

// Headers of the files that are written as the run goes; that of events.csv is EventsHeader.
const (
	PortsHeader = "time_ns,node,port,peer,priority,queue_bytes,ingress_bytes,paused,tx_bytes"
	PFCHeader   = "time_ns,node,port,peer,priority,event"
	RatesHeader = "time_ns,flow,rate_bps,goodput_bps,rtt_ns"
)

// Create begins a run's files. Those of an earlier run, which would look like the new one's, are removed.
func Create(folder *files.Folder) (*Output, error) {
	if err := errors.Join(folder.Tidy(append([]string{ManifestFile}, Files...)...), folder.Remove(Files...)); err != nil {
		return nil, fmt.Errorf("create the results: %w", err)
	}
	o := &Output{folder: folder}
	err := errors.Join(
		o.ports.create(folder, "ports.csv", PortsHeader),
		o.pauses.create(folder, "pfc.csv", PFCHeader),
		o.rates.create(folder, "rates.csv", RatesHeader),
		o.events.create(folder, "events.csv", EventsHeader),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the results: %w", err), o.Close())
	}
	return o, nil
}

// Port writes a row of ports.csv: what a port holds, and whether it may send, at a sample.
func (o *Output) Port(now vtime.Time, node, port, peer string, priority uint8, queue, ingress uint64, paused int, tx int64) error {
	c := &o.ports
	c.begin(now)
	c.text(node)
	c.text(port)
	c.text(peer)
	c.number(int64(priority))
	c.number(int64(queue))
	c.number(int64(ingress))
	c.number(int64(paused))
	c.number(tx)
	return c.end()
}

// PFC writes a row of pfc.csv: a PFC frame as it begins to leave a port.
func (o *Output) PFC(now vtime.Time, node, port, peer string, priority uint8, event string) error {
	c := &o.pauses
	c.begin(now)
	c.text(node)
	c.text(port)
	c.text(peer)
	c.number(int64(priority))
	c.text(event)
	return c.end()
}

// Rate writes a row of rates.csv: a flow at a sample, its rates in bits per second.
func (o *Output) Rate(now vtime.Time, flow int, rate, goodput float64, rtt vtime.Time) error {
	c := &o.rates
	c.begin(now)
	c.number(int64(flow))
	c.number(int64(rate + 0.5))
	c.number(int64(goodput + 0.5))
	c.number(rtt.RoundNanoseconds())
	return c.end()
}

// Close writes what is left and closes the files.
func (o *Output) Close() error {
	return errors.Join(o.ports.close(), o.pauses.close(), o.rates.close(), o.events.close())
}

// FlowsHeader heads flows.csv.
const FlowsHeader = "flow,tag,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns,slowdown,retransmitted_bytes"

// WriteFlows writes flows.csv: one row a flow; the fields of a flow that has not ended are empty.
func WriteFlows(folder *files.Folder, s *scenario.Scenario, flows measure.Flows) error {
	var c csvFile
	err := c.create(folder, "flows.csv", FlowsHeader)
	if err != nil {
		return err
	}
	return errors.Join(c.flows(s, flows), c.close())
}

// FormatFlows is flows.csv as WriteFlows writes it.
func FormatFlows(s *scenario.Scenario, flows measure.Flows) ([]byte, error) {
	var table bytes.Buffer
	c := csvFile{buffer: newCSVBuffer(&table)}
	_, err := c.buffer.WriteString(FlowsHeader + "\n")
	err = errors.Join(err, c.flows(s, flows), c.buffer.Flush())
	return table.Bytes(), err
}

// flows writes the rows of flows.csv.
func (c *csvFile) flows(s *scenario.Scenario, flows measure.Flows) error {
	for i := range flows.Len() {
		f, spec := flows.Record(i), &s.Flows[i]
		c.row = strconv.AppendInt(c.row[:0], int64(i), 10)
		c.text(spec.Tag)
		c.text(s.Topology.EndName(spec.Source, spec.Pair.From))
		c.text(s.Topology.EndName(spec.Destination, spec.Pair.To))
		c.number(int64(spec.Size))
		c.number(f.Start.RoundNanoseconds())
		if f.Ended {
			c.number(f.Times.FCT.RoundNanoseconds())
			c.number(f.Times.Ideal.RoundNanoseconds())
			c.text(strconv.FormatFloat(f.Times.Slowdown(), 'f', 6, 64))
		} else {
			c.row = append(c.row, ",,,"...)
		}
		c.number(f.Retransmitted)
		if err := c.end(); err != nil {
			return err
		}
	}
	return nil
}

// PanelsHeader heads panels.csv. Panels and series are numbered from 0, as the manifest's configuration lists them.
const PanelsHeader = "panel,series,time_ns,value"

// WritePanels writes panels.csv, the points of the scenario's plots, if it has any.
func (o *Output) WritePanels(panels [][]Points) error {
	if len(panels) == 0 {
		return nil
	}
	var c csvFile
	if err := c.create(o.folder, "panels.csv", PanelsHeader); err != nil {
		return err
	}
	for i := range panels {
		for k := range panels[i] {
			p := &panels[i][k]
			for n := range p.Time {
				c.row = strconv.AppendInt(c.row[:0], int64(i), 10)
				c.number(int64(k))
				c.number(p.Time[n])
				c.row = strconv.AppendFloat(append(c.row, ','), p.Value[n], 'g', -1, 64)
				if err := c.end(); err != nil {
					return errors.Join(err, c.close())
				}
			}
		}
	}
	return c.close()
}

// EventsHeader heads events.csv.
const EventsHeader = "time_ns,node,port,peer,event,detail"

// Event writes a row of events.csv.
func (o *Output) Event(now vtime.Time, node, port, peer, event, detail string) error {
	c := &o.events
	c.begin(now)
	c.text(node)
	c.text(port)
	c.text(peer)
	c.text(event)
	if strings.ContainsAny(detail, ",\"\n") {
		detail = `"` + strings.ReplaceAll(detail, `"`, `""`) + `"`
	}
	c.text(detail)
	return c.end()
}

// LinksHeader heads links.csv.
const LinksHeader = "node,port,peer,rate_bps,tx_frames,tx_bytes,utilisation,peak_queue_bytes,congested_ns,pauses,resumes,pauses_per_second,paused_ns"

// WriteLinks writes links.csv: one row a direction of a link.
func (o *Output) WriteLinks(all []measure.Link) error {
	var c csvFile
	err := c.create(o.folder, "links.csv", LinksHeader)
	if err != nil {
		return err
	}
	for i := range all {
		l := &all[i]
		c.row = append(c.row[:0], l.Node...)
		c.text(l.Port)
		c.text(l.Peer)
		c.number(l.RateBPS)
		c.number(l.TxFrames)
		c.number(l.TxBytes)
		c.text(strconv.FormatFloat(l.Utilisation, 'f', 6, 64))
		c.number(l.PeakQueue)
		c.number(l.CongestedNS)
		c.number(l.Pauses)
		c.number(l.Resumes)
		c.text(strconv.FormatFloat(l.PauseRate, 'f', 3, 64))
		c.number(l.PausedNS)
		if err := c.end(); err != nil {
			return errors.Join(err, c.close())
		}
	}
	return c.close()
}

// CollectivesFile has a row for each collective operation; CollectivesHeader heads it.
const (
	CollectivesFile   = "collectives.csv"
	CollectivesHeader = "collective,tag,kind,algorithm,ranks,size_bytes,iteration,begin_ns,completion_ns,limit_ns,algbw_bps,busbw_bps,skew_ns,straggler,late_ns"
)

// CollectiveRow is a row of collectives.csv.
type CollectiveRow struct {
	Tag   string
	Ranks int
	measure.CollectiveRun
}

// WriteCollectives writes collectives.csv, if there were any.
func (o *Output) WriteCollectives(all []CollectiveRow) error {
	if len(all) == 0 {
		return nil
	}
	var c csvFile
	if err := c.create(o.folder, CollectivesFile, CollectivesHeader); err != nil {
		return err
	}
	for i := range all {
		r := &all[i]
		c.row = strconv.AppendInt(c.row[:0], int64(i), 10)
		c.text(r.Tag)
		c.text(r.Kind)
		c.text(r.Algorithm)
		c.number(int64(r.Ranks))
		c.number(r.Size)
		c.number(int64(r.Iteration))
		if r.Ended {
			c.number(r.Start.RoundNanoseconds())
			c.number(r.Time.RoundNanoseconds())
			c.number(r.Limit.RoundNanoseconds())
			c.number(int64(r.Algorithmic() + 0.5))
			c.number(int64(r.Bus() + 0.5))
			c.number(r.Skew.RoundNanoseconds())
			c.text(r.Straggler)
			c.number(r.Late.RoundNanoseconds())
		} else {
			c.row = append(c.row, ",,,,,,,,"...)
		}
		if err := c.end(); err != nil {
			return errors.Join(err, c.close())
		}
	}
	return c.close()
}

// Discard keeps nothing.
func Discard() *Output {
	o := &Output{}
	for _, c := range []*csvFile{&o.ports, &o.pauses, &o.rates, &o.events} {
		c.buffer = newCSVBuffer(io.Discard)
	}
	return o
}

// Points is one series of a panel: a part of panels.csv.
type Points struct {
	Time  []int64 // virtual ns
	Value []float64
}

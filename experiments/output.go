package experiments

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/vtime"
)

// output is a run's CSV files. What was measured is written as the run goes, so that nothing is lost when it is stopped.
type output struct {
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

// resultFiles are all files that a run may leave in its folder, but for the manifest.
var resultFiles = []string{
	"flows.csv", "ports.csv", "pfc.csv", "rates.csv", "links.csv", "events.csv", "panels.csv", summaryName, "capture.pcapng", "figure.svg",
	"figure.png", HPCCFlowsFile, HPCCPausesFile,
}

// createOutput begins a run's files. Those of an earlier run, which would look like the new one's, are removed.
func createOutput(folder *files.Folder) (*output, error) {
	if err := errors.Join(folder.Tidy(), folder.Remove(resultFiles...)); err != nil {
		return nil, fmt.Errorf("create the results: %w", err)
	}
	o := &output{folder: folder}
	err := errors.Join(
		o.ports.create(folder, "ports.csv", "time_ns,node,port,peer,priority,queue_bytes,ingress_bytes,paused,tx_bytes"),
		o.pauses.create(folder, "pfc.csv", "time_ns,node,port,peer,priority,event"),
		o.rates.create(folder, "rates.csv", "time_ns,flow,rate_bps,goodput_bps,rtt_ns"),
		o.events.create(folder, "events.csv", eventsHeader),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the results: %w", err), o.Close())
	}
	return o, nil
}

func (o *output) port(now vtime.Time, node, port, peer string, priority uint8, queue, ingress uint64, paused int, tx int64) error {
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

func (o *output) pfc(now vtime.Time, node, port, peer string, priority uint8, event string) error {
	c := &o.pauses
	c.begin(now)
	c.text(node)
	c.text(port)
	c.text(peer)
	c.number(int64(priority))
	c.text(event)
	return c.end()
}

func (o *output) rate(now vtime.Time, flow int, rate, goodput float64, rtt vtime.Time) error {
	c := &o.rates
	c.begin(now)
	c.number(int64(flow))
	c.number(int64(rate + 0.5))
	c.number(int64(goodput + 0.5))
	c.number(rtt.RoundNanoseconds())
	return c.end()
}

// Close writes what is left and closes the files.
func (o *output) Close() error {
	return errors.Join(o.ports.close(), o.pauses.close(), o.rates.close(), o.events.close())
}

const flowsHeader = "flow,tag,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns,slowdown,retransmitted_bytes"

// writeFlows writes flows.csv: one row a flow; the fields of a flow that has not ended are empty.
func writeFlows(folder *files.Folder, s *Scenario, flows []FlowRecord) error {
	var c csvFile
	err := c.create(folder, "flows.csv", flowsHeader)
	if err != nil {
		return err
	}
	return errors.Join(c.flows(s, flows), c.close())
}

// flows writes the rows of flows.csv.
func (c *csvFile) flows(s *Scenario, flows []FlowRecord) error {
	for i := range flows {
		f, spec := &flows[i], &s.Flows[i]
		c.row = strconv.AppendInt(c.row[:0], int64(i), 10)
		c.text(spec.Tag)
		c.text(s.Topology.Nodes[spec.Source].Name)
		c.text(s.Topology.Nodes[spec.Destination].Name)
		c.number(int64(spec.Size))
		c.number(spec.Start.RoundNanoseconds())
		if f.Ended {
			c.number(f.Times.FCT.RoundNanoseconds())
			c.number(f.Times.Ideal.RoundNanoseconds())
			c.text(strconv.FormatFloat(f.Times.slowdown(), 'f', 6, 64))
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

// panelsHeader heads panels.csv. Panels and series are numbered from 0, as the manifest's configuration lists them.
const panelsHeader = "panel,series,time_ns,value"

// writePanels writes panels.csv, the points of the scenario's plots, if it has any.
func (o *output) writePanels(panels [][]Points) error {
	if len(panels) == 0 {
		return nil
	}
	var c csvFile
	if err := c.create(o.folder, "panels.csv", panelsHeader); err != nil {
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

const eventsHeader = "time_ns,node,port,peer,event,detail"

// event writes a row of events.csv.
func (o *output) event(now vtime.Time, node, port, peer, event, detail string) error {
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

const linksHeader = "node,port,peer,rate_bps,tx_frames,tx_bytes,utilisation,peak_queue_bytes,congested_ns,pauses,resumes,pauses_per_second,paused_ns"

// writeLinks writes links.csv: one row a direction of a link.
func (o *output) writeLinks(all []Link) error {
	var c csvFile
	err := c.create(o.folder, "links.csv", linksHeader)
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

// discardOutput keeps nothing.
func discardOutput() *output {
	o := &output{}
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

package experiments

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/orchestrator"
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

// csvFile writes rows without allocating.
type csvFile struct {
	file   *os.File
	buffer *bufio.Writer
	row    []byte
}

// resultFiles are all files that a run may leave in its folder, but for the manifest.
var resultFiles = []string{
	"flows.csv", "ports.csv", "pfc.csv", "rates.csv", "links.csv", "events.csv", "panels.csv", summaryName, "capture.pcapng", "figure.svg",
	"figure.png", hpccFCTFile, hpccPFCFile,
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

func (c *csvFile) create(folder *files.Folder, name, header string) (err error) {
	c.file, err = folder.Create(name)
	if err != nil {
		return err
	}
	c.buffer = newCSVBuffer(c.file)
	_, err = c.buffer.WriteString(header + "\n")
	return err
}

func newCSVBuffer(w io.Writer) *bufio.Writer { return bufio.NewWriterSize(keeper{w}, 1<<16) }

// keeper writes what is to be kept: while it gets on, a process that is to end is not forced to.
type keeper struct{ to io.Writer }

func (k keeper) Write(p []byte) (int, error) {
	n, err := k.to.Write(p)
	shutdown.Alive()
	return n, err
}

func (c *csvFile) begin(now vtime.Time) {
	c.row = strconv.AppendInt(c.row[:0], wholeNanoseconds(now), 10)
}

func (c *csvFile) text(s string) { c.row = append(append(c.row, ','), s...) }

func (c *csvFile) number(v int64) { c.row = strconv.AppendInt(append(c.row, ','), v, 10) }

func (c *csvFile) end() error {
	c.row = append(c.row, '\n')
	_, err := c.buffer.Write(c.row)
	return err
}

func (c *csvFile) close() error {
	if c.file == nil {
		return nil
	}
	err := c.buffer.Flush()
	if err != nil {
		err = errors.Join(err, c.trim())
	}
	err = errors.Join(err, c.file.Close())
	c.file = nil
	return err
}

// trim takes a row that was written in part, as the disk was full, off the file's end.
func (c *csvFile) trim() error {
	size, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	tail := make([]byte, min(size, 1<<12))
	if _, err := c.file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return err
	}
	rest := len(tail) - 1 - bytes.LastIndexByte(tail, '\n')
	return c.file.Truncate(size - int64(rest))
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
	c.number(wholeNanoseconds(rtt))
	return c.end()
}

// Close writes what is left and closes the files.
func (o *output) Close() error {
	return errors.Join(o.ports.close(), o.pauses.close(), o.rates.close(), o.events.close())
}

const flowsHeader = "flow,tag,src,dst,size_bytes,start_ns,fct_ns,ideal_fct_ns,slowdown,retransmitted_bytes"

// writeFlows writes flows.csv: one row a flow; the fields of a flow that has not ended are empty.
func writeFlows(folder *files.Folder, flows []orchestrator.Flow, s *Scenario, times []FlowTimes) error {
	var c csvFile
	err := c.create(folder, "flows.csv", flowsHeader)
	if err != nil {
		return err
	}
	for i := range flows {
		f, spec := &flows[i], &s.Flows[i]
		c.row = strconv.AppendInt(c.row[:0], int64(i), 10)
		c.text(spec.Tag)
		c.text(s.Topology.Nodes[spec.Source].Name)
		c.text(s.Topology.Nodes[spec.Destination].Name)
		c.number(int64(spec.Size))
		c.number(wholeNanoseconds(spec.Start))
		if f.Finished != vtime.Never {
			c.number(wholeNanoseconds(times[i].FCT))
			c.number(wholeNanoseconds(times[i].Ideal))
			c.text(strconv.FormatFloat(times[i].slowdown(), 'f', 6, 64))
		} else {
			c.row = append(c.row, ",,,"...)
		}
		retransmitted := int64(0)
		if f.Sender != nil {
			retransmitted = f.Sender.Retransmitted
		}
		c.number(retransmitted)
		if err := c.end(); err != nil {
			return errors.Join(err, c.close())
		}
	}
	return c.close()
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

// writeJSON writes v as a file of the folder, whole or not at all.
func writeJSON(folder *files.Folder, name string, v any) error {
	data, err := formatJSON(name, v)
	if err != nil {
		return err
	}
	return folder.Write(name, data)
}

func formatJSON(name string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(data, '\n'), nil
}

func sortByStart(ids []int, flows []Flow) {
	sort.SliceStable(ids, func(a, b int) bool { return flows[ids[a]].Start < flows[ids[b]].Start })
}

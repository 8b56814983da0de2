package runner

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// ExportHPCC selects the files that HPCC's simulator writes: fct.txt and pfc.txt.
const ExportHPCC = "hpcc"

// hpccPFC represents a PFC frame in the simulator's trace, at the port where it arrives.
type hpccPFC struct {
	at    vtime.Time
	port  topologies.PortID
	pause bool
}

// hpccTrace collects a run's PFC frames for pfc.txt.
type hpccTrace struct{ frames []hpccPFC }

// add records a PFC frame that starts to leave a port.
func (t *hpccTrace) add(plan *topologies.Plan, now vtime.Time, port topologies.PortID, pause bool) {
	p := &plan.Ports[port]
	arrival := now + p.Rate.TimeFor(plan.Framing.LineBytes(wire.PFCLen)) + p.Delay
	t.frames = append(t.frames, hpccPFC{arrival, p.Peer, pause})
}

// export writes the files that the options select.
func (r *runner) export() error {
	if r.options.Export != ExportHPCC {
		return nil
	}
	return r.exportHPCC()
}

// exportHPCC writes fct.txt and pfc.txt as HPCC's simulator does (simulation/scratch/third.cc: qp_finish and get_pfc),
// for the scripts that read them. Times are nanoseconds on the clock of the flow file, if the flows come from one.
func (r *runner) exportHPCC() error {
	return errors.Join(
		writeLines(r.folder, rundir.HPCCFlowsFile, r.hpccFCT),
		writeLines(r.folder, rundir.HPCCPausesFile, r.hpccPFC),
	)
}

func writeLines(folder *files.Folder, name string, lines func(*bufio.Writer)) error {
	f, err := folder.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	lines(w)
	return errors.Join(w.Flush(), f.Close())
}

// hpccFCT writes one line for each ended flow, in order of ends: the addresses in hexadecimal, the ports, bytes,
// start, FCT, and ideal FCT.
func (r *runner) hpccFCT(w *bufio.Writer) {
	flows := r.flows()
	byEnd := []int{}
	for i := range flows.n {
		if flows.finished(i) != vtime.Never {
			byEnd = append(byEnd, i)
		}
	}
	slices.SortStableFunc(byEnd, func(a, b int) int { return cmp.Compare(flows.finished(a), flows.finished(b)) })
	s := r.Scenario
	ports := s.HPCCPorts()
	for _, i := range byEnd {
		f := s.Flow(i)
		fmt.Fprintf(w, "%08x %08x %d %d %d %d %d %d\n", paths.HPCCAddress(f.Source), paths.HPCCAddress(f.Destination),
			ports[i].Source, ports[i].Destination, f.Size, (flows.start(i) + s.Origin).RoundNanoseconds(),
			(flows.finished(i) - flows.start(i)).RoundNanoseconds(), measure.HPCCAlone(s.Topology, f.Source, f.Destination,
				flows.qp(i).Ports.Pair, int64(f.Size)))
	}
}

// hpccPFC writes one line for each PFC frame that has arrived, in order of time: the time, the node, whether that is a
// host (0) or a switch (1), the port's number from 1, and PAUSE (1) or RESUME (0).
func (r *runner) hpccPFC(w *bufio.Writer) {
	frames, plan := r.recorder.hpcc.frames, r.Scenario.Topology
	slices.SortStableFunc(frames, func(a, b hpccPFC) int { return cmp.Compare(a.at, b.at) })
	for _, f := range frames {
		if f.at > r.engine.Now() {
			break // still on the link
		}
		p := &plan.Ports[f.port]
		kind, event := 0, 0
		if plan.Nodes[p.Node].Kind == topologies.Switch {
			kind = 1
		}
		if f.pause {
			event = 1
		}
		fmt.Fprintf(w, "%d %d %d %d %d\n", (f.at + r.Scenario.Origin).RoundNanoseconds(), p.Node, kind, p.Number, event)
	}
}

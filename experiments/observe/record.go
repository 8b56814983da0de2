package observe

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/results/replay"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// recording records all ports, hosts and flows at each sample.
type recording struct {
	*replay.Record
	priorities uint8 // of data, as bits
	run        *runner.Observed
	flows      func(now vtime.Time, report runner.ReportFlow)
}

// Record records all ports, hosts and flows over time into record.bin, for a replay.
func Record(u *scenario.Setup) (*runner.Observer, error) {
	s := u.Scenario
	rec := &recording{
		Record:     replay.NewRecord(s.Topology, s.Host.DataPriority, len(s.Flows)),
		priorities: s.DataPriorities(),
	}
	return &runner.Observer{
		Files: map[string]string{rundir.RecordFile: "all ports over time, for pausenet view"},
		Start: rec.start, Sample: rec.sample, Write: func() error { return rec.Write(rec.run.Folder) },
	}, nil
}

func (r *recording) start(run *runner.Observed) error {
	r.run, r.flows = run, run.SampleFlows(func(*scenario.Flow) bool { return r.Flows() })
	s := run.Scenario
	for i := range s.Flows {
		if !r.Flows() {
			break
		}
		f := &s.Flows[i]
		path := paths.Forward(s.Topology, f.Source, f.Destination, run.Flows[i].Ports)
		if s.Topology.Moving() {
			path = slices.Concat(s.Topology.Ways(f.Source, f.Destination, f.Pair)...)
		}
		r.Path(i, path)
	}
	return nil
}

func (r *recording) sample(now vtime.Time) {
	e := r.run.Engine
	r.Sample(now)
	state := e.State()
	for i := range e.Plan().Ports {
		p, extra := &state.Ports[i], &state.Extras[i]
		port := replay.Port{Marks: p.EcnMarked + extra.UeMarked, CNMs: extra.CnmsSent}
		for priority := range uint8(8) {
			if r.priorities>>priority&1 == 0 {
				continue
			}
			class := &p.Class[priority]
			port.Queue += uint64(class.QueueBytes)
			port.Ingress += uint64(class.Buffered)
			port.Sent += e.TxBytes(i, priority)
			port.Paused = port.Paused || state.Paused(i, priority, now)
		}
		r.Port(i, port)
	}
	for i, id := range e.Plan().Hosts {
		cnps := int64(0)
		for _, port := range e.Plan().Nodes[id].Ports {
			cnps += e.NIC(e.Plan().Ports[port].Interface).CNPsReceived
		}
		r.Host(i, cnps)
	}
	r.flows(now, r.Flow)
}

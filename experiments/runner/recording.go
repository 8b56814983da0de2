package runner

import (
	"slices"

	"github.com/pausenet/pausenet/experiments/replay"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// recording takes a run's record: all ports, hosts and flows at each sample. One that is nil takes none.
type recording struct {
	*replay.Record
	data  []uint8 // priorities of data
	flows flowSamples
}

func (r *runner) newRecording() *recording {
	s := r.Scenario
	rec := &recording{Record: replay.NewRecord(s.Topology, s.Host.DataPriority, len(s.Flows)), data: prioritiesOf(s)}
	rec.flows.interval = s.Sample.Interval
	rec.flows.waiting = starting{
		flows: s.Flows, order: byStart(s.Flows),
		of: func(*scenario.Flow) bool { return rec.Flows() }, begun: &r.recorder.begun,
	}
	if rec.Flows() {
		for i := range s.Flows {
			f := &s.Flows[i]
			path := paths.Forward(s.Topology, f.Source, f.Destination, r.Flows[i].Ports)
			if s.Topology.Balancing.Moving {
				path = slices.Concat(s.Topology.Ways(f.Source, f.Destination, f.Pair)...)
			}
			rec.Path(i, path)
		}
	}
	return rec
}

// sample takes a sample.
func (r *recording) sample(now vtime.Time, e *engine.Engine, flows flowSet) {
	if r == nil {
		return
	}
	r.Sample(now)
	state := e.State()
	for i := range e.Plan().Ports {
		p := &state.Ports[i]
		port := replay.Port{Marks: p.EcnMarked + p.UeMarked, CNMs: p.CnmsSent}
		for _, priority := range r.data {
			class := &p.Class[priority]
			port.Queue, port.Ingress = port.Queue+class.QueueBytes, port.Ingress+class.Buffered
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
	r.flows.sample(now, flows, r.Flow)
}

func (r *recording) write(folder *files.Folder) error {
	if r == nil {
		return nil
	}
	return r.Write(folder)
}

package scenario

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// ringsFrom sets the number of messages of a workload from which on rings are kept as rules, and other messages have
// flows only while they are open. It is large enough for tests of the built-in scenarios to see messages one by one.
const ringsFrom = 100_000

// WithRings returns the scenario with workloads of this many or more dependent messages kept without a flow for each
// message. Results are the same.
func (s *Scenario) WithRings(from int) (*Scenario, error) {
	own := *s
	own.ringsFrom = from
	own.Workloads = append([]Workload(nil), s.Workloads...)
	own.Flows = append([]Flow(nil), s.Listed()...)
	return &own, own.draw(false)
}

// Unrolled returns the scenario with a flow for each message.
func (s *Scenario) Unrolled() (*Scenario, error) {
	if s.Entries() == len(s.Flows) {
		return s, nil
	}
	return s.WithRings(math.MaxInt)
}

// byRule returns the workloads that keep no flow for each message: those at the end, so that entries and numbers of all
// other flows are the same. No flow of the scenario may have several QPs, whose numbers follow those of all flows.
func (s *Scenario) byRule() []Workload {
	several := func(f Flow) bool { return f.own().QPs.Count > 1 }
	n := len(s.Workloads)
	for n > 0 {
		w := &s.Workloads[n-1]
		if w.build == nil || w.messages < cmp.Or(s.ringsFrom, ringsFrom) || w.own.Traits != (hostagent.Traits{}) {
			break
		}
		n--
	}
	if n == len(s.Workloads) || s.Topology.Hash == topologies.HashHPCC || slices.ContainsFunc(s.Listed(), several) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool {
			return w.own.QPs.Count > 1 || slices.ContainsFunc(w.flows, several)
		}) {
		return nil
	}
	return s.Workloads[n:]
}

// ByRule returns the numbers of messages without a flow for each: on rings kept as rules, and others.
func (s *Scenario) ByRule() (rings, others int) {
	for _, w := range s.byRule() {
		if w.ringsOnly {
			rings += w.messages
		} else {
			others += w.messages
		}
	}
	return rings, others
}

// Streams reports whether the workload has entries for its connections, and no flow for each message.
func (w *Workload) Streams() bool { return w.between != nil }

// AlikeFlows iterates over the flows, and the number of flows like each, among the messages of an entry.
func (s *Scenario) AlikeFlows() iter.Seq2[*Flow, int] {
	return func(yield func(*Flow, int) bool) {
		own := s.Entries()
		for i := range own {
			if !yield(&s.Flows[i], 1) {
				return
			}
		}
		for i := range s.Workloads {
			w := &s.Workloads[i]
			for k := range w.between {
				if f := s.Flow(w.first + k); !yield(&f, 1) {
					return
				}
			}
			for k, entry := range w.rings {
				r := &w.Graph.Rings[k]
				for rank := range r.Ranks {
					f, sizes := s.Flows[entry+rank], map[int64]int{}
					for m := range r.Messages() {
						sizes[r.Size(rank, m)]++
					}
					for _, size := range slices.Sorted(maps.Keys(sizes)) {
						if f.Size = units.Bytes(size); !yield(&f, sizes[size]) {
							return
						}
					}
				}
			}
		}
	}
}

// Entries returns the number of flows that have an entry of their own in Flows. Later entries stand for several
// messages.
func (s *Scenario) Entries() int {
	for i := range s.Workloads {
		if s.Workloads[i].byRule {
			return s.Workloads[i].entry
		}
	}
	return len(s.Flows)
}

// Entry returns the index in Flows of the entry for the flow with a number.
func (s *Scenario) Entry(flow int) int {
	for i := len(s.Workloads) - 1; i >= 0 && s.Workloads[i].byRule; i-- {
		if w := &s.Workloads[i]; flow >= w.first {
			if w.Streams() {
				return w.entry + int(w.between[flow-w.first])
			}
			ring := w.Graph.RingAt(flow - w.first)
			rank, _ := w.Graph.Rings[ring].Position(flow - w.first)
			return w.rings[ring] + rank
		}
	}
	return flow
}

// Flow returns the flow with a number.
func (s *Scenario) Flow(number int) Flow {
	entry := s.Entry(number)
	f := s.Flows[entry]
	if i := s.WorkloadOf(entry); i >= 0 && s.Workloads[i].byRule {
		f.Size = units.Bytes(s.Workloads[i].Graph.SizeOf(number - s.Workloads[i].first))
	}
	return f
}

// drawRings appends the entries for the ranks of a workload's rings. Rings of the same ranks share them.
func (s *Scenario) drawRings(w *Workload) {
	extras := w.own.extras()
	for i := range w.Graph.Rings {
		r := &w.Graph.Rings[i]
		ranks := w.Graph.Collectives[r.Collective].Ranks
		before := slices.IndexFunc(w.Graph.Rings[:i], func(o steps.Ring) bool {
			return slices.Equal(w.Graph.Collectives[o.Collective].Ranks, ranks)
		})
		if before >= 0 {
			w.rings = append(w.rings, w.rings[before])
			continue
		}
		w.rings = append(w.rings, len(s.Flows))
		for rank := range ranks {
			s.Flows = append(s.Flows, Flow{
				Tag: w.Tag, Source: w.Hosts[ranks[rank]], Destination: w.Hosts[ranks[(rank+1)%len(ranks)]],
				Size: units.Bytes(r.Size(rank, 0)), Start: vtime.Never, Extras: extras,
			})
		}
	}
}

// messageBytes returns the sum of a workload's messages. In each step of a ring, ranks send each block of data once.
func (w *Workload) messageBytes() (sum units.Bytes) {
	for i := range w.Graph.Messages {
		sum += units.Bytes(w.Graph.Messages[i].Size)
	}
	for i := range w.Graph.Rings {
		r := &w.Graph.Rings[i]
		sum += units.Bytes(int64(r.Steps) * w.Graph.Collectives[r.Collective].Size)
	}
	return sum
}

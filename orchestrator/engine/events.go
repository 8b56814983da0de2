package engine

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/orchestrator/engine/calendar"
	"github.com/pausenet/pausenet/orchestrator/engine/fingerprint"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// event describes an entry of a partition's queue. Events are ordered by time, and those of one time in the order in
// which they were scheduled. With several partitions, which may schedule arrivals in any order, arrivals come first, in
// the order of their ports. This is a total order that depends only on the scenario.
type event = calendar.Event

// eventKind identifies what an event does.
type eventKind uint8

const (
	eventArrival       eventKind = iota // the first frame on the wire from port ID reaches the far end
	eventFree                           // port ID has serialised its frame and more is waiting
	eventWake                           // port ID asked to be served again
	eventTimer                          // flow ID's controller timer
	eventReport                         // flow ID's receiver's timer
	eventStart                          // flow ID starts
	eventRefresh                        // refresh the PAUSE of (port, priority) ID
	eventCredit                         // port ID's credit messages are due
	eventWatch                          // the watchdog's timer of the queue (port, priority) ID
	eventDrain                          // the slow receiver at port ID takes its first frame
	eventReceiverPause                  // refresh the slow receiver's PAUSE
	eventPFCStorm                       // port ID sends the next PAUSEs of an injected PFC storm
	eventHostStack                      // a host stack's frame reaches the NIC at port ID
	eventOperation                      // operation ID, which computes, ends
)

// newEvents returns a queue for the events of some of a plan's ports. Its buckets suit all of them sending at line
// rate, and it reaches beyond the longest link.
func newEvents(plan *topologies.Plan, ports []int32) calendar.Queue {
	rate, longest := 1.0, vtime.Time(0)
	line := plan.Framing.LineBytes(plan.MTU + 58)
	for _, id := range ports {
		p := &plan.Ports[id]
		rate += 2 * float64(p.Rate) / 8 / float64(line) // at most two events a packet and port
		longest = max(longest, p.Delay+p.Rate.TimeFor(line))
	}
	return calendar.New(rate, longest)
}

// partitionState holds the events of a partition (package partition), and the hash of its frame events. It provides the
// clock of the partition's NICs.
type partitionState struct {
	worker    *worker // the worker that drives it now
	events    calendar.Queue
	scheduled uint64 // number of events scheduled so far
	ports     []int32
	slots     []int32 // free slots of messages that its hosts send
	nextChunk int32   // place in messageSlots.chunks for its next chunk
	hash      fingerprint.Hash
	scratch   hostagent.Scratch // of its NICs

	overruns map[overrun]*Violation
	_        [4]int64 // keeps two partitions out of one cache line
}

// sequence returns the Seq of the next event, other than an arrival that is ordered by port.
func (r *partitionState) sequence() uint64 {
	r.scheduled++
	return 1<<32 + r.scheduled
}

// scheduler holds the events of each partition, and the time of the worker that drives them.
type scheduler struct {
	now        vtime.Time // time in the partition that is driven
	partitions []*partitionState
	due        []vtime.Time // by partition: a lower bound of its next event's time
	// byPort orders arrivals of one time by port, the only order that partitions driven apart have in common.
	byPort bool
}

// divided reports whether there are several partitions.
func (s *scheduler) divided() bool { return len(s.partitions) > 1 }

// push schedules an event in the partition where it happens.
func (s *scheduler) push(partition int32, at vtime.Time, kind eventKind, id int32) {
	of := s.partitions[partition]
	seq := uint64(id)
	if kind != eventArrival || !s.byPort {
		seq = of.sequence()
	}
	of.events.Push(event{At: at, Seq: seq, ID: id, Kind: uint8(kind)})
	if at < s.due[partition] {
		s.due[partition] = at
	}
}

// nextEvent returns the time of the first event, or an earlier time; vtime.Never without any.
func (s *scheduler) nextEvent() vtime.Time {
	at := vtime.Never
	for _, due := range s.due {
		at = min(at, due)
	}
	return at
}

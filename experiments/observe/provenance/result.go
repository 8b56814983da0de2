package provenance

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

// end sets a sender's last state, and converts its parts into sorted entries.
func (s *sender) end(state senderState) {
	s.state = state
	s.entries = make([]Entry, 0, len(s.parts))
	for p, t := range s.parts {
		s.entries = append(s.entries, Entry{p, t})
	}
	slices.SortFunc(s.entries, func(a, b Entry) int { return a.compare(b.Part) })
	s.parts = nil
}

// compare orders parts, so that each has the same number in every run.
func (p Part) compare(q Part) int {
	return cmp.Or(
		cmp.Compare(p.Stage, q.Stage), compareFlags(p.Retransmitted, q.Retransmitted), compareFlags(p.Answer, q.Answer),
		cmp.Compare(p.What, q.What),
		cmp.Compare(p.Port, q.Port), cmp.Compare(p.Class, q.Class), cmp.Compare(p.Hold, q.Hold),
		cmp.Compare(p.Signal.Kind, q.Signal.Kind), cmp.Compare(p.Signal.Port, q.Signal.Port),
		cmp.Compare(p.Signal.Hold, q.Signal.Hold),
	)
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Finish ends the record at the end of the run. Call it before Result and Check. queued calls its argument for
// each frame that waits in the queue of a switch's port at now.
func (r *Recorder) Finish(now vtime.Time, queued func(func(port int, f *frame.Frame))) {
	oldest := r.oldest(now, queued)
	for flow := range r.senders {
		s := &r.senders[flow]
		if s.state == idle || s.state == done {
			continue
		}
		if now > s.cursor {
			until := now
			j := oldest[int32(flow)]
			switch s.state {
			case blocked:
				if j != nil {
					until = s.follow(j, now, Awaiting, s.signal)
				}
				s.add(Part{Stage: Awaiting, What: Closed, Port: -1, Signal: s.signal}, until-s.cursor)
			case drained:
				if j != nil {
					until = s.follow(j, now, Finishing, Signal{Port: -1})
				}
				s.add(Part{Stage: Finishing, What: Unanswered, Port: -1}, until-s.cursor)
			default:
				s.nic.advance(now, s)
			}
			s.cursor = now
		}
		s.end(s.state)
	}
}

// oldest returns, for each flow that waits for an answer at the end, the journey so far of one queued frame: the frame
// that was sent first, whose answer would arrive next.
func (r *Recorder) oldest(now vtime.Time, queued func(func(port int, f *frame.Frame))) map[int32]*journey {
	all, began := map[int32]*journey{}, map[int32]vtime.Time{}
	queued(func(port int, f *frame.Frame) {
		j, ok := (*f.Note()).(*journey)
		if f.Control || !ok || j.flow < 0 || j.at > now || j.class == control && !j.answer {
			return
		}
		if s := &r.senders[j.flow]; s.state != blocked && s.state != drained {
			return
		}
		begin := j.at
		for i := range j.steps {
			begin -= j.steps[i].time
		}
		if all[j.flow] != nil && began[j.flow] <= begin {
			return
		}
		l := r.lines[port] // count only the sent part of the frame in transmission
		l.expire(now)
		l.classes = slices.Clone(l.classes)
		l.total, l.classes[l.last] = l.sentBy(now), l.classes[l.last]-max(0, l.busyUntil-now)
		here := *j
		here.steps = slices.Clone(j.steps)
		here.leave(now, int32(port), &l, f.Priority)
		all[j.flow], began[j.flow] = &here, begin
	})
	return all
}

// Check returns an error if the invariant is violated: the parts of each flow's time sum to it, and none is negative.
// of returns the time of a flow, and whether it is exact to the picosecond. If it is not, the flow is unfinished and
// the record may have more.
func (r *Recorder) Check(of func(flow int) (t vtime.Time, exact bool)) error {
	for flow := range r.senders {
		s := &r.senders[flow]
		var sum vtime.Time
		for _, e := range s.entries {
			sum += e.Time
			if e.Time < 0 {
				return fmt.Errorf("flow %d: a part of its time is negative: %d ps", flow, int64(e.Time))
			}
		}
		if t, exact := of(flow); sum != t && (exact || sum < t) {
			return fmt.Errorf("flow %d: the parts of its time sum to %d ps, but its time is %d ps", flow, int64(sum), int64(t))
		}
	}
	return nil
}

// Result returns the results of the record.
func (r *Recorder) Result() *Record {
	c := &causes{of: r, numbers: map[Cause]int32{}}
	result := &Record{}
	known := map[[2]int32]int32{} // by port and hold
	cause := func(port, hold int32) int32 {
		key := [2]int32{port, hold}
		n, ok := known[key]
		if !ok {
			n = c.cause(port, hold)
			known[key] = n
		}
		return n
	}
	sums := map[Share]vtime.Time{}
	for flow := range r.senders {
		s := &r.senders[flow]
		if s.state == idle {
			continue
		}
		clear(sums)
		for _, e := range s.entries {
			sums[r.share(e.Part, cause)] += e.Time
		}
		f := FlowTime{Flow: flow, Time: s.cursor - s.from, Ended: s.state == done}
		for share := range sums {
			f.Shares = append(f.Shares, share)
		}
		result.Flows = append(result.Flows, f)
		last := &result.Flows[len(result.Flows)-1]
		slices.SortFunc(last.Shares, Share.compare)
		for _, share := range last.Shares {
			last.Times = append(last.Times, sums[share])
		}
	}
	result.Causes = c.all
	return result
}

// share returns the share of the results that a recorded part belongs to.
func (r *Recorder) share(p Part, cause func(port, hold int32) int32) Share {
	x := Share{
		Stage: p.Stage, What: p.What, Retransmitted: p.Retransmitted, Answer: p.Answer, Class: p.Class,
		Port: p.Port, Cause: -1,
		Signal: p.Signal.Kind, SignalPort: -1, SignalCause: -1,
	}
	if p.What == Paused || p.What == Queued && r.isSwitch(int(p.Port)) {
		x.Cause = cause(p.Port, p.Hold)
	}
	if x.Signal != NoSignal && p.Signal.Port >= 0 {
		x.SignalPort, x.SignalCause = p.Signal.Port, cause(p.Signal.Port, p.Signal.Hold)
	}
	return x
}

func (x Share) compare(y Share) int {
	return cmp.Or(
		cmp.Compare(x.Stage, y.Stage), compareFlags(x.Retransmitted, y.Retransmitted), compareFlags(x.Answer, y.Answer),
		cmp.Compare(x.What, y.What),
		cmp.Compare(x.Port, y.Port), cmp.Compare(x.Class, y.Class), cmp.Compare(x.Cause, y.Cause),
		cmp.Compare(x.Signal, y.Signal), cmp.Compare(x.SignalPort, y.SignalPort), cmp.Compare(x.SignalCause, y.SignalCause),
	)
}

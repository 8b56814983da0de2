package switchagent

import (
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Switch implements one switch's traffic manager, a state machine without IO. The engine passes it the frames that the
// ingress pipeline forwarded, and takes a frame for a port whenever the port is free.
type Switch struct {
	state    *ebpf.State
	settings *Settings
	index    int // index of the switch
	first    int // fabric ID of port 0
	weighted uint8
	lossless uint8
	credits  bool   // flow control uses credits
	trimTo   int8   // priority of trimmed packets; -1: no trimming
	limit    uint64 // total buffer in bytes: the shared buffer and the ports' own buffers, up to mostBuffered
	ports    []Port
	queues   [Priorities][]frame.Queue // by priority and port: in a large fabric few priorities have any queue
	headroom []uint64                  // by port
	deficit  [][Priorities]int64       // DWRR's deficit, by port; nil: no priority is weighted
	pausing  []pausing                 // paused ingress ports, oldest first
	due      []Due
	trimmed  Cut
}

// Port holds an egress port's queues and counters. A frame touches its first cache line, and its queue's.
type Port struct {
	backlog uint8 // bit n: queue n has frames
	urgent  bool  // control frames wait
	fresh   bool  // DWRR: the turn's quantum has not been granted yet
	round   uint8 // DWRR: priority of the current turn
	discard uint8 // bit n: frames of priority n are dropped (discard.go)
	ignore  uint8 // bit n: priority n ignores PAUSE
	stormy  uint8 // the part of discard set by Discard
	closed  bool  // closed by Close: all frames are dropped

	Counters

	of      *Switch
	index   int // index among the switch's ports
	control frame.Queue
	tosses  uint64 // number of tosses of trimNewest's coin
}

// Counters holds a port's totals over the run.
type Counters struct {
	TxFrames, TxBytes             int64
	EnqueuedFrames, EnqueuedBytes int64
	QueuePeak                     int64 // maximum bytes in all queues of the port since TakePeak
	DroppedFrames, DroppedBytes   [Drops]int64
	// TrimmedFrames counts frames whose headers were enqueued instead; DroppedFrames excludes them. TrimmedBytes
	// counts the bytes removed from them.
	TrimmedFrames, TrimmedBytes int64
}

// Drop identifies the reason why the traffic manager dropped a frame.
type Drop uint8

// Reasons of drops. The first two are losses in a lossless class, which must not happen.
const (
	DropHeadroom Drop = iota // a lossless priority overran XOFF and its headroom
	DropBuffer               // a lossless frame found the shared buffer full
	DropLossy                // a lossy frame found its queue full
	// the port drops frames of the priority, because its link is down or its queue is in a PFC storm
	DropDiscard
	DropAlpha // a lossy frame found its queue at the dynamic threshold
	DropFull  // a lossy frame found the shared buffer full
	Drops
	Admitted
)

// String names the reason.
func (d Drop) String() string {
	return [...]string{
		"headroom overrun", "shared buffer full", "lossy queue full", "discarded", "lossy queue at the dynamic threshold",
		"shared buffer full, of a lossy class", "", "admitted",
	}[d]
}

// Lossy reports whether the frame was of a lossy priority, and found no room.
func (d Drop) Lossy() bool { return d == DropLossy || d == DropAlpha || d == DropFull }

// Due identifies a RESUME to build for an ingress port.
type Due struct {
	Port     int // fabric id
	Priority uint8
}

type pausing struct {
	Due
	level uint64 // XOFF at the time of the PAUSE, beyond which the port uses its headroom; unused if it is dynamic
}

// New returns the traffic manager of the switch with this index, whose ports have the fabric IDs first, first+1, ...
// buffer and ports are results of Settings.Resolve.
func New(state *ebpf.State, settings *Settings, index, first int, buffer units.Bytes, ports []Thresholds) *Switch {
	s := &Switch{
		state: state, settings: settings, index: index, first: first,
		weighted: settings.Scheduler.weighted(), lossless: settings.Lossless(), credits: settings.FlowControl == FlowCBFC,
		trimTo: -1,
		ports:  make([]Port, len(ports)), headroom: make([]uint64, len(ports)),
	}
	for i := range s.ports {
		s.ports[i].of, s.ports[i].index = s, i
	}
	if s.weighted != 0 {
		s.deficit = make([][Priorities]int64, len(ports))
	}
	s.Fit(buffer, ports)
	return s
}

// mostBuffered limits the bytes that a switch buffers: the registers of a port and priority have 32 bits. The margin is
// for the last frame, which may exceed the limit.
const mostBuffered = 1<<32 - 1<<20

// Fit changes the switch's buffer and the headrooms of its ports.
func (s *Switch) Fit(buffer units.Bytes, ports []Thresholds) {
	s.limit = uint64(buffer)
	if s.credits {
		for i := range ports {
			s.limit += uint64(bits.OnesCount8(s.lossless)) * uint64(ports[i].Credits.Buffer)
		}
	}
	s.limit = min(s.limit, mostBuffered)
	for i := range ports {
		s.headroom[i] = uint64(ports[i].Headroom)
	}
}

// Headroom returns the headroom of the port with the fabric ID p: bytes of a lossless priority beyond XOFF.
func (s *Switch) Headroom(p int) uint64 { return s.headroom[p-s.first] }

// Port returns the queues and counters of the port with the fabric id p.
func (s *Switch) Port(p int) *Port { return &s.ports[p-s.first] }

// Enqueue enqueues a frame for egress port p, or returns why it was dropped; the caller then keeps the frame.
// Control frames (PFC) are always accepted: they use no shared buffer.
func (s *Switch) Enqueue(p int, f *frame.Frame) Drop {
	port := &s.ports[p-s.first]
	if port.discard != 0 && port.refuses(f) {
		return s.refuse(p, f)
	}
	if f.Control {
		port.control.Push(f)
		port.urgent = true
		return Admitted
	}
	n := s.counted(f)
	if s.queues[f.Priority] == nil {
		s.queues[f.Priority] = make([]frame.Queue, len(s.ports))
	}
	q := &s.queues[f.Priority][p-s.first]
	if d := s.admit(q, f, n); d != Admitted {
		if s.settings.TrimVictim == TrimCoin && s.settings.Trim && d.Lossy() && s.trimNewest(p, q, f, n) {
			return Admitted
		}
		if f.InPort >= 0 {
			s.state.Release(int(f.InPort), f.Priority, int(f.Length), f.Entry)
		}
		if s.settings.Trim && d.Lossy() && s.trim(p, f) {
			return Admitted
		}
		port.DroppedFrames[d]++
		port.DroppedBytes[d] += n
		return d
	}
	s.queue(p, q, f, n)
	return Admitted
}

// queue appends a frame of n bytes, for which there is room, to a queue of port p.
func (s *Switch) queue(p int, q *frame.Queue, f *frame.Frame, n int64) {
	port := &s.ports[p-s.first]
	q.Push(f)
	q.Uncounted += f.Length - int32(n)
	port.backlog |= 1 << f.Priority
	s.state.Ports[p].Class[f.Priority].QueueBytes = uint32(size(q))
	port.EnqueuedFrames++
	port.EnqueuedBytes += n
	port.QueuePeak = max(port.QueuePeak, port.EnqueuedBytes-port.TxBytes)
}

// counted returns a frame's size in a switch. All byte counts in this package are sums of it, except frame.Queue.Bytes
// (see size).
func (s *Switch) counted(f *frame.Frame) int64 {
	return int64(s.state.Switches[s.index].Counted(int(f.Length)))
}

func size(q *frame.Queue) int64 { return q.Bytes - int64(q.Uncounted) }

func (s *Switch) admit(q *frame.Queue, f *frame.Frame, n int64) Drop {
	if s.lossless>>f.Priority&1 == 0 {
		return s.lossyRoom(size(q), f, n)
	}
	if s.state.Switches[s.index].Used > s.limit {
		return DropBuffer
	}
	if f.InPort < 0 {
		return Admitted
	}
	in := &s.state.Ports[f.InPort]
	if in.Class[f.Priority].Pausing == 0 {
		return Admitted
	}
	for i := range s.pausing {
		d := &s.pausing[i]
		if d.Port == int(f.InPort) && d.Priority == f.Priority {
			if s.state.Overrun(int(f.InPort), f.Priority, d.level, s.headroom[int(f.InPort)-s.first]) {
				return DropHeadroom
			}
			break
		}
	}
	return Admitted
}

// lossyRoom returns why a lossy queue of this many bytes has no room for a frame of n bytes, or Admitted.
func (s *Switch) lossyRoom(queued int64, f *frame.Frame, n int64) Drop {
	switch {
	case s.state.Switches[s.index].Used > s.limit:
		return DropFull
	case queued+n > int64(s.settings.LossyLimit):
		return DropLossy
	case s.settings.LossyAlpha > 0 && queued+n > s.lossyThreshold(f, n):
		return DropAlpha
	}
	return Admitted
}

// lossyThreshold returns the dynamic threshold for a frame of n bytes. It subtracts the frame, which the ingress
// pipeline has already counted, from the used buffer.
func (s *Switch) lossyThreshold(f *frame.Frame, n int64) int64 {
	t := &s.state.Switches[s.index]
	used := t.Used - t.HeadroomUsed
	if f.InPort >= 0 {
		used -= min(used, uint64(n))
	}
	return int64(s.settings.LossyAlpha * float64(t.Buffer-min(t.Buffer, used)))
}

// Dequeue returns the next frame that may leave port p at now, with its departure record. If there is none, wake is the
// time at which there may be one without another event (when a pause expires). Due returns the resulting RESUMEs.
func (s *Switch) Dequeue(now vtime.Time, p int) (f *frame.Frame, wake vtime.Time) {
	port := &s.ports[p-s.first]
	s.due = s.due[:0]
	if port.urgent {
		f = port.control.Pop()
		port.urgent = port.control.Packets > 0
		return f, 0
	}
	if s.credits {
		s.checkCredits(now, p)
	}
	open, wake := s.gate(now, p, port.backlog)
	if open == 0 {
		return nil, wake
	}
	priority := s.schedule(p, open)
	q := &s.queues[priority][p-s.first]
	f = q.Pop()
	if q.Packets == 0 {
		port.backlog &^= 1 << priority
	}
	n := s.counted(f)
	q.Uncounted -= f.Length - int32(n)
	port.TxFrames++
	port.TxBytes += n
	class := &s.state.Ports[p].Class[priority]
	class.QueueBytes = uint32(size(q))
	f.OnSince, f.QueueBytes, f.Burst = class.PausedUntil, class.QueueBytes, class.Burst
	f.QueuePackets = uint32(q.Packets)
	if f.InPort >= 0 {
		s.state.Release(int(f.InPort), priority, int(f.Length), f.Entry)
		s.FindDue()
	}
	return f, 0
}

// gate returns the priorities of backlog that are ON, and when the first pause of the others expires. Priorities that
// are OFF for lack of credits have no such time.
func (s *Switch) gate(now vtime.Time, p int, backlog uint8) (open uint8, wake vtime.Time) {
	wake = vtime.Never
	registers := &s.state.Ports[p]
	for m := backlog; m != 0; m &= m - 1 {
		priority := bits.TrailingZeros8(m)
		until := vtime.Time(registers.Class[priority].PausedUntil)
		if until > now && s.Port(p).ignore>>priority&1 == 0 {
			wake = min(wake, until)
		} else {
			open |= 1 << priority
		}
	}
	return open, wake
}

// FindDue collects the paused ingress ports whose account has fallen to XON. It checks all of them, because with a
// dynamic threshold any dequeue may have raised XON.
func (s *Switch) FindDue() {
	s.due = s.due[:0]
	for i := range s.pausing {
		if d := s.pausing[i].Due; s.state.ResumeDue(d.Port, d.Priority) {
			s.due = append(s.due, d)
		}
	}
}

// Due returns the RESUMEs that the last Dequeue or FindDue found due, valid until the next.
func (s *Switch) Due() []Due { return s.due }

// Paused records that the ingress port's peer was sent PAUSE, the first or a refreshed one.
func (s *Switch) Paused(p int, priority uint8) {
	level := s.state.Threshold(p)
	for i := range s.pausing {
		if d := &s.pausing[i]; d.Due == (Due{p, priority}) {
			level = max(level, d.level)
		}
	}
	s.Resumed(p, priority)
	s.pausing = append(s.pausing, pausing{Due: Due{p, priority}, level: level})
}

// Resumed records that the ingress port's peer was sent RESUME.
func (s *Switch) Resumed(p int, priority uint8) {
	for i := range s.pausing {
		if s.pausing[i].Due == (Due{p, priority}) {
			s.pausing = append(s.pausing[:i], s.pausing[i+1:]...)
			return
		}
	}
}

// Touch prefetches the port's memory for a frame of a priority. A caller that knows the next ports calls it for all of
// them at once. Its result has no meaning: it makes the compiler keep the reads.
func (p *Port) Touch(priority uint8) int { return int(p.TxFrames) + int(p.queue(priority).Bytes) }

// noQueue holds the queue of a priority that the switch has never queued.
var noQueue frame.Queue

// queue returns the queue of a priority, for reading.
func (p *Port) queue(priority uint8) *frame.Queue {
	if q := p.of.queues[priority]; q != nil {
		return &q[p.index]
	}
	return &noQueue
}

// TakePeak returns QueuePeak and resets it to the current queue, so that it covers one interval.
func (p *Port) TakePeak() int64 {
	peak := p.QueuePeak
	p.QueuePeak = p.EnqueuedBytes - p.TxBytes
	return peak
}

// Queue returns the bytes and packets of one priority queued at the port.
func (p *Port) Queue(priority uint8) (queued int64, packets int32) {
	q := p.queue(priority)
	return size(q), q.Packets
}

// Waiting reports whether frames wait at the port, of priorities that are ON or OFF.
func (p *Port) Waiting() bool { return p.backlog != 0 || p.urgent }

// QueuedBytes returns the bytes queued at the port, without control frames.
func (p *Port) QueuedBytes() int64 {
	var n int64
	for i := range uint8(Priorities) {
		n += size(p.queue(i))
	}
	return n
}

// Backlog returns the frames queued at the port and all of their bytes, control frames included.
func (p *Port) Backlog() (frames, bytes int64) {
	frames, bytes = int64(p.control.Packets), p.control.Bytes
	for i := range uint8(Priorities) {
		q := p.queue(i)
		frames += int64(q.Packets)
		bytes += q.Bytes
	}
	return frames, bytes
}

// Each calls f with every queued frame except control frames.
func (p *Port) Each(f func(*frame.Frame)) {
	for i := range uint8(Priorities) {
		p.queue(i).Each(f)
	}
}

// EachOf calls f with every queued frame of a priority.
func (p *Port) EachOf(priority uint8, f func(*frame.Frame)) { p.queue(priority).Each(f) }

// EachControl calls f with every queued control frame.
func (p *Port) EachControl(f func(*frame.Frame)) { p.control.Each(f) }

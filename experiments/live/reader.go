//go:build linux

package live

import (
	"slices"
	"time"

	"github.com/pausenet/pausenet/orchestrator/engine"
)

const (
	// eventBacklog limits the number of events that may wait for a reader.
	eventBacklog = 1 << 13
	// dropsEvery sets the wall-clock interval over which drops are summed.
	dropsEvery = time.Second
)

// reader receives events. If it is too slow it misses some, and learns how many.
type reader struct {
	events chan Event // closed at the fabric's end
	kinds  []string   // kinds to receive; nil for all
	missed int64
	before map[dropPosition]int64 // drops so far
	last   []Event                // events at the fabric's end that did not fit; valid after events is closed
}

// dropPosition identifies where and why frames are dropped.
type dropPosition struct{ node, port, peer, cause string }

// wants reports whether the reader receives events of a kind.
func (r *reader) wants(kind string) bool { return r.kinds == nil || slices.Contains(r.kinds, kind) }

// offer sends the reader an event, or counts it as missed.
func (r *reader) offer(e Event) {
	if !r.wants(e.Kind) {
		return
	}
	if r.missed > 0 {
		select {
		case r.events <- r.missedEvent(e):
			r.missed = 0
		default:
			r.missed++
			return
		}
	}
	select {
	case r.events <- e:
	default:
		r.missed++
	}
}

// missedEvent returns an event for missed events, at the time of the next one.
func (r *reader) missedEvent(next Event) Event {
	return Event{
		TimeNS: next.TimeNS, Wall: next.Wall, Kind: EventMissed, Count: r.missed,
		Detail: "events: the reader was too slow for them",
	}
}

// end sends the reader the last event, whatever it has missed.
func (r *reader) end(e Event) {
	if r.wants(e.Kind) {
		if r.missed > 0 {
			r.last = append(r.last, r.missedEvent(e))
		}
		r.last = append(r.last, e)
	}
	close(r.events)
}

// read registers a reader for future events.
func (f *Fabric) read(backlog int, kinds []string) (*reader, error) {
	r := &reader{events: make(chan Event, backlog), kinds: kinds, before: map[dropPosition]int64{}}
	return r, f.Do(func(e *engine.Engine) error {
		f.watch.readers = append(f.watch.readers, r)
		if r.wants(EventDrops) {
			f.drops(func(p dropPosition, n int64) { r.before[p] = n })
		}
		return nil
	})
}

// unread removes a reader.
func (f *Fabric) unread(r *reader) {
	_ = f.Do(func(*engine.Engine) error { // an error means that the fabric has ended
		f.watch.readers = slices.DeleteFunc(f.watch.readers, func(o *reader) bool { return o == r })
		return nil
	})
}

// drops calls call for each position with drops. It runs between two events.
func (f *Fabric) drops(call func(p dropPosition, frames int64)) {
	e := f.live.Engine()
	for i := range f.Plan.Ports {
		p := &f.Plan.Ports[i]
		node := &f.Plan.Nodes[p.Node]
		for _, d := range portDrops(e, i, node) {
			call(dropPosition{node.Name, p.Name, f.Plan.PeerNode(p.ID).Name, d.Cause}, d.Frames)
		}
	}
	for _, id := range f.Plan.Hosts {
		var s HostSnapshot
		snapshotHost(e, &s, &f.Plan.Nodes[id])
		for _, d := range s.Drops {
			call(dropPosition{node: s.Node, cause: d.Cause}, d.Frames)
		}
	}
}

// reportDrops sends a reader the drops since the last report.
func (f *Fabric) reportDrops(r *reader) {
	now := f.live.Engine().Now().Nanoseconds()
	f.drops(func(p dropPosition, n int64) {
		if grown := n - r.before[p]; grown > 0 {
			r.before[p] = n
			r.offer(Event{
				TimeNS: now, Wall: time.Now(), Kind: EventDrops, Node: p.node, Port: p.port, Peer: p.peer,
				Detail: p.cause, Count: grown,
			})
		}
	})
}

// Events passes future events of the given kinds, or of all kinds, to out. It returns when stop is closed, when the
// fabric ends (after the verdict, the last event), or when out fails. It calls quiet when no more events wait.
func (f *Fabric) Events(kinds []string, out func(*Event) error, quiet func() error, stop <-chan struct{}) error {
	r, err := f.read(eventBacklog, kinds)
	if err != nil {
		return err
	}
	return f.follow(r, out, quiet, stop)
}

func (f *Fabric) follow(r *reader, out func(*Event) error, quiet func() error, stop <-chan struct{}) error {
	defer f.unread(r)
	tick := time.NewTicker(dropsEvery)
	defer tick.Stop()
	for {
		if len(r.events) == 0 {
			if err := quiet(); err != nil {
				return err
			}
		}
		select {
		case e, ok := <-r.events:
			if !ok {
				for i := range r.last {
					if err := out(&r.last[i]); err != nil {
						return err
					}
				}
				return quiet()
			}
			if err := out(&e); err != nil {
				return err
			}
		case <-tick.C:
			if r.wants(EventDrops) {
				_ = f.Do(func(*engine.Engine) error { f.reportDrops(r); return nil }) // an error: the fabric has ended
			}
		case <-stop:
			select {
			case <-f.done: // the fabric has ended and closes r.events: pass on the last events first
				stop = nil
			default:
				return nil
			}
		}
	}
}

// Troubles delivers storms and deadlocks to a prompt.
type Troubles struct {
	C      <-chan Event // closed at the fabric's end
	fabric *Fabric
	reader *reader
}

// Troubles returns a feed of future storms and deadlocks.
func (f *Fabric) Troubles() (*Troubles, error) {
	r, err := f.read(64, TroubleKinds)
	return &Troubles{r.events, f, r}, err
}

// Close ends the feed.
func (t *Troubles) Close() { t.fabric.unread(t.reader) }

//go:build linux

package live

import (
	"errors"
	"io"
	"slices"
	"time"

	"github.com/pausenet/pausenet/internal/capture"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// seen represents a captured frame.
type seen struct {
	at    vtime.Time
	port  int // index of the port in the file
	frame []byte
}

// Capture records the frames on some ports' links, in both directions, while a fabric lives.
type Capture struct {
	fabric *Fabric
	frames chan seen
	lag    vtime.Time // the longest time from a frame's departure to its arrival
	into   []int      // tapped ports
	// Missed counts frames that arrived faster than they could be written.
	Missed int64
}

// wires holds the captures of the link into a port.
type wires struct {
	in    kernel.LivePlane
	port  int
	sinks map[*Capture]func(frame []byte)
}

func (w *wires) end() {
	for c := range w.sinks {
		c.close()
	}
}

// captureBacklog limits the number of frames that may wait to be written.
const captureBacklog = 1 << 14

// Capture writes the frames on the links of ports to out, until stop is closed, the fabric ends, or writing to out
// fails.
func (f *Fabric) Capture(ports []topologies.PortID, out io.Writer, stop <-chan struct{}) (err error) {
	file := capture.NewWriter(struct{ io.Writer }{out})
	c := &Capture{fabric: f, frames: make(chan seen, captureBacklog)}
	for _, id := range ports {
		if _, err := file.AddPort(f.Plan.Ports[id].Name); err != nil {
			return err
		}
	}
	err = f.Do(func(e *engine.Engine) error {
		for n, id := range ports {
			p := &f.Plan.Ports[id]
			c.lag = max(c.lag, p.Delay+p.Rate.TimeFor(f.Plan.Framing.LineBytes(plane.FrameSize(f.Plan))))
			if err := c.tap(int(id), func(frame []byte) { c.keep(e.Now(), n, frame) }); err != nil {
				return err
			}
			if err := c.tap(int(p.Peer), func(frame []byte) { c.keep(e.Departed(), n, frame) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := file.Flush(); err != nil {
		return err
	}
	defer f.Do(func(*engine.Engine) error { c.untap(); return nil }) //nolint:errcheck // the fabric has ended then
	return c.write(file, stop)
}

// tap registers call for the frames on the link into a port. It runs on the engine's goroutine, like all functions
// below.
func (c *Capture) tap(in int, call func(frame []byte)) error {
	f := c.fabric
	w := f.captures[in]
	if w == nil {
		w = &wires{in: f.plane, port: in, sinks: map[*Capture]func([]byte){}}
		err := f.plane.Tap(in, func(frame []byte) {
			for _, sink := range w.sinks {
				sink(frame)
			}
		})
		if err != nil {
			return err
		}
		f.captures[in] = w
	}
	if before := w.sinks[c]; before != nil { // both ends are captured
		after := call
		call = func(frame []byte) { before(frame); after(frame) }
	} else {
		c.into = append(c.into, in)
	}
	w.sinks[c] = call
	return nil
}

func (c *Capture) untap() {
	for _, in := range c.into {
		w := c.fabric.captures[in]
		if delete(w.sinks, c); len(w.sinks) == 0 {
			_ = c.fabric.plane.Untap(in)
			delete(c.fabric.captures, in)
		}
	}
	c.into = nil
}

func (c *Capture) keep(at vtime.Time, port int, frame []byte) {
	select {
	case c.frames <- seen{at, port, slices.Clone(frame)}:
	default:
		c.Missed++
	}
}

func (c *Capture) close() {
	for _, in := range c.into {
		delete(c.fabric.captures[in].sinks, c)
	}
	c.into = nil
	close(c.frames)
}

// flushEvery limits how long frames may wait for earlier ones, and in the file's buffer, while the fabric is idle.
const flushEvery = 100 * time.Millisecond

// write writes frames in the order of their times.
func (c *Capture) write(file *capture.Writer, stop <-chan struct{}) error {
	var waiting []seen
	flush := func(until vtime.Time) error {
		n := 0
		for n < len(waiting) && waiting[n].at <= until {
			if err := file.Write(waiting[n].port, waiting[n].at, waiting[n].frame); err != nil {
				return err
			}
			n++
		}
		waiting = waiting[:copy(waiting, waiting[n:])]
		return nil
	}
	add := func(s seen) error {
		i := len(waiting)
		for i > 0 && waiting[i-1].at > s.at {
			i--
		}
		waiting = slices.Insert(waiting, i, s)
		return flush(s.at - c.lag)
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	idle := true
	for {
		select {
		case s, ok := <-c.frames:
			if !ok {
				return errors.Join(flush(vtime.Never), file.Close())
			}
			idle = false
			if err := add(s); err != nil {
				return err
			}
		case <-tick.C:
			if idle {
				if err := flush(vtime.Never); err != nil {
					return err
				}
			}
			idle = true
			if err := file.Flush(); err != nil {
				return err
			}
		case <-stop:
			for range len(c.frames) { // captured before the end
				if s, ok := <-c.frames; ok {
					if err := add(s); err != nil {
						return err
					}
				}
			}
			return errors.Join(flush(vtime.Never), file.Close())
		}
	}
}

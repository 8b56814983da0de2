package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
)

// Start prepares the engine for its first event. Run calls it too, and later calls do nothing.
func (e *Engine) Start() {
	if e.started {
		return
	}
	e.started = true
	e.startOperations()
	e.defers = e.divided() && e.monitor.tracer == nil && !e.countsFrames && len(e.operations)+len(e.rings) == 0
	e.keepHeaders(e.pool)
	for _, n := range e.nics {
		n.HeadersOnly = !e.plane.CarriesPayload()
		n.Brief = n.HeadersOnly && !e.deep()
	}
}

// deep reports whether RoCE frames have longer headers than IPv4 without telemetry.
func (w *worker) deep() bool { return w.features.Telemetry || w.plan.IP == wire.V6 }

// keepHeaders limits a pool's frames to the bytes that the plane needs, and adds the tracer's notes.
func (e *Engine) keepHeaders(p *frame.Pool) {
	if !e.plane.CarriesPayload() {
		p.HeadersOnly(e.deep())
	}
	if e.monitor.tracer != nil {
		p.Notes()
	}
}

// idle reports whether nothing can move any more: no flow or operation is open and no frame exists.
func (w *worker) idle() bool { return w.openFlows == 0 && w.openOperations == 0 && w.pool.Out() == 0 }

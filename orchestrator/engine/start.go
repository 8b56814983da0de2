package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
)

// start readies the engine as the first event comes.
func (e *Engine) start() {
	if e.started {
		return
	}
	e.started = true
	e.startOperations()
	e.keepHeaders(e.pool)
	for _, n := range e.nics {
		n.HeadersOnly = !e.plane.CarriesPayload()
		n.Brief = n.HeadersOnly && !e.deep()
	}
}

// deep says whether RoCE frames have headers beyond what IPv4 takes without telemetry.
func (w *worker) deep() bool { return w.features.Telemetry || w.plan.IP == wire.V6 }

// keepHeaders has a pool keep no more of frames than the plane asks for, and the tracer's notes.
func (e *Engine) keepHeaders(p *frame.Pool) {
	if !e.plane.CarriesPayload() {
		p.HeadersOnly(e.deep())
	}
	if e.monitor.tracer != nil {
		p.Notes()
	}
}

// idle says whether nothing moves any more: no flow or operation is open and no frame is anywhere.
func (w *worker) idle() bool { return w.openFlows == 0 && w.openOperations == 0 && w.pool.Out() == 0 }

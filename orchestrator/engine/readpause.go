package engine

import (
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// What holds a port is for the pipeline to say, of the PAUSEs that come to it. So that a pipeline that makes nothing of them does not
// go unseen, the engine reads them too, as they arrive and whatever becomes of them, and holds what leaves against that.

// stopped is until when each priority of a port is paused by the frames that arrived at it.
type stopped [switchagent.Priorities]vtime.Time

// readPause takes note of a PFC frame that arrived at a port.
func (e *Engine) readPause(in *port, f *frame.Frame) {
	if !isPFC(f.Data()) {
		return
	}
	pfc := wire.PFC(f.Data())
	for i := range uint8(switchagent.Priorities) {
		if pfc.ClassEnable()>>i&1 == 0 {
			continue
		}
		in.pauses &^= 1 << i
		if quanta := pfc.Time(i); quanta != 0 {
			in.pauses |= 1 << i
			in.stopped[i] = e.now + vtime.Time(quanta)*in.rate.TimeFor(512/8)
		}
	}
}

// isPFC says whether a frame is one to stop this end of the link (IEEE 802.1Qbb): programs send others of its type.
func isPFC(data []byte) bool {
	return wire.Ethernet(data).Type() == wire.EtherTypeMACControl && wire.Ethernet(data).Dst() == wire.PFCMAC &&
		wire.PFC(data).Opcode() == wire.OpcodePFC
}

// mayNotLeave says whether a data frame leaves a port although its priority is paused there, by the pipeline's word or by the PAUSEs
// that came.
func (e *Engine) mayNotLeave(p *port, f *frame.Frame) bool {
	byFrames := p.pauses>>f.Priority&1 != 0 && p.stopped[f.Priority] > e.now
	return (byFrames || e.state.Paused(int(p.id), f.Priority, e.now)) && !e.mayLeavePaused(p, f)
}

// mayLeavePaused says whether a frame may leave a port although its priority is paused there: past a storm that the watchdog has
// forwarded, or, as an answer, out of a host that answers all the same.
func (e *Engine) mayLeavePaused(p *port, f *frame.Frame) bool {
	if p.isSwitch {
		return e.switches[p.index].Ignores(int(p.id), f.Priority)
	}
	return e.hosts.ACKsWhenPaused && !f.HostStack() && wire.IsAnswer(f.Data())
}

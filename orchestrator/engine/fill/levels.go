package fill

import (
	"fmt"
	"math/bits"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// levels derives buffer limits from switches' settings for one kind of flow control.
type levels interface {
	// check returns an error if the settings do not suit a topology.
	check(plan *topologies.Plan, s *switchagent.Settings) error
	// limit writes into a port's profile how many bytes the port may buffer before its peer must stop.
	limit(to *ebpf.Profile, t *switchagent.Thresholds)
	// setAside returns the bytes of a switch's buffer that its lossless priorities do not share.
	setAside(s *switchagent.Settings, ports []switchagent.Thresholds) uint64
	// lacksBuffer explains why lossless frames found the buffer of a switch with these cables full, and how to avoid
	// it.
	lacksBuffer(s *switchagent.Settings, cables []switchagent.Cable) string
}

// levelsOf returns the levels of a switch's flow control.
func levelsOf(s *switchagent.Settings) levels {
	if s.FlowControl == switchagent.FlowCBFC {
		return cbfcLevels{}
	}
	return pfcLevels{}
}

// CheckFlowControl returns an error if a fabric's flow control does not suit its topology; nil without a topology.
func CheckFlowControl(plan *topologies.Plan, s *switchagent.Settings) error {
	if plan == nil {
		return nil
	}
	return levelsOf(s).check(plan, s)
}

// LacksBuffer explains why lossless frames found the buffer of a switch with these settings and cables full, and how to
// avoid it.
func LacksBuffer(s *switchagent.Settings, cables []switchagent.Cable) string {
	return levelsOf(s).lacksBuffer(s, cables)
}

// pfcLevels derives the levels of PFC: XOFF, XON and headroom.
type pfcLevels struct{}

// check requires that XON is below XOFF at each port. Validate compares stated values.
func (pfcLevels) check(plan *topologies.Plan, s *switchagent.Settings) error {
	if s.PFC.Priorities == 0 || s.PFC.Alpha > 0 || s.PFC.XOFF != switchagent.Auto {
		return nil
	}
	for _, id := range plan.Switch {
		node := &plan.Nodes[id]
		_, ports := ownSettings(node, s).Resolve(Cables(plan, id, false))
		for i, t := range ports {
			if t.XON >= t.XOFF {
				port := &plan.Ports[node.Ports[i]]
				return schema.Errorf("pfc.xon", "%v must be below XOFF, which is %v at %s (%v, %v)", t.XON, t.XOFF, port.Name,
					port.Rate, port.Delay)
			}
		}
	}
	return nil
}

func (pfcLevels) limit(to *ebpf.Profile, t *switchagent.Thresholds) {
	to.Xoff, to.Xon, to.Alpha = uint64(t.XOFF), uint64(t.XON), uint64(t.Alpha*65536)
}

// setAside returns the headroom, if a dynamic threshold distributes the rest of the buffer.
func (pfcLevels) setAside(s *switchagent.Settings, ports []switchagent.Thresholds) (sum uint64) {
	if s.PFC.Alpha == 0 {
		return 0
	}
	for i := range ports {
		sum += uint64(ports[i].Headroom) * uint64(bits.OnesCount8(s.PFC.Priorities))
	}
	return sum
}

func (pfcLevels) lacksBuffer(s *switchagent.Settings, cables []switchagent.Cable) string {
	buffer, ports := s.Resolve(cables)
	reach := s.Reach(cables, ports)
	if s.PFC.Alpha > 0 && s.PFC.XOFF == 0 {
		return fmt.Sprintf("XOFF is %[2]g of the free part of the buffer, %[1]v, so lossless and lossy priorities together "+
			"can fill it: use a larger switch.buffer or a lower switch.pfc.alpha", buffer, s.PFC.Alpha)
	}
	if reach <= buffer {
		return fmt.Sprintf("the buffer, %v, has room for the %v of XOFF and headroom of its ports, but lossy frames took "+
			"it: use a larger switch.buffer or a lower switch.lossy_limit", buffer, reach)
	}
	return fmt.Sprintf("XOFF and headroom of all its lossless ports add up to %v, but the buffer is %v: "+
		"set switch.buffer to %v or more, or to auto, or lower switch.pfc.xoff (or set it to auto)", reach, buffer, reach)
}

// cbfcLevels derives the levels of credit-based flow control: the ports' own buffers.
type cbfcLevels struct{}

// check requires that each port's buffer holds the blocks of the longest frame.
func (cbfcLevels) check(plan *topologies.Plan, s *switchagent.Settings) error {
	longest := LongestFrame(plan)
	for id := range plan.Ports {
		cable := CableAt(plan, topologies.PortID(id), longest)
		if buffer := cable.Credits(&s.CBFC).Buffer; !s.CBFC.Holds(buffer, plan.Framing.Counted(longest), FullSize(plan)) {
			return schema.Errorf("cbfc.buffer",
				"%v does not hold the blocks of a frame of %d B: with an MTU of %d a port would wait for ever",
				buffer, longest, plan.MTU)
		}
	}
	return nil
}

// limit makes XOFF unreachable for accounts: it exceeds the bytes that a port can hold. DCON's detector uses it.
func (cbfcLevels) limit(to *ebpf.Profile, t *switchagent.Thresholds) {
	to.Xoff, to.Xon, to.Alpha = uint64(t.Credits.Buffer)+1, uint64(t.Credits.Buffer), 0
}

func (cbfcLevels) setAside(*switchagent.Settings, []switchagent.Thresholds) uint64 { return 0 }

func (cbfcLevels) lacksBuffer(*switchagent.Settings, []switchagent.Cable) string {
	return "lossy frames took it: a larger switch.buffer, or a lower switch.lossy_limit"
}

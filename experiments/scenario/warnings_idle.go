package scenario

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
)

// idle are the settings of switches and hosts that differ from their defaults and cannot act, and why.
func (w *warner) idle() map[string]string {
	why := map[string]string{}
	usual := switchagent.Default()
	data := w.s.DataPriorities()
	usual.PFC.Priorities, usual.CBFC.Priorities, usual.ECN.Priorities = data, data, data
	usual.PFC.XON = w.s.Switch.PFC.XON // which follows XOFF
	for _, row := range settings.Switch(&w.s.Switch).Differ(settings.Switch(&usual)) {
		if text := w.idleOfSwitch(row.Name); text != "" {
			why["switch."+row.Name] = text
		}
	}
	if p := &w.s.Switch.PFC; p.XON != switchagent.Auto &&
		(p.XOFF == switchagent.Auto || p.XON != max(0, p.XOFF-p.XOFFToXON)) && w.s.Switch.FlowControl == switchagent.FlowPFC {
		switch { // XON has been given
		case p.Alpha > 0:
			why["switch.pfc.xon"] = "with switch.pfc.alpha RESUME is sent switch.pfc.xoff_to_xon below what XOFF is then"
		case p.XOFFToXON != usual.PFC.XOFFToXON:
			why["switch.pfc.xoff_to_xon"] = "switch.pfc.xon says when RESUME is sent"
		}
	}
	hosts := settings.DefaultHost()
	for _, row := range settings.Host(&w.s.Host).Differ(settings.Host(&hosts)) {
		if text := w.idleOfHost(row.Name); text != "" {
			why["host."+row.Name] = text
		}
	}
	return why
}

// idleOfSwitch says why a setting of switches cannot act; empty: it can.
func (w *warner) idleOfSwitch(key string) string {
	s := &w.s.Switch
	group, _, _ := strings.Cut(key, ".")
	switch {
	case group == "cbfc" && s.FlowControl != switchagent.FlowCBFC:
		return "switch.flow_control is pfc"
	case group == "pfc" && s.FlowControl != switchagent.FlowPFC:
		return "switch.flow_control is cbfc"
	case key == "pfc.per_rate" && s.PFC.Alpha == 0 && s.PFC.Headroom == switchagent.Auto:
		return "it scales switch.pfc.alpha and switch.pfc.headroom, and neither is set"
	case key == "ecn.per_rate" && s.ECN.KMin == switchagent.Auto && s.ECN.KMax == switchagent.Auto:
		return "it scales switch.ecn.kmin and switch.ecn.kmax, and auto goes by each port's rate anyway"
	case group == "cnm" && !w.needs.CNM:
		return "no switch detects bursts, which is DCON's"
	case group == "tcd" && !ternary(w.s, w.needs):
		return "switch.detector is threshold, and no congestion control has TCD's"
	case key == "detector" && w.needs.PCN:
		return "PCN has its own"
	case key == "tcd.epsilon" && (s.TCD.TMax != 0 || s.FlowControl != switchagent.FlowPFC):
		return "it is of the formula that switch.tcd.t_max: auto stands for under PFC"
	case key == "tcd.credit_periods" && (s.TCD.TMax != 0 || s.FlowControl != switchagent.FlowCBFC):
		return "it is what switch.tcd.t_max: auto stands for under credits"
	case key == "trim" && w.data()&^w.lossless() == 0:
		return "no data is lossy: switch.pfc.priorities is what to change"
	case key == "trim_victim" && !s.Trim:
		return "switch.trim is false"
	case group == "ecn":
		return w.idleOfECN(key)
	}
	return ""
}

// idleOfECN says why a setting of marks cannot act; empty: it can.
func (w *warner) idleOfECN(key string) string {
	set, own := &w.s.Switch.ECN, SwitchSettings(w.s, w.needs)[0]
	tcd := own.Detector == switchagent.DetectorTCD
	red := own.ECN.Mode == switchagent.ECNRED
	if tcd {
		red = own.TCD.RED
	}
	switch {
	case key == "ecn.mode" && set.Mode == switchagent.ECNStep && w.s.Switch.Detector == switchagent.DetectorTCD &&
		!w.needs.PCN:
		return "switch.detector is tcd, which marks by switch.tcd.mark"
	case key == "ecn.mode", key == "ecn.priorities", key == "ecn.kmin" && set.KMin == set.KMax:
		return ""
	case !tcd && own.ECN.Mode == switchagent.ECNOff: // as somebody has said, or for those that --cc compares with
		return ""
	case !tcd && own.ECN.Mode == switchagent.ECNPCN:
		return "PCN marks by what waited, and not by the queue's length"
	case key == "ecn.at" && tcd:
		return "TCD marks what leaves"
	case tcd && !red:
		return "switch.tcd.mark is step: TCD marks by switch.tcd.q_len"
	case red || key == "ecn.per_rate" || key == "ecn.at" || key == "ecn.ports":
		return ""
	// in its place switch.cnm.ecn_threshold counts; these are the others'
	case set.Mode == switchagent.ECNRED && w.needs.CNM:
		return ""
	case set.Mode == switchagent.ECNRED:
		return "the congestion control has switches mark by a step of 30KB for each 10Gbps; switch.ecn.mode: step has them mark above switch.ecn.kmax"
	case key == "ecn.kmin" || key == "ecn.pmax":
		return "switch.ecn.mode is step, which goes by switch.ecn.kmax alone"
	}
	return ""
}

// idleOfHost says why a setting of hosts cannot act; empty: it can.
func (w *warner) idleOfHost(key string) string {
	h := HostSettings(w.s, w.needs)
	switch {
	case key == "selective.rto_low_packets" && h.RetransmitTimeout == 0:
		return "there is no timeout; host.retransmit_timeout is what to set"
	case key == "coalesce_acks" && w.needs.ACK:
		return "a congestion control works by ACKs; host.ack_every is for all"
	case key == "cnp_interval" && h.Notify == hostagent.NotifyNone:
		return "no congestion control has receivers send CNPs"
	case key == "ack_when_paused" && w.s.Switch.FlowControl != switchagent.FlowPFC:
		return "switch.flow_control is cbfc"
	case key == "ack_when_paused" && !h.ACKsWithData && w.lossless()&(1<<h.ControlPriority) == 0:
		return fmt.Sprintf("PFC is not on priority %d, which ACK, NAK and CNP have", h.ControlPriority)
	}
	return ""
}

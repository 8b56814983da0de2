package lint

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
)

// idle returns the settings of switches and hosts that differ from their defaults and have no effect, with the reason.
func (w *warner) idle() map[string]string {
	why := map[string]string{}
	usual := switchagent.Default()
	data := w.s.DataPriorities()
	usual.PFC.Priorities, usual.CBFC.Priorities, usual.ECN.Priorities = data, data, data
	usual.PFC.XON = w.s.Switch.PFC.XON // it follows XOFF
	b := &w.s.Topology.Balancing
	for _, row := range settings.Switch(&w.s.Switch, b).Differ(settings.Switch(&usual, b)) {
		if text := w.idleOfSwitch(row.Name); text != "" {
			why["switch."+row.Name] = text
		}
	}
	if p := &w.s.Switch.PFC; p.XON != switchagent.Auto &&
		(p.XOFF == switchagent.Auto || p.XON != max(0, p.XOFF-p.XOFFToXON)) && w.s.Switch.FlowControl == switchagent.FlowPFC {
		switch { // XON is set
		case p.Alpha > 0:
			why["switch.pfc.xon"] = "with switch.pfc.alpha, RESUME is sent switch.pfc.xoff_to_xon below the current XOFF"
		case p.XOFFToXON != usual.PFC.XOFFToXON:
			why["switch.pfc.xoff_to_xon"] = "switch.pfc.xon sets when RESUME is sent"
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

// idleOfSwitch returns the reason why a setting of switches has no effect; empty: it has an effect.
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
		return "it scales switch.ecn.kmin and switch.ecn.kmax, which are auto and follow each port's rate anyway"
	case group == "cnm" && !w.needs.CNM:
		return "only DCON's switches detect bursts"
	case group == "tcd" && !scenario.Ternary(w.s, w.needs):
		return "switch.detector is threshold, and no congestion control uses TCD"
	case key == "detector" && w.needs.PCN:
		return "PCN has its own detector"
	case key == "tcd.epsilon" && (s.TCD.TMax != 0 || s.FlowControl != switchagent.FlowPFC):
		return "only switch.tcd.t_max: auto under PFC uses it"
	case key == "tcd.credit_periods" && (s.TCD.TMax != 0 || s.FlowControl != switchagent.FlowCBFC):
		return "only switch.tcd.t_max: auto under credits uses it"
	case key == "trim" && w.data()&^w.s.Switch.Lossless() == 0:
		return "no data is lossy; change switch.pfc.priorities"
	case key == "trim_victim" && !s.Trim:
		return "switch.trim is false"
	case group == "ecn":
		return w.idleOfECN(key)
	}
	return ""
}

// idleOfECN returns the reason why a setting of ECN marking has no effect; empty: it has an effect.
func (w *warner) idleOfECN(key string) string {
	set, own := &w.s.Switch.ECN, scenario.SwitchSettings(w.s, w.needs)[0]
	tcd := own.Detector == switchagent.DetectorTCD
	red := own.ECN.Mode == switchagent.ECNRED
	if tcd {
		red = own.TCD.RED
	}
	switch {
	case key == "ecn.mode" && set.Mode == switchagent.ECNStep && w.s.Switch.Detector == switchagent.DetectorTCD &&
		!w.needs.PCN:
		return "switch.detector is tcd, which marks as switch.tcd.mark says"
	case key == "ecn.mode", key == "ecn.priorities", key == "ecn.kmin" && set.KMin == set.KMax:
		return ""
	// the user turned marking off, or the setting is for another controller of --cc
	case !tcd && own.ECN.Mode == switchagent.ECNOff:
		return ""
	case !tcd && own.ECN.Mode == switchagent.ECNPCN:
		return "PCN marks packets that waited, whatever the queue's length"
	case key == "ecn.at" && tcd:
		return "TCD marks at dequeue"
	case tcd && !red:
		return "switch.tcd.mark is step: TCD marks above switch.tcd.q_len"
	case red || key == "ecn.per_rate" || key == "ecn.at" || key == "ecn.ports":
		return ""
	// switch.cnm.ecn_threshold applies instead; the setting is for the other controllers
	case set.Mode == switchagent.ECNRED && w.needs.CNM:
		return ""
	case set.Mode == switchagent.ECNRED:
		return "the congestion control makes switches mark at a step of 30KB for each 10Gbps; set switch.ecn.mode: " +
			"step to mark above switch.ecn.kmax"
	case key == "ecn.kmin" || key == "ecn.pmax":
		return "switch.ecn.mode is step, which uses switch.ecn.kmax only"
	}
	return ""
}

// idleOfHost returns the reason why a setting of hosts has no effect; empty: it has an effect.
func (w *warner) idleOfHost(key string) string {
	h := scenario.HostSettings(w.s, w.needs)
	switch {
	case key == "selective.rto_low_packets" && h.RetransmitTimeout == 0:
		return "there is no timeout; set host.retransmit_timeout"
	case key == "coalesce_acks" && w.needs.ACK:
		return "a congestion control relies on ACKs; host.ack_every applies to all of them"
	case key == "cnp_interval" && h.Notify == hostagent.NotifyNone:
		return "no congestion control uses CNPs"
	case key == "ack_when_paused" && w.s.Switch.FlowControl != switchagent.FlowPFC:
		return "switch.flow_control is cbfc"
	case key == "ack_when_paused" && !h.ACKsWithData && w.s.Switch.Lossless()&(1<<h.ControlPriority) == 0:
		return fmt.Sprintf("PFC is off for priority %d, which ACK, NAK and CNP use", h.ControlPriority)
	}
	return ""
}

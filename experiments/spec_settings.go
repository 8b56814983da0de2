package experiments

import (
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// cnpAuto stands for the CNP interval of the simulator that the congestion control's constants are of: that of each run.
const cnpAuto vtime.Time = -1

// defaultHost are a scenario's host settings unless it says otherwise.
func defaultHost() hostagent.Settings {
	s := hostagent.Default()
	s.CNPInterval = cnpAuto
	return s
}

// withCNPInterval are host settings with the CNP interval of a congestion control under the given constants, if they leave it to it.
func withCNPInterval(s hostagent.Settings, spec *cc.Spec, constants map[string]string) hostagent.Settings {
	switch {
	case s.CNPInterval != cnpAuto:
	case spec != nil && spec.TellsEachMark(constants):
		s.CNPInterval = 0
	default:
		s.CNPInterval = hostagent.Default().CNPInterval
	}
	return s
}

// checkHost says what is wrong with host settings under any congestion control.
func checkHost(s hostagent.Settings) error {
	s = withCNPInterval(s, nil, nil)
	return s.Validate()
}

// decodeHost reads a scenario's host settings over the defaults s.
func decodeHost(v *yamlspec.Value, s hostagent.Settings) hostagent.Settings {
	m := v.Mapping()
	decodePriority(m.Get("data_priority"), &s.DataPriority)
	decodePriority(m.Get("control_priority"), &s.ControlPriority)
	of := ""
	if m.Get("ack_priority").Choice(&of, "control", "data") {
		s.ACKsWithData = of == "data"
	}
	m.Get("ack_when_paused").Bool(&s.ACKsWhenPaused)
	m.Get("ack_every").Int(&s.AckEvery, 1, 1<<20)
	m.Get("coalesce_acks").Int(&s.CoalesceACKs, 1, 1<<20)
	if interval := m.Get("cnp_interval"); interval.Raw() == "auto" {
		s.CNPInterval = cnpAuto
	} else {
		interval.Time(&s.CNPInterval)
	}
	m.Get("retransmit_timeout").Time(&s.RetransmitTimeout)
	m.Get("nak_interval").Time(&s.NakInterval)
	m.Done()
	return s
}

// decodeSwitch reads a scenario's switch settings over the defaults s. PFC, CBFC and ECN act on the hosts' data priority
// unless the scenario names priorities.
func decodeSwitch(v *yamlspec.Value, s switchagent.Settings, data uint8) switchagent.Settings {
	m := v.Mapping()
	decodeAuto(m.Get("buffer"), &s.Buffer)
	m.Get("lossy_limit").Bytes(&s.LossyLimit)
	flowControl := ""
	if m.Get("flow_control").Choice(&flowControl, "pfc", "cbfc") {
		s.FlowControl = map[string]switchagent.FlowControl{"pfc": switchagent.FlowPFC, "cbfc": switchagent.FlowCBFC}[flowControl]
	}
	decodePFC(m.Get("pfc"), &s.PFC, data)
	decodeCBFC(m.Get("cbfc"), &s.CBFC, data)
	decodeECN(m.Get("ecn"), &s.ECN, data)
	detector := ""
	if m.Get("detector").Choice(&detector, "threshold", "tcd") {
		s.Detector = map[string]switchagent.Detector{
			"threshold": switchagent.DetectorThreshold, "tcd": switchagent.DetectorTCD,
		}[detector]
	}
	decodeTCD(m.Get("tcd"), &s.TCD)
	decodeCNM(m.Get("cnm"), &s.CNM)

	scheduler := m.Get("scheduler").Mapping()
	scheduler.Get("dwrr").Mapping().All(func(key, value *yamlspec.Value) {
		priority, err := strconv.Atoi(key.Raw())
		if err != nil || priority < 0 || priority >= switchagent.Priorities {
			key.Errorf("%q is not a priority: 0..7", key.Raw())
			return
		}
		if value.Bytes(&s.Scheduler.Quantum[priority]) && s.Scheduler.Quantum[priority] == 0 {
			value.Errorf("a quantum must be positive; leave the priority out to make it strict")
		}
	})
	scheduler.Done()
	m.Done()
	return s
}

func decodePFC(v *yamlspec.Value, s *switchagent.PFC, data uint8) {
	m := v.Mapping()
	s.Priorities = 1 << data
	decodePriorities(m.Get("priorities"), &s.Priorities)
	m.Get("alpha").Float(&s.Alpha)
	decodeAuto(m.Get("xoff"), &s.XOFF)
	m.Get("xoff_to_xon").Bytes(&s.XOFFToXON)
	// XON follows XOFF, so that a sweep over XOFF needs to change one key.
	if s.XON = switchagent.Auto; s.XOFF != switchagent.Auto {
		s.XON = max(0, s.XOFF-s.XOFFToXON)
	}
	if xon := m.Get("xon"); xon.Raw() != auto {
		xon.Bytes(&s.XON)
	}
	decodeAuto(m.Get("headroom"), &s.Headroom)
	decodePerRate(m.Get("per_rate"), &s.PerRate)
	quanta := int(s.Quanta)
	m.Get("quanta").Int(&quanta, 1, 0xFFFF)
	s.Quanta = uint16(quanta)
	decodeWatchdog(m.Get("watchdog"), &s.Watchdog)
	m.Done()
}

// decodeWatchdog reads a PFC watchdog, which is there if it is given: with SONiC's times unless it has its own.
func decodeWatchdog(v *yamlspec.Value, w *switchagent.Watchdog) {
	if v == nil {
		return
	}
	if v.Raw() == "off" {
		*w = switchagent.Watchdog{}
		return
	}
	m := v.Mapping()
	w.Detect, w.Restore = 200*vtime.Millisecond, 200*vtime.Millisecond
	if detect := m.Get("detect"); detect.Time(&w.Detect) && w.Detect == 0 {
		detect.Errorf("detect 0s: write watchdog: off for none")
	}
	m.Get("restore").Time(&w.Restore)
	action := ""
	if m.Get("action").Choice(&action, "drop", "forward") {
		w.Forward = action == "forward"
	}
	m.Done()
}

func decodeCBFC(v *yamlspec.Value, s *switchagent.CBFC, data uint8) {
	m := v.Mapping()
	s.Priorities = 1 << data
	decodePriorities(m.Get("priorities"), &s.Priorities)
	m.Get("period").Time(&s.Period)
	m.Get("buffer").Bytes(&s.Buffer)
	if block := m.Get("block"); block.Raw() == auto {
		s.Block = 0
	} else if block.Bytes(&s.Block) && s.Block == 0 {
		block.Errorf("block 0: write auto for the least that fits")
	}
	m.Done()
}

func decodeECN(v *yamlspec.Value, s *switchagent.ECN, data uint8) {
	m := v.Mapping()
	mode := ""
	if m.Get("mode").Choice(&mode, "red", "step", "pcn", "off") {
		s.Mode = map[string]switchagent.ECNMode{
			"red": switchagent.ECNRED, "step": switchagent.ECNStep, "pcn": switchagent.ECNPCN, "off": switchagent.ECNOff,
		}[mode]
	}
	at := ""
	if m.Get("at").Choice(&at, "enqueue", "dequeue") {
		s.Point = map[string]switchagent.ECNPoint{"enqueue": switchagent.ECNEnqueue, "dequeue": switchagent.ECNDequeue}[at]
	}
	s.Priorities = 1 << data
	decodePriorities(m.Get("priorities"), &s.Priorities)
	decodeAuto(m.Get("kmin"), &s.KMin)
	decodeAuto(m.Get("kmax"), &s.KMax)
	m.Get("pmax").Float(&s.PMax)
	decodePerRate(m.Get("per_rate"), &s.PerRate)
	m.Done()
}

// auto in the place of a value leaves it to what it is for.
const auto = "auto"

// decodeAuto reads a size that may be auto: by each port's rate and cable.
func decodeAuto(v *yamlspec.Value, into *units.Bytes) {
	if v.IsScalar() && v.Raw() == auto {
		*into = switchagent.Auto
	} else {
		v.Bytes(into)
	}
}

// decodePerRate reads the rate of the ports that thresholds are for, where those of others are in proportion.
func decodePerRate(v *yamlspec.Value, into *units.Rate) {
	if v.Rate(into) && *into == 0 {
		v.Errorf("per_rate 0: leave it out for thresholds that are the same for all ports")
	}
}

func decodeTCD(v *yamlspec.Value, s *switchagent.TCD) {
	m := v.Mapping()
	m.Get("q_len").Bytes(&s.QLen)
	if t := m.Get("t_max"); t.Raw() == auto {
		s.TMax = 0
	} else if t.Time(&s.TMax) && s.TMax == 0 {
		t.Errorf("t_max 0: write auto for the patent's formula")
	}
	m.Get("epsilon").Float(&s.Epsilon)
	m.Get("credit_periods").Float(&s.CreditPeriods)
	m.Get("trend_slack").Bytes(&s.TrendSlack)
	mark := ""
	if m.Get("mark").Choice(&mark, "step", "red") {
		s.RED = mark == "red"
	}
	m.Done()
}

func decodeCNM(v *yamlspec.Value, s *switchagent.CNM) {
	m := v.Mapping()
	decodeAuto(m.Get("ecn_threshold"), &s.QECN)
	if threshold := m.Get("threshold"); threshold.Raw() == "dynamic" {
		s.QCNM = 0
	} else if threshold != nil {
		if _, err := units.ParseBytes(threshold.Raw()); threshold.IsScalar() && err != nil {
			threshold.Errorf("%q is neither a size such as 320KB nor dynamic", threshold.Raw())
		} else if threshold.Bytes(&s.QCNM) && s.QCNM == 0 {
			threshold.Errorf("threshold 0: write dynamic for the threshold of section 4.4")
		}
	}
	m.Get("window").Time(&s.Window)
	m.Get("repeat").Time(&s.Repeat)
	var at, by, mark string
	if m.Get("shared_at").Choice(&at, "onset", "packet") {
		s.AtOnset = at == "onset"
	}
	if m.Get("shared_by").Choice(&by, switchagent.SharedByNames...) {
		s.SharedBy = switchagent.SharedBy(slices.Index(switchagent.SharedByNames, by))
	}
	if m.Get("mark").Choice(&mark, "step", "red") {
		s.RED = mark == "red"
	}
	m.Done()
}

func decodePriority(v *yamlspec.Value, into *uint8) {
	n := int(*into)
	v.Int(&n, 0, switchagent.Priorities-1)
	*into = uint8(n)
}

// decodePriorities reads a list of priorities into a set of bits.
func decodePriorities(v *yamlspec.Value, into *uint8) {
	if v == nil {
		return
	}
	*into = 0
	for _, item := range v.Items() {
		n := 0
		if item.Int(&n, 0, switchagent.Priorities-1) {
			*into |= 1 << n
		}
	}
}

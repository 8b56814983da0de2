package experiments

import (
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// View is a resolved scenario for programs: names instead of indexes, units in the names of the JSON fields, every
// default filled in. Spans of time are virtual nanoseconds.
type View struct {
	Name        string                       `json:"name"`
	Description string                       `json:"description,omitempty"`
	Topology    topologies.View              `json:"topology"`
	Routing     *RoutingView                 `json:"routing,omitempty"` // absent: by pausenet's own hash
	Switch      SwitchView                   `json:"switch"`
	Host        HostView                     `json:"host"`
	Controllers []string                     `json:"controllers"`
	Variants    []VariantView                `json:"variants,omitempty"`
	Constants   map[string]map[string]string `json:"cc,omitempty"`
	Flows       []FlowView                   `json:"flows"` // those listed
	Workloads   []WorkloadView               `json:"workloads,omitempty"`
	Duration    float64                      `json:"duration_ns"`
	Drain       bool                         `json:"drain"`
	DrainLimit  float64                      `json:"drain_limit_ns,omitempty"` // with drain
	Seed        uint64                       `json:"seed"`
	Sample      SampleView                   `json:"sample"`
	Report      []PanelView                  `json:"report,omitempty"`
	LookAt      []string                     `json:"look_at,omitempty"`
	Spans       []SpanView                   `json:"spans,omitempty"`
	Unused      []string                     `json:"expect_unused,omitempty"`
	Faults      []FaultView                  `json:"faults,omitempty"`
	Published   []PublishedView              `json:"published,omitempty"`
}

// RoutingView is how a View's switches choose among equal-cost ports.
type RoutingView struct {
	Hash string `json:"hash"`
}

// SwitchView is the switch settings of a View. Those that are auto have a number if it is the same for all ports, or switches, and
// are absent if it is not: Auto has each.
type SwitchView struct {
	Buffer     *units.Bytes `json:"buffer_bytes,omitempty"`
	LossyLimit units.Bytes  `json:"lossy_limit_bytes"`
	PFC        struct {
		Priorities []int         `json:"priorities"`
		XOFF       *units.Bytes  `json:"xoff_bytes,omitempty"`
		XON        *units.Bytes  `json:"xon_bytes,omitempty"`
		XOFFToXON  units.Bytes   `json:"xoff_to_xon_bytes"`
		Alpha      float64       `json:"alpha"`
		Headroom   *units.Bytes  `json:"headroom_bytes,omitempty"`
		PerRate    units.Rate    `json:"per_rate_bps,omitempty"` // of the ports that alpha and headroom are for; absent: of all
		Quanta     uint16        `json:"quanta"`
		Watchdog   *WatchdogView `json:"watchdog,omitempty"` // absent: none
	} `json:"pfc"`
	ECN struct {
		Mode       string       `json:"mode"`
		At         string       `json:"at"` // enqueue or dequeue
		Priorities []int        `json:"priorities"`
		KMin       *units.Bytes `json:"kmin_bytes,omitempty"`
		KMax       *units.Bytes `json:"kmax_bytes,omitempty"`
		PMax       float64      `json:"pmax"`
		PerRate    units.Rate   `json:"per_rate_bps,omitempty"` // of the ports that kmin and kmax are for; absent: of all
	} `json:"ecn"`
	FlowControl string    `json:"flow_control,omitempty"` // empty: pfc
	CBFC        *CBFCView `json:"cbfc,omitempty"`         // with flow control cbfc
	Detector    string    `json:"detector,omitempty"`     // empty: threshold
	TCD         *TCDView  `json:"tcd,omitempty"`          // with detector tcd
	CNM         struct {
		QECN   *units.Bytes `json:"ecn_threshold_bytes,omitempty"`
		QCNM   units.Bytes  `json:"threshold_bytes"` // 0: dynamic
		Window float64      `json:"window_ns"`
		Repeat float64      `json:"repeat_ns"`
		RED    bool         `json:"mark_red"`
		// AtOnset and SharedBy say when and by what an ingress port is shared.
		AtOnset  bool   `json:"shared_at_onset"`
		SharedBy string `json:"shared_by"`
	} `json:"cnm"`
	// Quanta are the DWRR quanta by priority; 0: strict.
	Quanta [switchagent.Priorities]units.Bytes `json:"dwrr_quantum_bytes"`
	Auto   *AutoView                           `json:"auto,omitempty"` // absent: nothing is
}

// CBFCView is the settings of credit-based flow control.
type CBFCView struct {
	Priorities []int       `json:"priorities"`
	Period     float64     `json:"period_ns"`
	Buffer     units.Bytes `json:"buffer_bytes"`
	Block      units.Bytes `json:"block_bytes"`
}

// TCDView is the settings of ternary congestion detection.
type TCDView struct {
	QLen          units.Bytes `json:"q_len_bytes"`
	TMax          float64     `json:"t_max_ns"` // 0: by the formula
	Epsilon       float64     `json:"epsilon"`
	CreditPeriods float64     `json:"credit_periods"`
	TrendSlack    units.Bytes `json:"trend_slack_bytes"`
	RED           bool        `json:"red"`
}

// HostView is the host settings of a View.
type HostView struct {
	DataPriority    uint8 `json:"data_priority"`
	ControlPriority uint8 `json:"control_priority"`
	ACKPriority     uint8 `json:"ack_priority"`
	ACKsWhenPaused  bool  `json:"ack_when_paused,omitempty"`
	AckEvery        int   `json:"ack_every"`
	CoalesceACKs    int   `json:"coalesce_acks,omitempty"`
	// CNPInterval is absent where it is the controller's to say.
	CNPInterval       *float64 `json:"cnp_interval_ns,omitempty"`
	RetransmitTimeout float64  `json:"retransmit_timeout_ns"`
	NakInterval       float64  `json:"nak_interval_ns"`
}

// VariantView is a controller of a View under settings of its own. Constants that it does not name are the View's.
type VariantView struct {
	Name      string            `json:"name"`
	CC        string            `json:"cc"`
	Constants map[string]string `json:"set,omitempty"`
	Switch    *SwitchView       `json:"switch,omitempty"` // absent, like Host: the View's
	Host      *HostView         `json:"host,omitempty"`
}

// FlowView is a flow of a View; its number is its index.
type FlowView struct {
	Tag          string      `json:"tag"`
	From         string      `json:"from"`
	To           string      `json:"to"`
	Size         units.Bytes `json:"size_bytes"` // 0: unbounded
	Start        float64     `json:"start_ns"`
	Jitter       float64     `json:"jitter_ns,omitempty"` // within which the seed delays the start, which has that in it
	Via          []string    `json:"via,omitempty"`
	StartRate    units.Rate  `json:"start_rate_bps,omitempty"`
	ConstantRate units.Rate  `json:"constant_rate_bps,omitempty"`
	Unfinished   bool        `json:"expect_unfinished,omitempty"`
}

// SampleView is what a View's run records over time. Ports are written "node:peer"; empty lists mean all.
type SampleView struct {
	Interval float64  `json:"interval_ns"`
	Ports    []string `json:"ports,omitempty"`
	Flows    []string `json:"flows,omitempty"` // ["none"]: none
}

// PanelView is a panel of a View's report.
type PanelView struct {
	Window float64      `json:"window_ns,omitempty"`
	Title  string       `json:"title"`
	Note   string       `json:"note,omitempty"`
	Log    bool         `json:"log,omitempty"`
	Series []SeriesView `json:"series"`
}

// SeriesView is a series of a PanelView. Subject is a port ("node:peer") or a flow's tag, as the quantity asks.
type SeriesView struct {
	Label    string   `json:"label"`
	Quantity Quantity `json:"quantity"`
	Subject  string   `json:"subject"`
	// Reference is the level to draw, 0: none. Of a setting (ReferenceTo) it is the run's: the view of a scenario without a
	// controller has none.
	Reference      float64 `json:"reference,omitempty"`
	ReferenceTo    string  `json:"reference_to,omitempty"`
	ReferenceLabel string  `json:"reference_label,omitempty"`
}

// SpanView is a stretch of time that a View's report shades.
type SpanView struct {
	From  float64 `json:"from_ns"`
	To    float64 `json:"to_ns"`
	Label string  `json:"label"`
}

// View is s for programs.
func (s *Scenario) View() View {
	v := View{
		Name: s.Name, Description: s.Description, Topology: s.Topology.View(),
		Switch: viewSwitch(s.Topology, &s.Switch), Host: viewHost(&s.Host),
		Controllers: s.Controllers, Constants: s.ControllerSettings,
		Duration: nanoseconds(s.Duration), Drain: s.Drain, DrainLimit: nanoseconds(s.DrainLimit), Seed: s.Seed,
		LookAt: s.LookAt, Unused: s.ExpectUnused, Published: viewPublished(s.Published),
		Sample: SampleView{Interval: nanoseconds(s.Sample.Interval), Flows: s.Sample.Flows},
	}
	if h := s.Topology.Hash; h != topologies.HashOwn {
		v.Routing = &RoutingView{h.String()}
	}
	for i := range s.Variants {
		from := &s.Variants[i]
		variant := VariantView{Name: from.Name, CC: from.CC, Constants: from.Constants}
		if from.Switch != nil {
			own := viewSwitch(s.Topology, from.Switch)
			variant.Switch = &own
		}
		if from.Host != nil {
			own := viewHost(from.Host)
			variant.Host = &own
		}
		v.Variants = append(v.Variants, variant)
	}
	if s.Sample.NoFlows {
		v.Sample.Flows = []string{noFlows}
	}
	name := func(id topologies.NodeID) string { return s.Topology.Nodes[id].Name }
	listed := s.Listed()
	for i := range listed {
		f := &listed[i]
		flow := FlowView{
			Tag: f.Tag, From: name(f.Source), To: name(f.Destination), Size: f.Size, Start: nanoseconds(f.Start), Jitter: nanoseconds(f.Jitter),
			StartRate: f.StartRate, ConstantRate: f.ConstantRate, Unfinished: f.ExpectUnfinished,
		}
		for _, id := range f.Via {
			flow.Via = append(flow.Via, name(id))
		}
		v.Flows = append(v.Flows, flow)
	}
	for i := range s.Workloads {
		v.Workloads = append(v.Workloads, s.Workloads[i].View)
	}
	for _, id := range s.Sample.Ports {
		v.Sample.Ports = append(v.Sample.Ports, PortLabel(s.Topology, id))
	}
	v.Faults = s.viewFaults()
	for _, span := range s.Spans {
		v.Spans = append(v.Spans, SpanView{From: nanoseconds(span.From), To: nanoseconds(span.To), Label: span.Label})
	}
	for _, p := range s.Panels {
		panel := PanelView{Title: p.Title, Note: p.Note, Window: nanoseconds(p.Window), Log: p.Log}
		for _, q := range p.Series {
			subject := q.Tag
			if subject == "" {
				subject = PortLabel(s.Topology, q.Port)
			}
			panel.Series = append(panel.Series, SeriesView{
				Label: q.Label, Quantity: q.Quantity, Subject: subject,
				Reference: q.Reference.Level, ReferenceTo: q.Reference.Setting, ReferenceLabel: q.Reference.label(),
			})
		}
		v.Report = append(v.Report, panel)
	}
	return v
}

// PortLabel is a port as scenarios write it: "node:peer".
func PortLabel(plan *topologies.Plan, id topologies.PortID) string {
	return plan.Nodes[plan.Ports[id].Node].Name + ":" + plan.PeerNode(id).Name
}

func viewSwitch(plan *topologies.Plan, s *switchagent.Settings) SwitchView {
	v := SwitchView{LossyLimit: s.LossyLimit, Quanta: s.Scheduler.Quantum, Auto: viewAuto(plan, s)}
	ports, buffers := kinds(plan, s)
	v.Buffer = sameFor(s.Buffer, buffers, func(b *bufferKind) units.Bytes { return b.buffer })
	v.PFC.XOFF = sameFor(s.PFC.XOFF, ports, func(k *portKind) units.Bytes { return k.thresholds.XOFF })
	v.PFC.XON = sameFor(s.PFC.XON, ports, func(k *portKind) units.Bytes { return k.thresholds.XON })
	v.PFC.Headroom = sameFor(s.PFC.Headroom, ports, func(k *portKind) units.Bytes { return k.thresholds.Headroom })
	v.ECN.KMin = sameFor(s.ECN.KMin, ports, func(k *portKind) units.Bytes { return k.thresholds.KMin })
	v.ECN.KMax = sameFor(s.ECN.KMax, ports, func(k *portKind) units.Bytes { return k.thresholds.KMax })
	v.CNM.QECN = sameFor(s.CNM.QECN, ports, func(k *portKind) units.Bytes { return k.thresholds.QECN })
	v.PFC.Priorities = priorities(s.PFC.Priorities)
	v.PFC.XOFFToXON = s.PFC.XOFFToXON
	v.PFC.Alpha, v.PFC.Quanta, v.PFC.PerRate = s.PFC.Alpha, s.PFC.Quanta, s.PFC.PerRate
	if w := &s.PFC.Watchdog; w.On() {
		v.PFC.Watchdog = &WatchdogView{nanoseconds(w.Detect), nanoseconds(w.Restore), watchdogAction(w)}
	}
	v.ECN.Mode, v.ECN.At, v.ECN.Priorities = ecnModes[s.ECN.Mode], ecnPoint(&s.ECN), priorities(s.ECN.Priorities)
	v.ECN.PMax, v.ECN.PerRate = s.ECN.PMax, s.ECN.PerRate
	if c := &s.CBFC; s.FlowControl == switchagent.FlowCBFC {
		v.FlowControl = "cbfc"
		v.CBFC = &CBFCView{Priorities: priorities(c.Priorities), Period: nanoseconds(c.Period), Buffer: c.Buffer, Block: c.BlockSize(fullSize(plan))}
	}
	if t := &s.TCD; s.Detector == switchagent.DetectorTCD {
		v.Detector = "tcd"
		v.TCD = &TCDView{QLen: t.QLen, TMax: nanoseconds(t.TMax), Epsilon: t.Epsilon, CreditPeriods: t.CreditPeriods, TrendSlack: t.TrendSlack, RED: t.RED}
	}
	v.CNM.QCNM = s.CNM.QCNM
	v.CNM.Window, v.CNM.Repeat = nanoseconds(s.CNM.Window), nanoseconds(s.CNM.Repeat)
	v.CNM.RED, v.CNM.AtOnset, v.CNM.SharedBy = s.CNM.RED, s.CNM.AtOnset, s.CNM.SharedBy.String()
	return v
}

func viewHost(s *hostagent.Settings) HostView {
	v := HostView{
		DataPriority: s.DataPriority, ControlPriority: s.ControlPriority, ACKPriority: s.ACKPriority(),
		ACKsWhenPaused: s.ACKsWhenPaused, AckEvery: s.AckEvery, CoalesceACKs: s.CoalesceACKs,
		RetransmitTimeout: nanoseconds(s.RetransmitTimeout), NakInterval: nanoseconds(s.NakInterval),
	}
	if s.CNPInterval != cnpAuto {
		interval := nanoseconds(s.CNPInterval)
		v.CNPInterval = &interval
	}
	return v
}

// priorities is a set of bits as a list.
func priorities(set uint8) []int {
	list := []int{}
	for p := range switchagent.Priorities {
		if set&(1<<p) != 0 {
			list = append(list, p)
		}
	}
	return list
}

func nanoseconds(t vtime.Time) float64 { return float64(t) / float64(vtime.Nanosecond) }

// describe is what a variant is in a line.
func (v *VariantView) describe() string {
	variant := Variant{Name: v.Name, CC: v.CC, Constants: v.Constants}
	if v.Switch != nil {
		variant.Switch = &switchagent.Settings{}
	}
	if v.Host != nil {
		variant.Host = &hostagent.Settings{}
	}
	return variant.Describe()
}

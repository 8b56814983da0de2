package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// View represents a resolved scenario in structured output. It has names instead of indexes, units in the names of the
// JSON fields, and every default filled in. Durations are virtual nanoseconds.
type View struct {
	Name        string                       `json:"name"`
	Description string                       `json:"description,omitempty"`
	Topology    topologies.View              `json:"topology"`
	Routing     *RoutingView                 `json:"routing,omitempty"` // absent: pausenet's own hash
	Switch      SettingsView                 `json:"switch"`
	Host        SettingsView                 `json:"host"`
	Controllers []string                     `json:"controllers"`
	Variants    []VariantView                `json:"variants,omitempty"`
	Constants   map[string]map[string]string `json:"cc,omitempty"`
	Flows       []FlowView                   `json:"flows"` // the listed flows
	Workloads   []WorkloadView               `json:"workloads,omitempty"`
	Duration    float64                      `json:"duration_ns"`
	Drain       bool                         `json:"drain"`
	DrainLimit  float64                      `json:"drain_limit_ns,omitempty"` // with drain
	Seed        uint64                       `json:"seed"`
	Sample      SampleView                   `json:"sample"`
	Report      []PanelView                  `json:"report,omitempty"`
	// ReportDefault is true if a run chose the panels by its measurements, because the scenario names none.
	ReportDefault bool                     `json:"report_default,omitempty"`
	LookAt        []string                 `json:"look_at,omitempty"`
	Spans         []SpanView               `json:"spans,omitempty"`
	Unused        []string                 `json:"expect_unused,omitempty"`
	Faults        []FaultView              `json:"faults,omitempty"`
	Published     []measure.PublishedTable `json:"published,omitempty"`
}

// RoutingView describes how a View's switches choose among equal-cost ports.
type RoutingView struct {
	Hash string `json:"hash"`
}

// SettingsView holds the settings of switches or hosts in a View, an object with the fields that package settings
// defines. An automatic setting of switches has a number if it is the same everywhere. Otherwise it is absent, and the
// field auto, an AutoView, has each value.
type SettingsView struct{ json.RawMessage }

// Auto returns the automatic settings in the view of a switch, or nil if there are none.
func (v *SettingsView) Auto() *AutoView {
	var view struct {
		Auto *AutoView `json:"auto"`
	}
	_ = json.Unmarshal(v.RawMessage, &view) // of another version, possibly without the field
	return view.Auto
}

// VariantView describes a controller of a View with its own settings. Other constants are the View's.
type VariantView struct {
	Name      string            `json:"name"`
	CC        string            `json:"cc"`
	Constants map[string]string `json:"set,omitempty"`
	Switch    *SettingsView     `json:"switch,omitempty"` // absent, like Host: the View's
	Host      *SettingsView     `json:"host,omitempty"`
}

// FlowView describes a flow of a View; the flow's number is its index.
type FlowView struct {
	Tag   string      `json:"tag"`
	From  string      `json:"from"`
	To    string      `json:"to"`
	Size  units.Bytes `json:"size_bytes"` // 0: unbounded
	Start float64     `json:"start_ns"`
	// upper bound of the random delay of the start, which includes the delay
	Jitter       float64    `json:"jitter_ns,omitempty"`
	Via          []string   `json:"via,omitempty"`
	StartRate    units.Rate `json:"start_rate_bps,omitempty"`
	ConstantRate units.Rate `json:"constant_rate_bps,omitempty"`
	Unfinished   bool       `json:"expect_unfinished,omitempty"`
	OwnView
}

// OwnView holds the settings of a flow, or a workload's flows, that differ from the run's.
type OwnView struct {
	CC  string  `json:"cc,omitempty"` // congestion control
	QPs *QPView `json:"qps,omitempty"`
	// Priority: absent if it is the hosts' data priority.
	Priority *int       `json:"priority,omitempty"`
	Weight   int        `json:"weight,omitempty"` // absent: 1
	Stop     float64    `json:"stop_ns,omitempty"`
	OnOff    *OnOffView `json:"on_off,omitempty"`
}

// OnOffView holds the on and off periods of a flow.
type OnOffView struct {
	On  float64 `json:"on_ns"`
	Off float64 `json:"off_ns"`
}

// QPView describes a flow with several QPs.
type QPView struct {
	Count int `json:"count"`
	// size of the messages that they send in turn; absent: equal shares of the packets
	Message units.Bytes `json:"message_bytes,omitempty"`
	Via     []string    `json:"via,omitempty"` // switches on their paths, one for each QP in turn
}

func (o *Own) view() OwnView {
	v := OwnView{CC: o.CC, Weight: o.Weight, Stop: nanoseconds(o.Stop)}
	if o.Priority > 0 {
		priority := int(o.Priority) - 1
		v.Priority = &priority
	}
	if o.Off > 0 {
		v.OnOff = &OnOffView{nanoseconds(o.On), nanoseconds(o.Off)}
	}
	if o.QPs.Count > 1 {
		v.QPs = &QPView{Count: o.QPs.Count, Message: o.QPs.Message}
	}
	return v
}

// describe returns the settings in words, one text for each.
func (v *OwnView) describe() (parts []string) {
	if v.CC != "" {
		parts = append(parts, "under "+v.CC)
	}
	if q := v.QPs; q != nil {
		text := fmt.Sprintf("by %d QPs", q.Count)
		if q.Message > 0 {
			text += fmt.Sprintf(", messages of %v in turn", q.Message)
		}
		parts = append(parts, text)
	}
	span := func(ns float64) vtime.Time { return vtime.Time(ns * float64(vtime.Nanosecond)) }
	if v.Priority != nil {
		parts = append(parts, fmt.Sprintf("priority %d", *v.Priority))
	}
	if v.Weight > 0 {
		parts = append(parts, fmt.Sprintf("weight %d", v.Weight))
	}
	if v.OnOff != nil {
		parts = append(parts, fmt.Sprintf("%v on, %v off", span(v.OnOff.On), span(v.OnOff.Off)))
	}
	if v.Stop > 0 {
		parts = append(parts, fmt.Sprintf("until %v", span(v.Stop)))
	}
	return parts
}

// SampleView describes what a View's run records over time. Ports are written "node:peer"; empty lists mean all.
type SampleView struct {
	Interval float64  `json:"interval_ns"`
	Ports    []string `json:"ports,omitempty"`
	Flows    []string `json:"flows,omitempty"` // ["none"]: no flow
}

// PanelView describes a panel of a View's report.
type PanelView struct {
	Window float64      `json:"window_ns,omitempty"`
	Title  string       `json:"title"`
	Note   string       `json:"note,omitempty"`
	Log    bool         `json:"log,omitempty"`
	Series []SeriesView `json:"series"`
}

// SeriesView describes a series of a PanelView. Subject is a port ("node:peer") or a flow's tag, depending on the
// quantity.
type SeriesView struct {
	Label    string   `json:"label"`
	Quantity Quantity `json:"quantity"`
	Subject  string   `json:"subject"`
	Priority *uint8   `json:"priority,omitempty"` // absent: all priorities of data
	// Reference holds the level to draw; 0: none. The level of a setting (ReferenceTo) comes from the run, so the view
	// of a scenario without a controller has none.
	Reference      float64 `json:"reference,omitempty"`
	ReferenceTo    string  `json:"reference_to,omitempty"`
	ReferenceLabel string  `json:"reference_label,omitempty"`
}

// SpanView describes an interval of time that a View's report shades.
type SpanView struct {
	From  float64 `json:"from_ns"`
	To    float64 `json:"to_ns"`
	Label string  `json:"label"`
}

// View returns the resolved scenario for programs.
func (s *Scenario) View() View {
	v := View{
		Name: s.Name, Description: s.Description, Topology: s.Topology.View(),
		Switch: viewSwitch(s.Topology, &s.Switch, &s.Topology.Balancing), Host: viewHost(&s.Host),
		Controllers: s.Controllers, Constants: s.ControllerSettings,
		Duration: nanoseconds(s.Duration), Drain: s.Drain, DrainLimit: nanoseconds(s.DrainLimit), Seed: s.Seed,
		LookAt: s.LookAt, Unused: s.ExpectUnused, Published: s.Published,
		Sample: SampleView{Interval: nanoseconds(s.Sample.Interval), Flows: s.Sample.Flows},
	}
	if h := s.Topology.Hash; h != topologies.HashOwn {
		v.Routing = &RoutingView{h.String()}
	}
	for i := range s.Variants {
		from := &s.Variants[i]
		variant := VariantView{Name: from.Name, CC: from.CC, Constants: from.Constants}
		if from.Switch != nil {
			own := viewSwitch(s.Topology, from.Switch, from.Balancing)
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
		f, extra := &listed[i], listed[i].Extra()
		flow := FlowView{
			Tag: f.Tag, From: f.from(s.Topology), To: f.to(s.Topology), Size: f.Size, Start: nanoseconds(f.Start),
			Jitter:    nanoseconds(extra.Jitter),
			StartRate: extra.StartRate, ConstantRate: extra.ConstantRate, Unfinished: f.ExpectUnfinished, OwnView: extra.view(),
		}
		for _, id := range extra.Via {
			flow.Via = append(flow.Via, name(id))
		}
		for _, id := range extra.QPVia {
			flow.QPs.Via = append(flow.QPs.Via, name(id))
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
	v.Report = viewPanels(s.Topology, s.Panels)
	return v
}

func viewPanels(plan *topologies.Plan, panels []Panel) (all []PanelView) {
	for _, p := range panels {
		panel := PanelView{Title: p.Title, Note: p.Note, Window: nanoseconds(p.Window), Log: p.Log}
		for _, q := range p.Series {
			view := SeriesView{
				Label: q.Label, Quantity: q.Quantity, Subject: q.Tag,
				Reference: q.Reference.Level, ReferenceTo: q.Reference.Setting, ReferenceLabel: q.Reference.label(),
			}
			switch {
			case q.Tag != "":
			case q.Port == AllPorts:
				view.Subject = allPorts
			default:
				view.Subject = PortLabel(plan, q.Port)
			}
			if q.Priority > 0 {
				priority := q.Priority - 1
				view.Priority = &priority
			}
			panel.Series = append(panel.Series, view)
		}
		all = append(all, panel)
	}
	return all
}

// PortLabel returns a port as scenarios write it: "node:peer", or "node:number" for one of several parallel links.
func PortLabel(plan *topologies.Plan, id topologies.PortID) string {
	if p := &plan.Ports[id]; len(plan.PortsBetween(p.Node, plan.PeerNode(id).ID)) > 1 {
		return plan.Nodes[p.Node].Name + ":" + strconv.Itoa(p.Number)
	}
	return plan.Nodes[plan.Ports[id].Node].Name + ":" + plan.PeerNode(id).Name
}

func viewSwitch(plan *topologies.Plan, s *switchagent.Settings, balancing *topologies.Balancing) SettingsView {
	own := *s
	ports, buffers := kinds(plan, s)
	own.Buffer = sameFor(s.Buffer, buffers, func(b *bufferKind) units.Bytes { return b.buffer })
	own.PFC.XOFF = sameFor(s.PFC.XOFF, ports, func(k *portKind) units.Bytes { return k.thresholds.XOFF })
	own.PFC.XON = sameFor(s.PFC.XON, ports, func(k *portKind) units.Bytes { return k.thresholds.XON })
	own.PFC.Headroom = sameFor(s.PFC.Headroom, ports, func(k *portKind) units.Bytes { return k.thresholds.Headroom })
	own.ECN.KMin = sameFor(s.ECN.KMin, ports, func(k *portKind) units.Bytes { return k.thresholds.KMin })
	own.ECN.KMax = sameFor(s.ECN.KMax, ports, func(k *portKind) units.Bytes { return k.thresholds.KMax })
	own.CNM.QECN = sameFor(s.CNM.QECN, ports, func(k *portKind) units.Bytes { return k.thresholds.QECN })
	if s.FlowControl == switchagent.FlowCBFC {
		own.CBFC.Buffer = sameFor(s.CBFC.Buffer, ports, func(k *portKind) units.Bytes { return k.thresholds.Credits.Buffer })
		block := func(k *portKind) units.Bytes {
			return s.CBFC.BlockSize(k.thresholds.Credits.Buffer, measure.FullSize(plan))
		}
		own.CBFC.Block = max(0, sameFor(switchagent.Auto, ports, block))
		if s.CBFC.Period == switchagent.AutoPeriod && !slices.ContainsFunc(ports,
			func(k portKind) bool { return k.thresholds.Credits.Period != ports[0].thresholds.Credits.Period }) {
			own.CBFC.Period = ports[0].thresholds.Credits.Period
		}
	}
	if s.Detector == switchagent.DetectorTCD {
		own.TCD.QLen = sameFor(s.TCD.QLen, ports, func(k *portKind) units.Bytes { return k.thresholds.QLen })
	}
	view := viewOf(settings.Switch(&own, balancing))
	if auto := viewAuto(plan, s); auto != nil {
		view = joinObjects(view, viewOf(map[string]any{"auto": auto}))
	}
	return SettingsView{view}
}

func viewHost(s *hostagent.Settings) SettingsView { return SettingsView{viewOf(settings.Host(s))} }

func nanoseconds(t vtime.Time) float64 { return float64(t) / float64(vtime.Nanosecond) }

// Describe returns a variant in one line.
func (v *VariantView) Describe() string {
	variant := Variant{Name: v.Name, CC: v.CC, Constants: v.Constants}
	if v.Switch != nil {
		variant.Switch = &switchagent.Settings{}
	}
	if v.Host != nil {
		variant.Host = &hostagent.Settings{}
	}
	return variant.Describe()
}

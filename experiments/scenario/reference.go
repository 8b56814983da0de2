package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
)

// Reference is a level to draw across a series' panel: a number, or a setting, whose value is the run's.
type Reference struct {
	Level   float64 // in the quantity's unit; 0: by Setting
	Setting string  // the name of a referable, perhaps with a divisor: "pfc.xoff", "payload/2"; empty: Level or none
	Label   string  // empty: the setting's
}

// referable is a setting that a series of the given quantities may have as its reference.
type referable struct {
	name, label string
	of          []Quantity
	// level is its value in a run. 0 if the run has none, or none that is fixed.
	level func(at *referencePlace) float64
}

// referencePlace is what a series shows, in a run whose settings are resolved.
type referencePlace struct {
	sw   *switchagent.Settings  // of the port's switch
	port switchagent.Thresholds // the port's, as they resolve
	data uint8                  // the hosts' data priority
	cnm  bool                   // the switches detect bursts
	flow *Flow                  // the first with the series' tag
	env  cc.Env                 // that flow's
}

// referables are in the order in which mistakes name them.
var referables = []referable{
	{"pfc.xoff", "XOFF", []Quantity{IngressBytes}, func(at *referencePlace) float64 {
		// With alpha XOFF moves with the buffer, and what the scenario gives is its upper bound.
		return at.lossless(at.port.XOFF)
	}},
	{"pfc.xon", "XON", []Quantity{IngressBytes}, func(at *referencePlace) float64 {
		if at.sw.PFC.Alpha > 0 {
			return 0
		}
		return at.lossless(at.port.XON)
	}},
	{"cbfc.buffer", "credits' buffer", []Quantity{IngressBytes}, func(at *referencePlace) float64 {
		if at.sw.FlowControl != switchagent.FlowCBFC {
			return 0
		}
		return float64(at.port.Credits.Buffer)
	}},
	{"ecn.kmin", "ECN kmin", []Quantity{QueueBytes}, func(at *referencePlace) float64 {
		if at.sw.ECN.Mode != switchagent.ECNRED {
			return 0
		}
		kmin, _ := at.ecn()
		return kmin
	}},
	{"ecn.kmax", "ECN kmax", []Quantity{QueueBytes}, func(at *referencePlace) float64 {
		_, kmax := at.ecn()
		return kmax
	}},
	{"cnm.ecn_threshold", "Q_ECN", []Quantity{QueueBytes}, func(at *referencePlace) float64 {
		if !at.cnm {
			return 0
		}
		return float64(at.port.QECN)
	}},
	{"cnm.threshold", "Q_CNM", []Quantity{QueueBytes}, func(at *referencePlace) float64 {
		if !at.cnm {
			return 0
		}
		return float64(at.sw.CNM.QCNM) // 0: dynamic
	}},
	{"tcd.q_len", "q_len", []Quantity{QueueBytes}, func(at *referencePlace) float64 {
		if at.sw.Detector != switchagent.DetectorTCD {
			return 0
		}
		return float64(at.port.QLen)
	}},
	{
		"line", "line rate",
		[]Quantity{Throughput, SendingRate},
		func(at *referencePlace) float64 { return float64(at.env.LineRate) },
	},
	{"payload", "line rate, payload", []Quantity{Throughput, SendingRate}, func(at *referencePlace) float64 {
		return float64(at.env.LineRate) * float64(at.env.MTU) / float64(at.env.LineMTU)
	}},
	{
		"constant_rate", "constant rate",
		[]Quantity{Throughput, SendingRate},
		func(at *referencePlace) float64 { return float64(at.flow.Extra().ConstantRate) },
	},
}

// lossless is a level of PFC's, 0 where PFC does not act on data.
func (at *referencePlace) lossless(level units.Bytes) float64 {
	if at.sw.FlowControl != switchagent.FlowPFC || at.sw.PFC.Priorities>>at.data&1 == 0 {
		return 0
	}
	return float64(level)
}

// ecn are the thresholds by which the port marks data, 0 where others do or nothing.
func (at *referencePlace) ecn() (kmin, kmax float64) {
	e := &at.sw.ECN
	if e.Mode != switchagent.ECNRED && e.Mode != switchagent.ECNStep || e.Priorities>>at.data&1 == 0 || at.port.Unmarked ||
		at.sw.Detector == switchagent.DetectorTCD && !at.sw.TCD.RED {
		return 0, 0
	}
	return float64(at.port.KMin), float64(at.port.KMax)
}

// referableNames are those of a quantity.
func referableNames(q Quantity) []string {
	var names []string
	for i := range referables {
		if slices.Contains(referables[i].of, q) {
			names = append(names, referables[i].name)
		}
	}
	return names
}

// parseReference is the setting that a reference names, and what its value is divided by; nil if it names none.
func parseReference(text string) (*referable, float64) {
	name, part, divided := strings.Cut(text, "/")
	at := slices.IndexFunc(referables, func(r referable) bool { return r.name == name })
	if at < 0 {
		return nil, 0
	}
	if !divided {
		return &referables[at], 1
	}
	by, err := strconv.ParseFloat(part, 64)
	if err != nil || !(by >= 1 && by <= 1e6) {
		return nil, 0
	}
	return &referables[at], by
}

// read reads a series' reference. A quantity that no setting is about has numbers only.
func (r *Reference) read(m *yamlspec.Mapping, q Quantity) {
	v := m.Get("reference")
	if v == nil {
		m.Get("reference_label").Errorf("a label without a reference: give the series a reference too")
		return
	}
	names := referableNames(q)
	if names == nil || !v.IsScalar() || strings.IndexAny(v.Raw(), "0123456789.+-") == 0 {
		switch q {
		case Throughput, SendingRate:
			var rate units.Rate
			v.Rate(&rate)
			r.Level = float64(rate)
		case QueueBytes, IngressBytes:
			var level units.Bytes
			v.Bytes(&level)
			r.Level = float64(level)
		default:
			v.Float(&r.Level)
		}
		if r.Label == "" {
			r.Label = v.Raw()
		}
		return
	}
	setting, _ := parseReference(v.Raw())
	if setting == nil || !slices.Contains(setting.of, q) {
		name, _, _ := strings.Cut(v.Raw(), "/")
		hint := ""
		if near := yamlspec.Nearest(name, names); near != "" && near != name {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
		v.Errorf("%q is no reference of %s: write a number with its unit, or one of %s, perhaps a part of it such as %s/2%s",
			v.Raw(), q, strings.Join(names, ", "), names[0], hint)
		return
	}
	r.Setting = v.Raw()
}

// ViewPanels returns the view of panels that the run has chosen, with the run's reference levels.
func (u *Setup) ViewPanels(panels []Panel) []PanelView {
	views := viewPanels(u.Scenario.Topology, panels)
	u.references(panels, views)
	return views
}

// references puts the run's values into the view of its panels.
func (u *Setup) references(panels []Panel, views []PanelView) {
	s := u.Scenario
	var (
		switches []*switchagent.Settings
		ports    []switchagent.Thresholds
	)
	for i := range panels {
		for k := range panels[i].Series {
			from, to := &panels[i].Series[k], &views[i].Series[k]
			setting, by := parseReference(from.Reference.Setting)
			if setting == nil {
				continue
			}
			if switches == nil {
				switches = SwitchSettings(s, u.Needs)
				ports = ResolveThresholds(s.Topology, switches).Ports
			}
			place := u.referencePlace(from, switches, ports)
			if place == nil {
				continue
			}
			to.Reference = setting.level(place) / by
			if setting.name == "pfc.xoff" && place.sw.PFC.Alpha > 0 && from.Reference.Label == "" {
				to.ReferenceLabel = "XOFF at most"
			}
		}
	}
}

// referencePlace is what a series shows; nil if no flow has its tag.
func (u *Setup) referencePlace(series *Series, switches []*switchagent.Settings,
	ports []switchagent.Thresholds,
) *referencePlace {
	s := u.Scenario
	if series.Tag == "" {
		data := s.Host.DataPriority
		if series.Priority > 0 {
			data = series.Priority - 1
		}
		return &referencePlace{
			sw: switches[slices.Index(s.Topology.Switch, s.Topology.Ports[series.Port].Node)], port: ports[series.Port],
			data: data, cnm: u.Needs.CNM,
		}
	}
	at := slices.IndexFunc(s.Flows, func(f Flow) bool { return f.Tag == series.Tag })
	if at < 0 {
		return nil
	}
	return &referencePlace{flow: &s.Flows[at], env: u.Flows[at].Env}
}

// label is what is written at the reference's line.
func (r *Reference) label() string {
	setting, by := parseReference(r.Setting)
	switch {
	case r.Label != "" || setting == nil:
		return r.Label
	case by != 1:
		return fmt.Sprintf("%s / %g", setting.label, by)
	}
	return setting.label
}

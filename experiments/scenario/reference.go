package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
)

// Reference describes a level drawn across a series' panel: a number, or a setting whose value the run provides.
type Reference struct {
	Level float64 // in the quantity's unit; 0: use Setting
	// the name of a referable, optionally with a divisor: "pfc.xoff", "payload/2"; empty: use Level, or none
	Setting string
	Label   string // empty: the setting's label
}

// referable describes a setting that a series of some quantities may use as its reference.
type referable struct {
	name, label string
	of          []Quantity
	// level returns the setting's value in a run, or 0 if the run has no fixed value.
	level func(at *referencePoint) float64
}

// referencePoint holds the subject of a series in a run, with resolved settings.
type referencePoint struct {
	sw   *switchagent.Settings  // of the port's switch
	port switchagent.Thresholds // the port's resolved thresholds
	data uint8                  // the hosts' data priority
	cnm  bool                   // true if the switches detect bursts
	flow *Flow                  // the first flow with the series' tag
	env  cc.Env                 // the environment of that flow
}

// referables lists the settings in the order in which error messages name them.
var referables = []referable{
	{"pfc.xoff", "XOFF", []Quantity{IngressBytes}, func(at *referencePoint) float64 {
		// With alpha XOFF moves with the buffer, and the scenario's value is its upper bound.
		return at.lossless(at.port.XOFF)
	}},
	{"pfc.xon", "XON", []Quantity{IngressBytes}, func(at *referencePoint) float64 {
		if at.sw.PFC.Alpha > 0 {
			return 0
		}
		return at.lossless(at.port.XON)
	}},
	{"cbfc.buffer", "credits' buffer", []Quantity{IngressBytes}, func(at *referencePoint) float64 {
		if at.sw.FlowControl != switchagent.FlowCBFC {
			return 0
		}
		return float64(at.port.Credits.Buffer)
	}},
	{"ecn.kmin", "ECN kmin", []Quantity{QueueBytes}, func(at *referencePoint) float64 {
		if at.sw.ECN.Mode != switchagent.ECNRED {
			return 0
		}
		kmin, _ := at.ecn()
		return kmin
	}},
	{"ecn.kmax", "ECN kmax", []Quantity{QueueBytes}, func(at *referencePoint) float64 {
		_, kmax := at.ecn()
		return kmax
	}},
	{"cnm.ecn_threshold", "Q_ECN", []Quantity{QueueBytes}, func(at *referencePoint) float64 {
		if !at.cnm {
			return 0
		}
		return float64(at.port.QECN)
	}},
	{"cnm.threshold", "Q_CNM", []Quantity{QueueBytes}, func(at *referencePoint) float64 {
		if !at.cnm {
			return 0
		}
		return float64(at.sw.CNM.QCNM) // 0: dynamic
	}},
	{"tcd.q_len", "q_len", []Quantity{QueueBytes}, func(at *referencePoint) float64 {
		if at.sw.Detector != switchagent.DetectorTCD {
			return 0
		}
		return float64(at.port.QLen)
	}},
	{
		"line", "line rate",
		[]Quantity{Throughput, SendingRate},
		func(at *referencePoint) float64 { return float64(at.env.LineRate) },
	},
	{"payload", "line rate, payload", []Quantity{Throughput, SendingRate}, func(at *referencePoint) float64 {
		return float64(at.env.LineRate) * float64(at.env.MTU) / float64(at.env.LineMTU)
	}},
	{
		"constant_rate", "constant rate",
		[]Quantity{Throughput, SendingRate},
		func(at *referencePoint) float64 { return float64(at.flow.Extra().ConstantRate) },
	},
}

// lossless returns a level of PFC, or 0 if PFC does not apply to data.
func (at *referencePoint) lossless(level units.Bytes) float64 {
	if at.sw.FlowControl != switchagent.FlowPFC || at.sw.PFC.Priorities>>at.data&1 == 0 {
		return 0
	}
	return float64(level)
}

// ecn returns the thresholds at which the port marks data, or 0 if it uses other thresholds or none.
func (at *referencePoint) ecn() (kmin, kmax float64) {
	e := &at.sw.ECN
	if e.Mode != switchagent.ECNRED && e.Mode != switchagent.ECNStep || e.Priorities>>at.data&1 == 0 || at.port.Unmarked ||
		at.sw.Detector == switchagent.DetectorTCD && !at.sw.TCD.RED {
		return 0, 0
	}
	return float64(at.port.KMin), float64(at.port.KMax)
}

// referableNames returns the names of the settings that a quantity may refer to.
func referableNames(q Quantity) []string {
	var names []string
	for i := range referables {
		if slices.Contains(referables[i].of, q) {
			names = append(names, referables[i].name)
		}
	}
	return names
}

// parseReference returns the setting that a reference names and the divisor of its value; nil if it names none.
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

// read reads a series' reference. A quantity without related settings accepts only numbers.
func (r *Reference) read(m *yamlspec.Mapping, q Quantity) {
	v := m.Get("reference")
	if v == nil {
		m.Get("reference_label").Errorf("reference_label has no effect without reference: add a reference")
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
		r.Label = cmp.Or(r.Label, v.Raw())
		return
	}
	setting, _ := parseReference(v.Raw())
	if setting == nil || !slices.Contains(setting.of, q) {
		name, _, _ := strings.Cut(v.Raw(), "/")
		hint := ""
		if near := spelling.Nearest(name, names); near != "" && near != name {
			hint = fmt.Sprintf(": did you mean %q?", near)
		}
		v.Errorf("%q is not a reference for %s: write a number with its unit, one of %s, or a part such as %s/2%s",
			v.Raw(), q, strings.Join(names, ", "), names[0], hint)
		return
	}
	r.Setting = v.Raw()
}

// ViewPanels returns the view of the run's panels, with the run's reference levels.
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
			point := u.referencePoint(from, switches, ports)
			if point == nil {
				continue
			}
			to.Reference = setting.level(point) / by
			if setting.name == "pfc.xoff" && point.sw.PFC.Alpha > 0 && from.Reference.Label == "" {
				to.ReferenceLabel = "XOFF at most"
			}
		}
	}
}

// referencePoint returns the subject of a series; nil if no flow has its tag.
func (u *Setup) referencePoint(series *Series, switches []*switchagent.Settings,
	ports []switchagent.Thresholds,
) *referencePoint {
	s := u.Scenario
	if series.Tag == "" {
		data := s.Host.DataPriority
		if series.Priority > 0 {
			data = series.Priority - 1
		}
		return &referencePoint{
			sw: switches[slices.Index(s.Topology.Switch, s.Topology.Ports[series.Port].Node)], port: ports[series.Port],
			data: data, cnm: u.Needs.CNM,
		}
	}
	at := slices.IndexFunc(s.Flows, func(f Flow) bool { return f.Tag == series.Tag })
	if at < 0 {
		return nil
	}
	return &referencePoint{flow: &s.Flows[at], env: u.Flows[at].Env}
}

// label returns the text at the reference's line.
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

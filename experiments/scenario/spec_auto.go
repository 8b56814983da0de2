package scenario

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// automatic returns the keys of switch settings that depend on each port's rate, delay and MTU; DCON's only with cnm.
func automatic(s *switchagent.Settings, cnm bool) []string {
	pfc := s.FlowControl == switchagent.FlowPFC && s.PFC.Priorities != 0
	credits := s.FlowControl == switchagent.FlowCBFC
	ecn := s.ECN.Mode == switchagent.ECNRED || s.ECN.Mode == switchagent.ECNStep
	var keys []string
	for _, k := range []struct {
		key   string
		value units.Bytes
		works bool
	}{
		{"buffer", s.Buffer, true},
		{"pfc.xoff", s.PFC.XOFF, pfc},
		{"pfc.xon", s.PFC.XON, pfc},
		{"pfc.headroom", s.PFC.Headroom, pfc},
		{"cbfc.buffer", s.CBFC.Buffer, credits},
		{"cbfc.period", autoIf(s.CBFC.Period == switchagent.AutoPeriod), credits},
		{"ecn.kmin", s.ECN.KMin, ecn},
		{"ecn.kmax", s.ECN.KMax, ecn},
		{"cnm.ecn_threshold", s.CNM.QECN, cnm},
		{"tcd.q_len", s.TCD.QLen, s.Detector == switchagent.DetectorTCD},
	} {
		if k.works && k.value == switchagent.Auto {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// autoIf returns Auto if a setting that is not a size is automatic.
func autoIf(is bool) units.Bytes {
	if is {
		return switchagent.Auto
	}
	return 0
}

// portKind holds switch ports with equal cables and thresholds.
type portKind struct {
	cable      switchagent.Cable
	thresholds switchagent.Thresholds
	switches   []string
	ports      int
}

// bufferKind holds switches with equal buffers.
type bufferKind struct {
	buffer   units.Bytes
	lossless units.Bytes // the part that lossless priorities may use
	switches []string
}

// kinds groups the switches' ports and buffers by their resolved settings, in the order of the topology.
func kinds(plan *topologies.Plan, s *switchagent.Settings) (ports []portKind, buffers []bufferKind) {
	for i, own := range EverySwitch(plan, s) {
		node := &plan.Nodes[plan.Switch[i]]
		cables := fill.Cables(plan, node.ID, false)
		buffer, thresholds := own.Resolve(cables)
		for k := range cables {
			cables[k].ToHost = false // its effect is part of the thresholds
			at := slices.IndexFunc(ports, func(p portKind) bool { return p.cable == cables[k] && p.thresholds == thresholds[k] })
			if at < 0 {
				at = len(ports)
				ports = append(ports, portKind{cable: cables[k], thresholds: thresholds[k]})
			}
			kind := &ports[at]
			kind.ports++
			if n := len(kind.switches); n == 0 || kind.switches[n-1] != node.Name {
				kind.switches = append(kind.switches, node.Name)
			}
		}
		reach := own.Reach(cables, thresholds)
		at := slices.IndexFunc(buffers, func(b bufferKind) bool { return b.buffer == buffer && b.lossless == reach })
		if at < 0 {
			at = len(buffers)
			buffers = append(buffers, bufferKind{buffer: buffer, lossless: reach})
		}
		buffers[at].switches = append(buffers[at].switches, node.Name)
	}
	return ports, buffers
}

// DescribeDefaults writes the default switch settings, resolved on a topology, for people.
func DescribeDefaults(w io.Writer, plan *topologies.Plan) error {
	var b strings.Builder
	s := switchagent.Default()
	describeAuto(&b, "switches by default", plan, &s, true)
	_, err := io.WriteString(w, b.String())
	return err
}

// describeAuto writes the values of auto on a topology for people, by kind of port, with the parts of the headroom. It
// writes nothing if no setting is auto.
func describeAuto(b *strings.Builder, title string, plan *topologies.Plan, s *switchagent.Settings, cnm bool) {
	auto := automatic(s, cnm)
	if len(auto) == 0 {
		return
	}
	pfc := s.FlowControl == switchagent.FlowPFC && s.PFC.Priorities != 0
	ports, buffers := kinds(plan, s)
	fmt.Fprintf(b, "%s, by each port's rate, delay and MTU: %s\n", title, strings.Join(auto, ", "))
	for i := range ports {
		k := &ports[i]
		th := &k.thresholds
		var parts []string
		add := func(name, value string) { parts = append(parts, name+" "+value) }
		switch {
		case s.FlowControl == switchagent.FlowCBFC:
			add("credits", th.Credits.Buffer.String())
			add("blocks", s.CBFC.BlockSize(th.Credits.Buffer, measure.FullSize(plan)).String())
			add("every", th.Credits.Period.String())
		case pfc && th.Alpha > 0:
			xoff := fmt.Sprintf("%.3g of the free buffer", th.Alpha)
			if th.XOFF > 0 {
				xoff += ", at most " + th.XOFF.String()
			}
			add("xoff", xoff)
			add("xon", s.PFC.XOFFToXON.String()+" below")
			add("headroom", th.Headroom.String())
		case pfc:
			add("xoff", th.XOFF.String())
			add("xon", th.XON.String())
			add("headroom", th.Headroom.String())
		}
		switch {
		case th.Unmarked:
			add("ecn", "off")
		case s.ECN.Mode == switchagent.ECNRED:
			add("ecn", fmt.Sprintf("%v to %v", th.KMin, th.KMax))
		case s.ECN.Mode == switchagent.ECNStep:
			add("ecn", "above "+th.KMax.String())
		}
		if cnm {
			add("cnm", th.QECN.String())
		}
		if s.Detector == switchagent.DetectorTCD {
			add("q_len", th.QLen.String())
		}
		fmt.Fprintf(b, "  %s of %v, %v: %s\n    %s\n", topologies.Plural(k.ports, "port"), k.cable.Rate, k.cable.Delay,
			topologies.Abbreviate(k.switches), strings.Join(parts, ", "))
	}
	for i := range buffers {
		holds := ""
		if pfc {
			holds = fmt.Sprintf("; XOFF and headroom of all ports are %v", buffers[i].lossless)
		}
		fmt.Fprintf(b, "  buffer %v of %s%s\n", buffers[i].buffer, topologies.Abbreviate(buffers[i].switches), holds)
	}
	if pfc && s.PFC.Headroom == switchagent.Auto {
		describeHeadroom(b, ports, &s.PFC)
	}
}

// describeHeadroom writes the parts of each kind of port's headroom.
func describeHeadroom(b *strings.Builder, ports []portKind, pfc *switchagent.PFC) {
	fmt.Fprintf(b, "headroom: bytes that can arrive at a port after XOFF (IEEE 802.1Qbb, annex O)\n")
	type cable struct {
		rate  units.Rate
		delay vtime.Time
	}
	reported := map[cable]bool{}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  rate\tdelay\tcable\tpast XOFF\town\tPFC\tpeer\tresponse\tsum")
	for i := range ports {
		c := &ports[i].cable
		if reported[cable{c.Rate, c.Delay}] {
			continue
		}
		reported[cable{c.Rate, c.Delay}] = true
		f := c.InFlight(pfc)
		fmt.Fprintf(t, "  %v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\n", c.Rate, c.Delay, f.Cable, f.PastXOFF, f.Sending, f.PFC,
			f.Peer, f.Response, f.Sum())
	}
	t.Flush() // A strings.Builder does not fail.
}

// AutoView holds the resolved values of auto.
type AutoView struct {
	Keys    []string         `json:"keys"` // of settings that are auto
	Ports   []PortKindView   `json:"ports"`
	Buffers []BufferKindView `json:"buffers"`
}

// PortKindView describes switch ports with equal cables and thresholds. Parts holds the parts of an automatic
// headroom.
type PortKindView struct {
	Switches []string    `json:"switches"`
	Ports    int         `json:"ports"` // of all of them
	Rate     units.Rate  `json:"rate_bps"`
	Delay    float64     `json:"delay_ns"`
	XOFF     units.Bytes `json:"xoff_bytes"`
	XON      units.Bytes `json:"xon_bytes"`
	Alpha    float64     `json:"alpha,omitempty"`
	Headroom units.Bytes `json:"headroom_bytes"`
	Parts    *PartsView  `json:"headroom_parts,omitempty"`
	KMin     units.Bytes `json:"kmin_bytes"`
	KMax     units.Bytes `json:"kmax_bytes"`
	QECN     units.Bytes `json:"cnm_ecn_threshold_bytes"`
	QLen     units.Bytes `json:"tcd_q_len_bytes,omitempty"` // with detector tcd
	// with flow control cbfc
	CreditBuffer units.Bytes `json:"cbfc_buffer_bytes,omitempty"`
	CreditPeriod float64     `json:"cbfc_period_ns,omitempty"`
}

// PartsView holds the parts of a headroom (IEEE 802.1Qbb-2011, annex O).
type PartsView struct {
	Cable    units.Bytes `json:"cable_bytes"` // both ways
	PastXOFF units.Bytes `json:"past_xoff_bytes"`
	Sending  units.Bytes `json:"sent_before_pause_bytes"`
	PFC      units.Bytes `json:"pfc_frames_bytes"`
	Peer     units.Bytes `json:"sent_by_peer_bytes"`
	Response units.Bytes `json:"response_bytes,omitempty"`    // of interfaces and higher layers, with pfc.response
	Cells    units.Bytes `json:"whole_cells_bytes,omitempty"` // rounding up to whole cells, with pfc.cell_size
}

// BufferKindView describes switches with equal buffers.
type BufferKindView struct {
	Switches []string    `json:"switches"`
	Buffer   units.Bytes `json:"buffer_bytes"`
	Lossless units.Bytes `json:"xoff_and_headroom_bytes"` // of all ports
}

// Settings returns the values of auto with a description of each: {"pfc.xoff_bytes at 40Gbps, 1000 ns", "320000"}.
func (v *AutoView) Settings() (all [][2]string) {
	if v == nil {
		return nil
	}
	for _, key := range v.Keys {
		// by description: ports of one rate and delay may differ, because their switches' buffers do
		values := map[string][]string{}
		var places []string
		note := func(place string, b units.Bytes) {
			if values[place] == nil {
				places = append(places, place)
			}
			if text := strconv.FormatInt(int64(b), 10); !slices.Contains(values[place], text) {
				values[place] = append(values[place], text)
			}
		}
		for i := range v.Ports {
			k := &v.Ports[i]
			of, known := map[string]units.Bytes{
				"pfc.xoff": k.XOFF, "pfc.xon": k.XON, "pfc.headroom": k.Headroom, "ecn.kmin": k.KMin, "ecn.kmax": k.KMax,
				"cnm.ecn_threshold": k.QECN,
				"cbfc.buffer":       k.CreditBuffer, "tcd.q_len": k.QLen,
			}[key]
			if known {
				note(fmt.Sprintf("at %v, %g ns", k.Rate, k.Delay), of)
			}
		}
		if key == "cbfc.period" {
			var periods []string
			for i := range v.Ports {
				k := &v.Ports[i]
				period := [2]string{
					fmt.Sprintf("%s_ns at %v, %g ns", key, k.Rate, k.Delay),
					strconv.FormatFloat(k.CreditPeriod, 'g', -1, 64),
				}
				if !slices.Contains(periods, period[0]) { // it depends on the cable only
					periods, all = append(periods, period[0]), append(all, period)
				}
			}
		}
		if key == "buffer" {
			for i := range v.Buffers {
				note("of "+topologies.Abbreviate(v.Buffers[i].Switches), v.Buffers[i].Buffer)
			}
		}
		for _, place := range places {
			all = append(all, [2]string{key + "_bytes " + place, strings.Join(values[place], " or ")})
		}
	}
	return all
}

// viewAuto returns the resolved values of auto, or nil if no setting is auto.
func viewAuto(plan *topologies.Plan, s *switchagent.Settings) *AutoView {
	v := &AutoView{Keys: automatic(s, true)}
	if len(v.Keys) == 0 {
		return nil
	}
	ports, buffers := kinds(plan, s)
	for i := range ports {
		k := &ports[i]
		kind := PortKindView{
			Switches: k.switches, Ports: k.ports, Rate: k.cable.Rate, Delay: nanoseconds(k.cable.Delay),
			XOFF: k.thresholds.XOFF, XON: k.thresholds.XON, Alpha: k.thresholds.Alpha, Headroom: k.thresholds.Headroom,
			KMin: k.thresholds.KMin, KMax: k.thresholds.KMax, QECN: k.thresholds.QECN,
			QLen: k.thresholds.QLen, CreditBuffer: k.thresholds.Credits.Buffer,
			CreditPeriod: nanoseconds(k.thresholds.Credits.Period),
		}
		if s.PFC.Headroom == switchagent.Auto {
			f := k.cable.InFlight(&s.PFC)
			kind.Parts = &PartsView{
				Cable: f.Cable, PastXOFF: f.PastXOFF, Sending: f.Sending, PFC: f.PFC, Peer: f.Peer, Response: f.Response,
				Cells: f.Sum() - f.Line(),
			}
		}
		v.Ports = append(v.Ports, kind)
	}
	for i := range buffers {
		v.Buffers = append(v.Buffers, BufferKindView{
			Switches: buffers[i].switches, Buffer: buffers[i].buffer,
			Lossless: buffers[i].lossless,
		})
	}
	return v
}

// sameFor returns a size that is set, or the value of auto if it is the same for all.
func sameFor[T any](stated units.Bytes, all []T, of func(*T) units.Bytes) units.Bytes {
	if stated != switchagent.Auto || len(all) == 0 {
		return stated
	}
	for i := range all {
		if of(&all[i]) != of(&all[0]) {
			return stated
		}
	}
	return of(&all[0])
}

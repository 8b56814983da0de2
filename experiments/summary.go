package experiments

import (
	"math"
	"sort"
	"time"

	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
)

// Summary is summary.json: a run in numbers. Times are virtual nanoseconds unless a name says otherwise.
type Summary struct {
	Scenario    string  `json:"scenario"`
	Controller  string  `json:"controller"`
	Seed        uint64  `json:"seed"`
	Plane       string  `json:"plane"`
	Verdict     Verdict `json:"verdict"`
	Partial     bool    `json:"partial"`
	Fingerprint string  `json:"fingerprint"`
	VirtualNS   int64   `json:"virtual_ns"`

	Flows  FlowStatistics            `json:"flows"`
	ByTag  map[string]FlowStatistics `json:"by_tag"`
	BySize []SizeBin                 `json:"by_size"`

	PFC       PFCSummary   `json:"pfc"`
	ECNMarks  int64        `json:"ecn_marks"`
	CNPs      int64        `json:"cnps"`
	CNMs      int64        `json:"cnms"`
	RTT       RTTSummary   `json:"rtt"`
	Drops     DropSummary  `json:"drops"`
	Overshoot int64        `json:"peak_ingress_bytes"` // most bytes any ingress port held of the data priority
	Switches  []SwitchPeak `json:"switches"`
	Speed     SpeedSummary `json:"speed"`
	tags      []string
}

// FlowStatistics are those of a set of flows.
type FlowStatistics struct {
	Count     int       `json:"count"`
	Completed int       `json:"completed"`
	FCT       Quantiles `json:"fct_ns"`
	Slowdown  Quantiles `json:"slowdown"`
	// Goodput is the payload delivered over the run, in bits per second, summed over the flows.
	Goodput float64 `json:"goodput_bps"`
}

// Quantiles describe a distribution; all 0 without values.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

// SizeBin is the flows with over After and up to UpTo bytes.
type SizeBin struct {
	Label string `json:"label"`
	UpTo  int64  `json:"up_to_bytes"` // 0: unbounded
	FlowStatistics
}

// PFCSummary counts PFC frames at their senders.
type PFCSummary struct {
	Pauses  int64 `json:"pauses"`
	Resumes int64 `json:"resumes"`
	// SwitchPauses are the PAUSEs that a switch sent to a switch.
	SwitchPauses int64     `json:"pauses_between_switches"`
	Rate         float64   `json:"pauses_per_second"`
	PausedNS     int64     `json:"paused_ns"` // summed over the ports that sent PAUSE, from PAUSE to RESUME
	Links        []PFCLink `json:"links"`
}

// PFCLink is one port that sent PAUSE.
type PFCLink struct {
	Node     string  `json:"node"`
	Port     string  `json:"port"`
	Peer     string  `json:"peer"`
	Pauses   int64   `json:"pauses"`
	Resumes  int64   `json:"resumes"`
	Rate     float64 `json:"pauses_per_second"`
	PausedNS int64   `json:"paused_ns"`
}

// RTTSummary describes the RTT samples of all flows.
type RTTSummary struct {
	Samples int64   `json:"samples"`
	Mean    float64 `json:"mean_ns"`
	P99     float64 `json:"p99_ns"`
	Max     float64 `json:"max_ns"`
}

// DropSummary counts lost frames.
type DropSummary struct {
	Frames   int64 `json:"frames"`
	Lossless int64 `json:"lossless_frames"` // of them in a lossless class
}

// SwitchPeak is the fullest a switch's ports have been.
type SwitchPeak struct {
	Node      string `json:"node"`
	QueuePeak int64  `json:"peak_egress_bytes"`
	Ingress   int64  `json:"peak_ingress_bytes"`
	Bursts    int64  `json:"bursts"` // times a queue entered DCON's burst state
}

// SpeedSummary is how fast the run went. Nothing else in a summary depends on the machine.
type SpeedSummary struct {
	WallSeconds   float64 `json:"wall_seconds"`
	VirtualPerSec float64 `json:"virtual_seconds_per_wall_second"`
	Frames        int64   `json:"frames"`
	Hops          int64   `json:"packet_hops"`
	HopsPerSecond float64 `json:"packet_hops_per_second"`
	NSPerHop      float64 `json:"wall_ns_per_packet_hop"`
	Crossings     int64   `json:"crossings"`
	Events        int64   `json:"events"`
}

// sizeBins are the upper ends, in bytes, of the bins by flow size.
var sizeBins = []int64{10_000, 100_000, 1_000_000, 10_000_000, 0}

func (r *runner) summarise(wall time.Duration) Summary {
	e, s := r.engine, r.scenario
	now := e.Now()
	sum := Summary{
		Scenario: s.Name, Controller: r.spec.Name, Seed: r.options.Seed, Plane: r.plane.Name(),
		Fingerprint: e.Fingerprint(), VirtualNS: wholeNanoseconds(now), ByTag: map[string]FlowStatistics{},
		Drops: DropSummary{Frames: e.Dropped, Lossless: e.LossLost},
	}
	r.summariseFlows(&sum)
	r.summarisePFC(&sum)
	r.summariseSwitches(&sum)
	for i := range s.Topology.Hosts {
		sum.CNPs += e.NIC(i).CNPsSent
	}
	if t := r.recorder.rtt; t.count > 0 {
		sum.RTT = RTTSummary{
			Samples: t.count, Mean: t.sum / float64(t.count) / float64(vtime.Nanosecond),
			P99: float64(t.histogram.ValueAtQuantile(99)), Max: float64(wholeNanoseconds(t.max)),
		}
	}
	sum.Speed = SpeedSummary{
		WallSeconds: wall.Seconds(), VirtualPerSec: now.Seconds() / wall.Seconds(), Frames: e.Created.Frames,
		Hops: e.Hops, HopsPerSecond: float64(e.Hops) / wall.Seconds(), Crossings: e.Crossings, Events: e.Events,
	}
	if e.Hops > 0 {
		sum.Speed.NSPerHop = float64(wall.Nanoseconds()) / float64(e.Hops)
	}
	return sum
}

// sample is what the statistics need of a flow.
type sample struct{ fct, slowdown float64 }

func (r *runner) summariseFlows(sum *Summary) {
	s := r.scenario
	var all collection
	tags := map[string]*collection{}
	bins := make([]collection, len(sizeBins))
	for i := range r.engine.Flows() {
		f := &r.engine.Flows()[i]
		tag := s.Flows[i].Tag
		if tags[tag] == nil {
			tags[tag] = &collection{}
			sum.tags = append(sum.tags, tag)
		}
		sets := []*collection{&all, tags[tag]}
		if f.Size > 0 {
			b := sort.Search(len(sizeBins)-1, func(b int) bool { return f.Size <= sizeBins[b] })
			sets = append(sets, &bins[b])
		}
		var v *sample
		if f.Finished != vtime.Never {
			v = &sample{float64(r.times[i].fct) / float64(vtime.Nanosecond), r.times[i].slowdown()}
		}
		var delivered int64
		if f.Receiver != nil {
			delivered = f.Receiver.Delivered
		}
		for _, c := range sets {
			c.add(v, delivered)
		}
	}
	seconds := r.engine.Now().Seconds()
	sum.Flows = all.statistics(seconds)
	for tag, c := range tags {
		sum.ByTag[tag] = c.statistics(seconds)
	}
	low := int64(0)
	for i, high := range sizeBins {
		if bins[i].count > 0 {
			label := "over " + units.Bytes(low).String()
			if high > 0 {
				label = "up to " + units.Bytes(high).String()
			}
			sum.BySize = append(sum.BySize, SizeBin{Label: label, UpTo: high, FlowStatistics: bins[i].statistics(seconds)})
		}
		low = high
	}
}

// collection gathers flows.
type collection struct {
	count     int
	fct       []float64
	slowdown  []float64
	delivered int64
}

func (c *collection) add(v *sample, delivered int64) {
	c.count++
	c.delivered += delivered
	if v != nil {
		c.fct = append(c.fct, v.fct)
		c.slowdown = append(c.slowdown, v.slowdown)
	}
}

func (c *collection) statistics(seconds float64) FlowStatistics {
	s := FlowStatistics{Count: c.count, Completed: len(c.fct), FCT: quantiles(c.fct), Slowdown: quantiles(c.slowdown)}
	if seconds > 0 {
		s.Goodput = float64(c.delivered) * 8 / seconds
	}
	return s
}

// quantiles sorts values. A quantile is the smallest value that at least that part of the values do not exceed.
func quantiles(values []float64) Quantiles {
	if len(values) == 0 {
		return Quantiles{}
	}
	sort.Float64s(values)
	var sum float64
	for _, v := range values {
		sum += v
	}
	at := func(q float64) float64 {
		return values[max(int(math.Ceil(q*float64(len(values))))-1, 0)]
	}
	return Quantiles{
		Mean: sum / float64(len(values)), P50: at(0.50), P95: at(0.95), P99: at(0.99), Max: values[len(values)-1],
	}
}

func (r *runner) summarisePFC(sum *Summary) {
	plan, p := r.scenario.Topology, &r.recorder.pfc
	now := r.engine.Now()
	seconds := now.Seconds()
	sum.PFC = PFCSummary{Pauses: p.pauses, Resumes: p.resumes, SwitchPauses: p.switchPauses, Links: []PFCLink{}}
	if seconds > 0 {
		sum.PFC.Rate = float64(p.pauses) / seconds
	}
	ids := append([]int(nil), p.order...)
	sort.Ints(ids)
	for _, id := range ids {
		port := &plan.Ports[id]
		of := p.byPort[id]
		paused := wholeNanoseconds(of.pausedTime(now))
		sum.PFC.PausedNS += paused
		sum.PFC.Links = append(sum.PFC.Links, PFCLink{
			Node: plan.Nodes[port.Node].Name, Port: port.Name, Peer: plan.PeerNode(port.ID).Name,
			Pauses: of.pauses, Resumes: of.resumes, Rate: float64(of.pauses) / seconds, PausedNS: paused,
		})
	}
}

func (r *runner) summariseSwitches(sum *Summary) {
	plan, state := r.scenario.Topology, r.engine.State()
	sum.Switches = []SwitchPeak{}
	for i, id := range plan.Switch {
		peak := SwitchPeak{Node: plan.Nodes[id].Name}
		for _, port := range plan.Nodes[id].Ports {
			reg := &state.Ports[port]
			peak.QueuePeak = max(peak.QueuePeak, r.engine.Switch(i).Port(int(port)).QueuePeak)
			peak.Ingress = max(peak.Ingress, int64(reg.Class[r.recorder.priority].Overshoot))
			peak.Bursts += int64(reg.Bursts)
			sum.ECNMarks += int64(reg.EcnMarked)
			sum.CNMs += int64(reg.CnmsSent)
		}
		sum.Overshoot = max(sum.Overshoot, peak.Ingress)
		sum.Switches = append(sum.Switches, peak)
	}
}

// slowdowns are those of the ended flows, by tag.
func (r *runner) slowdowns() []TagSlowdowns {
	var list []TagSlowdowns
	index := map[string]int{}
	for i := range r.engine.Flows() {
		f := &r.engine.Flows()[i]
		if f.Finished == vtime.Never {
			continue
		}
		tag := r.scenario.Flows[i].Tag
		k, known := index[tag]
		if !known {
			k = len(list)
			index[tag] = k
			list = append(list, TagSlowdowns{Tag: tag})
		}
		list[k].Slowdowns = append(list[k].Slowdowns, r.times[i].slowdown())
	}
	return list
}

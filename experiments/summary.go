package experiments

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
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
	// BySizeShare are twenty bins of equal count; absent if there are too few flows, or they are of one size.
	BySizeShare []SizeShare     `json:"by_size_share,omitempty"`
	Fairness    FairnessSummary `json:"fairness"`
	Victims     VictimSummary   `json:"victims"`
	Links       LinkSummary     `json:"links"`

	PFC PFCSummary `json:"pfc"`
	// Credits are of credit-based flow control; nil where flow control is another.
	Credits  *CreditSummary `json:"credits,omitempty"`
	ECNMarks int64          `json:"ecn_marks"`
	UEMarks  int64          `json:"ue_marks,omitempty"` // undetermined encountered (TCD)
	CNPs     int64          `json:"cnps"`
	CNMs     int64          `json:"cnms"`
	RTT      RTTSummary     `json:"rtt"`
	// RTTSampled are one sample at a time of each flow, as flowRTT takes them; RTT is of every acknowledged packet.
	RTTSampled RTTSummary  `json:"rtt_sampled"`
	Drops      DropSummary `json:"drops"`
	// Faults is nil for a run in which nothing went wrong and nothing was to.
	Faults    *FaultSummary `json:"faults,omitempty"`
	Overshoot int64         `json:"peak_ingress_bytes"` // most bytes any ingress port held of the data priority
	Switches  []SwitchPeak  `json:"switches"`
	Speed     SpeedSummary  `json:"speed"`
	// Published are a source's figures for this run beside what it measured; those relative to another run only once
	// that one has been made too.
	Published []Claim `json:"published,omitempty"`
	// Figures are all that the scenario's published tables are about, those of other runs and of changes too.
	Figures []Figure `json:"figures,omitempty"`
}

// FlowStatistics are those of a set of flows.
type FlowStatistics struct {
	Count     int `json:"count"`
	Completed int `json:"completed"`
	// Unfinished are those with a size that had not ended as the run did; nil: all had.
	Unfinished *UnfinishedFlows `json:"unfinished,omitempty"`
	FCT        Quantiles        `json:"fct_ns"`
	Slowdown   Quantiles        `json:"slowdown"`
	// SlowdownHPCC is the FCT over the time alone as HPCC's simulator reckons it (see hpccAlone), at least 1; SlowdownLine is
	// the FCT over the size at line rate, without headers and delays, as TCD's patent has it.
	SlowdownHPCC Quantiles `json:"slowdown_hpcc"`
	SlowdownLine Quantiles `json:"slowdown_line"`
	// Goodput is the payload delivered over the run, in bits per second, summed over the flows.
	Goodput float64 `json:"goodput_bps"`
	// MeanRate is the payload of the flows that ended over the sum of their FCTs, in bits per second (the LSTM-PID
	// thesis, equation 30): what a byte meets on average, not a throughput. It favours ending short flows first.
	MeanRate float64 `json:"mean_rate_bps"`
	// Finish is the time from the first flow's start to the last flow's end; 0 unless all of them have ended.
	Finish int64 `json:"finish_ns"`
	// CE and UE are the flows' packets that arrived marked congestion experienced, and undetermined encountered (TCD).
	CE int64 `json:"ce_packets"`
	UE int64 `json:"ue_packets,omitempty"`
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
	SwitchPauses int64   `json:"pauses_between_switches"`
	Rate         float64 `json:"pauses_per_second"`
	PausedNS     int64   `json:"paused_ns"` // summed over the ports that sent PAUSE, from PAUSE to RESUME
	// Spread is how far PAUSE spread from where it began.
	Spread SpreadSummary `json:"spread"`
	Links  []PFCLink     `json:"links"` // those that sent PAUSE for longest; links.csv has all
}

// CreditSummary counts credit messages at their senders.
type CreditSummary struct {
	Messages int64 `json:"messages"`
	// Stalls are the times that a port went OFF for want of credits, SwitchStalls those of switches' ports.
	Stalls       int64 `json:"stalls"`
	SwitchStalls int64 `json:"switch_stalls"`
	// StalledNS is for how long, summed over ports and priorities.
	StalledNS int64 `json:"stalled_ns"`
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
	P50     float64 `json:"p50_ns"`
	P95     float64 `json:"p95_ns"`
	P99     float64 `json:"p99_ns"`
	Max     float64 `json:"max_ns"`
}

// DropSummary counts lost frames.
type DropSummary struct {
	Frames   int64 `json:"frames"`
	Lossless int64 `json:"lossless_frames"` // of them in a lossless class, and not by a fault
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

func (r *runner) summarise(wall time.Duration) Summary {
	e, s := r.engine, r.scenario
	now := e.Now()
	sum := Summary{
		Scenario: s.Name, Controller: r.name, Seed: r.options.Seed, Plane: r.plane.Name(),
		Fingerprint: e.Fingerprint(), VirtualNS: wholeNanoseconds(now),
		Drops: DropSummary{Frames: e.Dropped, Lossless: e.LossLost},
	}
	r.recorder.congestion.look(now)
	r.recorder.expireAll(now)
	r.linkRows = r.links()
	r.records = r.flowRecords()
	sum.takeFlows(r.records, now)
	r.summarisePFC(&sum)
	r.summariseCredits(&sum)
	sum.Fairness, sum.Victims, sum.Links = r.recorder.fairness.summary(), r.victims(), summariseLinks(r.linkRows)
	r.summariseSwitches(&sum)
	sum.Faults = r.summariseFaults()
	for i := range s.Topology.Hosts {
		sum.CNPs += e.NIC(i).CNPsSent
	}
	sum.RTT, sum.RTTSampled = r.recorder.rtt.every.summary(), r.recorder.rtt.sampled.summary()
	sum.Speed = SpeedSummary{
		WallSeconds: wall.Seconds(), VirtualPerSec: now.Seconds() / wall.Seconds(), Frames: e.Created.Frames,
		Hops: e.Hops, HopsPerSecond: float64(e.Hops) / wall.Seconds(), Crossings: e.Crossings, Events: e.Events,
	}
	if e.Hops > 0 {
		sum.Speed.NSPerHop = float64(wall.Nanoseconds()) / float64(e.Hops)
	}
	return sum
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
	slices.SortStableFunc(sum.PFC.Links, func(a, b PFCLink) int { return cmp.Compare(b.PausedNS, a.PausedNS) })
	sum.PFC.Links = sum.PFC.Links[:min(len(sum.PFC.Links), mostPFCLinks)]
	sum.PFC.Spread = r.recorder.spread.summary()
}

func (r *runner) summariseCredits(sum *Summary) {
	if !r.byCredits() {
		return
	}
	c := &CreditSummary{Messages: r.engine.CreditMessages()}
	plan := r.scenario.Topology
	for i := range plan.Ports {
		n := int64(r.engine.State().Ports[i].CreditStalls)
		c.Stalls += n
		c.StalledNS += r.stalled(i)
		if plan.Nodes[plan.Ports[i].Node].Kind == topologies.Switch {
			c.SwitchStalls += n
		}
	}
	sum.Credits = c
}

func (r *runner) byCredits() bool { return r.scenario.Switch.FlowControl == switchagent.FlowCBFC }

// stalled is for how many nanoseconds frames waited at a port for credits, summed over priorities.
func (r *runner) stalled(port int) int64 {
	var t vtime.Time
	for priority := range uint8(classes) {
		t += r.engine.HeldTime(port, priority)
	}
	return wholeNanoseconds(t)
}

// heldNS is for how long flow control held ports in all: by PAUSE, or for want of credits.
func (s *Summary) heldNS() int64 {
	if s.Credits != nil {
		return s.Credits.StalledNS
	}
	return s.PFC.PausedNS
}

// mostPFCLinks is how many links that sent PAUSE the summary names.
const mostPFCLinks = 32

func (r *runner) summariseSwitches(sum *Summary) {
	plan, state := r.scenario.Topology, r.engine.State()
	sum.Switches = []SwitchPeak{}
	for _, id := range plan.Switch {
		peak := SwitchPeak{Node: plan.Nodes[id].Name}
		for _, port := range plan.Nodes[id].Ports {
			reg := &state.Ports[port]
			peak.QueuePeak = max(peak.QueuePeak, r.recorder.congestion.ports[port].peak)
			peak.Ingress = max(peak.Ingress, int64(reg.Class[r.recorder.priority].Overshoot))
			peak.Bursts += int64(reg.Bursts)
			sum.ECNMarks += int64(reg.EcnMarked)
			sum.UEMarks += int64(reg.UeMarked)
			sum.CNMs += int64(reg.CnmsSent)
		}
		sum.Overshoot = max(sum.Overshoot, peak.Ingress)
		sum.Switches = append(sum.Switches, peak)
	}
}

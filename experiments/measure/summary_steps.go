package measure

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/steps"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// CollectiveRun is a collective operation of a run.
type CollectiveRun struct {
	Kind, Algorithm string
	Size            int64 // as nccl-tests have it
	Factor          float64
	Iteration       int // of its job
	// Ended says that every rank has left it; the times hold then.
	Ended bool
	// Start is when the first rank entered it, Skew how much later the last did, Time from Start until the last rank left.
	Start, Skew, Time vtime.Time
	Limit             vtime.Time // under no controller is Time less: see StepsLimit
	Straggler         string     // the host whose rank left last
	Late              vtime.Time // how much later than the median rank
}

// Algorithmic is the algorithm bandwidth, in bit/s: the size over the time (nccl-tests, doc/PERFORMANCE.md). Bus is
// that times the collective's factor: what the busiest link would have to carry if it were all alike.
func (c *CollectiveRun) Algorithmic() float64 {
	if c.Time <= 0 || c.Factor == 0 {
		return 0
	}
	return float64(c.Size) * 8 / c.Time.Seconds()
}

// Bus is that.
func (c *CollectiveRun) Bus() float64 { return c.Algorithmic() * c.Factor }

// CollectiveSummary is the collectives of a workload that are alike.
type CollectiveSummary struct {
	Tag       string `json:"tag"`
	Kind      string `json:"kind"`
	Algorithm string `json:"algorithm"`
	Size      int64  `json:"size_bytes"`
	Ranks     int    `json:"ranks"`
	Count     int    `json:"count"`
	Completed int    `json:"completed"`
	// Time is from the first rank's entry until the last has left; Limit what no controller goes below on the
	// fabric without faults.
	Time  Quantiles `json:"time_ns"`
	Limit int64     `json:"limit_ns"`
	// Algorithmic is the algorithm bandwidth of the mean time, Bus the bus bandwidth, as nccl-tests have them; 0 of a
	// barrier.
	Algorithmic float64 `json:"algbw_bps"`
	Bus         float64 `json:"busbw_bps"`
	// Skew is by how much the last rank enters later than the first, Late by how much it leaves later than the median.
	Skew Quantiles `json:"skew_ns"`
	Late Quantiles `json:"late_ns"`
	// Straggler is the host that left last most often, Stragglers how often.
	Straggler  string `json:"straggler"`
	Stragglers int    `json:"straggler_count"`
}

// SummariseCollectives puts together the collectives of a workload that are alike, in the order of their first.
func SummariseCollectives(tag string, ranks int, all []CollectiveRun) []CollectiveSummary {
	type key struct {
		kind, algorithm string
		size            int64
	}
	var order []key
	alike := map[key][]*CollectiveRun{}
	for i := range all {
		k := key{all[i].Kind, all[i].Algorithm, all[i].Size}
		if alike[k] == nil {
			order = append(order, k)
		}
		alike[k] = append(alike[k], &all[i])
	}
	var sums []CollectiveSummary
	for _, k := range order {
		s := CollectiveSummary{
			Tag: tag, Kind: k.kind, Algorithm: k.algorithm, Size: k.size, Ranks: ranks,
			Count: len(alike[k]),
		}
		var times, skews, late []float64
		factor := 0.0
		last := map[string]int{}
		for _, c := range alike[k] {
			if !c.Ended {
				continue
			}
			s.Completed++
			s.Limit = c.Limit.RoundNanoseconds()
			factor = c.Factor
			times, skews, late = append(times, nanoseconds(c.Time)), append(skews, nanoseconds(c.Skew)), append(late,
				nanoseconds(c.Late))
			if last[c.Straggler]++; last[c.Straggler] > s.Stragglers {
				s.Straggler, s.Stragglers = c.Straggler, last[c.Straggler]
			}
		}
		s.Time, s.Skew, s.Late = QuantilesOf(times), QuantilesOf(skews), QuantilesOf(late)
		if factor > 0 && s.Time.Mean > 0 {
			s.Algorithmic = float64(k.size) * 8 / (s.Time.Mean / 1e9)
			s.Bus = s.Algorithmic * factor
		}
		sums = append(sums, s)
	}
	return sums
}

// overCollectives is the mean over the collectives that have a bandwidth and have ended; NaN of none.
func (s *Summary) overCollectives(of func(*CollectiveSummary) float64) float64 {
	sum, n := 0.0, 0
	for i := range s.Collectives {
		if c := &s.Collectives[i]; c.Bus > 0 {
			sum += of(c) * float64(c.Completed)
			n += c.Completed
		}
	}
	return unless(n == 0, sum/float64(n))
}

func nanoseconds(t vtime.Time) float64 { return float64(t) / float64(vtime.Nanosecond) }

// JobSummary is a workload whose flows wait for each other.
type JobSummary struct {
	Tag        string `json:"tag"`
	Ranks      int    `json:"ranks"`
	Operations int    `json:"operations"`
	Unfinished int    `json:"unfinished"` // operations that had not ended as the run did
	// Start is when its first rank began to compute, send or wait for a message; JCT the job completion time: from then
	// until the last operation's end; 0 unless all have ended. Limit is what no controller goes below on the fabric
	// without faults.
	Start int64 `json:"start_ns"`
	JCT   int64 `json:"jct_ns"`
	Limit int64 `json:"limit_ns"`
	// Compute is how long a rank computes, Exposed the rest of its time in the job: communication that no compute covers,
	// and waiting. Both are of a rank on average; MostExposed is the most of any.
	Compute     int64 `json:"compute_ns"`
	Exposed     int64 `json:"exposed_ns"`
	MostExposed int64 `json:"exposed_max_ns"`
	// ExposedShare is Exposed over JCT.
	ExposedShare float64 `json:"exposed_share"`
	// Straggler is the host whose rank ended last, Late by how much later than the median rank.
	Straggler string `json:"straggler"`
	Late      int64  `json:"late_ns"`
}

// LateOf is the index of the latest of some times, and how much later it is than their median.
func LateOf(times []vtime.Time) (latest int, late vtime.Time) {
	for i, t := range times {
		if t > times[latest] {
			latest = i
		}
	}
	sorted := slices.Clone(times)
	slices.SortFunc(sorted, func(a, b vtime.Time) int { return cmp.Compare(a, b) })
	return latest, times[latest] - sorted[(len(sorted)-1)/2]
}

// Part is a part of a message that goes by one QP: its bytes, its path, and that of its ACKs.
type Part struct {
	Size       int64
	Path, Back []topologies.PortID
}

// linkLimit is what the messages over a link leave it: the line time that they take, the earliest that one of them can
// be there, and the least time from there on until its last ACK has come home.
type linkLimit struct {
	line        int64
	from, after vtime.Time
}

// StepsLimit returns the least time that some operations of a graph, from first to before end, can take under any
// controller, once what they wait for of others has happened. That is what the longest chain takes if each message has
// the fabric to itself. If a link takes longer for the messages over it, from the earliest that one of them can be
// there until the last has been acknowledged, it is that. Where load balancing moves packets, only the hosts' links
// count. order is as Graph.Order has it; nil: operations stand in such an order. parts are those of a message.
func StepsLimit(plan *topologies.Plan, g *steps.Graph, order []int32, first, end int32,
	parts func(message int32) []Part,
) vtime.Time {
	type kind struct {
		from, to topologies.PortID
		size     int64
	}
	known := map[kind]steps.Alone{}
	links := make([]linkLimit, len(plan.Ports))
	for i := range links {
		links[i].from, links[i].after = vtime.Never, vtime.Never
	}
	alone := func(message int32, begun vtime.Time) (all steps.Alone) {
		own := parts(message)
		for i := range own {
			p := &own[i]
			first, last, bytes := FramesOf(plan, p.Size)
			shortest := min(first, last)
			before, after := begun, OneWay(plan, p.Path, shortest)+OneWay(plan, p.Back, ACKFrame(plan))
			for hop, id := range p.Path {
				port, l := &plan.Ports[id], &links[id]
				through := port.Rate.TimeFor(plan.Framing.LineBytes(shortest))
				after -= through
				// which of the others a moved packet takes, nobody knows
				if hop == 0 || hop == len(p.Path)-1 || !plan.Balancing.Moving {
					l.line += bytes
					l.from, l.after = min(l.from, before), min(l.after, after)
				}
				before, after = before+through+port.Delay, after-port.Delay
			}
			k := kind{p.Path[0], p.Path[len(p.Path)-1], p.Size}
			a, is := known[k]
			if !is {
				a.Acknowledged = IdealFCT(plan, p.Path, p.Back, p.Size)
				a.Delivered = a.Acknowledged - OneWay(plan, p.Back, ACKFrame(plan))
				a.Sent = plan.Ports[p.Path[0]].Rate.TimeFor(bytes - plan.Framing.LineBytes(last))
				known[k] = a
			}
			all = steps.Alone{
				Sent: max(all.Sent, a.Sent), Delivered: max(all.Delivered, a.Delivered),
				Acknowledged: max(all.Acknowledged, a.Acknowledged),
			}
		}
		return all
	}
	limit := g.Critical(order, first, end, alone)
	for id := range links {
		if l := &links[id]; l.line > 0 {
			limit = max(limit, l.from+plan.Ports[id].Rate.TimeFor(l.line)+l.after)
		}
	}
	return limit
}

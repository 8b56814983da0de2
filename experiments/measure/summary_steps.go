package measure

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// CollectiveRun describes one collective operation of a run.
type CollectiveRun struct {
	Kind, Algorithm string
	Size            int64 // as defined by nccl-tests
	Factor          float64
	Iteration       int // iteration of its job
	// Ended reports whether every rank has left it. If not, the times are not set.
	Ended bool
	// Start holds the time when the first rank entered it, Skew how much later the last rank did, and Time how long
	// after Start the last rank left.
	Start, Skew, Time vtime.Time
	Limit             vtime.Time // lower bound of Time under any controller: see StepsLimit
	Straggler         string     // the host whose rank left last
	Late              vtime.Time // delay after the median rank
}

// Algorithmic returns the algorithm bandwidth in bit/s: the size over the time (nccl-tests, doc/PERFORMANCE.md).
func (c *CollectiveRun) Algorithmic() float64 {
	if c.Time <= 0 || c.Factor == 0 {
		return 0
	}
	return float64(c.Size) * 8 / c.Time.Seconds()
}

// Bus returns the bus bandwidth in bit/s: the algorithm bandwidth times the collective's factor.
func (c *CollectiveRun) Bus() float64 { return c.Algorithmic() * c.Factor }

// CollectiveSummary summarises the equal collectives of a workload.
type CollectiveSummary struct {
	Tag       string `json:"tag"`
	Kind      string `json:"kind"`
	Algorithm string `json:"algorithm"`
	Size      int64  `json:"size_bytes"`
	Ranks     int    `json:"ranks"`
	Count     int    `json:"count"`
	Completed int    `json:"completed"`
	// Time holds the time from the first rank's entry until the last rank leaves; Limit its lower bound under any
	// controller on the fabric without faults.
	Time  Quantiles `json:"time_ns"`
	Limit int64     `json:"limit_ns"`
	// Algorithmic holds the algorithm bandwidth of the mean time, Bus the bus bandwidth, as defined by nccl-tests; 0
	// for a barrier.
	Algorithmic float64 `json:"algbw_bps"`
	Bus         float64 `json:"busbw_bps"`
	// Skew holds how much later the last rank enters than the first, Late how much later it leaves than the median
	// rank.
	Skew Quantiles `json:"skew_ns"`
	Late Quantiles `json:"late_ns"`
	// Straggler names the host that left last most often, Stragglers how often.
	Straggler  string `json:"straggler"`
	Stragglers int    `json:"straggler_count"`
}

// SummariseCollectives groups equal collectives of a workload, in order of their first.
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

// overCollectives returns the mean over the ended collectives that have a bandwidth; NaN if there are none.
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

// JobSummary holds the results of one job: a workload of dependent flows.
type JobSummary struct {
	Tag        string `json:"tag"`
	Ranks      int    `json:"ranks"`
	Operations int    `json:"operations"`
	Unfinished int    `json:"unfinished"` // operations that had not ended at the end of the run
	// Start holds the time when the first rank started to compute, send or wait for a message. JCT is the time from
	// then until the last operation's end; 0 unless all have ended. Limit is its lower bound under any controller on
	// the fabric without faults.
	Start int64 `json:"start_ns"`
	JCT   int64 `json:"jct_ns"`
	Limit int64 `json:"limit_ns"`
	// Compute holds a rank's computing time. Exposed is the rest of its time in the job: communication that no compute
	// covers, and waiting. Both are averages over ranks; MostExposed is the maximum.
	Compute     int64 `json:"compute_ns"`
	Exposed     int64 `json:"exposed_ns"`
	MostExposed int64 `json:"exposed_max_ns"`
	// ExposedShare divides Exposed by JCT.
	ExposedShare float64 `json:"exposed_share"`
	// Straggler names the host whose rank ended last, Late holds its delay after the median rank.
	Straggler string `json:"straggler"`
	Late      int64  `json:"late_ns"`
}

// LateOf returns the index of the latest time, and its delay after the median.
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

// Part describes the part of a message on one QP: its bytes, its path, and the path of its ACKs.
type Part struct {
	Size       int64
	Path, Back []topologies.PortID
}

// linkLimit holds the lower bounds of the messages over a link: their line time, the earliest arrival of one of them,
// and the least time from there until its last ACK has arrived.
type linkLimit struct {
	line        int64
	from, after vtime.Time
}

// ringMessage identifies messages of a ring that are alike: between the same ranks, and of one size.
type ringMessage struct {
	collective, rank int
	size             int64
}

// ringMessages holds such messages: their number, and the earliest start of one.
type ringMessages struct {
	parts   []Part
	alone   steps.Alone
	started vtime.Time
	count   int64
}

// mostKnown limits the messages whose times StepsLimit keeps.
const mostKnown = 1 << 16

// StepsLimit returns a lower bound, under any controller, of the time that the operations of a graph from first to
// before end take, once the operations that they wait for have ended. It is the time of the longest chain, each
// message alone in the fabric. If a link needs longer for the messages over it, from the earliest arrival of one to
// the last acknowledgement, it is that time. If load balancing moves packets, only the hosts' links count. order is
// the result of Graph.Order; nil: operations are already in such an order. parts returns the parts of a message.
func StepsLimit(plan *topologies.Plan, g *steps.Graph, order []int32, first, end int32,
	parts func(message int32) []Part,
) vtime.Time {
	type kind struct {
		from, to topologies.PortID
		size     int64
	}
	known := map[kind]steps.Alone{} // at most mostKnown, as pairs of ranks may be millions
	links := make([]linkLimit, len(plan.Ports))
	for i := range links {
		links[i].from, links[i].after = vtime.Never, vtime.Never
	}
	// take adds equal messages to the links, the first of which starts at a time.
	take := func(own []Part, started vtime.Time, messages int64) (all steps.Alone) {
		for i := range own {
			p := &own[i]
			first, last, bytes := FramesOf(plan, p.Size)
			shortest := min(first, last)
			before, after := started, OneWay(plan, p.Path, shortest)+OneWay(plan, p.Back, ACKFrame(plan))
			for hop, id := range p.Path {
				port, l := &plan.Ports[id], &links[id]
				through := port.Rate.TimeFor(plan.Framing.LineBytes(shortest))
				after -= through
				// the other links of a moved packet are unknown
				if hop == 0 || hop == len(p.Path)-1 || !plan.Moving() {
					l.line += bytes * messages
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
				if len(known) == mostKnown {
					clear(known)
				}
				known[k] = a
			}
			all = steps.Alone{
				Sent: max(all.Sent, a.Sent), Delivered: max(all.Delivered, a.Delivered),
				Acknowledged: max(all.Acknowledged, a.Acknowledged),
			}
		}
		return all
	}
	rings := map[ringMessage]*ringMessages{}
	alone := func(message int32, started vtime.Time) steps.Alone {
		r := g.RingOf(int(message))
		if r == nil {
			return take(parts(message), started, 1)
		}
		rank, number := r.Position(int(message))
		like := ringMessage{r.Collective, rank, r.Size(rank, number)}
		of := rings[like]
		if of == nil {
			of = &ringMessages{parts: parts(message), started: started}
			of.alone = take(of.parts, started, 0)
			rings[like] = of
		}
		of.started, of.count = min(of.started, started), of.count+1
		return of.alone
	}
	limit := g.Critical(order, first, end, alone)
	for _, of := range rings {
		take(of.parts, of.started, of.count)
	}
	for id := range links {
		if l := &links[id]; l.line > 0 {
			limit = max(limit, l.from+plan.Ports[id].Rate.TimeFor(l.line)+l.after)
		}
	}
	return limit
}

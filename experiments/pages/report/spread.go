package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// spreadTable returns how far PAUSE spread, and the victim flows; nil if there was no PAUSE.
func spreadTable(r *Report) []table {
	deepest, slowed := 0, 0
	for run := range r.counted() {
		deepest = max(deepest, len(run.Summary.Spread.ByDepth))
		slowed = max(slowed, run.Summary.Victims.Count)
	}
	if deepest == 0 {
		return nil
	}
	t := table{
		Caption: "How far PAUSE spread, in hops from the port where it started", Corner: "Spread",
		Heads: r.names(),
	}
	b := body{}
	for hop := range deepest {
		b.Rows = append(b.Rows, r.row(fmt.Sprintf("links paused at hop %d", hop+1), counts, lower, func(run *Run) float64 {
			if by := run.Summary.Spread.ByDepth; hop < len(by) {
				return float64(by[hop])
			}
			return 0
		}))
	}
	b.Rows = append(b.Rows,
		r.textRow("longest chain, root first",
			func(run *Run) string { return strings.Join(run.Summary.Spread.Chain, " ← ") }),
		r.textRow("first reached at", func(run *Run) string {
			s := &run.Summary.Spread
			if len(s.Chain) == 0 {
				return ""
			}
			return Nanoseconds.measure(float64(s.Time)).text(float64(s.Time))
		}))
	t.Bodies = append(t.Bodies, b)
	if slowed == 0 {
		return []table{t}
	}
	victims := body{Heading: "Victim flows: slowed by PAUSE, although they use no congested port"}
	victims.Rows = append(victims.Rows, r.row("victim flows", counts, lower,
		func(run *Run) float64 { return float64(run.Summary.Victims.Count) }))
	victims.Rows = append(victims.Rows, r.textRow("most slowed", func(run *Run) string {
		var names []string
		list := run.Summary.Victims.Worst
		for _, v := range list[:min(len(list), 5)] {
			names = append(names, fmt.Sprintf("%s (flow %d): slowdown %s", v.Tag, v.Flow, digits(v.Slowdown)))
		}
		return strings.Join(names, "; ")
	}))
	t.Bodies = append(t.Bodies, victims)
	return []table{t}
}

// words returns a cell of text, which may take several lines.
func words(text string) cell {
	return cell{Text: cmp.Or(text, digits(math.NaN())), Bar: -1, Words: true}
}

// keys returns the different keys of the summaries' lists, in order of appearance.
func keys[E any, K comparable](r *Report, of func(*Summary) []E, key func(*E) K) (all []K) {
	for run := range r.counted() {
		listed := of(&run.Summary)
		for k := range listed {
			if own := key(&listed[k]); !slices.Contains(all, own) {
				all = append(all, own)
			}
		}
	}
	return all
}

// fairnessTable returns Jain's index by tag.
func fairnessTable(r *Report) []table {
	list := func(s *Summary) []Fairness { return s.Fairness }
	tags := keys(r, list, func(f *Fairness) string { return f.Tag })
	if len(tags) == 0 {
		return nil
	}
	t := table{
		Caption: "Jain's index of the goodputs of a tag's flows, while two or more are active: 1 if all are equal, " +
			"1/n if one of n gets everything",
		Corner: "Flows", Heads: r.names(),
	}
	for _, of := range []struct {
		heading string
		value   func(*Fairness) float64
	}{
		{"Mean over time", func(f *Fairness) float64 { return f.Mean }},
		{"Lowest at any time", func(f *Fairness) float64 { return f.Least }},
	} {
		b := body{Heading: of.heading}
		for _, tag := range tags {
			b.Rows = append(b.Rows, r.row(tag, None, neither,
				numberOf(list, func(f *Fairness) bool { return f.Tag == tag }, math.NaN(), of.value)))
		}
		t.Bodies = append(t.Bodies, b)
	}
	return []table{t}
}

// recoveryTable returns the counts of selective repeat and trimming; nil if neither was on.
func recoveryTable(r *Report) []table {
	any := false
	own := func(label string, u Unit, b better, of func(*Recovery) int64) row {
		return r.row(label, u, b, func(run *Run) float64 {
			if run.Summary.Recovery == nil {
				return math.NaN()
			}
			any = true
			return float64(of(run.Summary.Recovery))
		})
	}
	t := table{
		Caption: "Packets of all flows, in runs with selective repeat or trimming", Corner: "Measure",
		Heads: r.names(), Bodies: []body{{"", []row{
			own("retransmitted payload", Bytes, lower, func(of *Recovery) int64 { return of.Retransmitted }),
			own("spurious retransmissions", counts, lower,
				func(of *Recovery) int64 { return of.Spurious }),
			own("duplicate packets", counts, lower, func(of *Recovery) int64 { return of.Duplicates }),
			own("packets out of order", counts, neither, func(of *Recovery) int64 { return of.Reordered }),
			own("reordering extent, packets", counts, neither, func(of *Recovery) int64 { return of.Extent }),
			own("packets trimmed", counts, neither, func(of *Recovery) int64 { return of.Trimmed }),
			own("NAKs", counts, neither, func(of *Recovery) int64 { return of.Naks }),
			own("retransmission timeouts", counts, lower, func(of *Recovery) int64 { return of.Timeouts }),
		}}},
	}
	if !any {
		return nil
	}
	return []table{t}
}

// lossyTable returns the drops of lossy classes, by cause.
func lossyTable(r *Report) []table {
	any := false
	own := func(label string, of func(*LossyDrops) int64) row {
		return r.row(label, counts, lower, func(run *Run) float64 {
			n := of(&run.Summary.Lossy)
			any = any || n > 0
			return float64(n)
		})
	}
	t := table{
		Caption: "Frames that lossy classes dropped, by cause", Corner: "Cause", Heads: r.names(),
		Bodies: []body{{"", []row{
			own("over lossy_limit", func(d *LossyDrops) int64 { return d.Queue }),
			own("over the share that lossy_alpha allows", func(d *LossyDrops) int64 { return d.Threshold }),
			own("shared buffer full", func(d *LossyDrops) int64 { return d.Buffer }),
		}}},
	}
	if !any {
		return nil
	}
	return []table{t}
}

// mostDropPositions limits the ports that a report names, those with the most drops.
const mostDropPositions = 16

// dropTable returns the ports that dropped the most frames, with the causes.
func dropTable(r *Report) []table {
	type position struct{ at, cause string }
	list := func(s *Summary) []DropPosition { return s.Drop }
	positions := keys(r, list, func(p *DropPosition) position { return position{p.At, p.Cause} })
	if len(positions) == 0 {
		return nil
	}
	var rows []row
	for _, at := range positions[:min(len(positions), mostDropPositions)] {
		here := func(p *DropPosition) bool { return position{p.At, p.Cause} == at }
		rows = append(rows, r.row(at.at+", "+at.cause, counts, lower,
			numberOf(list, here, 0, func(p *DropPosition) float64 { return float64(p.Frames) })))
	}
	return []table{{
		Caption: "Dropped frames by port and cause", Corner: "Port and cause", Heads: r.names(),
		Bodies: []body{{"", rows}},
	}}
}

// stepsTables returns jobs and collectives with their limits; nil if no flow waited for others.
func stepsTables(r *Report) []table {
	listJobs := func(s *Summary) []Job { return s.Jobs }
	listCollectives := func(s *Summary) []Collective { return s.Collectives }
	jobs := keys(r, listJobs, func(j *Job) string { return j.Tag })
	kinds := keys(r, listCollectives, func(c *Collective) string { return c.Name })
	if len(jobs) == 0 {
		return nil
	}
	limit := "No congestion control can go below the limit"
	if slices.ContainsFunc(r.Runs, func(run Run) bool { return run.Faults }) {
		limit += ", which is of the fabric without faults"
	}
	whole := table{Caption: "Jobs: workloads of dependent flows. " + limit, Corner: "Job", Heads: r.names()}
	for _, tag := range jobs {
		own := func(label string, u Unit, b better, of func(*Job) float64) row {
			return r.row(label, u, b,
				numberOf(listJobs, func(j *Job) bool { return j.Tag == tag && j.JCT > 0 }, math.NaN(), of))
		}
		last := r.textRow("last host to finish", func(run *Run) (name string) {
			for _, j := range run.Summary.Jobs {
				if j.Tag == tag && j.JCT > 0 {
					name = j.Straggler
				}
			}
			return name
		})
		whole.Bodies = append(whole.Bodies, body{tag, []row{
			own("job completion time", Nanoseconds, lower, func(j *Job) float64 { return float64(j.JCT) }),
			own("limit", Nanoseconds, neither, func(j *Job) float64 { return float64(j.Limit) }),
			own("compute per rank, mean", Nanoseconds, neither, func(j *Job) float64 { return float64(j.Compute) }),
			own("exposed communication per rank, mean", Nanoseconds, lower, func(j *Job) float64 { return float64(j.Exposed) }),
			own("exposed communication / JCT", None, lower, func(j *Job) float64 { return j.ExposedShare }),
			last,
			own("delay after the median rank", Nanoseconds, lower, func(j *Job) float64 { return float64(j.Late) }),
		}})
	}
	if len(kinds) == 0 {
		return []table{whole}
	}
	each := table{
		Caption: "Collectives: from when the first rank enters until the last one leaves. " +
			"Bandwidths are defined as in nccl-tests. " + limit,
		Corner: "Collective", Heads: r.names(),
	}
	for _, name := range kinds {
		own := func(label string, u Unit, b better, of func(*Collective) float64) row {
			return r.row(label, u, b, numberOf(listCollectives,
				func(c *Collective) bool { return c.Name == name && c.Completed > 0 }, math.NaN(), of))
		}
		each.Bodies = append(each.Bodies, body{withUnits(name), []row{
			own("collectives completed", counts, neither, func(c *Collective) float64 { return float64(c.Completed) }),
			own("completion time mean", Nanoseconds, lower, func(c *Collective) float64 { return c.Time.Mean }),
			own("completion time p99", Nanoseconds, lower, func(c *Collective) float64 { return c.Time.P99 }),
			own("limit", Nanoseconds, neither, func(c *Collective) float64 { return float64(c.Limit) }),
			own("algorithm bandwidth", BitsPerSecond, neither,
				func(c *Collective) float64 { return orNothing(c.Algorithmic) }),
			own("bus bandwidth", BitsPerSecond, neither,
				func(c *Collective) float64 { return orNothing(c.Bus) }),
			own("delay of the last rank to enter, after the first, mean", Nanoseconds, neither,
				func(c *Collective) float64 { return c.Skew }),
			own("delay of the last rank to leave, after the median, mean", Nanoseconds, neither,
				func(c *Collective) float64 { return c.Late }),
		}})
	}
	return []table{whole, each}
}

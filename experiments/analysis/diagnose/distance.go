package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/topologies"
)

// group is what a counter counts. Each group has the same weight, so that two counters of losses weigh as much as
// hundreds of counters of bytes.
type group int

const (
	traffics group = iota // frames and bytes
	pauses                // PAUSE frames
	paused                // time stopped by PAUSE
	losses                // drops, damaged frames, storms found
	marks                 // ECN and CNPs
	repairs               // retransmissions and their causes
	groups
)

// floors holds, by group, the count below which differences mean nothing.
var floors = [groups]float64{traffics: 50_000, pauses: 3, paused: 10_000, losses: 3, marks: 10, repairs: 10}

// groupOf returns the group of a counter by its name.
func groupOf(name string) (g group, floor float64) {
	switch {
	case strings.HasSuffix(name, "_pause"):
		g = pauses
	case strings.HasSuffix(name, "_pause_duration"):
		g = paused
	case strings.HasSuffix(name, "_bytes"):
		g = traffics
	case strings.HasSuffix(name, "_packets_phy"):
		return traffics, 100
	case name == "np_cnp_sent", name == "rp_cnp_handled", name == "ecn_marked", name == "np_ecn_marked_roce_packets":
		g = marks
	case name == "out_of_sequence", name == "packet_seq_err", name == "local_ack_timeout_err", name == "duplicate_request":
		g = repairs
	default:
		g = losses
	}
	return g, floors[g]
}

// compared is one counter of the dumps beside the same counter of a run.
type compared struct {
	node, port, name string
	group            group
	given, simulated float64
	difference       float64 // from 0 to 1
}

// most is the ratio of two counts from which on their difference is 1.
const most = 8

// compare returns the counters of the dumps that are not below the floor in both the dumps and the runs, of which it
// takes the mean, and the distance between dumps and runs.
//
// The difference of two counts a and b with the floor f of their group is |ln((a+f)/(b+f))| / ln 8, at most 1. The
// distance is the root of the mean, over the groups, of the mean of the squares of a group's differences.
func (c *Case) compare(runs ...*counters.Fabric) (all []compared, distance float64) {
	var sum, count [groups]float64
	var has [groups]bool
	number := 0
	for _, p := range c.pairs {
		host := p.node.Kind == topologies.Host
		given, simulated := p.given.Values(host), p.means(runs)
		for i, v := range given {
			number++
			if !v.Known {
				continue
			}
			g, floor := groupOf(v.Name)
			has[g] = true
			a, b := float64(v.Value), simulated[i]
			if a < floor && b < floor {
				continue
			}
			d := difference(a, b, floor)
			if number <= len(c.noise) {
				d = max(0, d-c.noise[number-1])
			}
			sum[g], count[g] = sum[g]+d*d, count[g]+1
			all = append(all, compared{p.node.Name, p.given.Name, v.Name, g, a, b, d})
		}
	}
	weights := 0.0
	for g := range groups {
		if !has[g] {
			continue
		}
		weights++
		if count[g] > 0 {
			distance += sum[g] / count[g]
		}
	}
	return all, math.Sqrt(distance / max(1, weights))
}

// means returns the counters of a port, each as its mean over runs.
func (p *pair) means(runs []*counters.Fabric) (means []float64) {
	for _, run := range runs {
		values := run.Node(p.node.Name).Ports[p.index].Values(p.node.Kind == topologies.Host)
		if means == nil {
			means = make([]float64, len(values))
		}
		for i, v := range values {
			means[i] += float64(v.Value) / float64(len(runs))
		}
	}
	return means
}

// difference compares two counts above a floor.
func difference(a, b, floor float64) float64 {
	return min(1, math.Abs(math.Log((a+floor)/(b+floor)))/math.Log(most))
}

// measureNoise sets the noise of each counter: its largest difference between two of the runs of the healthy fabric,
// which have different seeds.
func (c *Case) measureNoise(runs []*counters.Fabric) {
	c.noise = nil
	for _, p := range c.pairs {
		var all [][]counters.Value
		for _, run := range runs {
			all = append(all, run.Node(p.node.Name).Ports[p.index].Values(p.node.Kind == topologies.Host))
		}
		for i, v := range all[0] {
			_, floor := groupOf(v.Name)
			low, high := v.Value, v.Value
			for _, other := range all[1:] {
				low, high = min(low, other[i].Value), max(high, other[i].Value)
			}
			c.noise = append(c.noise, difference(float64(low), float64(high), floor))
		}
	}
}

// spread is the distance at which the likelihood of an explanation has fallen to 61 %: exp(-1/2).
const spread = 0.05

// likelihood returns exp(-(d/spread)^2/2), relative to the nearest explanation.
func likelihood(distance, nearest float64) float64 {
	return math.Exp(-(distance*distance - nearest*nearest) / (2 * spread * spread))
}

// Evidence represents a counter that an explanation reproduces better than the healthy fabric does, or that still
// differs.
type Evidence struct {
	Node    string  `json:"node"`
	Port    string  `json:"port"`
	Counter string  `json:"counter"`
	Given   float64 `json:"given"`
	Healthy float64 `json:"healthy"`
	Fault   float64 `json:"with_fault"`
	Gain    float64 `json:"-"`
}

// evidence returns the counters by which runs under a fault are nearer to the dumps than the healthy runs: of each
// group the most telling one, and those of the fault's own node before others. The place names the node, as "node" or
// "node:peer".
func (c *Case) evidence(healthy, runs []*counters.Fabric, place string) (list []Evidence) {
	at := func(all []compared) map[string]*compared {
		m := map[string]*compared{}
		for i := range all {
			m[all[i].node+" "+all[i].port+" "+all[i].name] = &all[i]
		}
		return m
	}
	before, _ := c.compare(healthy...)
	after, _ := c.compare(runs...)
	was, is := at(before), at(after)
	var sizes [groups]float64
	for i := range before {
		sizes[before[i].group]++
	}
	for _, key := range keys(was, is) {
		x, y := was[key], is[key]
		e := Evidence{}
		gain := 0.0
		if x != nil {
			e = Evidence{Node: x.node, Port: x.port, Counter: x.name, Given: x.given, Healthy: x.simulated}
			gain = x.difference * x.difference / max(1, sizes[x.group])
		}
		if y != nil {
			e.Node, e.Port, e.Counter, e.Given, e.Fault = y.node, y.port, y.name, y.given, y.simulated
			gain -= y.difference * y.difference / max(1, sizes[y.group])
		}
		if node, peer, _ := strings.Cut(place, ":"); e.Node == node || e.Node == peer {
			gain *= 4
		}
		if e.Gain = gain; gain > 0.001 {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b Evidence) int { return cmp.Compare(b.Gain, a.Gain) })
	var had [groups]bool
	return slices.DeleteFunc(list, func(e Evidence) bool {
		g, _ := groupOf(e.Counter)
		second := had[g]
		had[g] = true
		return second
	})
}

// keys returns the keys of both maps, sorted.
func keys(a, b map[string]*compared) (all []string) {
	for key := range a {
		all = append(all, key)
	}
	for key := range b {
		if a[key] == nil {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, counters.CompareNames)
	return all
}

// String returns the evidence in words, with times in us as ethtool has them.
func (e *Evidence) String() string {
	unit, scale := "", 1.
	if strings.HasSuffix(e.Counter, "_duration") {
		unit, scale = " us", 1000
	}
	return fmt.Sprintf("%s %s %s: %.0f%s in the dumps, %.0f%s if healthy, %.0f%s with this fault", e.Node, e.Port,
		e.Counter,
		e.Given/scale, unit, e.Healthy/scale, unit, e.Fault/scale, unit)
}

package workload

import (
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
)

// Relation selects the pairs of hosts that may be drawn.
type Relation uint8

// Relations.
const (
	Anywhere Relation = iota // any two hosts
	Across                   // two hosts of different racks
	Within                   // two hosts of one rack
)

// Pairs draws a host of one set, and others for it from a second set: the sender and the receiver of a flow, or the
// receiver and the senders of an incast. All first hosts are equally likely, and so are all second hosts that a first
// one may have.
type Pairs struct {
	first  []int32 // hosts with at least one partner
	second []int32 // by rack
	racks  []int32 // of hosts
	// begin and end delimit each rack's hosts within second; place holds each host's position there, or -1.
	begin, end, place []int32
	relation          Relation
}

// NewPairs returns pairs of hosts of two sets. racks holds the rack of each host, from 0. Hosts without a partner are
// left out; Pairs are empty if none has one.
func NewPairs(first, second []int, racks []int32, relation Relation) *Pairs {
	p := &Pairs{racks: racks, relation: relation, second: unique(second), place: slices.Repeat([]int32{-1}, len(racks))}
	slices.SortStableFunc(p.second, func(a, b int32) int { return int(racks[a] - racks[b]) })
	most := int32(0)
	for _, r := range racks {
		most = max(most, r)
	}
	p.begin, p.end = make([]int32, most+1), make([]int32, most+1)
	for i, h := range p.second {
		p.place[h] = int32(i)
		if r := racks[h]; p.end[r] == 0 {
			p.begin[r], p.end[r] = int32(i), int32(i+1)
		} else {
			p.end[r] = int32(i + 1)
		}
	}
	for _, h := range unique(first) {
		if p.Choices(int(h)) > 0 {
			p.first = append(p.first, h)
		}
	}
	return p
}

// unique returns the hosts of a set, each once and in ascending order, so that the user's order makes no difference.
func unique(hosts []int) []int32 {
	set := lists.Map(hosts, func(h int) int32 { return int32(h) })
	slices.Sort(set)
	return slices.Compact(set)
}

// Len counts the first hosts.
func (p *Pairs) Len() int { return len(p.first) }

// First returns the i-th first host, in ascending order.
func (p *Pairs) First(i int) int { return int(p.first[i]) }

// Choices counts the second hosts for a first one.
func (p *Pairs) Choices(first int) int {
	rack := p.racks[first]
	same := int(p.end[rack] - p.begin[rack])
	self := 0
	if p.place[first] >= 0 {
		self = 1
	}
	switch p.relation {
	case Across:
		return len(p.second) - same
	case Within:
		return same - self
	}
	return len(p.second) - self
}

// Second returns the k-th of the second hosts for a first one.
func (p *Pairs) Second(first, k int) int {
	rack := p.racks[first]
	begin, end := int(p.begin[rack]), int(p.end[rack])
	switch p.relation {
	case Across:
		if k >= begin {
			k += end - begin
		}
		return int(p.second[k])
	case Within:
		k += begin
	}
	if place := int(p.place[first]); place >= 0 && k >= place {
		k++
	}
	return int(p.second[k])
}

// AcrossPart returns the fraction of the drawn pairs, 0 to 1, whose hosts are in different racks.
func (p *Pairs) AcrossPart() float64 {
	if len(p.first) == 0 {
		return 0
	}
	sum := 0.0
	for _, h := range p.first {
		rack := p.racks[h]
		across := len(p.second) - int(p.end[rack]-p.begin[rack])
		if p.relation == Within {
			across = 0
		}
		sum += float64(across) / float64(p.Choices(int(h)))
	}
	return sum / float64(len(p.first))
}

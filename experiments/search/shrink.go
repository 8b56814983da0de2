package search

import (
	"context"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
)

// shrinking holds a case while it becomes smaller.
type shrinking struct {
	*search
	ctx   context.Context
	found *scored // before
	now   *scored
	err   error
}

// mostRounds limits how often everything is tried again after a change.
const mostRounds = 4

// shrink returns a case with fewer flows and faults, and simpler values, that has the same cause and nearly the same
// value.
func (s *search) shrink(ctx context.Context, found *scored) (*scored, error) {
	k := &shrinking{search: s, ctx: ctx, found: found, now: found}
	for range mostRounds {
		before := k.now
		flows, faults := k.now.flows, k.now.faults
		k.reduce(len(flows), func(keep []int) *candidate {
			c := *k.now.candidate
			c.flows = chosen(flows, keep)
			return &c
		})
		k.reduce(len(faults), func(keep []int) *candidate {
			c := *k.now.candidate
			c.faults = chosen(faults, keep)
			return &c
		})
		k.simplify()
		if k.now == before || k.err != nil {
			break
		}
	}
	return k.now, k.err
}

func chosen[T any](all []T, keep []int) []T {
	return lists.Map(keep, func(at int) T { return all[at] })
}

// try takes a smaller candidate in place of the present one, if it is the same case.
func (k *shrinking) try(c *candidate) bool {
	if k.err != nil {
		return false
	}
	got, err := k.score(k.ctx, c)
	if err != nil {
		k.err = err
		return false
	}
	if got.err != "" || !got.interesting || got.cause.Class != k.found.cause.Class ||
		!k.Objective.keeps(got.value, k.found.value) {
		return false
	}
	k.now = got
	return true
}

// reduce removes items of a list of n.
func (k *shrinking) reduce(n int, with func(keep []int) *candidate) {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	if n > 0 && k.try(with(nil)) {
		return
	}
	minimize(all, func(keep []int) bool { return k.try(with(keep)) })
}

// minimize returns a part of a list that passes the test, and of which no single item can be left out: the algorithm
// ddmin of Zeller and Hildebrandt (2002), figure 3. The whole list passes.
func minimize(list []int, test func(part []int) bool) []int {
	for parts := 2; len(list) >= 2; {
		smaller, next := []int(nil), parts
		for i := range parts {
			from, to := i*len(list)/parts, (i+1)*len(list)/parts
			if part := slices.Clone(list[from:to]); len(part) > 0 && test(part) {
				smaller, next = part, 2
				break
			}
		}
		for i := 0; smaller == nil && parts > 2 && i < parts; i++ {
			from, to := i*len(list)/parts, (i+1)*len(list)/parts
			if part := slices.Concat(list[:from], list[to:]); test(part) {
				smaller, next = part, max(parts-1, 2)
			}
		}
		switch {
		case smaller != nil:
			list, parts = smaller, next
		case parts >= len(list):
			return list
		default:
			parts = min(2*parts, len(list))
		}
	}
	return list
}

// simplify makes values of settings the file's own, and those of flows and faults rounder.
func (k *shrinking) simplify() {
	for i, p := range k.vary {
		for _, v := range append([]string{""}, p.values.Simpler(k.now.settings[i])...) {
			if k.now.settings[i] == "" || k.now.settings[i] == v {
				break
			}
			c := *k.now.candidate
			c.settings = slices.Clone(c.settings)
			c.settings[i] = v
			if k.try(&c) {
				break
			}
		}
	}
	for i := range k.now.flows {
		g := &k.flows[k.now.flows[i].group]
		if k.now.flows[i].start != "" {
			k.value(func(c *candidate) *string { return &flowsOf(c)[i].start }, append([]string{""},
				g.start.Simpler(k.now.flows[i].start)...))
		}
		k.value(func(c *candidate) *string { return &flowsOf(c)[i].size }, g.size.Simpler(k.now.flows[i].size))
	}
	for i := range k.now.faults {
		g := &k.faults[k.now.faults[i].group]
		k.value(func(c *candidate) *string {
			c.faults = slices.Clone(c.faults)
			return &c.faults[i].at
		}, g.at.Simpler(k.now.faults[i].at))
	}
}

func flowsOf(c *candidate) []flow {
	c.flows = slices.Clone(c.flows)
	return c.flows
}

// value tries simpler values in one place, until one passes.
func (k *shrinking) value(place func(c *candidate) *string, simpler []string) {
	for _, v := range simpler {
		c := *k.now.candidate
		*place(&c) = v
		if k.try(&c) {
			return
		}
	}
}

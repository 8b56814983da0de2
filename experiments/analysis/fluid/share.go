package fluid

import (
	"cmp"
	"slices"
)

// maxMin computes max-min fair shares by progressive filling. All rates rise together until a link is full. The flows
// of that link then have their shares, and the other rates go on rising. A link's level is the share that its remaining
// flows get if it fills next. A level does not fall when other links fill, so the order matters only between links with
// common flows. Each pass therefore fills all links whose level is the lowest on the path of each of their flows.
func (m *model) maxMin() {
	links, flows := m.links[:0], append(m.todo[:0], m.active...)
	for _, f := range flows {
		for _, l := range f.path {
			if m.waiting[l] == 0 {
				m.free[l], m.users[l] = m.capacity[l], m.users[l][:0]
				links = append(links, l)
			}
			m.waiting[l]++
			m.users[l] = append(m.users[l], f)
		}
		f.fixed = false
	}
	for len(flows) > 0 {
		for _, l := range links {
			m.level[l], m.later[l] = max(m.free[l], 0)/float64(m.waiting[l]), false
		}
		for _, f := range flows {
			least := m.level[f.path[0]]
			for _, l := range f.path[1:] {
				least = min(least, m.level[l])
			}
			for _, l := range f.path {
				m.later[l] = m.later[l] || m.level[l] > least
			}
		}
		for _, l := range links {
			if !m.later[l] {
				m.fill(l)
			}
		}
		links = slices.DeleteFunc(links, func(l int) bool { return m.waiting[l] == 0 })
		flows = slices.DeleteFunc(flows, func(f *fluid) bool { return f.fixed })
	}
	m.links, m.todo = links, flows
}

// fill fixes the rates of the link's flows without a share at the link's level.
func (m *model) fill(link int) {
	share := m.level[link]
	for _, f := range m.users[link] {
		if f.fixed {
			continue
		}
		f.fixed, f.rate = true, share
		for _, l := range f.path {
			m.free[l] -= share
			m.waiting[l]--
		}
	}
}

// shortestFirst gives each flow, in order of remaining bytes, the free capacity on its path.
func (m *model) shortestFirst() {
	slices.SortFunc(m.active, func(a, b *fluid) int {
		return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.flow, b.flow))
	})
	for _, f := range m.active {
		for _, l := range f.path {
			m.free[l] = m.capacity[l]
		}
	}
	for _, f := range m.active {
		f.rate = m.free[f.path[0]]
		for _, l := range f.path[1:] {
			f.rate = min(f.rate, m.free[l])
		}
		for _, l := range f.path {
			m.free[l] -= f.rate
		}
	}
}

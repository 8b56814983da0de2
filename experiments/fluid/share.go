package fluid

import (
	"cmp"
	"slices"
)

// level is what a link's flows get each if it is the next to be full. As others get their shares it only rises: one that was
// worked out before is too low, never too high.
type level struct {
	share float64
	link  int
}

func (a level) before(b level) bool {
	return a.share < b.share || a.share == b.share && a.link < b.link
}

// maxMin deals out max-min fair shares by progressive filling: all rates rise together until a link is full; its flows have
// their shares then, and the others' go on rising.
func (m *model) maxMin() {
	m.heap = m.heap[:0]
	for _, f := range m.active {
		f.fixed = false
		for _, l := range f.path {
			if m.waiting[l] == 0 {
				m.free[l], m.users[l] = m.capacity[l], m.users[l][:0]
				m.heap = append(m.heap, level{link: l})
			}
			m.waiting[l]++
			m.users[l] = append(m.users[l], f)
		}
	}
	for i := range m.heap {
		m.heap[i].share = m.level(m.heap[i].link)
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	for len(m.heap) > 0 {
		top := &m.heap[0]
		if m.waiting[top.link] > 0 {
			if share := m.level(top.link); share > top.share {
				top.share = share
				m.sink(0)
				continue
			}
			m.fill(top.link, top.share)
		}
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
		m.sink(0)
	}
}

func (m *model) level(link int) float64 { return max(m.free[link], 0) / float64(m.waiting[link]) }

// fill gives a link's flows that have no share yet one each.
func (m *model) fill(link int, share float64) {
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

// sink restores the heap's order below i.
func (m *model) sink(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(m.heap); c++ {
			if m.heap[c].before(m.heap[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// shortestFirst gives each flow, the one with the least left first, what is free on its path.
func (m *model) shortestFirst() {
	slices.SortFunc(m.active, func(a, b *fluid) int { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.flow, b.flow)) })
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

package hostagent

// pacer implements a binary heap of flows, ordered by the time they become eligible and then by queue pair number.
type pacer struct{ heap []*Sender }

func (p *pacer) len() int       { return len(p.heap) }
func (p *pacer) first() *Sender { return p.heap[0] }

func (p *pacer) push(s *Sender) {
	s.position = len(p.heap)
	p.heap = append(p.heap, s)
	p.up(s.position)
}

func (p *pacer) pop() *Sender {
	s := p.heap[0]
	p.remove(s)
	return s
}

func (p *pacer) remove(s *Sender) {
	i, last := s.position, len(p.heap)-1
	p.swap(i, last)
	p.heap[last] = nil
	p.heap = p.heap[:last]
	if i < last {
		p.fix(p.heap[i])
	}
	s.position = -1
}

// fix restores the order after s's time has changed.
func (p *pacer) fix(s *Sender) {
	p.up(s.position)
	p.down(s.position)
}

func (p *pacer) before(i, j int) bool {
	a, b := p.heap[i], p.heap[j]
	return a.eligible < b.eligible || a.eligible == b.eligible && a.qp < b.qp
}

func (p *pacer) swap(i, j int) {
	p.heap[i], p.heap[j] = p.heap[j], p.heap[i]
	p.heap[i].position, p.heap[j].position = i, j
}

func (p *pacer) up(i int) {
	for i > 0 && p.before(i, (i-1)/2) {
		p.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (p *pacer) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(p.heap); c++ {
			if p.before(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		p.swap(i, least)
		i = least
	}
}

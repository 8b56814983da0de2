package hostagent

// pairs are halves of queue pairs by their numbers: open addressing, by linear probing (Knuth, TAOCP 6.4). A host of a large fabric has few
// at a time, and looks one up for each packet; Go's maps take 200 bytes for the first. The zero pairs is empty.
type pairs[T any] struct {
	slots []numbered[T] // a power of 2, at most three quarters of them taken
	taken int
}

type numbered[T any] struct {
	qp  uint32
	end *T // nil: it is free
}

// home is where a number's slot would be, were no other there.
func (p *pairs[T]) home(qp uint32) int { return int(qp*0x9e3779b1>>8) & (len(p.slots) - 1) }

// find is the place of a number, or the free one where it would be. There must be slots.
func (p *pairs[T]) find(qp uint32) int {
	i := p.home(qp)
	for p.slots[i].end != nil && p.slots[i].qp != qp {
		i = (i + 1) & (len(p.slots) - 1)
	}
	return i
}

// get is that of a number; nil if there is none.
func (p *pairs[T]) get(qp uint32) *T {
	if len(p.slots) == 0 {
		return nil
	}
	return p.slots[p.find(qp)].end
}

// put has a number lead to an end, which is not nil.
func (p *pairs[T]) put(qp uint32, end *T) {
	if 4*(p.taken+1) > 3*len(p.slots) {
		old := p.slots
		p.slots = make([]numbered[T], max(2, 2*len(old)))
		for _, x := range old {
			if x.end != nil {
				p.slots[p.find(x.qp)] = x
			}
		}
	}
	slot := &p.slots[p.find(qp)]
	if slot.end == nil {
		p.taken++
	}
	*slot = numbered[T]{qp, end}
}

// remove forgets a number. What had to make room for it moves up.
func (p *pairs[T]) remove(qp uint32) {
	if p.get(qp) == nil {
		return
	}
	p.taken--
	mask := len(p.slots) - 1
	free := p.find(qp)
	for i := (free + 1) & mask; p.slots[i].end != nil; i = (i + 1) & mask {
		if (i-p.home(p.slots[i].qp))&mask >= (i-free)&mask {
			p.slots[free] = p.slots[i]
			free = i
		}
	}
	p.slots[free] = numbered[T]{}
}

// all calls f with each.
func (p *pairs[T]) all(f func(*T)) {
	for _, x := range p.slots {
		if x.end != nil {
			f(x.end)
		}
	}
}

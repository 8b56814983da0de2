package hostagent

// qpTable maps queue pair numbers to senders or receivers: open addressing with linear probing (Knuth, TAOCP 6.4). A
// host of a large fabric has few at a time, and looks one up for each packet; Go's maps take 200 bytes for the first
// entry. The zero qpTable is empty.
type qpTable[T any] struct {
	slots []qpSlot[T] // a power of 2, at most three quarters of them used
	used  int
}

type qpSlot[T any] struct {
	qp  uint32
	end *T // nil: the slot is free
}

// home returns the first slot to search for a number.
func (t *qpTable[T]) home(qp uint32) int { return int(qp*0x9e3779b1>>8) & (len(t.slots) - 1) }

// find returns the slot of a number, or the free slot at which to insert it. There must be slots.
func (t *qpTable[T]) find(qp uint32) int {
	i := t.home(qp)
	for t.slots[i].end != nil && t.slots[i].qp != qp {
		i = (i + 1) & (len(t.slots) - 1)
	}
	return i
}

// get returns the entry of a number; nil if there is none.
func (t *qpTable[T]) get(qp uint32) *T {
	if len(t.slots) == 0 {
		return nil
	}
	return t.slots[t.find(qp)].end
}

// put sets the entry of a number. end must not be nil.
func (t *qpTable[T]) put(qp uint32, end *T) {
	if 4*(t.used+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]qpSlot[T], max(2, 2*len(old)))
		for _, x := range old {
			if x.end != nil {
				t.slots[t.find(x.qp)] = x
			}
		}
	}
	slot := &t.slots[t.find(qp)]
	if slot.end == nil {
		t.used++
	}
	*slot = qpSlot[T]{qp, end}
}

// remove deletes a number. Entries behind it that had to make room for it move up.
func (t *qpTable[T]) remove(qp uint32) {
	if t.get(qp) == nil {
		return
	}
	t.used--
	mask := len(t.slots) - 1
	free := t.find(qp)
	for i := (free + 1) & mask; t.slots[i].end != nil; i = (i + 1) & mask {
		if (i-t.home(t.slots[i].qp))&mask >= (i-free)&mask {
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = qpSlot[T]{}
}

// each calls f with each entry.
func (t *qpTable[T]) each(f func(*T)) {
	for _, x := range t.slots {
		if x.end != nil {
			f(x.end)
		}
	}
}

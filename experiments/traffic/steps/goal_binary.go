package steps

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/pausenet/pausenet/vtime"
)

// The binary form of GOAL, as LogGOPSim's txt2bin writes it (serialize_mmap, src/LogGOPSim/Parser.hpp), little-endian
// without padding: a cookie of 8 bytes; the number of ranks, 4, and the greatest cpu and nic, 1 each; for each rank the
// start and the end of its schedule, 8 each, relative to the cookie's end. A schedule has the number of operations, 4;
// the number of those that wait for none, 4, and these, 4 each; the operations; and the numbers of dependent
// operations, 4 each, to which operations refer.
const (
	goalCookie      = 4223
	goalSpentCookie = 2342 // LogGOPSim --save-mem has counted down its numbers
	goalHead        = 4 + 1 + 1
	goalNode        = 39
)

// goalCookieOf returns the first 8 bytes as a number, 0 of fewer.
func goalCookieOf(data []byte) uint64 {
	if len(data) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(data)
}

// readBinary reads the ranks behind the cookie.
func (g *goal) readBinary(data []byte) error {
	if len(data) < goalHead {
		return fmt.Errorf("the file ends in its head")
	}
	ranks := binary.LittleEndian.Uint32(data)
	if ranks < 1 || ranks > maxRanks {
		return fmt.Errorf("%d ranks: expected 1 to %d", ranks, maxRanks)
	}
	g.ranks = int(ranks)
	table := data[goalHead:]
	if len(table) < 16*g.ranks {
		return fmt.Errorf("the file ends in its table of ranks")
	}
	for g.rank = range g.ranks {
		from, to := binary.LittleEndian.Uint64(table[16*g.rank:]), binary.LittleEndian.Uint64(table[16*g.rank+8:])
		if from > to || to > uint64(len(data)) {
			return fmt.Errorf("the schedule of rank %d is said to be at bytes %d to %d of %d: the file is not whole", g.rank,
				from, to, len(data))
		}
		if err := g.readSchedule(data[from:to]); err != nil {
			return fmt.Errorf("rank %d: %w", g.rank, err)
		}
	}
	return nil
}

// readSchedule reads the operations of one rank.
func (g *goal) readSchedule(data []byte) error {
	if len(data) < 8 {
		return fmt.Errorf("its schedule ends in its head")
	}
	count, free := uint64(binary.LittleEndian.Uint32(data)), uint64(binary.LittleEndian.Uint32(data[4:]))
	end := 8 + 4*free + goalNode*count
	if end > uint64(len(data)) {
		return fmt.Errorf("%d operations do not fit into its schedule of %d bytes", count, len(data))
	}
	nodes, appendix := data[8+4*free:end], data[end:]
	base := len(g.operations)
	for n := range count {
		o, err := g.node(nodes[goalNode*n:])
		if err != nil {
			return fmt.Errorf("operation %d: %w", n, err)
		}
		o.number = int(n)
		g.operations = append(g.operations, o)
	}
	for n := range count {
		lists := nodes[goalNode*n+23:]
		for _, until := range []Until{Ended, Started} {
			length, from := uint64(binary.LittleEndian.Uint32(lists)), uint64(binary.LittleEndian.Uint32(lists[4:]))
			lists = lists[8:]
			if length > 0 && 4*(from+length) > uint64(len(appendix)) {
				return fmt.Errorf("operation %d: the list of those that wait for it is not in the file", n)
			}
			for k := range length {
				follower := uint64(binary.LittleEndian.Uint32(appendix[4*(from+k):]))
				if follower >= count {
					return fmt.Errorf("operation %d: operation %d is said to wait for it, and there are %d", n, follower, count)
				}
				on := &g.operations[base+int(follower)]
				on.waits = append(on.waits, Wait{int32(base + int(n)), until})
			}
		}
	}
	return nil
}

// node reads an operation without its lists: how many operations it waits for, 4 bytes, its kind, 1, peer, 4, size, 8,
// tag, 4, cpu and nic, 1 each.
func (g *goal) node(data []byte) (goalOperation, error) {
	o := goalOperation{Operation: Operation{Rank: int32(g.rank)}}
	kind, peer := data[4], binary.LittleEndian.Uint32(data[5:])
	size, tag, cpu := binary.LittleEndian.Uint64(data[9:]), binary.LittleEndian.Uint32(data[17:]), data[21]
	switch kind {
	case 1, 2:
		o.Kind = Send
		if kind == 2 {
			o.Kind = Receive
		}
		switch {
		case peer == math.MaxUint32:
			return o, errAnyRank
		case tag == math.MaxUint32:
			return o, errAnyTag
		case peer >= uint32(g.ranks):
			return o, fmt.Errorf("rank: %d is outside of 0 to %d", peer, g.ranks-1)
		case size > mostBytes:
			return o, fmt.Errorf("%d bytes: at most %d", size, int64(mostBytes))
		}
		o.peer, o.tag, o.size = int(peer), int(tag), int64(size)
	case 3:
		if size > uint64(longest/g.unit) {
			return o, fmt.Errorf("calc: %d is outside of 0 to %d", size, int64(longest/g.unit))
		}
		o.Duration, o.Unit = vtime.Time(size)*g.unit, int32(cpu)+1
	default:
		return o, fmt.Errorf("%d is no kind of operation", kind)
	}
	return o, nil
}

package collective

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/vtime"
)

// Kinds of nodes and collectives in Chakra execution traces (mlcommons/chakra, schema/protobuf/et_def.proto: NodeType,
// CollectiveCommType).
const (
	nodeMetadata   = 1
	nodeMemLoad    = 2
	nodeMemStore   = 3
	nodeCompute    = 4
	nodeSend       = 5
	nodeReceive    = 6
	nodeCollective = 7
)

var chakraCollectives = map[uint64]string{
	0: AllReduce, 2: AllGather, 5: Broadcast, 6: AllToAll, 7: ReduceScatter,
	8: ReduceScatter, 9: barrier,
}

// chakraNode holds the used fields of a node of a rank's trace.
type chakraNode struct {
	id       uint64
	name     string
	kind     uint64
	deps     []uint64
	duration uint64 // us
	cpu      bool   // of a compute: on the processor, not the accelerator
	comm     uint64 // kind of collective
	size     uint64
	peer     uint64
	tag      uint64
	group    string
	operator int32 // the operation of the graph at its end
}

// Algorithm returns the specification of a collective of a kind among some ranks.
type Algorithm func(kind string, ranks int) Spec

// ReadChakra returns a graph of Chakra execution traces, one for each rank. Compute and memory nodes take their
// duration; on each rank, nodes of the processor run one after the other, and so do those of the accelerator. Sends
// and receives match in order, by their ranks and tags. Collectives of one group (pg_name) run in their order, by the
// given algorithm. All ranks with collectives of a group belong to it.
//
// A collective's comm_size is the size of a rank's input: Chakra's converter adds up input tensors (pytorch_node.py,
// comm_size), and in ASTRA-sim an all-gather ends with that size times the number of ranks (Ring.cc, final_data_size).
//
// A node starts when those in its data_deps have ended, as in Chakra's feeder (et_feeder.cpp). ReadChakra ignores
// dependencies on nodes that the trace does not have, and returns a warning with their number.
func ReadChakra(traces [][]byte, algorithm Algorithm) (*steps.Graph, string, error) {
	r := chakraReader{algorithm: algorithm}
	for rank, data := range traces {
		nodes, err := readNodes(data)
		if err != nil {
			return nil, "", fmt.Errorf("trace of rank %d: %w", rank, err)
		}
		r.traces = append(r.traces, nodes)
	}
	g, err := r.graph()
	return g, r.warning(), err
}

type chakraReader struct {
	algorithm Algorithm
	traces    [][]chakraNode
	g         *steps.Graph
	dangling  int    // dependencies on missing nodes
	first     string // the first of them
}

func (r *chakraReader) warning() string {
	if r.dangling == 0 {
		return ""
	}
	return fmt.Sprintf("the traces lack nodes on which others depend, and %d such dependencies are ignored, "+
		"so nodes may start too early. The first is that %s. If the times matter, export the whole trace, "+
		"from its first iteration", r.dangling, r.first)
}

// readNodes reads a trace: messages, each after its length, the first of which describes the trace.
func readNodes(data []byte) (nodes []chakraNode, err error) {
	for first := true; len(data) > 0; first = false {
		message, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return nil, fmt.Errorf("message %d: %w", len(nodes), protowire.ParseError(n))
		}
		data = data[n:]
		if first {
			continue
		}
		node := chakraNode{cpu: false}
		if err := node.read(message); err != nil {
			return nil, fmt.Errorf("node %d: %w", len(nodes), err)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// fields calls each with the fields of a message: its field number, and a number or bytes.
func fields(
	message []byte, each func(number protowire.Number, kind protowire.Type, v uint64, data []byte) error,
) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var v uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var short uint32
			short, n = protowire.ConsumeFixed32(message)
			v = uint64(short)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if err := each(number, kind, v, data); err != nil {
			return err
		}
	}
	return nil
}

// read reads a Node.
func (c *chakraNode) read(message []byte) error {
	return fields(message, func(number protowire.Number, kind protowire.Type, v uint64, data []byte) error {
		switch number {
		case 1:
			c.id = v
		case 2:
			c.name = string(data)
		case 3:
			c.kind = v
		// data_deps: packed, or one at a time. ctrl_deps, 4, are callers in PyTorch's traces, and no feeder waits for
		// them.
		case 5:
			if kind == protowire.VarintType {
				c.deps = append(c.deps, v)
				return nil
			}
			for len(data) > 0 {
				dep, n := protowire.ConsumeVarint(data)
				if n < 0 {
					return protowire.ParseError(n)
				}
				c.deps, data = append(c.deps, dep), data[n:]
			}
		case 7:
			c.duration = v
		case 10:
			return c.attribute(data)
		}
		return nil
	})
}

// attribute reads an AttributeProto.
func (c *chakraNode) attribute(message []byte) error {
	name, text, value := "", "", uint64(0)
	err := fields(message, func(number protowire.Number, kind protowire.Type, v uint64, data []byte) error {
		switch {
		case number == 1:
			name = string(data)
		case number == 29: // string_val
			text = string(data)
		case number == 15 || number == 17: // sint32_val, sint64_val
			value = uint64(protowire.DecodeZigZag(v))
		case kind != protowire.BytesType && number > 6: // whole numbers and bool
			value = v
		}
		return nil
	})
	switch name {
	case "is_cpu_op":
		c.cpu = value != 0
	case "comm_type":
		c.comm = value
	case "comm_size":
		c.size = value
	case "comm_src":
		if c.kind == nodeReceive {
			c.peer = value
		}
	case "comm_dst":
		if c.kind == nodeSend {
			c.peer = value
		}
	case "comm_tag":
		c.tag = value
	case "pg_name":
		if c.group = text; text == "" {
			c.group = fmt.Sprint(value)
		}
	}
	return err
}

// units of a rank.
const (
	acceleratorUnit = 1
	processorUnit   = 2
)

// graph returns the graph of all traces.
func (r *chakraReader) graph() (*steps.Graph, error) {
	r.g = &steps.Graph{Ranks: len(r.traces)}
	var waits [][]steps.Wait
	for rank, nodes := range r.traces {
		at := map[uint64]int32{}
		base := r.g.Added()
		for i := range nodes {
			n := &nodes[i]
			if _, twice := at[n.id]; twice {
				return nil, fmt.Errorf("trace of rank %d: node %d occurs twice", rank, n.id)
			}
			at[n.id] = base + int32(i)
			o := steps.Operation{Rank: int32(rank)}
			switch n.kind {
			case nodeCompute, nodeMemLoad, nodeMemStore:
				if n.duration > uint64(mostMicros) {
					return nil, fmt.Errorf("trace of rank %d: node %d takes %d us, but at most %d us are possible", rank, n.id,
						n.duration,
						int64(mostMicros))
				}
				o.Duration, o.Unit = vtime.Time(n.duration)*vtime.Microsecond, acceleratorUnit
				if n.cpu {
					o.Unit = processorUnit
				}
			case nodeSend:
				o.Kind = steps.Send
			case nodeReceive:
				o.Kind = steps.Receive
			case nodeMetadata, nodeCollective:
			default:
				return nil, fmt.Errorf("trace of rank %d: node %d (%s) has the unknown kind %d: expected a compute, memory, "+
					"send, receive or collective node", rank, n.id, n.name, n.kind)
			}
			n.operator = r.g.Add(o)
		}
		for i := range nodes {
			var after []steps.Wait
			for _, dep := range nodes[i].deps {
				on, known := at[dep]
				if !known {
					if r.dangling++; r.dangling == 1 {
						r.first = fmt.Sprintf("of node %d of rank %d on node %d", nodes[i].id, rank, dep)
					}
					continue
				}
				if w := (steps.Wait{Operation: on}); !slices.Contains(after, w) {
					after = append(after, w)
				}
			}
			waits = append(waits, after)
			if nodes[i].kind != nodeCollective {
				r.g.SetWaits(nodes[i].operator, after...)
			}
		}
	}
	if err := r.match(); err != nil {
		return nil, err
	}
	if err := r.collectives(waits); err != nil {
		return nil, err
	}
	if _, cycle := r.g.Order(); cycle != nil {
		return nil, fmt.Errorf("nodes wait for each other in a cycle and can never start: %s", r.g.DescribeCycle(cycle))
	}
	return r.g, nil
}

const mostMicros = 3600 * 1_000_000

// match turns sends and receives into messages.
func (r *chakraReader) match() error {
	type channel struct{ from, to, tag uint64 }
	sends := map[channel][]*chakraNode{}
	for rank, nodes := range r.traces {
		for i := range nodes {
			n := &nodes[i]
			if n.kind != nodeSend && n.kind != nodeReceive {
				continue
			}
			if n.peer >= uint64(len(r.traces)) || n.peer == uint64(rank) {
				return fmt.Errorf("trace of rank %d: node %d names rank %d as its peer: expected another rank from 0 to %d", rank,
					n.id, n.peer, len(r.traces)-1)
			}
			if n.size > 1<<40 {
				return fmt.Errorf("trace of rank %d: node %d has %d bytes, but at most 2^40 are possible", rank, n.id, n.size)
			}
			if n.kind == nodeSend {
				c := channel{uint64(rank), n.peer, n.tag}
				sends[c] = append(sends[c], n)
			}
		}
	}
	for rank, nodes := range r.traces {
		for i := range nodes {
			n := &nodes[i]
			if n.kind != nodeReceive {
				continue
			}
			c := channel{n.peer, uint64(rank), n.tag}
			if len(sends[c]) == 0 {
				return fmt.Errorf("trace of rank %d: no send from rank %d with tag %d matches the receive of node %d", rank,
					n.peer, n.tag, n.id)
			}
			r.g.Pair(sends[c][0].operator, n.operator, int64(max(sends[c][0].size, 1)))
			sends[c] = sends[c][1:]
		}
	}
	for rank, nodes := range r.traces {
		for i := range nodes {
			n := &nodes[i]
			if left := sends[channel{uint64(rank), n.peer, n.tag}]; n.kind == nodeSend && len(left) > 0 && left[0] == n {
				return fmt.Errorf("trace of rank %d: no receive of rank %d matches the send of node %d", rank, n.peer, n.id)
			}
		}
	}
	return nil
}

// collectives replaces collective nodes with messages. waits holds the operations that each node waits for.
func (r *chakraReader) collectives(waits [][]steps.Wait) error {
	var names []string // of groups, in order of first occurrence
	members := map[string][]int32{}
	of := map[string]map[int32][]*chakraNode{}
	for rank, nodes := range r.traces {
		for i := range nodes {
			n := &nodes[i]
			if n.kind != nodeCollective {
				continue
			}
			if of[n.group] == nil {
				names = append(names, n.group)
				of[n.group] = map[int32][]*chakraNode{}
			}
			own := of[n.group]
			if own[int32(rank)] == nil {
				members[n.group] = append(members[n.group], int32(rank))
			}
			own[int32(rank)] = append(own[int32(rank)], n)
		}
	}
	for _, name := range names {
		ranks := members[name]
		first := of[name][ranks[0]]
		for k := range first {
			nodes := make([]*chakraNode, len(ranks))
			for position, rank := range ranks {
				own := of[name][rank]
				if len(own) != len(first) || own[k].comm != first[k].comm || own[k].size != first[k].size {
					return fmt.Errorf("group %q: the collectives of ranks %d and %d differ in kind or order", name, ranks[0],
						rank)
				}
				nodes[position] = own[k]
			}
			if err := r.expand(name, ranks, nodes, waits); err != nil {
				return err
			}
		}
	}
	return nil
}

// expand replaces one collective with messages; nodes are the nodes of its ranks.
func (r *chakraReader) expand(group string, ranks []int32, nodes []*chakraNode, waits [][]steps.Wait) error {
	kind, known := chakraCollectives[nodes[0].comm]
	if !known {
		return fmt.Errorf("group %q: collective %d of node %d is not supported: expected an all-reduce, all-gather, "+
			"reduce-scatter, all-to-all, broadcast or barrier", group, nodes[0].comm, nodes[0].id)
	}
	if len(ranks) == 1 { // with one rank, there is nothing to send
		r.g.SetWaits(nodes[0].operator, waits[nodes[0].operator]...)
		return nil
	}
	if nodes[0].size > math.MaxInt64/int64Ranks {
		return fmt.Errorf("group %q: the collective of node %d has too many bytes: %d on each of %d ranks", group,
			nodes[0].id, nodes[0].size, len(ranks))
	}
	spec := Spec{Kind: barrier, Algorithm: dissemination, Size: barrierBytes}
	if kind != barrier {
		spec = r.algorithm(kind, len(ranks))
		spec.Kind, spec.Size = kind, int64(nodes[0].size)
		// comm_size is each rank's input; its output is that times the number of ranks
		if kind == AllGather {
			spec.Size *= int64(len(ranks))
		}
		spec.Size = max(spec.Size, int64(len(ranks))*int64(spec.Parts(len(ranks))))
		if err := spec.Check(len(ranks)); err != nil {
			return fmt.Errorf("group %q: %w", group, err)
		}
	}
	if len(r.g.Messages)+spec.Messages(len(ranks)) > mostMessages {
		return fmt.Errorf("the traces have more than %d messages", mostMessages)
	}
	c := spec.Expand(r.g, ranks, func(position int) []steps.Wait { return waits[nodes[position].operator] })
	for position, leave := range c.Leave {
		r.g.SetWaits(nodes[position].operator, steps.Wait{Operation: leave})
	}
	return nil
}

// mostMessages limits the messages of a trace's collectives, int64Ranks the factor of a size.
const (
	mostMessages = 4_000_000
	int64Ranks   = 1 << 20
)

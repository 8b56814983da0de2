// Package certificate checks certificates of deadlock freedom: orders of a fabric's buffers in which each comes before
// those that its frames may wait for. It shares no code with the prover (package deadlock), not even the search for
// routes: it reads names of ports and links only.
package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
)

// Version holds the version of the format.
const Version = 1

// MaxFailures limits the failed links of a case.
const MaxFailures = 2

// Certificate represents the file.
type Certificate struct {
	Version  int     `json:"deadlock_certificate"`
	Topology string  `json:"topology"` // for people
	Failures int     `json:"failures"` // it covers each set of at most so many failed links between switches
	Classes  []Class `json:"classes"`
}

// Priorities lists priorities, 0 to 7. In JSON it is a list of numbers.
type Priorities []uint8

// MarshalJSON writes the numbers: for bytes, encoding/json writes base64.
func (p Priorities) MarshalJSON() ([]byte, error) {
	return []byte(strings.ReplaceAll(fmt.Sprint([]uint8(p)), " ", ",")), nil
}

// Class covers lossless priorities with equal traffic.
type Class struct {
	Priorities Priorities `json:"priorities"`
	// Pairs lists the switches where frames enter and leave the fabric; null: from each switch with hosts to each other.
	Pairs [][2]string `json:"pairs"`
	// Orders lists egress ports of links between switches. Cases names the sets of failed links, each by one of its ports,
	// in which another order than the first holds.
	Orders [][]string `json:"orders"`
	Cases  []Case     `json:"cases,omitempty"`
}

// Case selects the order for a set of failed links.
type Case struct {
	Failed []string `json:"failed"`
	Order  int      `json:"order"`
}

// Format returns the file.
func (c *Certificate) Format() ([]byte, error) {
	data, err := json.MarshalIndent(c, "", " ")
	return append(data, '\n'), err
}

// Read reads a certificate. The error names what is wrong with it.
func Read(data []byte) (*Certificate, error) {
	c := new(Certificate)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("not a certificate of deadlock freedom: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a certificate of deadlock freedom: something follows the JSON object")
	}
	switch {
	case c.Version != Version:
		return nil, fmt.Errorf("deadlock_certificate: version %d, but this program checks version %d", c.Version, Version)
	case c.Failures < 0 || c.Failures > MaxFailures:
		return nil, fmt.Errorf("failures: %d, expected 0 to %d", c.Failures, MaxFailures)
	case len(c.Classes) == 0:
		return nil, errors.New("classes: empty, so the certificate says nothing")
	}
	for i := range c.Classes {
		if len(c.Classes[i].Orders) == 0 {
			return nil, fmt.Errorf("classes.%d.orders: empty, expected at least one order", i)
		}
		for _, of := range c.Classes[i].Cases {
			if of.Order < 0 || of.Order >= len(c.Classes[i].Orders) {
				return nil, fmt.Errorf("classes.%d.cases: order %d does not exist", i, of.Order)
			}
		}
	}
	return c, nil
}

// fabric is what a check knows of a topology.
type fabric struct {
	names []string       // of the switches
	index map[string]int // by name
	port  map[string]int // ports between switches by name: 2*link, and 2*link+1 for its other end
	ports []string       // their names
	owner []int          // by port: its switch
	edge  []bool         // by switch: whether it has hosts
	out   [][]int        // by switch: its ports
}

func fabricOf(plan *topologies.Plan) *fabric {
	f := &fabric{index: map[string]int{}, port: map[string]int{}}
	for i := range plan.Nodes {
		if n := &plan.Nodes[i]; n.Kind == topologies.Switch {
			f.index[n.Name] = len(f.names)
			f.names = append(f.names, n.Name)
		}
	}
	f.edge, f.out = make([]bool, len(f.names)), make([][]int, len(f.names))
	for _, l := range plan.Links {
		a, b := &plan.Ports[l.A], &plan.Ports[l.B]
		x, first := f.index[plan.Nodes[a.Node].Name]
		y, second := f.index[plan.Nodes[b.Node].Name]
		switch {
		case first && second:
			for _, end := range []struct {
				name string
				sw   int
			}{{a.Name, x}, {b.Name, y}} {
				f.port[end.name] = len(f.ports)
				f.out[end.sw] = append(f.out[end.sw], len(f.ports))
				f.ports, f.owner = append(f.ports, end.name), append(f.owner, end.sw)
			}
		case first:
			f.edge[x] = true
		case second:
			f.edge[y] = true
		}
	}
	return f
}

// Result counts what a check has examined.
type Result struct {
	Cases int // sets of failed links
	Turns int // pairs of buffers compared, over all cases
}

// Check verifies a certificate for a topology: in each case and for each class, each shortest path of the traffic
// visits the buffers in the order of the certificate. The error names the first case and path that does not.
func Check(c *Certificate, plan *topologies.Plan) (*Result, error) {
	f := fabricOf(plan)
	result := &Result{}
	down := make([]bool, len(f.ports)/2)
	for i := range c.Classes {
		class := &c.Classes[i]
		positions, err := f.positions(class)
		if err != nil {
			return nil, fmt.Errorf("classes.%d.%w", i, err)
		}
		sources, err := f.sources(class)
		if err != nil {
			return nil, fmt.Errorf("classes.%d.%w", i, err)
		}
		chosen, err := f.chosen(class)
		if err != nil {
			return nil, fmt.Errorf("classes.%d.%w", i, err)
		}
		result.Cases = 0
		var each func(first, left int, failed []int) error
		each = func(first, left int, failed []int) error {
			result.Cases++
			order := chosen[fmt.Sprint(failed)]
			n, err := f.check(down, sources, positions[order])
			if result.Turns += n; err != nil {
				return fmt.Errorf("classes.%d, %s: %w", i, f.named(failed), err)
			}
			for l := first; l < len(down) && left > 0; l++ {
				down[l] = true
				err := each(l+1, left-1, append(failed, l))
				if down[l] = false; err != nil {
					return err
				}
			}
			return nil
		}
		if err := each(0, min(c.Failures, len(down)), nil); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// named describes failed links.
func (f *fabric) named(failed []int) string {
	if len(failed) == 0 {
		return "without failures"
	}
	names := lists.Map(failed, func(l int) string { return f.ports[2*l] })
	return "without the links of " + strings.Join(names, " and ")
}

// positions returns each port's position in each order of a class, from 1 on; 0: it is missing.
func (f *fabric) positions(c *Class) (all [][]int, err error) {
	for i, order := range c.Orders {
		position := make([]int, len(f.ports))
		for at, name := range order {
			port, found := f.port[name]
			if !found {
				return nil, fmt.Errorf("orders.%d.%d: the topology has no port %q between switches", i, at, name)
			}
			if position[port] > 0 {
				return nil, fmt.Errorf("orders.%d.%d: %s is in the order twice", i, at, name)
			}
			position[port] = at + 1
		}
		all = append(all, position)
	}
	return all, nil
}

// sources returns, for each switch, the switches whose frames leave the fabric there.
func (f *fabric) sources(c *Class) ([][]int, error) {
	all := make([][]int, len(f.names))
	if c.Pairs == nil {
		for to := range f.names {
			for from := range f.names {
				if f.edge[to] && f.edge[from] && from != to {
					all[to] = append(all[to], from)
				}
			}
		}
		return all, nil
	}
	for i, pair := range c.Pairs {
		from, found := f.index[pair[0]]
		to, second := f.index[pair[1]]
		if !found || !second {
			return nil, fmt.Errorf("pairs.%d: the topology lacks switch %q or %q", i, pair[0], pair[1])
		}
		all[to] = append(all[to], from)
	}
	return all, nil
}

// chosen returns the orders of the cases that have not the first.
func (f *fabric) chosen(c *Class) (map[string]int, error) {
	all := map[string]int{}
	for i, of := range c.Cases {
		var failed []int
		for _, name := range of.Failed {
			port, found := f.port[name]
			if !found {
				return nil, fmt.Errorf("cases.%d: the topology has no port %q between switches", i, name)
			}
			failed = append(failed, port/2)
		}
		slices.Sort(failed)
		all[fmt.Sprint(failed)] = of.Order
	}
	return all, nil
}

// check compares the positions along all shortest paths from sources to their switch, without the links that are down.
func (f *fabric) check(down []bool, sources [][]int, position []int) (turns int, err error) {
	distance := make([]int, len(f.names))
	passed := make([]bool, len(f.names))
	for to := range f.names {
		if len(sources[to]) == 0 {
			continue
		}
		for sw := range distance {
			distance[sw], passed[sw] = -1, false
		}
		distance[to] = 0
		near := []int{to} // the switches that reach it, the nearest first
		for i := 0; i < len(near); i++ {
			for _, out := range f.out[near[i]] {
				if next := f.owner[out^1]; !down[out/2] && distance[next] < 0 {
					distance[next] = distance[near[i]] + 1
					near = append(near, next)
				}
			}
		}
		for _, from := range sources[to] {
			passed[from] = true
		}
		leads := func(port int) bool {
			return !down[port/2] && distance[f.owner[port]] > 0 && distance[f.owner[port^1]] == distance[f.owner[port]]-1
		}
		for _, sw := range slices.Backward(near) { // those farther away have passed their frames on
			if !passed[sw] {
				continue
			}
			for _, port := range f.out[sw] {
				if !leads(port) {
					continue
				}
				next := f.owner[port^1]
				passed[next] = true
				for _, then := range f.out[next] {
					if !leads(then) {
						continue
					}
					turns++
					if position[port] == 0 || position[then] == 0 || position[port] >= position[then] {
						return turns, fmt.Errorf("frames to %s arrive by %s and leave by %s, but the order does not have these ports "+
							"one after the other", f.names[to], f.ports[port], f.ports[then])
					}
				}
			}
		}
	}
	return turns, nil
}

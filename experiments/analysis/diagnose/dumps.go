// Package diagnose explains the counters of a fabric: it runs the fabric again under single faults, and ranks the
// faults by how close their counters are to the given ones.
package diagnose

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/expect"
	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/topologies"
)

// Dumps holds what was read of a fabric: counters, and the results of programs.
type Dumps struct {
	Fabric counters.Fabric
	Tests  []Test
	Logs   []Log
}

// Log holds the output of a program of nccl-tests.
type Log struct {
	expect.Log
	File string
}

// Test holds the output of a client of perftest.
type Test struct {
	counters.Perftest
	Host string // that the file's name begins with
}

// Read adds a file. Its content decides its format; its name begins with the name of the node, which a dot ends.
func (d *Dumps) Read(name string, data []byte) error {
	t, err := counters.ReadPerftest(data)
	switch {
	case errors.Is(err, counters.ErrNotPerftest) && bytes.Contains(data, []byte("busbw")):
		var l *expect.Log
		if l, err = expect.ReadLog(data); err == nil {
			d.Logs = append(d.Logs, Log{*l, name})
		}
	case errors.Is(err, counters.ErrNotPerftest):
		err = d.Fabric.Read(name, data)
		if errors.Is(err, counters.ErrFormat) {
			err = errors.New("none of the formats: show pfc counters, ethtool -S, a dump of COUNTERS_DB, perftest, nccl-tests")
		}
	case err == nil && !t.Server:
		host, _, _ := strings.Cut(filepath.Base(name), ".")
		d.Tests = append(d.Tests, Test{*t, host})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// pair is one port of the dumps and the same port of the plan.
type pair struct {
	given *counters.Port
	node  *topologies.Node
	index int // among the node's ports
}

// places finds the ports of the dumps in the plan: by the names of nodes, and by the names of ports, or by their order
// if the node's ports have other names.
func (d *Dumps) places(plan *topologies.Plan) ([]pair, error) {
	d.Fabric.SortPorts()
	slices.SortFunc(d.Fabric.Nodes, func(a, b *counters.Node) int { return counters.CompareNames(a.Name, b.Name) })
	var all []pair
	for _, n := range d.Fabric.Nodes {
		at := slices.IndexFunc(plan.Nodes, func(p topologies.Node) bool { return p.Name == n.Name })
		if at < 0 {
			return nil, fmt.Errorf("the dumps have a node %s, which the topology does not have (name files NODE.ethtool.txt "+
				"and so on, "+
				"by the nodes of the topology)", n.Name)
		}
		node := &plan.Nodes[at]
		byOrder := true
		for _, p := range n.Ports {
			if slices.ContainsFunc(node.Ports, func(id topologies.PortID) bool { return plan.Ports[id].Name == p.Name }) {
				byOrder = false
			}
		}
		if byOrder && len(n.Ports) != len(node.Ports) {
			return nil, fmt.Errorf("%s has %d ports in the dumps and %d in the topology: their order cannot tell which is "+
				"which (use the "+
				"names of the topology, such as %s)", n.Name, len(n.Ports), len(node.Ports), plan.Ports[node.Ports[0]].Name)
		}
		for i, p := range n.Ports {
			index := i
			if !byOrder {
				index = slices.IndexFunc(node.Ports, func(id topologies.PortID) bool { return plan.Ports[id].Name == p.Name })
			}
			if index < 0 {
				return nil, fmt.Errorf("%s has a port %s in the dumps, which the topology does not have", n.Name, p.Name)
			}
			all = append(all, pair{p, node, index})
		}
	}
	return all, nil
}

// traffic is one flow between two hosts.
type traffic struct {
	from, to string
	bytes    int64 // 0: it sends all the time
}

// tests returns the flows of perftest's clients: as many bytes as they sent, or without an end if they were sending all
// the time.
func (d *Dumps) tests(plan *topologies.Plan, seconds float64) (all []traffic, err error) {
	for i := range d.Tests {
		t := &d.Tests[i]
		to := slices.IndexFunc(plan.Nodes, func(n topologies.Node) bool { return n.Addr == t.Remote && t.Remote.IsValid() })
		if to < 0 {
			return nil, fmt.Errorf("the perftest of %s was with %v, which is the address of no host (see its line GID)", t.Host,
				t.Remote)
		}
		f := traffic{from: t.Host, to: plan.Nodes[to].Name, bytes: t.Bytes * t.Iterations}
		if t.Gigabits == 0 || float64(f.bytes)*8/1e9/t.Gigabits > 0.95*seconds {
			f.bytes = 0
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b traffic) int {
		return cmp.Or(counters.CompareNames(a.from, b.from), counters.CompareNames(a.to, b.to), cmp.Compare(a.bytes, b.bytes))
	})
	return all, nil
}

// tested returns the payload that perftest's clients sent, by the two hosts.
func (d *Dumps) tested(plan *topologies.Plan) map[[2]topologies.NodeID]float64 {
	all := map[[2]topologies.NodeID]float64{}
	for i := range d.Tests {
		t := &d.Tests[i]
		from := slices.IndexFunc(plan.Nodes, func(n topologies.Node) bool { return n.Name == t.Host })
		to := slices.IndexFunc(plan.Nodes, func(n topologies.Node) bool { return n.Addr == t.Remote && t.Remote.IsValid() })
		if from >= 0 && to >= 0 {
			all[[2]topologies.NodeID{topologies.NodeID(from), topologies.NodeID(to)}] += float64(t.Bytes * t.Iterations)
		}
	}
	return all
}

// collectives returns the workloads of the logs of nccl-tests: the operations of each row, one after the other, as many
// as the log says, or as fit into the time at most.
func (d *Dumps) collectives(plan *topologies.Plan, seconds float64) (workloads []any, ranks []string, err error) {
	for i := range d.Logs {
		l := &d.Logs[i]
		kind := cmp.Or(l.Collective, expect.Kinds()[0])
		var hosts []string // neighbouring ranks of one node count as one
		for rank, node := range l.Nodes {
			if !slices.ContainsFunc(plan.Nodes,
				func(n topologies.Node) bool { return n.Name == node && n.Kind == topologies.Host }) {
				return nil, nil, fmt.Errorf("%s: rank %d is on %q, which is no host of the topology (give the nodes the "+
					"topology's "+
					"names in this file, or list the flows in the fabric's file)", l.File, rank, node)
			}
			if !slices.Contains(hosts, node) {
				hosts = append(hosts, node)
			}
		}
		if len(hosts) < 2 {
			return nil, nil, fmt.Errorf("%s: expected ranks on at least two hosts, found %d (nccl-tests lists them before "+
				"its table)",
				l.File, len(hosts))
		}
		var steps []any
		for _, row := range l.Rows {
			size := max(1, expect.Scaled(kind, row.Size, l.Ranks, len(hosts)))
			rate := float64(plan.Ports[plan.Nodes[plan.NodeByName(hosts[0]).ID].Ports[0]].Rate)
			count := int(seconds*rate/8/float64(size)) + 2 // at most, as each host sends nearly the whole size or more
			if l.Operations > 0 {
				count = min(count, l.Operations)
			}
			if len(steps)+count > mostFlows {
				return nil, nil, fmt.Errorf("%s: more than %d operations (list the flows in the fabric's file)", l.File, mostFlows)
			}
			step := map[string]any{"collective": map[string]any{"kind": kind, "size": fmt.Sprintf("%dB", size)}}
			steps = append(steps, slices.Repeat([]any{step}, count)...)
		}
		job := map[string]any{"ranks": hosts, "steps": steps}
		if n := len(steps); len(l.Rows) == 1 {
			job["iterations"], job["steps"] = n, steps[:1]
		}
		workloads = append(workloads, map[string]any{"tag": fmt.Sprintf("nccl%d", i), "job": job, "expect_unfinished": true})
		ranks = append(ranks, hosts...)
	}
	return workloads, ranks, nil
}

// gravity estimates who sent how much to whom from the bytes that hosts sent and received: each host's bytes divide
// among the receivers by what these received, in iterations that fit both sums. Small parts, and
// the priority of ACKs and CNPs, are left out.
func gravity(pairs []pair, mtu int, control uint8) (all []traffic) {
	type end struct {
		name   string
		tx, rx float64
	}
	var hosts []end
	for _, p := range pairs {
		if p.node.Kind != topologies.Host {
			continue
		}
		e := end{name: p.node.Name}
		for i, c := range p.given.Class {
			if uint8(i) != control {
				e.tx, e.rx = e.tx+float64(c.TxBytes), e.rx+float64(c.RxBytes)
			}
		}
		if n := len(hosts); n > 0 && hosts[n-1].name == e.name {
			hosts[n-1].tx, hosts[n-1].rx = hosts[n-1].tx+e.tx, hosts[n-1].rx+e.rx
			continue
		}
		hosts = append(hosts, e)
	}
	n := len(hosts)
	m := make([]float64, n*n)
	for i := range hosts {
		for k := range hosts {
			if i != k {
				m[i*n+k] = hosts[i].tx * hosts[k].rx
			}
		}
	}
	fit := func(want func(i int) float64, at func(i, k int) int) {
		for i := range n {
			sum := 0.0
			for k := range n {
				sum += m[at(i, k)]
			}
			for k := range n {
				if sum > 0 {
					m[at(i, k)] *= want(i) / sum
				}
			}
		}
	}
	for range 50 {
		fit(func(i int) float64 { return hosts[i].tx }, func(i, k int) int { return i*n + k })
		fit(func(i int) float64 { return hosts[i].rx }, func(i, k int) int { return k*n + i })
	}
	const small = 0.05 // of what the receiver got
	for i := range hosts {
		for k := range hosts {
			if bytes := m[i*n+k]; bytes > small*hosts[k].rx && bytes > 0 {
				payload := bytes * float64(mtu) / float64(mtu+82) // headers of RoCEv2 over Ethernet
				all = append(all, traffic{hosts[i].name, hosts[k].name, int64(math.Ceil(payload))})
			}
		}
	}
	return all
}

package replay

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// overTime copies the values over time from the record, or without one from the tables.
func (r *reading) overTime() error {
	record, err := readRecord(r.path)
	if err != nil {
		return err
	}
	if record == nil {
		return errors.Join(r.sampledPorts(), r.sampledFlows())
	}
	h := &r.head
	h.Recorded, h.Priority = true, record.Priority
	for _, name := range record.Ports {
		id, known := r.ports[name]
		if !known {
			return &rundir.FileError{
				Path: filepath.Join(r.path, rundir.RecordFile),
				Err:  fmt.Errorf("port %q is not in the manifest's configuration", name),
			}
		}
		h.Rows = append(h.Rows, id)
	}
	for _, name := range record.Hosts {
		h.Hosts = append(h.Hosts, r.nodes[name])
	}
	r.columns, r.data = append(r.columns, record.Columns...), append(r.data, record.data...)
	return nil
}

func (r *reading) sampledPorts() error {
	var times row
	rows := map[int]int{}
	var all [4][]row
	// The rows of a port's data priorities follow each other: what it holds and sends adds up, and it is paused if any
	// is.
	last, lastAt, sums := -1, int64(0), [4]int64{}
	flush := func() {
		for i, v := range sums {
			if last >= 0 {
				all[i][last].add(v)
			}
		}
		last, sums = -1, [4]int64{}
	}
	err := read(r, rundir.Ports, "queues", func(p *rundir.PortRow) error {
		at := p.Time
		id, known := r.ports[p.Port]
		if !known {
			return fmt.Errorf("there is no port %q in the manifest's configuration", p.Port)
		}
		k, known := rows[id]
		if !known {
			k = len(r.head.Rows)
			rows[id] = k
			r.head.Rows = append(r.head.Rows, id)
			for i := range all {
				all[i] = append(all[i], row{})
			}
		}
		if times.count == 0 || at != times.last {
			times.add(at)
		}
		if k != last || at != lastAt {
			flush()
		}
		last, lastAt = k, at
		sums[0] += p.Queue
		sums[1] += p.Ingress
		if p.Paused {
			sums[2] = 1
		}
		sums[3] += p.Sent
		return nil
	})
	flush()
	r.put(columnTimes, times)
	for i, name := range []string{columnQueue, columnIngress, columnPaused, columnSent} {
		r.put(name, all[i]...)
	}
	return err
}

func (r *reading) sampledFlows() error {
	n := 0
	for i := range r.columns {
		if r.columns[i].Name == "flow.tag" {
			n = r.columns[i].Count
		}
	}
	first := make([]int64, n)
	var all [3][]row
	for i := range all {
		all[i] = make([]row, n)
	}
	err := read(r, rundir.Rates, "rates", func(row *rundir.RateRow) error {
		if row.Flow >= n {
			return fmt.Errorf("there is no flow %d in flows.csv", row.Flow)
		}
		if all[0][row.Flow].count == 0 {
			first[row.Flow] = int64(math.Round(float64(row.Time) / r.head.Interval))
		}
		for i, v := range [...]int64{row.Rate, row.Goodput, row.RTT} {
			all[i][row.Flow].add(v)
		}
		return nil
	})
	paths := make([]row, n)
	for i, p := range r.manifest.Paths {
		if i < n {
			r.way(&paths[i], p.Path)
		}
	}
	r.put(columnPaths, paths...)
	r.put(columnFirst, numbers(first))
	for i, name := range []string{columnRate, columnGoodput, columnRTT} {
		r.put(name, all[i]...)
	}
	return err
}

// way adds the ports of a path of nodes; where links are side by side, the first one's.
func (r *reading) way(to *row, nodes []string) {
	for i := 1; i < len(nodes); i++ {
		if port, ok := r.portOf(nodes[i-1]); ok {
			to.add(int64(port))
			continue
		}
		if port, ok := r.portOf(nodes[i]); ok {
			to.add(int64(port ^ 1)) // a link's ports have numbers that follow each other
			continue
		}
		from, next := r.nodes[nodes[i-1]], r.nodes[nodes[i]]
		l := slices.IndexFunc(r.head.Links, func(l Link) bool {
			return l.A == from && l.B == next || l.A == next && l.B == from
		})
		if l < 0 {
			return
		}
		port := 2 * l
		if r.head.Links[l].A != from {
			port++
		}
		to.add(int64(port))
	}
}

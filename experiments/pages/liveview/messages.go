//go:build linux

package liveview

import (
	"encoding/json"
	"fmt"

	"github.com/pausenet/pausenet/experiments/live"
)

// head holds the first message to a page: the fabric and its drawing. Link l has the ports 2l and 2l+1, as in replays.
type head struct {
	Fabric     string   `json:"fabric"`
	Process    int      `json:"process"`
	Scenario   string   `json:"scenario"`
	Controller string   `json:"controller"`
	Owner      string   `json:"owner"`
	Changes    bool     `json:"changes"`
	Settings   []string `json:"settings,omitempty"` // settings that can change
	Nodes      []node   `json:"nodes"`
	Links      []link   `json:"links"`
	Ports      []string `json:"ports"`
	Hosts      []int    `json:"hosts"` // nodes, in the order of a sample's cnps
}

type node struct {
	Name string `json:"name"`
	Host bool   `json:"host"`
	Tier int    `json:"tier"`
}

type link struct {
	A     int   `json:"a"`
	B     int   `json:"b"`
	Rate  int64 `json:"rate"`  // bit/s
	Delay int64 `json:"delay"` // ns
}

// headOf returns a fabric's head, and the indexes of the page's ports in a snapshot.
func headOf(d *live.Description, s *live.Snapshot, changes bool) (h head, order []int, err error) {
	h = head{
		Fabric: d.Name, Process: d.PID, Scenario: d.Scenario, Controller: d.Controller, Owner: d.Owner.String(),
		Changes: changes,
	}
	if changes {
		h.Settings = live.Settings
	}
	nodes, ports := map[string]int{}, map[string]int{}
	for i, n := range d.Nodes {
		nodes[n.Name] = i
		h.Nodes = append(h.Nodes, node{n.Name, n.Tier == 0, n.Tier})
	}
	for i := range s.Ports {
		ports[s.Ports[i].Port] = i
	}
	for _, l := range d.Links {
		var ends [2]int
		for k, name := range [...]string{l.A, l.B} {
			at, known := ports[name]
			if !known {
				return h, nil, fmt.Errorf("the fabric has a link at %q, but no such port: another version of pausenet runs it",
					name)
			}
			ends[k] = nodes[s.Ports[at].Node]
			h.Ports, order = append(h.Ports, name), append(order, at)
		}
		h.Links = append(h.Links, link{ends[0], ends[1], l.RateBPS, l.DelayNS})
	}
	for i := range s.Hosts {
		h.Hosts = append(h.Hosts, nodes[s.Hosts[i].Node])
	}
	return h, order, nil
}

// sample holds a snapshot in columns, one number per port. Counters start at bring-up.
type sample struct {
	Time     int64   `json:"t"` // virtual ns
	Slowdown float64 `json:"slowdown"`
	Late     int64   `json:"late"` // p99 lateness, in ns
	Busy     float64 `json:"busy"`
	Queue    []int64 `json:"queue"` // bytes
	Buffered []int64 `json:"ingress"`
	Paused   []int64 `json:"paused"` // 1 if paused now
	// time since the last sample for which the priority paused longest was paused, in thousandths
	Stopped  []int64 `json:"stopped"`
	Pauses   []int64 `json:"pauses"`  // sent
	Sent     []int64 `json:"sent"`    // bytes
	Sending  []int64 `json:"sending"` // ns
	Marks    []int64 `json:"marks"`
	CNMs     []int64 `json:"cnms"`
	Drops    []int64 `json:"drops"`
	Up       []int64 `json:"up"`
	CNPs     []int64 `json:"cnps"` // received by each host
	Flows    []flow  `json:"flows"`
	Open     int     `json:"open"`
	Ended    int64   `json:"ended"`
	Deadlock string  `json:"deadlock,omitempty"`
}

// flow represents an open flow.
type flow struct {
	Number    int     `json:"n"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Size      int64   `json:"size"`
	Start     int64   `json:"start"`
	Delivered int64   `json:"done"`
	Rate      float64 `json:"rate"`
	RTT       int64   `json:"rtt"`
}

// sampleOf returns a sample. before is the previous snapshot, or nil.
func sampleOf(before, now *live.Snapshot, order []int) *sample {
	s := &sample{
		Time: now.Clock.VirtualNS, Slowdown: now.Clock.Slowdown, Late: now.Clock.LatenessP99NS, Busy: now.Clock.Busy,
		Open: now.OpenFlows, Ended: now.Ended.Count, Deadlock: now.Deadlock, Flows: make([]flow, 0, len(now.Flows)),
	}
	columns := []*[]int64{
		&s.Queue, &s.Buffered, &s.Paused, &s.Stopped, &s.Pauses, &s.Sent, &s.Sending, &s.Marks, &s.CNMs,
		&s.Drops, &s.Up,
	}
	numbers := make([]int64, len(columns)*len(order))
	for i, c := range columns {
		*c = numbers[i*len(order) : (i+1)*len(order)]
	}
	for i, at := range order {
		p := &now.Ports[at]
		s.Pauses[i], s.Sent[i], s.Sending[i] = int64(p.PausesSent), p.TxBytes, p.BusyNS
		s.Marks[i], s.CNMs[i] = int64(p.ECNMarks+p.UEMarks), int64(p.CNMs)
		if p.Up {
			s.Up[i] = 1
		}
		for _, d := range p.Drops {
			s.Drops[i] += d.Frames
		}
		for k := range p.Classes {
			c := &p.Classes[k]
			s.Queue[i] += int64(c.QueueBytes)
			s.Buffered[i] += int64(c.BufferedBytes)
			if c.Paused {
				s.Paused[i] = 1
			}
		}
		if before != nil {
			s.Stopped[i] = stopped(&before.Ports[at], p, now.Clock.VirtualNS-before.Clock.VirtualNS)
		}
	}
	for i := range now.Hosts {
		s.CNPs = append(s.CNPs, now.Hosts[i].CNPsReceived)
	}
	for i := range now.Flows {
		f := &now.Flows[i]
		s.Flows = append(s.Flows, flow{f.Flow, f.From, f.To, f.SizeBytes, f.StartNS, f.DeliveredBytes, f.RateBPS, f.RTTNS})
	}
	return s
}

// stopped returns how much of a span of ns the port's most-paused priority was paused, in thousandths.
func stopped(before, now *live.PortSnapshot, span int64) (most int64) {
	if span <= 0 {
		return 0
	}
	var was [256]int64
	for k := range before.Classes {
		was[before.Classes[k].Priority] = before.Classes[k].PausedNS
	}
	for k := range now.Classes {
		c := &now.Classes[k]
		most = max(most, min(1000, (c.PausedNS-was[c.Priority])*1000/span))
	}
	return most
}

// happened holds events in the fabric's own encoding.
type happened struct {
	Events []json.RawMessage `json:"events"`
	Missed int64             `json:"missed,omitempty"` // number of events missed before them
}

// ended holds the last message: the fabric has ended.
type ended struct {
	Fabric  string        `json:"fabric"`
	Verdict *live.Verdict `json:"verdict,omitempty"`
	Why     string        `json:"why,omitempty"` // reason, if it ended without a request
}

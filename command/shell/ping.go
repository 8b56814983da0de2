//go:build linux

package shell

import (
	"fmt"
	"slices"
	"time"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

var pingVerbs = []verb{
	{"pingall", "", "ping between every pair of hosts", (*Shell).pingAll, nil},
	{"pingallfull", "", "pingall with the round-trip times", (*Shell).pingAllFull, nil},
	{"pingpair", "", "ping between the first two hosts", (*Shell).pingPair, nil},
	{"pingpairfull", "", "pingpair with the round-trip times", (*Shell).pingPairFull, nil},
	{"ping", "HOST HOST...", "ping between these hosts", (*Shell).ping, completeHosts},
}

func (s *Shell) pingAll([]string) error { return s.pingFirst(len(s.Fabric.Plan.Hosts), false) }

func (s *Shell) pingAllFull([]string) error { return s.pingFirst(len(s.Fabric.Plan.Hosts), true) }

func (s *Shell) pingPair([]string) error { return s.pingFirst(2, false) }

func (s *Shell) pingPairFull([]string) error { return s.pingFirst(2, true) }

// pingFirst runs pings among the first n hosts.
func (s *Shell) pingFirst(n int, full bool) error {
	return s.pingAmong(s.hosts(s.Fabric.Plan.Hosts[:min(n, len(s.Fabric.Plan.Hosts))]), full)
}

func (s *Shell) ping(names []string) error {
	if len(names) < 2 {
		return errUsage
	}
	var hosts []*topologies.Node
	for _, name := range names {
		h, err := s.Fabric.Host(name)
		if err != nil {
			return err
		}
		if slices.Contains(hosts, h) {
			return fmt.Errorf("%s appears twice (name two different hosts)", name)
		}
		hosts = append(hosts, h)
	}
	return s.pingAmong(hosts, false)
}

func (s *Shell) hosts(ids []topologies.NodeID) (hosts []*topologies.Node) {
	return lists.Map(ids, func(id topologies.NodeID) *topologies.Node { return &s.Fabric.Plan.Nodes[id] })
}

// pingAmong makes each host in turn ping all others at once. full prints each round-trip time.
func (s *Shell) pingAmong(hosts []*topologies.Node, full bool) error {
	interrupted, stop := s.interrupts()
	defer stop()
	var sent, lost int
	var least, most, sum vtime.Time
	for _, from := range hosts {
		others := lists.Filter(hosts, func(to *topologies.Node) bool { return to != from })
		took, err := s.Fabric.Ping(from, others, s.timeout(from, others), interrupted)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "%s ->", from.Name)
		for i, d := range took {
			sent++
			if d == 0 {
				lost++
				fmt.Fprint(s.Out, " X")
				continue
			}
			fmt.Fprintf(s.Out, " %s", others[i].Name)
			if full {
				fmt.Fprintf(s.Out, "=%v", nearest(d))
			}
			sum += d
			most = max(most, d)
			if least == 0 || d < least {
				least = d
			}
		}
		fmt.Fprintln(s.Out)
	}
	fmt.Fprintf(s.Out, "%.0f%% dropped (%d/%d received)\n", 100*float64(lost)/float64(max(1, sent)), sent-lost, sent)
	if sent > lost {
		mean := sum / vtime.Time(sent-lost)
		fmt.Fprintf(s.Out, "RTT min/mean/max %v/%v/%v of virtual time\n", nearest(least), nearest(mean), nearest(most))
	}
	return nil
}

// timeout returns how long answers may take: a hundred round trips, and a second.
func (s *Shell) timeout(from *topologies.Node, others []*topologies.Node) time.Duration {
	longest := vtime.Time(0)
	for _, to := range others {
		longest = max(longest, s.Fabric.Plan.BaseRTT(from.ID, to.ID, s.Fabric.Plan.PairOf(from.ID, to.ID, 0), wire.CNPLen,
			wire.CNPLen))
	}
	return time.Second + s.Fabric.Wall(100*longest)
}

// nearest rounds to nanoseconds.
func nearest(t vtime.Time) vtime.Time {
	return (t + vtime.Nanosecond/2) / vtime.Nanosecond * vtime.Nanosecond
}

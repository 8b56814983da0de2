//go:build linux

package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

var flowVerbs = []verb{
	{"flow", "FROM TO SIZE [cc=NAME] [&]", "send SIZE by RDMA; with & do not wait for its end", (*Shell).flow, completeFlow},
	{"incast", "N TO SIZE [cc=NAME] [&]", "have N hosts send SIZE to one by RDMA at once", (*Shell).incast, completeIncast},
	{"start", "[TAG] [&]", "start the flows of the scenario, or those of one tag", (*Shell).scenario, completeTags},
	{"wait", "", "wait for the flows in the background", (*Shell).wait, nil},
	{"iperf", "[FROM TO] [SECONDS]", "measure TCP between two hosts, the first and the last (needs iperf3)", (*Shell).iperf, completeHosts},
}

// options takes cc=NAME and & off a verb's arguments.
func options(args []string) (rest []string, cc string, background bool) {
	for _, a := range args {
		if name, found := strings.CutPrefix(a, "cc="); found {
			cc = name
		} else if a == "&" {
			background = true
		} else {
			rest = append(rest, a)
		}
	}
	return rest, cc, background
}

func (s *Shell) flow(args []string) error {
	rest, cc, background := options(args)
	if len(rest) != 3 {
		return errUsage
	}
	size, err := units.ParseBytes(rest[2])
	if err != nil {
		return err
	}
	return s.start([]live.FlowRequest{{From: rest[0], To: rest[1], Size: size, CC: cc}}, background)
}

func (s *Shell) incast(args []string) error {
	rest, cc, background := options(args)
	if len(rest) != 3 {
		return errUsage
	}
	n, err := strconv.Atoi(rest[0])
	if err != nil {
		return errUsage
	}
	size, err := units.ParseBytes(rest[2])
	if err != nil {
		return err
	}
	requests, err := s.Fabric.Incast(n, rest[1], size, cc)
	if err != nil {
		return err
	}
	return s.start(requests, background)
}

func (s *Shell) scenario(args []string) error {
	rest, _, background := options(args)
	if len(rest) > 1 {
		return errUsage
	}
	requests, err := s.Fabric.ScenarioFlows(strings.Join(rest, ""))
	if err != nil {
		return err
	}
	first := requests[0].Start()
	for i := range requests {
		first = min(first, requests[i].Start())
	}
	if wall := s.Fabric.Wall(first); wall >= time.Second {
		fmt.Fprintf(s.Out, "the first flow starts after %v of virtual time: in %v here\n", first, wall.Round(time.Second))
	}
	return s.start(requests, background)
}

// start starts flows, and unless in the background waits for those that end and prints what they came to. A deadlock ends the wait.
func (s *Shell) start(requests []live.FlowRequest, background bool) error {
	f := &flows{line: strings.TrimSpace(s.line), ended: make(chan live.FlowResult, len(requests))}
	for i := range requests {
		if requests[i].Size > 0 {
			f.n++
		}
	}
	f.left = f.n
	if background {
		err := s.Fabric.StartFlows(requests, func(r live.FlowResult) { f.ended <- r })
		if err == nil && f.n > 0 {
			s.background = append(s.background, f)
		}
		return err
	}
	troubles, release, err := s.watchTroubles()
	if err != nil {
		return err
	}
	defer release()
	if err := s.Fabric.StartFlows(requests, func(r live.FlowResult) { f.ended <- r }); err != nil {
		return err
	}
	interrupted, stop := s.interrupts()
	defer stop()
	return s.await(f, troubles, interrupted, s.Out)
}

func (s *Shell) iperf(args []string) error {
	if _, err := exec.LookPath("iperf3"); err != nil {
		return errors.New("iperf3 is not installed: apt-get install iperf3 (Debian, Ubuntu), dnf install iperf3 (Fedora)")
	}
	seconds := "5"
	if n := len(args); n > 0 {
		if given, err := strconv.Atoi(args[n-1]); err == nil {
			if given < 1 { // iperf3 takes 0 for: without end
				return fmt.Errorf("iperf of %d seconds: give 1 or more", given)
			}
			seconds, args = args[n-1], args[:n-1]
		}
	}
	hosts := s.Fabric.Plan.Hosts
	from, to := s.Fabric.Plan.Nodes[hosts[0]].Name, s.Fabric.Plan.Nodes[hosts[len(hosts)-1]].Name
	switch len(args) {
	case 0:
	case 2:
		from, to = args[0], args[1]
	default:
		return errUsage
	}
	target, err := s.Fabric.Host(to)
	if err != nil {
		return err
	}
	source, err := s.Fabric.Host(from)
	if err != nil {
		return err
	}
	if source == target {
		return fmt.Errorf("iperf from %s to itself crosses no link: name two hosts", from)
	}
	interrupted, stop := s.interrupts()
	defer stop()
	ctx, end := context.WithCancel(context.Background()) // of both programs, also where only one has failed
	defer end()
	go func() {
		select {
		case <-interrupted:
			end()
		case <-ctx.Done():
		}
	}()
	server := exec.CommandContext(ctx, "iperf3", "-s", "-1", "--forceflush")
	listening := &firstLine{seen: make(chan struct{})}
	server.Stdout = listening
	serverEnd := make(chan error, 1)
	go func() { serverEnd <- s.Fabric.Run(to, server) }()
	select {
	case <-listening.seen:
	case err := <-serverEnd:
		if ctx.Err() != nil {
			return fmt.Errorf("iperf3 from %s to %s: interrupted", from, to)
		}
		return fmt.Errorf("iperf3 -s on %s: %w", to, err)
	case <-time.After(5 * time.Second):
	}
	var out bytes.Buffer
	client := exec.CommandContext(ctx, "iperf3", "-c", target.Addr.String(), "-t", seconds, "-J")
	client.Stdout = &out
	start := time.Now()
	err = s.Fabric.Run(from, client)
	slowdown := float64(vtime.FromDuration(time.Since(start))) / float64(s.Fabric.Virtual(start, time.Now())) // it may have been raised
	var report struct {
		Error string `json:"error"`
		End   struct {
			Sent struct {
				Retransmits int `json:"retransmits"`
			} `json:"sum_sent"`
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if jerr := json.Unmarshal(out.Bytes(), &report); err == nil {
		err = jerr
	}
	if err != nil || report.Error != "" {
		end()
		<-serverEnd
		why := report.Error
		if why == "" {
			why = err.Error()
		}
		select {
		case <-interrupted:
			why = "interrupted"
		default:
		}
		return fmt.Errorf("iperf3 from %s to %s: %s", from, to, why)
	}
	<-serverEnd
	rate := report.End.Received.Rate
	virtual := units.Rate(rate * slowdown)
	line := s.Fabric.Plan.Ports[source.Ports[0]].Rate
	most := units.Rate(float64(line) * engine.TCPShare(s.Fabric.Plan))
	fmt.Fprintf(s.Out, "%s -> %s TCP: %.1f Mb/s by the wall clock, %.2f Gb/s of virtual time: %.1f %% of the %.2f Gb/s that full segments can have of %v; %d retransmissions\n",
		from, to, rate/1e6, virtual.Gigabits(), 100*float64(virtual)/float64(most), most.Gigabits(), line, report.End.Sent.Retransmits)
	return nil
}

// firstLine closes seen as the first line is complete.
type firstLine struct {
	seen chan struct{}
	done bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	if !f.done && bytes.Contains(p, []byte("listening")) {
		f.done = true
		close(f.seen)
	}
	return len(p), nil
}

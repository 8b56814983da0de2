//go:build linux

package shell

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/units"
)

var flowVerbs = []verb{
	{
		"flow", "FROM TO SIZE [cc=NAME] [qps=N] [&]", "send SIZE by RDMA; & runs it in the background", (*Shell).flow,
		completeFlow,
	},
	{
		"incast", "N TO SIZE [cc=NAME] [qps=N] [&]", "send SIZE from N hosts to one by RDMA at once", (*Shell).incast,
		completeIncast,
	},
	{"start", "[TAG] [&]", "start the flows of the scenario, or those of one tag", (*Shell).scenario, completeTags},
	{
		"stop", "[FLOW...]", "end all flows, or those with the given numbers, after the current packet", (*Shell).stop,
		completeOpenFlows,
	},
	{"wait", "", "wait for the flows in the background", (*Shell).wait, nil},
}

// flowOptions holds the options after a command's arguments.
type flowOptions struct {
	cc         string
	qps        int // 0 means one
	background bool
}

// options removes cc=NAME, qps=N and & from a command's arguments.
func options(args []string) (rest []string, o flowOptions, err error) {
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		switch {
		case a == "&":
			o.background = true
		case key == "cc" && key != a:
			o.cc = value
		case key == "qps" && key != a:
			o.qps, err = strconv.Atoi(value)
			if err != nil || o.qps < 1 || o.qps > scenario.MostQPs {
				return nil, o, fmt.Errorf("qps=%s: expected 1 to %d QPs, such as qps=4", value, scenario.MostQPs)
			}
		case key != a:
			return nil, o, fmt.Errorf("unknown option %s: expected cc=NAME or qps=N (priority, weight, stop and on_off work "+
				"only in scenarios for pausenet run)", a)
		default:
			rest = append(rest, a)
		}
	}
	return rest, o, nil
}

func (s *Shell) flow(args []string) error {
	rest, o, err := options(args)
	if err != nil {
		return err
	}
	if len(rest) != 3 {
		return errUsage
	}
	size, err := units.ParseBytes(rest[2])
	if err != nil {
		return err
	}
	return s.start([]live.FlowRequest{{From: rest[0], To: rest[1], Size: size, CC: o.cc, QPs: o.qps}}, o.background)
}

func (s *Shell) incast(args []string) error {
	rest, o, err := options(args)
	if err != nil {
		return err
	}
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
	requests, err := s.Fabric.Incast(n, rest[1], size, o.cc)
	if err != nil {
		return err
	}
	for i := range requests {
		requests[i].QPs = o.qps
	}
	return s.start(requests, o.background)
}

func (s *Shell) scenario(args []string) error {
	rest, o, err := options(args)
	if err != nil {
		return err
	}
	if len(rest) > 1 || o.cc != "" || o.qps > 0 {
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
	return s.start(requests, o.background)
}

// stop ends flows. The line that started and awaits them prints their results.
func (s *Shell) stop(args []string) error {
	numbers := make([]int, len(args))
	for i, a := range args {
		n, err := strconv.Atoi(strings.TrimPrefix(a, "#"))
		if err != nil || n < 0 {
			return fmt.Errorf("stop %s: expected a flow's number (see top), or nothing for all flows", a)
		}
		numbers[i] = n
	}
	stopped, err := s.Fabric.StopFlows(numbers)
	if err == nil && stopped == 0 {
		fmt.Fprintln(s.Out, "no flow is running")
	}
	return err
}

// start starts flows. In the foreground, it waits for finite flows and prints their results. A deadlock ends the
// wait.
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
	err = s.await(f, troubles, interrupted, s.Out)
	if f.left > 0 { // the wait ended before the flows
		s.background = append(s.background, f)
	}
	return err
}

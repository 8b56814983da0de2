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
		"flow", "FROM TO SIZE [cc=NAME] [qps=N] [&]", "send SIZE by RDMA; with & do not wait for its end", (*Shell).flow,
		completeFlow,
	},
	{
		"incast", "N TO SIZE [cc=NAME] [qps=N] [&]", "have N hosts send SIZE to one by RDMA at once", (*Shell).incast,
		completeIncast,
	},
	{"start", "[TAG] [&]", "start the flows of the scenario, or those of one tag", (*Shell).scenario, completeTags},
	{
		"stop", "[FLOW...]", "end flows, those of some numbers or all, with their next packet", (*Shell).stop,
		completeOpenFlows,
	},
	{"wait", "", "wait for the flows in the background", (*Shell).wait, nil},
}

// flowOptions are what may follow a verb's arguments.
type flowOptions struct {
	cc         string
	qps        int // 0: one
	background bool
}

// options takes cc=NAME, qps=N and & off a verb's arguments.
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
				return nil, o, fmt.Errorf("qps=%s: a flow has 1..%d QPs, such as qps=4", value, scenario.MostQPs)
			}
		case key != a:
			return nil, o, fmt.Errorf("unknown option %s: there are cc=NAME and qps=N; priority, weight, stop and on_off are for scenarios that pausenet run takes", a)
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

// stop ends flows. What they came to is told where those are waited for that have started them.
func (s *Shell) stop(args []string) error {
	numbers := make([]int, len(args))
	for i, a := range args {
		n, err := strconv.Atoi(strings.TrimPrefix(a, "#"))
		if err != nil || n < 0 {
			return fmt.Errorf("stop %s: give a flow's number, as top has it, or none for all flows", a)
		}
		numbers[i] = n
	}
	stopped, err := s.Fabric.StopFlows(numbers)
	if err == nil && stopped == 0 {
		fmt.Fprintln(s.Out, "no flow is open")
	}
	return err
}

// start starts flows, and unless in the background waits for those that end and prints what they came to. A deadlock
// ends the wait.
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
	if f.left > 0 { // the wait ended, and they go on
		s.background = append(s.background, f)
	}
	return err
}

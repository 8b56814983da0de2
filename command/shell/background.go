//go:build linux

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// flows holds the flows that a line started.
type flows struct {
	line      string // the line that started them
	n, left   int
	ended     chan live.FlowResult
	sum, most float64
	out       bytes.Buffer // output of background flows, until all have finished
}

// mostPrinted limits the flows of a line that are printed one by one.
const mostPrinted = 16

// take records and prints the result of a flow.
func (f *flows) take(r live.FlowResult, out io.Writer) {
	stopped := ""
	switch {
	case r.Size == 0:
		stopped = ", stopped"
	case r.Sent < r.Size:
		stopped = fmt.Sprintf(" of %v, stopped", r.Size)
	}
	if f.n <= mostPrinted {
		fmt.Fprintf(out, "%s -> %s %v%s: FCT %v, slowdown %.2f, %.2f Gbps\n", r.From, r.To, r.Sent, stopped, r.FCT,
			r.Slowdown(), r.Rate.Gigabits())
	}
	if r.Size == 0 {
		return // an endless flow, which nobody waits for
	}
	f.left--
	f.sum += r.Slowdown()
	f.most = max(f.most, r.Slowdown())
	if f.left == 0 && f.n > 1 {
		fmt.Fprintf(out, "%d flows: slowdown mean %.2f, max %.2f\n", f.n, f.sum/float64(f.n), f.most)
	}
}

// await waits until flows have finished, and prints each result. A deadlock or Ctrl-C ends the wait.
func (s *Shell) await(f *flows, troubles *live.Troubles, interrupted <-chan struct{}, out io.Writer) error {
	for f.left > 0 {
		select {
		case r := <-f.ended:
			f.take(r, out)
		case e, ok := <-troubles.C:
			if !ok {
				return live.ErrEnded
			}
			if s.troubles != nil {
				fmt.Fprintln(s.Out, e.String())
			}
			if e.Kind == engine.EventDeadlock {
				return fmt.Errorf("deadlock: %d of %d flows have not finished (they continue if it resolves)", f.left, f.n)
			}
		case <-interrupted:
			if s.Interrupted != nil { // a shell elsewhere, whose line has ended
				return fmt.Errorf("%d of %d flows still running", f.left, f.n)
			}
			return fmt.Errorf("%d of %d flows still running (wait waits for them, stop ends them)", f.left, f.n)
		case <-s.Fabric.Done():
			return live.ErrEnded
		}
	}
	return nil
}

// tellFlows prints the results of background flows that have all finished.
func (s *Shell) tellFlows() {
	still := s.background[:0]
	for _, f := range s.background {
		for waiting := true; waiting && f.left > 0; {
			select {
			case r := <-f.ended:
				f.take(r, &f.out)
			default:
				waiting = false
			}
		}
		if f.left > 0 {
			still = append(still, f)
			continue
		}
		fmt.Fprintf(s.Out, "%s has ended:\n%s", f.line, f.out.String())
	}
	s.background = still
}

// wait waits for the flows in the background.
func (s *Shell) wait([]string) error {
	troubles, release, err := s.watchTroubles()
	if err != nil {
		return err
	}
	defer release()
	interrupted, stop := s.interrupts()
	defer stop()
	for _, f := range s.background {
		if err := s.await(f, troubles, interrupted, &f.out); err != nil {
			s.tellFlows()
			return fmt.Errorf("%s: %w", f.line, err)
		}
	}
	s.tellFlows()
	return nil
}

// watchTroubles returns a feed of storms and deadlocks: the prompt's, if there is one.
func (s *Shell) watchTroubles() (t *live.Troubles, release func(), err error) {
	if s.troubles != nil {
		return s.troubles, func() {}, nil
	}
	if t, err = s.Fabric.Troubles(); err != nil {
		return nil, nil, err
	}
	return t, t.Close, nil
}

// farewell prints which background flows are still running when the shell ends.
func (s *Shell) farewell() {
	if s.depth > 0 {
		return // only the end of a file, not of the shell
	}
	s.tellFlows()
	for _, f := range s.background {
		fmt.Fprintf(s.Out, "%s: %d of %d flows still running (wait waits for them)\n", f.line, f.left, f.n)
	}
}

// inBackground returns a line without its final &, and whether it had one and starts flows.
func inBackground(line string) (foreground string, ok bool) {
	words, err := split(line)
	if err != nil || len(words) < 2 || words[len(words)-1] != "&" {
		return "", false
	}
	for i := range flowVerbs {
		if flowVerbs[i].name == words[0] && strings.Contains(flowVerbs[i].arguments, "&") {
			return strings.Join(words[:len(words)-1], " "), true
		}
	}
	return "", false
}

// lineJob represents a line that an attached shell runs in the background.
type lineJob struct {
	line   string
	client *live.Client
	done   chan struct{}
	out    bytes.Buffer // output; complete once done is closed, as is err
	err    error
}

// start runs a line in the fabric's process without waiting for it. If the fabric does not know the hosts, the error
// appears when the line ends.
func (a *Attached) start(line, foreground string) error {
	c, err := a.Dial()
	if err != nil {
		return err
	}
	j := &lineJob{line: line, client: c, done: make(chan struct{})}
	go func() {
		defer close(j.done)
		j.err = c.Do(foreground, &j.out)
		_ = c.Close()
	}()
	a.jobs = append(a.jobs, j)
	return nil
}

// tellJobs prints the output of background lines that have ended.
func (a *Attached) tellJobs() {
	still := a.jobs[:0]
	for _, j := range a.jobs {
		select {
		case <-j.done:
			fmt.Fprintf(a.Out, "%s has ended:\n%s", j.line, j.out.String())
			if j.err != nil {
				fmt.Fprintf(a.Out, "%v\n", j.err)
			}
		default:
			still = append(still, j)
		}
	}
	a.jobs = still
}

// wait waits for the lines in the background.
func (a *Attached) wait(args []string) error {
	if len(args) > 0 {
		return errors.New("usage: wait")
	}
	interrupted, stop := a.local.interrupts()
	defer stop()
	defer a.tellJobs()
	for _, j := range a.jobs {
		select {
		case <-j.done:
		case <-interrupted:
			return fmt.Errorf("%s is still running", j.line)
		case <-a.done:
			return live.ErrEnded
		}
	}
	return nil
}

// farewell prints which background lines are still running when the shell ends. Their flows continue.
func (a *Attached) farewell() {
	if a.depth > 0 {
		return
	}
	a.tellJobs()
	for _, j := range a.jobs {
		fmt.Fprintf(a.Out, "%s is still running (wait waits for it)\n", j.line)
		_ = j.client.Close()
		<-j.done
	}
	a.jobs = nil
}

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

// flows are those that a line has started, as far as they will end.
type flows struct {
	line      string // that started them
	n, left   int
	ended     chan live.FlowResult
	sum, most float64
	out       bytes.Buffer // of those in the background, until all have ended
}

// mostTold is how many flows of a line are told of one by one.
const mostTold = 16

// take takes a flow's end, and tells of it.
func (f *flows) take(r live.FlowResult, out io.Writer) {
	stopped := ""
	switch {
	case r.Size == 0:
		stopped = ", stopped"
	case r.Sent < r.Size:
		stopped = fmt.Sprintf(" of %v, stopped", r.Size)
	}
	if f.n <= mostTold {
		fmt.Fprintf(out, "%s -> %s %v%s: FCT %v, slowdown %.2f, %.2f Gbps\n", r.From, r.To, r.Sent, stopped, r.FCT,
			r.Slowdown(), r.Rate.Gigabits())
	}
	if r.Size == 0 {
		return // it had no end, and nobody waits for one
	}
	f.left--
	f.sum += r.Slowdown()
	f.most = max(f.most, r.Slowdown())
	if f.left == 0 && f.n > 1 {
		fmt.Fprintf(out, "%d flows: slowdown mean %.2f, max %.2f\n", f.n, f.sum/float64(f.n), f.most)
	}
}

// await waits until flows have ended, and tells of each. A deadlock, or Ctrl-C, ends the wait.
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
				return fmt.Errorf("a deadlock: %d of %d flows have not ended, and go on if it does", f.left, f.n)
			}
		case <-interrupted:
			if s.Interrupted != nil { // a shell elsewhere, whose line has ended
				return fmt.Errorf("%d of %d flows go on", f.left, f.n)
			}
			return fmt.Errorf("%d of %d flows go on: wait waits for them, stop ends them", f.left, f.n)
		case <-s.Fabric.Done():
			return live.ErrEnded
		}
	}
	return nil
}

// tellFlows prints what flows in the background came to that have all ended.
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

// watchTroubles are the storms and deadlocks that come: those that the prompt tells of, if it does.
func (s *Shell) watchTroubles() (t *live.Troubles, release func(), err error) {
	if s.troubles != nil {
		return s.troubles, func() {}, nil
	}
	if t, err = s.Fabric.Troubles(); err != nil {
		return nil, nil, err
	}
	return t, t.Close, nil
}

// farewell says which flows in the background had not ended as the shell does.
func (s *Shell) farewell() {
	if s.depth > 0 {
		return // it is the end of a file, and not the shell's
	}
	s.tellFlows()
	for _, f := range s.background {
		fmt.Fprintf(s.Out, "%s: %d of %d flows had not ended (wait waits for them)\n", f.line, f.left, f.n)
	}
}

// inBackground is a line that starts flows, without the &, if it ends in one.
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

// lineJob is a line that an attached shell has in the background.
type lineJob struct {
	line   string
	client *live.Client
	done   chan struct{}
	out    bytes.Buffer // whole once done is closed, as is err
	err    error
}

// start has a line done in the fabric's process and does not wait. A fabric that does not know the hosts says so as the
// line ends.
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

// tellJobs prints what lines in the background came to that have ended.
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
		return errors.New("write: wait")
	}
	interrupted, stop := a.local.interrupts()
	defer stop()
	defer a.tellJobs()
	for _, j := range a.jobs {
		select {
		case <-j.done:
		case <-interrupted:
			return fmt.Errorf("%s goes on", j.line)
		case <-a.done:
			return live.ErrEnded
		}
	}
	return nil
}

// farewell says which lines in the background had not ended as the shell does. Their flows go on.
func (a *Attached) farewell() {
	if a.depth > 0 {
		return
	}
	a.tellJobs()
	for _, j := range a.jobs {
		fmt.Fprintf(a.Out, "%s goes on (wait waits for it)\n", j.line)
		_ = j.client.Close()
		<-j.done
	}
	a.jobs = nil
}

//go:build linux

package command

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func newInspectCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "inspect [NAME]",
		Short: "List live fabrics, or the nodes and links of one",
		Long: `List the live fabrics that are up, and those that ended unexpectedly, with the
reason. With a NAME, also list that fabric's nodes, addresses and links.

-o json prints an array, or with a NAME one object. Fabrics that ended have the
key "ended".`,
		Example: `  sudo pausenet inspect
  sudo pausenet inspect lab -o json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFabrics,
		RunE: func(c *cobra.Command, args []string) error {
			names, err := live.Names()
			if err != nil {
				return &exitError{exitEnvironment, err}
			}
			var over []*live.Record
			if len(args) > 0 {
				names = args
			} else {
				over = live.AllEnded()
			}
			all := []*live.Description{}
			for _, answer := range describe(names) {
				err := answer.err
				switch {
				case err == nil:
					all = append(all, answer.Description)
				case len(args) > 0:
					return err
				case errors.Is(err, live.ErrNone): // it has ended in the meantime
				default: // the other fabrics are still listed
					fmt.Fprintf(c.ErrOrStderr(), "pausenet: %v\n", err)
				}
			}
			if structured(format) {
				if len(args) > 0 {
					return writeStructured(c.OutOrStdout(), format, all[0])
				}
				return writeStructured(c.OutOrStdout(), format, inspectViews(all, over))
			}
			out := people(c.OutOrStdout())
			writeFabrics(out, all, len(args) > 0)
			for _, r := range over {
				fmt.Fprintln(out, r)
			}
			return nil
		},
	}
	formatFlag(c, &format)
	return c
}

// endedView represents an ended fabric in structured output.
type endedView struct {
	Name  string       `json:"name"`
	Ended *live.Record `json:"ended"`
}

// inspectViews returns fabrics as inspect prints them in structured output: first those that are up, then those that
// have ended.
func inspectViews(up []*live.Description, ended []*live.Record) []any {
	views := []any{}
	for _, d := range up {
		views = append(views, d)
	}
	for _, r := range ended {
		views = append(views, endedView{r.Name, r})
	}
	return views
}

// description holds a fabric's answer.
type description struct {
	*live.Description
	err error
}

// describe queries all fabrics concurrently, because one may not answer.
func describe(names []string) []description {
	answers := make([]description, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() {
			client, err := dial(name)
			if err != nil {
				answers[i].err = err
				return
			}
			defer client.Close()
			reply, err := client.Ask(live.Request{Verb: "inspect"})
			if err != nil {
				answers[i].err = &exitError{exitEnvironment, err}
				return
			}
			answers[i].Description = reply.Inspect
		})
	}
	asked.Wait()
	return answers
}

func writeFabrics(out io.Writer, all []*live.Description, whole bool) {
	if len(all) == 0 {
		fmt.Fprintln(out, "no fabric is up")
		return
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintln(w, "name\tprocess\tscenario\tcc\tslow-down\tvirtual time\tup for\tbusy")
	for _, d := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%g\t%v\t%v\t%.1f%%\n", d.Name, d.PID, d.Scenario, d.Controller, d.Clock.Slowdown,
			vtime.Time(d.Clock.VirtualNS)*vtime.Nanosecond,
			time.Duration(d.Clock.WallSeconds*float64(time.Second)).Round(time.Second), 100*d.Clock.Busy)
	}
	if !whole {
		return
	}
	for _, d := range all {
		fmt.Fprintf(w, "latency of events: %v (p50) and %v (p99) of virtual time; of frames: %v of wall-clock time (p99)\n",
			vtime.Time(d.Clock.LatenessP50NS)*vtime.Nanosecond, vtime.Time(d.Clock.LatenessP99NS)*vtime.Nanosecond,
			vtime.WallText(time.Duration(d.Clock.FrameLatenessP99NS).Round(time.Microsecond)))
		fmt.Fprintln(w)
		for _, n := range d.Nodes {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", n.Name, n.Kind, n.Address, n.Address6, count(n.Ports, "port"))
		}
		fmt.Fprintln(w)
		for _, l := range d.Links {
			state := "up"
			if !l.Up {
				state = "down"
			}
			fmt.Fprintf(w, "%s\t%s\t%v\t%v\t%s\n", l.A, l.B, units.Rate(l.RateBPS), vtime.Time(l.DelayNS)*vtime.Nanosecond,
				state)
		}
	}
}

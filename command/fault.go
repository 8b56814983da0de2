//go:build linux

package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/vtime"
)

// faultView represents an injected fault in structured output.
type faultView struct {
	// EndsNS holds the virtual time at which the fault ends by itself, and WaitNS the wall-clock time until then; 0 for a
	// lasting change.
	EndsNS int64 `json:"ends_ns"`
	WaitNS int64 `json:"wait_ns"`
}

func newFaultCommand() *cobra.Command {
	var fabric, format string
	c := &cobra.Command{
		Use:   "fault link|switch|host NAME... STATE [TIME]",
		Short: "Inject a fault into a live fabric",
		Long: `Inject a fault into a live fabric, or repair it, with the arguments of the
shell's verbs link, switch and host. With a TIME, such as 50ms, the fault ends
by itself after that virtual time, and its changes are undone. "pausenet fault
link h0 down" takes down all links of h0.

Programs on nodes may inject faults too if the fabric was brought up with
--allow-faults.`,
		Example: `  sudo pausenet fault link h0 leaf0 down 50ms
  sudo pausenet fault link leaf0 spine0 loss=1% 200ms
  sudo pausenet fault switch spine0 stop
  sudo pausenet fault host h3 pfc-storm on 1ms`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeFaults(&fabric),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			reply, err := client.Ask(live.Request{Verb: "fault", Command: args})
			if err != nil {
				return clientError(err, exitBadInput)
			}
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, faultView{reply.EndsNS, reply.WaitNS})
			}
			if reply.EndsNS > 0 {
				fmt.Fprintf(c.OutOrStdout(), "ends at %v of virtual time, in %v\n", vtime.Time(reply.EndsNS)*vtime.Nanosecond,
					time.Duration(reply.WaitNS).Round(time.Millisecond))
			}
			return nil
		},
	}
	fabricFlag(c, &fabric)
	formatFlag(c, &format)
	return c
}

// completeFaults completes the words of a fault in the fabric in --fabric, by the shell's verbs.
func completeFaults(fabric *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return live.Faults, cobra.ShellCompDirectiveNoFileComp
		}
		words := completeLine(*fabric, strings.Join(args, " ")+" ", prefix)
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

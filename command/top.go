//go:build linux

package command

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/command/shell"
	"github.com/pausenet/pausenet/experiments/live"
)

func newTopCommand() *cobra.Command {
	var fabric, format string
	c := &cobra.Command{
		Use:   "top",
		Short: "Watch a live fabric's queues, pauses, marks and rates",
		Long: `top shows the busiest ports of a live fabric and its RDMA flows, once a second until q or
Ctrl-C; without a terminal once. Rates are of virtual time. Of a port: bytes in its egress
queue and bytes buffered in the switch that came in by it; the priorities that flow control
holds now, and the share of the time that one was paused; PAUSE frames that it sent and
received; marks; what it sends, and the share of the time that it was sending.

-o json prints one snapshot with all ports and flows, in totals since bring-up.`,
		Example: `  sudo pausenet top
  sudo pausenet top --fabric lab -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			take := func() (*live.Snapshot, error) {
				reply, err := client.Ask(live.Request{Verb: "snapshot"})
				if err != nil {
					return nil, err
				}
				return reply.Snapshot, nil
			}
			if structured(format) {
				s, err := take()
				if err != nil {
					return &exitError{exitEnvironment, err}
				}
				return writeStructured(c.OutOrStdout(), format, s)
			}
			return clientError(shell.Top(os.Stdin, c.OutOrStdout(), take), exitVerdict)
		},
	}
	fabricFlag(c, &fabric)
	formatFlag(c, &format)
	return c
}

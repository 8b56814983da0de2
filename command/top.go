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
		Short: "Watch queues, pauses, marks and rates of a live fabric",
		Long: `Show the busiest ports of a live fabric and its RDMA flows, once a second,
until you press q or Ctrl-C. If standard output is not a terminal, print once.
Rates are in virtual time. The columns of a port:

  queue    bytes in its egress queue
  ingress  bytes buffered in the switch that arrived through the port
  paused   priorities paused now, and the share of time with any paused
  pauses   PAUSE frames that the port sent and received
  marks    frames that the port marked
  rate     what the port sends, and the share of time that it is sending

-o json prints one snapshot of all ports and flows, in totals since bring-up.`,
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

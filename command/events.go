//go:build linux

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newEventsCommand() *cobra.Command {
	var fabric, format string
	var kinds []string
	c := &cobra.Command{
		Use:   "events",
		Short: "Print PAUSE, faults, storms, flows and drops as they happen",
		Long: `Print a line of JSON for each PAUSE and RESUME that leaves a port, for each
fault, PFC storm and deadlock, and for each start and end of an RDMA flow. Drops
per port are printed once a second. events ends with Ctrl-C or with the fabric;
the fabric's verdict is the last line. If the reader is too slow, events skips
lines and prints how many.`,
		Example: `  sudo pausenet events -o table
  sudo pausenet events | jq 'select(.kind == "flow_end")'
  sudo pausenet events --kinds storm,storm_end,deadlock,deadlock_end`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			defer client.Close()
			defer shutdown.Start(exitVerdict)()
			ctx, release := shutdown.Context(c.Context())
			defer release()
			var stopped atomic.Bool
			over := make(chan struct{})
			defer close(over)
			go func() {
				select {
				case <-ctx.Done():
					stopped.Store(true)
					_ = client.Close()
				case <-over:
				}
			}()
			out := c.OutOrStdout()
			err = client.Events(kinds, func(line []byte) error {
				if format == formatJSON {
					_, err := out.Write(line)
					return err
				}
				var e live.Event
				if err := json.Unmarshal(line, &e); err != nil {
					return err
				}
				_, err := fmt.Fprintln(out, e.String())
				return err
			})
			var refused live.Refusal
			if errors.As(err, &refused) {
				return badInput(err)
			}
			if err != nil && !stopped.Load() {
				return &exitError{exitEnvironment, err}
			}
			if !stopped.Load() {
				if r := live.Ended(client.Name()); r != nil {
					return &exitError{exitVerdict, errors.New(r.String())}
				}
			}
			return nil
		},
	}
	fabricFlag(c, &fabric)
	format = formatJSON // one object per line
	outputFlags(c, &format, []string{formatJSON, formatTable})
	c.Flags().StringSliceVar(&kinds, "kinds", nil, "print only these `kinds`, separated by commas")
	completeList(c, "kinds", always(live.EventKinds))
	return c
}

//go:build linux

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
)

func newDownCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:               "down [NAME]",
		Short:             "End a live fabric and print its verdict",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeFabrics,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkRoot("a live fabric belongs to root"); err != nil {
				return err
			}
			names := args
			if all {
				var err error
				if names, err = live.Names(); err != nil {
					return &exitError{exitEnvironment, err}
				}
			} else if len(args) == 0 {
				names = []string{""}
			}
			for _, name := range names {
				client, err := dial(name)
				if err != nil {
					return err
				}
				reply, err := client.Ask(live.Request{Verb: "down"})
				client.Close()
				if err != nil {
					return &exitError{exitEnvironment, err}
				}
				if name != "" {
					fmt.Fprintf(c.OutOrStdout(), "%s: ", name)
				}
				reply.Verdict.Write(c.OutOrStdout())
			}
			return nil
		},
	}
	c.Flags().BoolVar(&all, "all", false, "end all of them")
	return c
}

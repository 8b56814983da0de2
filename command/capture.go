//go:build linux

package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
)

func newCaptureCommand() *cobra.Command {
	var fabric, file string
	c := &cobra.Command{
		Use:   "capture NODE [PORT]",
		Short: "Capture the frames of a live fabric's node",
		Long: `Capture the frames on the links of a node, or of one of its ports (by a
neighbour's name, or by number), in both directions, as pcapng with virtual
timestamps. Without -w, tshark or tcpdump prints the frames.`,
		Example: `  sudo pausenet capture leaf0 spine0
  sudo pausenet capture leaf0 spine0 -w leaf0.pcapng
  sudo pausenet capture h1 -w - | wireshark -k -i -`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: completeNodes(&fabric, true),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := dial(fabric)
			if err != nil {
				return err
			}
			request := live.Request{Verb: "capture", Node: args[0]}
			if len(args) > 1 {
				request.Port = args[1]
			}
			if _, err := client.Ask(request); err != nil {
				client.Close()
				return clientError(err, exitBadInput)
			}
			defer shutdown.Start(exitVerdict)()
			ctx, release := shutdown.Context(c.Context())
			defer release()
			defer context.AfterFunc(ctx, func() {
				shutdown.Wait() // for frames that the fabric still buffers, and for the reader
				_ = client.Finish()
			})()
			defer client.Close()
			return copyCapture(raw(c.OutOrStdout()), file, client)
		},
	}
	fabricFlag(c, &fabric)
	c.Flags().StringVarP(&file, "write", "w", "", "output `file`, - for standard output")
	return c
}

// copyCapture copies a capture to a file, or to a program that prints it.
func copyCapture(out io.Writer, file string, from io.Reader) error {
	switch file {
	case "":
		for _, reader := range [][]string{{"tshark", "-l", "-r", "-"}, {"tcpdump", "-l", "-n", "-r", "-"}} {
			if path, err := exec.LookPath(reader[0]); err == nil {
				cmd := exec.Command(path, reader[1:]...)
				cmd.Stdin, cmd.Stdout, cmd.Stderr = from, out, os.Stderr
				cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends the capture; its end ends the reader
				return clientError(cmd.Run(), exitBadInput)
			}
		}
		return &exitError{exitEnvironment, errors.New("neither tshark nor tcpdump is installed: install one " +
			"(apt-get install tshark), or write a file with -w")}
	case "-":
		_, err := io.Copy(out, from)
		return clientError(err, exitBadInput)
	}
	f, err := files.Create(file)
	if err != nil {
		return writeError(err)
	}
	_, err = io.Copy(f, from)
	err = errors.Join(err, f.Close())
	var unanswered *live.Unanswered
	if errors.As(err, &unanswered) {
		return clientError(err, exitEnvironment)
	}
	return writeError(err)
}

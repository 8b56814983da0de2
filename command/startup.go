//go:build linux

package command

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
)

// mostOutput limits the printed output of a node's command, in bytes.
const mostOutput = 64 << 10

// startPrograms runs the topology's commands for its nodes, one after the other. It warns of failures, since the
// fabric is up. Ctrl-C ends the running command.
func startPrograms(out io.Writer, f *live.Fabric) {
	ignored := make(chan os.Signal, 1) // the signal is for the command
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	for i := range f.Plan.Nodes {
		n := &f.Plan.Nodes[i]
		if n.Programs == nil {
			continue
		}
		for _, line := range n.Programs.Exec {
			fmt.Fprintf(out, "%s: %s\n", n.Name, line.Text)
			printed, err := runLine(f, n.Name, line.Text)
			if len(printed) > 0 {
				fmt.Fprintf(out, "%s\n", strings.TrimRight(string(printed), "\n"))
			}
			if err != nil {
				fmt.Fprintf(stderr(), "%s: warning: %v: %s: %s: %v\n", f.Made.Scenario.Name, line.Position, n.Name, line.Text, err)
			}
		}
	}
}

// runLine runs a line with sh on a node, and waits until it ends. Its background processes may keep printing, but
// their output is discarded.
func runLine(f *live.Fabric, node, line string) ([]byte, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	end := []byte(rand.Text()) // marks the end of its own output
	printed := make(chan []byte, 1)
	go func() {
		defer from.Close()
		printed <- readUntil(from, end)
		_, _ = io.Copy(io.Discard, from) // until all processes with the pipe have ended: with the fabric at the latest
	}()
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdout, cmd.Stderr = to, to
	err = f.Run(node, cmd)
	_, _ = to.Write(end)
	to.Close()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(exit.Error())
	}
	return <-printed, err
}

// readUntil reads until end appears, and returns the bytes before it, up to mostOutput.
func readUntil(from io.Reader, end []byte) []byte {
	var all []byte
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		all = append(all, buffer[:n]...)
		if at := bytes.Index(all, end); at >= 0 {
			return all[:min(at, mostOutput)]
		}
		if err != nil {
			return all[:min(len(all), mostOutput)]
		}
		if keep := mostOutput + len(end); len(all) > 2*keep { // the beginning is printed; the end may contain the marker
			all = append(all[:mostOutput:mostOutput], all[len(all)-len(end):]...)
		}
	}
}

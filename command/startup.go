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

// mostOutput is how much of what a node's command prints is shown.
const mostOutput = 64 << 10

// startPrograms runs the commands that the topology has for its nodes, one after the other. What fails is warned of:
// the fabric is up. Ctrl-C ends the command that runs.
func startPrograms(out io.Writer, f *live.Fabric) {
	ignored := make(chan os.Signal, 1) // it is the program's
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
				fmt.Fprintf(stderr(), "%s: warning: %v: %s: %s: %v\n", f.Made.Scenario.Name, line.Place, n.Name, line.Text, err)
			}
		}
	}
}

// runLine has sh do a line on a node, until that ends. What it has left in the background may go on printing, to
// nobody.
func runLine(f *live.Fabric, node, line string) ([]byte, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	end := []byte(rand.Text()) // behind all that it has printed by then
	printed := make(chan []byte, 1)
	go func() {
		defer from.Close()
		printed <- readUntil(from, end)
		_, _ = io.Copy(io.Discard, from) // until all that have it have ended: with the fabric at the latest
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

// readUntil reads until a text comes, and gives what was before it, as far as that is shown.
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
		if keep := mostOutput + len(end); len(all) > 2*keep { // the beginning is what is shown, the end what is looked for
			all = append(all[:mostOutput:mostOutput], all[len(all)-len(end):]...)
		}
	}
}

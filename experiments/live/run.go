//go:build linux

package live

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/verbs"
	"github.com/pausenet/pausenet/topologies"
)

// Run runs a command on a node until it ends. The command dies with this process.
func (f *Fabric) Run(node string, cmd *exec.Cmd) error {
	n, err := f.Node(node)
	if err != nil {
		return err
	}
	place, err := f.place(n.ID)
	if err != nil {
		return err
	}
	verbs.Prepare(cmd, &place, cmd.Stderr)
	return kernel.RunIn(place, cmd, nil)
}

// serveProgram runs a program on a node for a client that may not enter the node's namespaces: a program on a node.
// The program has the same capabilities as other programs on nodes, and standard files from a separate message. Each
// following byte is a signal for it. It is killed when the client closes.
func (f *Fabric) serveProgram(c *connection, r Request, first Reply) {
	if send(c, first) != nil {
		return
	}
	files := standardFiles(c)
	defer closeFiles(files)
	if len(files) != 3 {
		_ = send(c, Reply{End: true, Error: "a program needs three standard files"})
		return
	}
	cmd := exec.Command(r.Command[0], r.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[2]
	cmd.Env = append([]string{}, r.Environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must not use the fabric's terminal
	n, err := f.Node(r.Node)
	var place kernel.Location
	if err == nil {
		place, err = f.place(n.ID)
	}
	if err == nil {
		place.Privileged, place.From = false, r.Folder
		verbs.Prepare(cmd, &place, cmd.Stderr)
		err = kernel.RunIn(place, cmd, func() {
			closeFiles(files) // so that readers of its output see the end
			go passOn(c, cmd.Process)
		})
	}
	last := Reply{End: true}
	var ended *exec.ExitError
	if status, ok := endOf(cmd); ok && (err == nil || errors.As(err, &ended)) {
		last.Status = uint32(status)
	} else if err != nil { // it did not start
		last.Error = err.Error()
	}
	_ = send(c, last)
}

// standardFiles receives the files of the next message.
func standardFiles(c *connection) []*os.File {
	var one [1]byte
	from := &receiver{conn: c.UnixConn}
	_ = c.SetReadDeadline(time.Now().Add(replyTimeout))
	_, _ = from.Read(one[:])
	_ = c.SetReadDeadline(time.Time{})
	return from.take()
}

// passOn sends a process the signals that it reads, one per byte; signals of a terminal's keys go to its process
// group. At the end of input it kills the process.
func passOn(from io.Reader, p *os.Process) {
	for {
		var one [1]byte
		if _, err := from.Read(one[:]); err != nil {
			_ = p.Kill() // or it has ended
			return
		}
		s := syscall.Signal(one[0])
		if s != syscall.SIGINT && s != syscall.SIGQUIT {
			_ = p.Signal(s)
		} else if p.Signal(syscall.Signal(0)) == nil { // it has not ended
			_ = syscall.Kill(-p.Pid, s)
		}
	}
}

// endOf returns how a command ended; ok is false if it did not start.
func endOf(cmd *exec.Cmd) (status syscall.WaitStatus, ok bool) {
	if cmd.ProcessState == nil {
		return 0, false
	}
	status, ok = cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status, ok
}

// serveVerbs provides RDMA devices to programs on hosts.
func (f *Fabric) serveVerbs() error {
	config := verbs.Config{
		Plan: f.Plan, Do: f.Do, Flow: f.pairFlow, Data: f.Made.Scenario.Host.DataPriority,
		Lossless: f.Made.Scenario.Switch.Lossless(), Namespace: f.plane.Fabric().Namespace,
	}
	if f.lockstep != nil {
		config.Clock = f.lockstep
	}
	s, err := verbs.Serve(config)
	f.verbs = s
	return err
}

// pairFlow returns the flow of a program's queue pair: under the fabric's congestion controller, in the given
// priority.
func (f *Fabric) pairFlow(source, destination topologies.NodeID, pair topologies.Pair, salt uint64,
	priority uint8,
) (engine.FlowConfig, error) {
	c, err := f.Made.Flow(&scenario.Flow{Source: source, Destination: destination, Pair: pair}, "", salt)
	if err == nil && priority != f.Made.Scenario.Host.DataPriority {
		c.Hosts = f.Made.hostsIn(priority)
	}
	return c, err
}

// HasClock reports whether the library is there that ClockLockstep needs.
func HasClock() bool { return verbs.HasClock() }

// libraries returns the folders of libraries for programs on hosts.
func libraries() []string {
	if folder := verbs.Library(); folder != "" {
		return []string{folder}
	}
	return nil
}

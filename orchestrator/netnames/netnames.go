//go:build linux

// Package netnames gives network namespaces names for "ip netns", and removes these when the process that gave them
// ends, even if it is killed. A second process, the keeper, waits for that end: it runs this program again. Importing
// the package is enough for it.
package netnames

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/lists"
)

// Folder holds the names of network namespaces (ip-netns(8)).
const Folder = "/run/netns"

// keeperName is this program's argument 0 as the keeper.
const keeperName = "pausenet-names"

func init() {
	if os.Args[0] == keeperName {
		keep(os.Stdin)
		os.Exit(0)
	}
}

// Names represents names that this process gave.
type Names struct {
	keeper *exec.Cmd
	tell   io.WriteCloser // the keeper's standard input: paths to remove at its end
	paths  []string
}

// Open starts the keeper. It needs root.
func Open() (*Names, error) {
	if err := os.MkdirAll(Folder, 0o755); err != nil {
		return nil, err
	}
	n := &Names{keeper: exec.Command("/proc/self/exe")}
	n.keeper.Args = []string{keeperName, strconv.Itoa(os.Getpid())} // whose it is, for readers of ps
	n.keeper.Dir = "/"
	n.keeper.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	var err error
	if n.tell, err = n.keeper.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the keeper of names: %w", err)
	}
	if err := n.keeper.Start(); err != nil {
		return nil, fmt.Errorf("start the keeper of names: %w", err)
	}
	return n, nil
}

// ErrTaken means that a namespace of this name exists.
var ErrTaken = errors.New("a network namespace of this name exists")

// Give gives a namespace, an open file, a name.
func (n *Names) Give(name string, namespace int) error {
	path := filepath.Join(Folder, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", path, ErrTaken)
	}
	if err != nil {
		return err
	}
	file.Close()
	n.paths = append(n.paths, path)
	if _, err := fmt.Fprintln(n.tell, path); err != nil {
		return fmt.Errorf("tell the keeper of names: %w", err)
	}
	err = unix.Mount("/proc/self/fd/"+strconv.Itoa(namespace), path, "", unix.MS_BIND, "")
	if err != nil {
		return fmt.Errorf("mount the namespace at %s: %w", path, err)
	}
	return nil
}

// Close removes the names, and ends the keeper.
func (n *Names) Close() error {
	if n == nil {
		return nil
	}
	errs := lists.Map(n.paths, remove)
	_ = n.tell.Close()
	_ = n.keeper.Wait() // somebody may have killed it
	return errors.Join(errs...)
}

// keep removes the paths that it reads, one a line, after the end of input.
func keep(in io.Reader) {
	signal.Ignore()
	_ = os.WriteFile("/proc/self/comm", []byte(keeperName), 0) // for ps; the default is the name of the file, exe
	var paths []string
	for lines := bufio.NewScanner(in); lines.Scan(); {
		paths = append(paths, lines.Text())
	}
	for _, path := range paths {
		_ = remove(path)
	}
}

// remove unmounts a namespace and removes its file.
func remove(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

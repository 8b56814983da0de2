//go:build linux

package orchestrator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/pidns"
	"github.com/pausenet/pausenet/topologies"
)

// Namespace is the file descriptor of a node's network namespace.
func (f *Fabric) Namespace(node topologies.NodeID) int { return int(f.devices[node]) }

// Hosts is a fabric's hosts file (hosts(5)): its hosts' names and addresses. The machine's own name is in it, as on most machines:
// many servers look that up as they start.
func Hosts(plan *topologies.Plan) string {
	text := "127.0.0.1 localhost\n"
	if own, err := os.Hostname(); err == nil && plan.NodeByName(own) == nil {
		text += "127.0.1.1 " + own + "\n"
	}
	for _, id := range plan.Hosts {
		text += fmt.Sprintf("%v %s\n", plan.Nodes[id].Addr, plan.Nodes[id].Name)
	}
	return text
}

// Place is where a program runs.
type Place struct {
	Network int      // file descriptor of a node's network namespace
	PIDs    *os.File // the fabric's PID namespace
	Hosts   string   // /etc/hosts there
}

// RunIn runs a command in a place until it ends. It dies with the calling process, and with all else in the PID namespace when that ends;
// then the error is pidns.ErrEnded if the command had not begun. started, unless nil, is called as soon as the place is not needed any more.
func RunIn(place Place, cmd *exec.Cmd, started func()) error {
	return onOwnThread(func() error {
		home, err := leaving()
		if err != nil {
			return err
		}
		err = enter(place.Network, place.Hosts)
		if err == nil {
			restore := keepForeground(cmd)
			defer restore()
			err = pidns.Start(place.PIDs, cmd)
		}
		// The thread has to outlive the command, which dies with it. There it could hold the namespaces of a fabric that has ended.
		home()
		if err != nil {
			return err
		}
		if started != nil {
			started()
		}
		return cmd.Wait()
	})
}

// leaving notes the namespaces that the calling thread is about to leave for those of its own. back takes it there again, as far as it can.
func leaving() (back func(), err error) {
	kinds := []struct {
		name string
		flag int
	}{{"mnt", unix.CLONE_NEWNS}, {"net", unix.CLONE_NEWNET}, {"pid", unix.CLONE_NEWPID}}
	var spaces []*os.File
	for _, k := range kinds {
		s, oerr := os.Open("/proc/thread-self/ns/" + k.name)
		if oerr != nil {
			err = fmt.Errorf("open the own namespace: %w", oerr)
			break
		}
		spaces = append(spaces, s)
	}
	back = func() {
		for i, s := range spaces {
			_ = unix.Setns(int(s.Fd()), kinds[i].flag)
			s.Close()
		}
	}
	if err != nil {
		back()
	}
	return back, err
}

// enter takes the calling thread into a network namespace and a mount namespace of its own, whose /sys shows that, whose /etc/hosts
// is hosts, and where no name server is known. The mounts end with the namespace.
func enter(namespace int, hosts string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter the namespace: %w", err)
	}
	// Where /sys, /etc/hosts or /etc/resolv.conf cannot be mounted over, as in some containers, programs see the outer ones.
	_ = unix.Mount("pausenet", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nameHosts(hosts)
}

// resolver is /etc/resolv.conf on nodes (resolv.conf(5)). The machine's name servers cannot be reached from a fabric: with them, who asks
// for a name that the hosts file has not would wait for 20 s, with none it is told at once that there is none.
const resolver = "# no name server can be reached from a fabric: names are those of /etc/hosts\n"

// nameHosts puts the hosts file over /etc/hosts, and an empty list of name servers over /etc/resolv.conf. They are written into a file
// system in memory that covers a folder for as long.
func nameHosts(hosts string) error {
	const cover = "/mnt"
	if err := unix.Mount("pausenet", cover, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=1m,mode=755"); err != nil {
		return nil //nolint:nilerr // names stay unknown, addresses work
	}
	defer unix.Unmount(cover, unix.MNT_DETACH) //nolint:errcheck // it ends with the mount namespace
	for _, over := range []struct{ path, text string }{{"/etc/hosts", hosts}, {"/etc/resolv.conf", resolver}} {
		file := cover + "/" + filepath.Base(over.path)
		if err := os.WriteFile(file, []byte(over.text), 0o644); err != nil {
			return fmt.Errorf("write what is to be %s: %w", over.path, err)
		}
		if err := unix.Mount(file, over.path, "", unix.MS_BIND, ""); err != nil && err != unix.ENOENT {
			return fmt.Errorf("put a file over %s: %w", over.path, err)
		}
	}
	return nil
}

// SocketIn opens a socket in a network namespace, given as a file descriptor. It stays there.
func SocketIn(namespace, domain, kind, protocol int) (fd int, err error) {
	err = onOwnThread(func() (err error) {
		if err := unix.Setns(namespace, unix.CLONE_NEWNET); err != nil {
			return err
		}
		fd, err = unix.Socket(domain, kind, protocol)
		return err
	})
	return fd, err
}

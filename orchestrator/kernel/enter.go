//go:build linux

package kernel

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/pidns"
	"github.com/pausenet/pausenet/topologies"
)

// Namespace returns the file descriptor of a node's network namespace.
func (f *Fabric) Namespace(node topologies.NodeID) int { return int(f.devices[node]) }

// Hub returns the file descriptor of the namespace with the ports' outer ends.
func (f *Fabric) Hub() int { return int(f.hub) }

// Place is where a program runs: file descriptors of a node's namespaces, which all its programs share.
type Place struct {
	Network int
	Mounts  int
	Root    int // the root folder
	Names   int // UTS
	PIDs    int // the fabric's, shared by all nodes
	Image   int // root folder of programs; pidns.NoRoot means Root
	// Folder is the working folder of programs in an image; empty means the folder of the same name as the
	// process's.
	Folder string
	// From is the working folder of programs without a Folder; empty means this process's.
	From string
	// Environment holds variables of programs, "NAME=value". They override a command's own.
	Environment []string
	// Privileged programs have all capabilities of root on the machine.
	Privileged bool
}

// Files returns the place's file descriptors, in the order that PlaceOf expects.
func (p *Place) Files() []int {
	files := []int{p.Network, p.Mounts, p.Root, p.Names, p.PIDs}
	if p.Image != pidns.NoRoot {
		files = append(files, p.Image)
	}
	return files
}

// PlaceOf returns the place with those files, or an error if their number is wrong.
func PlaceOf(files []int) (Place, error) {
	const least = 5
	if len(files) < least || len(files) > least+1 {
		return Place{}, fmt.Errorf("%d namespaces and folders, but a node has %d or %d", len(files), least, least+1)
	}
	p := Place{Network: files[0], Mounts: files[1], Root: files[2], Names: files[3], PIDs: files[4], Image: pidns.NoRoot}
	if len(files) > least {
		p.Image = files[least]
	}
	return p, nil
}

// RunIn runs a command in a place until it ends. It dies with the calling process, and with all else in the PID
// namespace when that ends; then the error is pidns.ErrEnded if the command had not begun. started, unless nil, is
// called as soon as the place is not needed any more. The command begins in the place's folder, or else in its From, or
// in / if there is none of that name there.
func RunIn(place Place, cmd *exec.Cmd, started func()) error {
	return onOwnThread(func() error {
		home, err := leaving()
		if err != nil {
			return err
		}
		restore := keepForeground(cmd)
		defer restore()
		if err = place.enter(); err == nil {
			powers := nodePowers
			if place.Privileged {
				powers = pidns.AllPowers
			}
			if len(place.Environment) > 0 {
				cmd.Env = append(cmd.Environ(), place.Environment...) // the last of a name counts
			}
			err = pidns.Start(place.PIDs, cmd, powers, place.Image, place.Folder)
		}
		// The thread has to outlive the command, which dies with it. There it could hold the namespaces of a fabric that has
		// ended.
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

// nodePowers are what programs on nodes may do, root's too: all that concerns their node's network, files and each
// other. What they may not would reach beyond the node, if by mistake only: to mount, to enter or make namespaces, to
// load BPF programs and modules, to look into the machine, to set its clock. It is no protection against somebody who
// means harm: the files are the machine's.
var nodePowers = pidns.PowersOf(
	unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE, unix.CAP_NET_BROADCAST,
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, // files
	// servers that become users
	unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SETFCAP, unix.CAP_SYS_CHROOT, unix.CAP_AUDIT_WRITE,
	unix.CAP_KILL, unix.CAP_SYS_NICE, unix.CAP_SYS_RESOURCE, unix.CAP_IPC_LOCK, unix.CAP_IPC_OWNER, // processes
)

// leaving records the namespaces of the calling thread before it enters those of a node. back returns there, as far
// as possible.
func leaving() (back func(), err error) {
	kinds := []struct {
		name string
		flag int
	}{{"mnt", unix.CLONE_NEWNS}, {"net", unix.CLONE_NEWNET}, {"uts", unix.CLONE_NEWUTS}, {"pid", unix.CLONE_NEWPID}}
	var spaces []*os.File
	for _, k := range kinds {
		s, oerr := os.Open("/proc/thread-self/ns/" + k.name)
		if oerr != nil {
			err = fmt.Errorf("open this thread's namespace: %w", oerr)
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

// enter moves the calling thread into a place's namespaces, except the PID namespace.
func (p *Place) enter() error {
	folder := p.From
	if folder == "" {
		var err error
		if folder, err = os.Getwd(); err != nil {
			folder = "/"
		}
	}
	for _, space := range []struct{ file, flag int }{{p.Network, unix.CLONE_NEWNET}, {p.Names, unix.CLONE_NEWUTS}} {
		if err := unix.Setns(space.file, space.flag); err != nil {
			return fmt.Errorf("enter a namespace of the node: %w", err)
		}
	}
	if err := pidns.EnterMounts(p.Mounts, p.Root); err != nil {
		return err
	}
	_ = unix.Chdir(folder)
	return nil
}

// SocketIn opens a socket in a network namespace, given as a file descriptor. The socket stays there.
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

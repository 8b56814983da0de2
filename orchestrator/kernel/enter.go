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

// Location holds file descriptors of a node's namespaces, in which a program runs. All programs of a node share them.
type Location struct {
	Network int
	Mounts  int
	Root    int // root folder
	Names   int // UTS namespace
	PIDs    int // PID namespace of the fabric, shared by all nodes
	Image   int // root folder of programs; pidns.NoRoot means Root
	// Folder names the working folder of programs in an image; empty means the folder of the same name as the
	// process's.
	Folder string
	// From names the working folder of programs without a Folder; empty means this process's.
	From string
	// Environment holds variables of programs, "NAME=value". They override a command's own.
	Environment []string
	// Privileged gives programs all capabilities of root on the machine.
	Privileged bool
	// Routes lets programs that route run: they have CAP_SYS_ADMIN, which FRR's daemons demand, and may use it for nothing
	// that reaches beyond the node.
	Routes bool
}

// Files returns the location's file descriptors, in the order that LocationOf expects.
func (p *Location) Files() []int {
	files := []int{p.Network, p.Mounts, p.Root, p.Names, p.PIDs}
	if p.Image != pidns.NoRoot {
		files = append(files, p.Image)
	}
	return files
}

// LocationOf returns the location with those files, or an error if their number is wrong.
func LocationOf(files []int) (Location, error) {
	const least = 5
	if len(files) < least || len(files) > least+1 {
		return Location{}, fmt.Errorf("%d namespaces and folders, but a node has %d or %d", len(files), least, least+1)
	}
	p := Location{
		Network: files[0], Mounts: files[1], Root: files[2], Names: files[3], PIDs: files[4],
		Image: pidns.NoRoot,
	}
	if len(files) > least {
		p.Image = files[least]
	}
	return p, nil
}

// RunIn runs a command in a location until it ends. The command dies with the calling process. It also dies when the
// PID namespace ends: then the error is pidns.ErrEnded if the command had not started. started, unless nil, is called
// as soon as the location is not needed any more. The command starts in the location's Folder, or else in its From, or
// in / if there is no such folder.
func RunIn(location Location, cmd *exec.Cmd, started func()) error {
	return onOwnThread(func() error {
		home, err := leaving()
		if err != nil {
			return err
		}
		restore := keepForeground(cmd)
		defer restore()
		if err = location.enter(); err == nil {
			capabilities := nodeCapabilities
			switch {
			case location.Privileged:
				capabilities = pidns.AllCapabilities
			case location.Routes:
				capabilities |= pidns.CapabilitiesOf(unix.CAP_SYS_ADMIN)
			}
			if len(location.Environment) > 0 {
				cmd.Env = append(cmd.Environ(), location.Environment...) // the last of a name counts
			}
			err = pidns.Start(location.PIDs, cmd, capabilities, location.Image, location.Folder)
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

// nodeCapabilities lists the capabilities of programs on nodes, root's too. They cover the node's network and files,
// and its processes. They exclude actions with effects beyond the node, even by mistake: mounting, entering or making
// namespaces, loading BPF programs and modules, inspecting the machine, and setting its clock. This does not protect
// against malicious programs: the files are the machine's.
var nodeCapabilities = pidns.CapabilitiesOf(
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

// enter moves the calling thread into a location's namespaces, except the PID namespace.
func (p *Location) enter() error {
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

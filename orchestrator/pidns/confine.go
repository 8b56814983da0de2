//go:build linux

package pidns

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// confined reports whether a program has CAP_SYS_ADMIN, but not all capabilities. Some daemons refuse to start without
// it, such as FRR's. They use it for nothing that concerns the machine.
func (p Capabilities) confined() bool {
	return p != AllCapabilities && p>>unix.CAP_SYS_ADMIN&1 != 0
}

// forbidden lists the system calls that CAP_SYS_ADMIN alone allows, and that reach beyond a node: mounts, namespaces,
// names, swap, quotas, BPF programs and events of the machine.
var forbidden = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_QUOTACTL,
	unix.SYS_QUOTACTL_FD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_FANOTIFY_INIT,
}

// Offsets in struct seccomp_data of linux/seccomp.h, of a little-endian machine.
const (
	dataNumber, dataArch = 0, 4
	dataArgument         = 16 // the first of 8 bytes each
)

// architectures holds the numbers of linux/audit.h.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// confine makes the kernel refuse the forbidden system calls to the calling thread and any program that it becomes.
func confine() error {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return fmt.Errorf("confine programs on %s: %w", runtime.GOARCH, unix.ENOTSUP)
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
	)
	refuse := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)}
	allow := unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW}
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	const x32 = 0x40000000 // numbers of another ABI of amd64
	program := []unix.SockFilter{
		{Code: load, K: dataArch},
		{Code: equal, K: arch, Jt: 1},
		refuse,
		{Code: load, K: dataNumber},
		{Code: bits, K: x32, Jf: 1},
		refuse,
		// clone3 passes its flags by a pointer. Callers then use clone.
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		{Code: load, K: dataArgument},
		{Code: bits, K: namespaces, Jf: 1},
		refuse, allow,
		{Code: equal, K: unix.SYS_IOCTL, Jf: 4},
		{Code: load, K: dataArgument + 8},
		{Code: equal, K: unix.TIOCSTI, Jf: 1},
		refuse, allow,
	}
	for _, number := range forbidden {
		program = append(program, unix.SockFilter{Code: equal, K: number, Jf: 1}, refuse)
	}
	program = append(program, allow)
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0)
	runtime.KeepAlive(program)
	return err
}

//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	cilium "github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Remedy returns advice on an error; empty if there is none. It identifies the failed step by pausenet's own words in
// the error. The kernel's error numbers are ambiguous: "not supported" comes from a lack of veth, of BPF and of much
// else.
func Remedy(err error) string {
	in := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(err.Error(), part) })
	}
	var verifier *cilium.VerifierError
	switch {
	case isAny(err, unix.EMFILE):
		return fmt.Sprintf("raise the limit on open files, now %d (ulimit -n): a fabric needs one per host and switch, and "+
			"about fifty more", OpenFilesLimit())
	case isAny(err, unix.ENFILE):
		return "the machine's limit on open files is reached: raise it (sysctl fs.file-max)"
	case isAny(err, unix.EROFS):
		return "/proc/sys is read-only, as in a container: start the container with --privileged, or run outside of it"
	case isAny(err, unix.ENOSPC) && in("namespace"):
		return "the limit on network namespaces is reached: raise it (sysctl user.max_net_namespaces)"
	case isAny(err, unix.EPERM) && in("memlock") && InUserNamespace():
		return "the kernel loads no eBPF programs from a user namespace: run it as the machine's root, or use --plane wasm"
	case isAny(err, unix.EPERM) && in("memlock") && os.Geteuid() == 0 && len(MissingCapabilities()) == 0:
		return "root lacks CAP_SYS_RESOURCE here, needed to raise the limit on locked memory: add --cap-add " +
			"SYS_RESOURCE in a container, or use ulimit -l unlimited (docker: --ulimit memlock=-1)"
	case isAny(err, unix.EPERM, unix.EACCES) || errors.Is(err, os.ErrPermission):
		return PermissionRemedy()
	case isAny(err, unix.ENOMEM, unix.ENOBUFS, unix.EAGAIN):
		return "the kernel is out of memory: free some, raise the memory limit of the container or cgroup, or " +
			"build a smaller fabric"
	case errors.As(err, &verifier):
		return fmt.Sprintf("the BPF verifier of Linux %s rejects the pipelines, which work on Linux %d.%d and newer: use "+
			"such a kernel, or report this version", Release(), OldestMajor, OldestMinor)
	case isAny(err, unix.ENOSYS):
		return "this kernel, or a seccomp filter, lacks a system call that the fabric needs: use a Linux with " +
			"CONFIG_BPF_SYSCALL and CONFIG_NET_NS and, in a container, seccomp=unconfined"
	case isAny(err, unix.EINVAL) && in("network namespace"):
		return "this kernel has no network namespaces: use one with CONFIG_NET_NS"
	case in("qdisc", "filter to") && isAny(err, unix.ENOENT, unix.EOPNOTSUPP, notSupported):
		return "this kernel has no clsact qdisc or no BPF classifier: " + moduleRemedy("sch_ingress", "cls_bpf")
	case in("veth pair") && isAny(err, unix.EOPNOTSUPP, notSupported, unix.ENOENT):
		return "this kernel has no veth devices: " + moduleRemedy("veth")
	case in("packet socket") && isAny(err, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT):
		return "this kernel has no packet sockets: " + moduleRemedy("af_packet")
	case in("receive ring", "TPACKET_V2", "outgoing frames") && isAny(err, unix.EINVAL, unix.ENOPROTOOPT):
		return "this kernel's packet sockets have no TPACKET_V2 ring that ignores outgoing frames (Linux 4.20)"
	case errors.Is(err, cilium.ErrNotSupported) || isAny(err, notSupported, unix.EOPNOTSUPP):
		return fmt.Sprintf("this kernel lacks a feature that the fabric needs: use Linux %d.%d or newer (pausenet doctor "+
			"finds the feature)", OldestMajor, OldestMinor)
	}
	return ""
}

// notSupported holds the kernel's internal ENOTSUPP, which some interfaces return.
const notSupported = unix.Errno(524)

func isAny(err error, numbers ...unix.Errno) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return false
	}
	return slices.ContainsFunc(numbers, func(n unix.Errno) bool { return number == n })
}

// moduleRemedy returns advice to load kernel modules. In a container, the host must load them.
func moduleRemedy(modules ...string) string {
	return fmt.Sprintf("sudo modprobe -a %s (outside, if this is a container), or use your distribution's full kernel",
		strings.Join(modules, " "))
}

// PermissionRemedy returns advice on an EPERM. Root gets one only where a restriction applies to root too.
func PermissionRemedy() string {
	if os.Geteuid() != 0 {
		return "root is needed: run it with sudo, or use --plane wasm"
	}
	if lacks := missing(append(slices.Clone(capabilities), liveCapabilities...)); len(lacks) > 0 {
		return fmt.Sprintf("root lacks %s here, as in a container: start the container with --privileged, or with "+
			"--cap-add for each of them and seccomp=unconfined", strings.Join(lacks, ", "))
	}
	var suspects []string
	if seccompFilters() {
		suspects = append(suspects, "the seccomp filter of this process (in a container: seccomp=unconfined)")
	}
	if mode := LockdownMode(); mode != "" && mode != "none" {
		suspects = append(suspects, "kernel lockdown, which is on: "+mode)
	}
	suspects = append(suspects, "a security module such as AppArmor or SELinux (its denials are in dmesg)")
	return "root has all capabilities needed, so something else forbids it: " + strings.Join(suspects, "; ")
}

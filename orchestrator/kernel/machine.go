//go:build linux

package kernel

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Properties of this machine and this process. These functions only read, and do not fail if a file is missing.

// OldestMajor and OldestMinor identify the oldest kernel that test/kernels boots. Older ones may work.
const OldestMajor, OldestMinor = 6, 1

// Release returns the kernel's release, or "(unknown)".
func Release() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "(unknown)"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// Version returns a release's major and minor number; ok is false if the string is not a release version.
func Version(release string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}

// capability names a capability by its bit.
type capability struct {
	bit  int
	name string
}

// capabilities lists those that a fabric needs.
var capabilities = []capability{
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, // links, qdiscs, attaching programs
	{unix.CAP_NET_RAW, "CAP_NET_RAW"},     // packet sockets
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, // namespaces; it includes CAP_BPF and CAP_PERFMON
}

// liveCapabilities lists those that live fabrics need besides.
var liveCapabilities = []capability{
	{unix.CAP_NET_BROADCAST, "CAP_NET_BROADCAST"}, // being told of interfaces in all nodes' namespaces
	{unix.CAP_SYS_CHROOT, "CAP_SYS_CHROOT"},       // entering nodes' mount namespaces
	{unix.CAP_SETPCAP, "CAP_SETPCAP"},             // limiting the capabilities of programs on nodes
}

// initialUserNamespace is the number of the machine's user namespace (PROC_USER_INIT_INO of Linux).
const initialUserNamespace = 0xeffffffd

// InUserNamespace reports whether this process is in a user namespace that is not the machine's: its root may make
// network namespaces, and load no eBPF programs.
func InUserNamespace() bool {
	var s unix.Stat_t
	return unix.Stat("/proc/self/ns/user", &s) == nil && s.Ino != initialUserNamespace
}

// MissingCapabilities returns the capabilities that this process lacks for a fabric.
func MissingCapabilities() []string { return missing(capabilities) }

func missing(needed []capability) []string {
	effective, err := strconv.ParseUint(statusLine("CapEff"), 16, 64)
	if err != nil {
		return nil // unknown: a later error will show it
	}
	var lacks []string
	for _, c := range needed {
		if effective>>c.bit&1 == 0 {
			lacks = append(lacks, c.name)
		}
	}
	return lacks
}

// seccompFilters reports whether a seccomp filter applies to this process.
func seccompFilters() bool { return statusLine("Seccomp") == "2" }

// statusLine returns a value of /proc/self/status; empty if there is none.
func statusLine(key string) string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(status) {
		if value, found := bytes.CutPrefix(line, []byte(key+":")); found {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// LockdownMode returns "none", "integrity" or "confidentiality"; empty if the kernel has no lockdown.
func LockdownMode() string {
	modes, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(modes), "[")
	mode, _, _ := strings.Cut(rest, "]")
	return mode
}

// Sysctl returns a number of /proc/sys. ok is false if this kernel, or this namespace, does not have the name.
func Sysctl(path string) (value int64, ok bool) {
	content, err := os.ReadFile("/proc/sys/" + path)
	if err != nil {
		return 0, false
	}
	value, err = strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	return value, err == nil
}

// OpenFilesLimit returns the limit on open files of this process. Go raises the soft limit to the hard one at start.
func OpenFilesLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

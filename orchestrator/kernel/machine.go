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

// What this machine and this process are like. Everything here reads; nothing fails for want of a file.

// The oldest kernel that test/kernels boots. Older ones may work.
const OldestMajor, OldestMinor = 6, 1

// Release is the kernel's, "(unknown)" if it does not tell.
func Release() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "(unknown)"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// Version is a release's major and minor number; ok is false for what is no release.
func Version(release string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}

// capabilities are those that building and driving a fabric takes, by their bit.
var capabilities = []struct {
	bit  int
	name string
}{
	{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, // links, qdiscs, attaching programs
	{unix.CAP_NET_RAW, "CAP_NET_RAW"},     // packet sockets
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, // namespaces; it includes CAP_BPF and CAP_PERFMON
}

// MissingCapabilities are the capabilities that this process lacks.
func MissingCapabilities() []string {
	effective, err := strconv.ParseUint(statusLine("CapEff"), 16, 64)
	if err != nil {
		return nil // unknown: what fails will tell
	}
	var missing []string
	for _, c := range capabilities {
		if effective>>c.bit&1 == 0 {
			missing = append(missing, c.name)
		}
	}
	return missing
}

// seccompFilters says whether a seccomp filter watches this process's system calls.
func seccompFilters() bool { return statusLine("Seccomp") == "2" }

// statusLine is a value of /proc/self/status; empty if there is none.
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

// LockdownMode is "none", "integrity" or "confidentiality"; empty where the kernel has no lockdown.
func LockdownMode() string {
	modes, err := os.ReadFile("/sys/kernel/security/lockdown")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(modes), "[")
	mode, _, _ := strings.Cut(rest, "]")
	return mode
}

// Sysctl is a number of /proc/sys; ok is false if this kernel, or this namespace, has none of that name.
func Sysctl(path string) (value int64, ok bool) {
	content, err := os.ReadFile("/proc/sys/" + path)
	if err != nil {
		return 0, false
	}
	value, err = strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	return value, err == nil
}

// OpenFilesLimit is how many files this process may have open. Go raises the soft limit to the hard one as it starts.
func OpenFilesLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

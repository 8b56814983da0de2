//go:build linux

package pidns

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Capabilities represents a set of capabilities (capabilities(7)): bit n for the n-th.
type Capabilities uint64

// AllCapabilities keeps all capabilities of the starting process.
const AllCapabilities Capabilities = 1<<64 - 1

// CapabilitiesOf returns the capabilities with these numbers (CAP_... of linux/capability.h).
func CapabilitiesOf(numbers ...int) (p Capabilities) {
	for _, n := range numbers {
		p |= 1 << n
	}
	return p
}

// String returns the set in hexadecimal digits, as in /proc/PID/status.
func (p Capabilities) String() string { return strconv.FormatUint(uint64(p), 16) }

func parseCapabilities(s string) (Capabilities, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	return Capabilities(n), err
}

// limit removes all other capabilities from the calling thread and from any program that it becomes, root's included.
func (p Capabilities) limit() error {
	if p == AllCapabilities {
		return nil
	}
	for n := 0; ; n++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(n), 0, 0, 0)
		if err == unix.EINVAL {
			break // the kernel knows no more
		}
		if err != nil {
			return err
		}
		if has == 0 || p>>n&1 != 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0); err != nil {
			return err
		}
	}
	// Before Linux 4.3 there is no such set.
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && err != unix.EINVAL {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // two sets of 32 capabilities each
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	for i := range sets {
		mask := uint32(p >> (32 * i))
		sets[i].Effective &= mask
		sets[i].Permitted &= mask
		sets[i].Inheritable &= mask
	}
	return unix.Capset(&header, &sets[0])
}

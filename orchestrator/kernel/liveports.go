//go:build linux

package kernel

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of the ethtool ioctl (linux/ethtool.h) that turn an offload on or off.
var offloads = []struct {
	command uint32
	name    string
}{
	{0x17, "transmit checksums"}, // ETHTOOL_STXCSUM; without it there is no segmentation offload
	{0x1f, "TSO"},                // ETHTOOL_STSO
	{0x24, "GSO"},                // ETHTOOL_SGSO
	{0x2c, "GRO"},                // ETHTOOL_SGRO
}

// readyForPrograms makes a host's namespace, in which the thread is, one where programs work: the kernel hands frames over as they go onto
// a wire, and its TCP asks for ECN. A host of several ports takes what comes by another than it would answer by.
func readyForPrograms(host string, ports []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	defer unix.Close(fd)
	for _, port := range ports {
		for _, o := range offloads {
			if _, err := ethtool(fd, port, o.command, 0); err != nil {
				return fmt.Errorf("%s: turn %s off: %w", port, o.name, err)
			}
		}
		if len(ports) == 1 {
			continue
		}
		for _, of := range []string{"all", port} { // the larger of the two counts
			if err := writeExisting("/proc/sys/net/ipv4/conf/"+of+"/rp_filter", "0"); err != nil {
				return fmt.Errorf("%s: %w", host, err)
			}
		}
	}
	if err := writeExisting("/proc/sys/net/ipv4/tcp_ecn", "1"); err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	return nil
}

// carrier says whether both ends of an interface's veth pair are up. Until the kernel has dealt with that, which it puts off while others
// change interfaces, for seconds on a busy machine, it throws away what is sent there: to be asked has it do so at once.
func carrier(fd int, name string) (bool, error) {
	const link = 0x0a // ETHTOOL_GLINK
	up, err := ethtool(fd, name, link, 0)
	return up != 0, err
}

// ethtool gives an ethtool command with one number, and returns the number that answers it.
func ethtool(fd int, name string, command, data uint32) (uint32, error) {
	value := struct{ command, data uint32 }{command, data}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	if e != 0 {
		return 0, e
	}
	return value.data, nil
}

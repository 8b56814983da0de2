//go:build linux

package kernel

import (
	"cmp"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offloads lists commands of the ethtool ioctl (linux/ethtool.h) that turn an offload on or off.
var offloads = []struct {
	command uint32
	name    string
}{
	{0x17, "transmit checksums"}, // ETHTOOL_STXCSUM; without it there is no segmentation offload
	{0x1f, "TSO"},                // ETHTOOL_STSO
	{0x24, "GSO"},                // ETHTOOL_SGSO
	{0x2c, "GRO"},                // ETHTOOL_SGRO
}

// readyForPrograms prepares a host's namespace, in which the thread is, for programs. The kernel delivers frames in
// their form on the wire, and its TCP asks for ECN. A host of several ports accepts frames on a port other than the one
// it would answer by.
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
	if err := enableIPv6(ports); err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	return nil
}

// LengthenTCPTimers makes TCP of hosts retransmit after at least 1 s without an ACK (RFC 6298, 2.4) instead of Linux's
// 0.2 s, and without probes for lost tails, for fabrics whose virtual time stands still. TCP's timers follow the wall
// clock, so they would repeat segments that are not lost. Kernels before Linux 6.11 keep the 0.2 s.
func (f *Fabric) LengthenTCPTimers() error {
	for _, id := range f.plan.Hosts {
		err := In(f.Namespace(id), func() error {
			const v4 = "/proc/sys/net/ipv4/"
			return cmp.Or(writeExisting(v4+"tcp_rto_min_us", "1000000"), writeExisting(v4+"tcp_early_retrans", "0"))
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.plan.Nodes[id].Name, err)
		}
	}
	return nil
}

// hasIPv6 reports whether the kernel supports IPv6.
var hasIPv6 = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/sys/net/ipv6/conf")
	return err == nil
})

// enableIPv6 enables IPv6 on a host's ports, with only the configured addresses: no router announces others, and
// link-local addresses reach no other host.
func enableIPv6(ports []string) error {
	const conf = "/proc/sys/net/ipv6/conf/"
	for _, port := range ports {
		for _, s := range [...][2]string{
			{"addr_gen_mode", "1"},
			{"accept_ra", "0"},
			{"router_solicitations", "0"},
			{"accept_dad", "0"},
			{"accept_redirects", "0"},
			{"keep_addr_on_down", "1"},                 // as IPv4 does
			{"mldv2_unsolicited_report_interval", "1"}, // at once, rather than once programs measure
		} {
			if err := writeExisting(conf+port+"/"+s[0], s[1]); err != nil {
				return err
			}
		}
	}
	if err := writeExisting("/proc/sys/net/ipv6/mld_qrv", "1"); err != nil { // and once
		return err
	}
	for _, of := range append([]string{"lo"}, ports...) {
		if err := writeExisting(conf+of+"/disable_ipv6", "0"); err != nil {
			return err
		}
	}
	return nil
}

// carrier reports whether both ends of an interface's veth pair are up. The kernel discards frames sent to an interface
// until it has processed that change. It may delay this for seconds on a busy machine, while others change interfaces;
// this request makes it process the change at once.
func carrier(fd int, name string) (bool, error) {
	const link = 0x0a // ETHTOOL_GLINK
	up, err := ethtool(fd, name, link, 0)
	return up != 0, err
}

// ethtool runs an ethtool command with one number, and returns the number in its answer.
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

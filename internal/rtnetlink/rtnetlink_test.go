//go:build linux

package rtnetlink

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/testenv"
)

// TestRefused: of more requests than one system call takes, the error names the first that the kernel refused, and the
// others of the same call are done; the socket serves on.
func TestRefused(t *testing.T) {
	testenv.NeedRoot(t)
	done := make(chan struct{})
	go func() { // on a thread that ends with it, in a namespace of its own
		defer close(done)
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		socket, err := Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer socket.Close()
		address := func(last byte) *nl.NetlinkRequest {
			req := nl.NewNetlinkRequest(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
			m := nl.NewIfAddrmsg(unix.AF_INET)
			m.Index, m.Prefixlen = 1, 32
			req.AddData(m)
			req.AddData(nl.NewRtAttr(unix.IFA_LOCAL, []byte{10, 0, 0, last}))
			return req
		}
		const many = 250 // of 32 bytes and more
		count := func(want int) {
			lo, err := net.InterfaceByIndex(1)
			if err != nil {
				t.Error(err)
				return
			}
			addresses, err := lo.Addrs()
			if err != nil || len(addresses) != want {
				t.Errorf("%d addresses instead of %d, %v", len(addresses), want, err)
			}
		}
		for i := range many {
			if err := socket.Add(address(byte(i)), "add", fmt.Sprint("address ", i)); err != nil {
				t.Error(err)
			}
		}
		if err := socket.Flush(); err != nil {
			t.Error(err)
		}
		count(many)
		for _, last := range []byte{251, 7, 8, 252} {
			if err := socket.Add(address(last), "add", fmt.Sprint("address ", last)); err != nil {
				t.Error(err)
			}
		}
		if err := socket.Flush(); !errors.Is(err, unix.EEXIST) || err.Error() != "add address 7: file exists" {
			t.Errorf("two addresses twice: %v", err)
		}
		count(many + 2)
		if err := socket.Flush(); err != nil {
			t.Errorf("nothing to send: %v", err)
		}
	}()
	<-done
}

//go:build linux

package nodefiles

import (
	"cmp"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLookups limits the bytes read of an nsswitch.conf: such files have some 500.
const maxLookups = 1 << 16

// Lookups returns the text of /etc/nsswitch.conf (nsswitch.conf(5)) on nodes, derived from that of a root folder, or of
// the machine if it is empty. On nodes the hosts file comes first among the services for host names. Some distributions
// put another service first, such as systemd-resolved. It knows the machine's names, and answers for a node's name that
// there is no such host. ok is false if the file needs no change, or does not exist.
func Lookups(folder string) (text string, ok bool) {
	folder = cmp.Or(folder, "/")
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", false
	}
	defer root.Close()
	from, err := root.OpenFile("etc/nsswitch.conf", os.O_RDONLY|unix.O_NONBLOCK, 0) // it waits for no pipe of an image's
	if err != nil {
		return "", false
	}
	defer from.Close()
	if kind, err := from.Stat(); err != nil || !kind.Mode().IsRegular() {
		return "", false
	}
	read, err := io.ReadAll(io.LimitReader(from, maxLookups))
	if err != nil {
		return "", false
	}
	return filesFirst(string(read))
}

// filesFirst moves the service "files" to the beginning of the line for hosts.
func filesFirst(lookups string) (changed string, ok bool) {
	lines := strings.SplitAfter(lookups, "\n")
	for i, line := range lines {
		services, found := strings.CutPrefix(strings.TrimSpace(line), "hosts:")
		if services = strings.TrimSpace(services); !found || strings.HasPrefix(services+" ", "files ") {
			continue
		}
		lines[i], ok = "hosts: files "+services+"\n", true
	}
	return strings.Join(lines, ""), ok
}

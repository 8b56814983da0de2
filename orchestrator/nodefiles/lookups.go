//go:build linux

package nodefiles

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLookups is the most of an nsswitch.conf that is read, in bytes: such files have some 500.
const maxLookups = 1 << 16

// Lookups returns what /etc/nsswitch.conf (nsswitch.conf(5)) of a root folder, or of the machine if it is empty,
// becomes on nodes, so that the hosts file is asked before all else: what some distributions ask first
// (systemd-resolved, say) knows the machine's names and, asked for a node's, says that there is no such host. ok is
// false where that is so already, or where there is no such file.
func Lookups(folder string) (text string, ok bool) {
	if folder == "" {
		folder = "/"
	}
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

// filesFirst puts the service "files" at the beginning of the line for hosts, unless it is there.
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

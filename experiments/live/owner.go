//go:build linux

package live

import (
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Owner identifies the person who brought a fabric up, as far as possible, since all fabrics belong to root.
type Owner struct {
	UID      int    `json:"uid"` // the user who logged in, before sudo
	User     string `json:"user"`
	Terminal string `json:"terminal,omitempty"` // terminal device; empty without one
}

// ThisOwner returns the owner of this process.
func ThisOwner() Owner {
	o := Owner{UID: loginUser()}
	o.User = strconv.Itoa(o.UID)
	if u, err := user.LookupId(o.User); err == nil {
		o.User = u.Username
	}
	for fd := range 3 {
		if path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && term.IsTerminal(fd) {
			o.Terminal = path
			break
		}
	}
	return o
}

// loginUser returns the user before sudo, or the user who logged in, or else this process's user.
func loginUser() int {
	if uid, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && os.Geteuid() == 0 {
		return uid
	}
	const none = 1<<32 - 1
	text, err := os.ReadFile("/proc/self/loginuid")
	if uid, perr := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32); err == nil && perr == nil && uid != none {
		return int(uid)
	}
	return os.Getuid()
}

// Is reports whether two owners are probably the same person. Several people may use root, each at a terminal.
func (o Owner) Is(other Owner) bool {
	if o.UID != other.UID {
		return false
	}
	return o.UID != 0 || o.Terminal == other.Terminal || o.Terminal == "" || other.Terminal == ""
}

// String returns text such as "bob", or "root at /dev/pts/3".
func (o Owner) String() string {
	if o.Terminal == "" {
		return o.User
	}
	return o.User + " at " + o.Terminal
}

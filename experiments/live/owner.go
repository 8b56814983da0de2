//go:build linux

package live

import (
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// Owner is who brought a fabric up, as far as it shows. All that have a fabric are root.
type Owner struct {
	UID      int    `json:"uid"` // of the user who logged in, before sudo
	User     string `json:"user"`
	Terminal string `json:"terminal,omitempty"` // its file; empty: there was none
}

// ThisOwner is who runs this process.
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

// loginUser is the user before sudo, or who logged in; where neither is known, this process's.
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

// Is says that two are the same, as far as it shows: root may be several people, each at a terminal.
func (o Owner) Is(other Owner) bool {
	if o.UID != other.UID {
		return false
	}
	return o.UID != 0 || o.Terminal == other.Terminal || o.Terminal == "" || other.Terminal == ""
}

// String is "bob", or "root at /dev/pts/3".
func (o Owner) String() string {
	if o.Terminal == "" {
		return o.User
	}
	return o.User + " at " + o.Terminal
}

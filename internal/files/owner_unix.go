//go:build unix

package files

import (
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// ownerOf returns the user that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), true
	}
	return 0, false
}

// trustedOwners returns the users whose links this process follows: root, itself, and the user before sudo.
func trustedOwners() []int {
	owners := []int{0, os.Geteuid()}
	if uid, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && os.Geteuid() == 0 {
		owners = append(owners, uid)
	}
	return owners
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

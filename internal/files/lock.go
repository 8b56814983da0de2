package files

import "fmt"

// LockName names a folder's lock file.
const LockName = ".lock"

// LockedError means that another process has locked a folder.
type LockedError struct {
	Path    string // of the folder
	Process int    // 0 if unknown
	User    string // owner of the lock if it is another user; otherwise empty
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.Process != 0 {
		who = fmt.Sprintf("process %d", e.Process)
	}
	if e.User != "" {
		who += " of user " + e.User
	}
	return e.Path + " is locked by " + who
}

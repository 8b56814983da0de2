package files

import "fmt"

// LockName is the file that a folder is locked by.
const LockName = ".lock"

// LockedError says that another process has a folder.
type LockedError struct {
	Path    string // of the folder
	Process int    // 0: it is not known
	User    string // whose the lock is, if it is another's; empty: it is one's own
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

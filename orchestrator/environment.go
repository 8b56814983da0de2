package orchestrator

import "errors"

// Diagnosis is what Diagnose found out about a machine.
type Diagnosis struct {
	Works  bool    `json:"works"` // whether the kernel plane does
	Kernel string  `json:"kernel"`
	Checks []Check `json:"checks"`
}

// Check is one thing looked at.
type Check struct {
	Name   string      `json:"name"`
	Status CheckStatus `json:"status"`
	Found  string      `json:"found"`
	Remedy string      `json:"remedy,omitempty"` // what to do about it
}

// CheckStatus is what a check came to.
type CheckStatus string

// What checks come to.
const (
	CheckFine    CheckStatus = "ok"
	CheckNote    CheckStatus = "note"    // nothing to do about it
	CheckWarning CheckStatus = "warning" // works, but not for all fabrics or not fast
	CheckMissing CheckStatus = "missing" // the kernel plane cannot work
	CheckSkipped CheckStatus = "skipped" // for want of something before it
)

// Leftover is a namespace of a fabric whose process is gone. It lives on because something holds it: a program that was
// started inside, a mount, or an open file.
type Leftover struct {
	Node  string `json:"node"`
	Owner int    `json:"owner"` // the pid that the fabric's process had
	Inode uint64 `json:"inode"`
	// Programs run inside; they are ended.
	Programs []Program `json:"programs"`
	// Mounts keep the namespace under a name, as `ip netns attach` does; they are removed.
	Mounts []string `json:"mounts"`
	// Bystanders run elsewhere and hold the namespace with an open file or a thread; they are left alone.
	Bystanders []Program `json:"bystanders"`
}

// Program is a process.
type Program struct {
	Pid     int    `json:"pid"`
	Command string `json:"command"`
}

// Advice is an error of bringing a fabric up with what the user can do about it.
type Advice struct {
	Err    error
	Remedy string // an instruction, one line
}

func (a *Advice) Error() string { return a.Err.Error() + ": " + a.Remedy }

// Unwrap is the error without the advice.
func (a *Advice) Unwrap() error { return a.Err }

// Explain joins what to do about it to an error of bringing a fabric up. An error that nothing is known about, and one
// that has its advice already, is returned as it is.
func Explain(err error) error {
	var advised *Advice
	if err == nil || errors.As(err, &advised) {
		return err
	}
	if remedy := remedyFor(err); remedy != "" {
		return &Advice{Err: err, Remedy: remedy}
	}
	return err
}

package doctor

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

package doctor

// Diagnosis holds the results of Diagnose for a machine.
type Diagnosis struct {
	Works  bool    `json:"works"` // the kernel plane works on it
	Kernel string  `json:"kernel"`
	Checks []Check `json:"checks"`
}

// Check holds the result of one check.
type Check struct {
	Name   string      `json:"name"`
	Status CheckStatus `json:"status"`
	Found  string      `json:"found"`
	Remedy string      `json:"remedy,omitempty"` // how to fix it
}

// CheckStatus grades the result of a check.
type CheckStatus string

// Results of checks.
const (
	CheckFine    CheckStatus = "ok"
	CheckNote    CheckStatus = "note"    // no action needed
	CheckWarning CheckStatus = "warning" // works, but not for all fabrics or not fast
	CheckMissing CheckStatus = "missing" // the kernel plane cannot work
	CheckSkipped CheckStatus = "skipped" // an earlier check failed
)

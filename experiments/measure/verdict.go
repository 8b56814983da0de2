package measure

import (
	"fmt"
	"strconv"
)

// Status holds a verdict in one word. It concerns a run's numbers, not the quality of a congestion control.
type Status string

// Statuses.
const (
	// Pass: every invariant holds, and everything that the scenario and its user requested happened.
	Pass Status = "PASS"
	// Warn: every invariant holds, but something that was requested did not happen, so the run may not show what it
	// should.
	Warn Status = "WARN"
	// Fail: an invariant was violated, or the run did not reach its end. Some or all numbers cannot be trusted.
	Fail Status = "FAIL"
)

// Word returns the status in a word that does not look like a grade of the congestion control: "ok", "incomplete" or
// "broken".
func (s Status) Word() string {
	switch s {
	case Pass:
		return "ok"
	case Warn:
		return "incomplete"
	default:
		return "broken"
	}
}

// Verdict tells whether a run's numbers can be trusted, and why not.
type Verdict struct {
	Status   Status   `json:"status"`
	Messages []string `json:"messages"` // reasons why it is not PASS
	// Notes holds useful information about a sound run: mechanisms that were not needed, and mechanisms that acted.
	Notes []string `json:"notes,omitempty"`
}

// Worsen lowers the status to s, if that is worse, and adds a message.
func (v *Verdict) Worsen(s Status, format string, args ...any) {
	v.Messages = append(v.Messages, fmt.Sprintf(format, args...))
	if s == Fail || v.Status == Pass {
		v.Status = s
	}
}

// Note adds a note.
func (v *Verdict) Note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

// Verdicts counts the verdicts of several runs. Runs without one are missing.
type Verdicts struct{ Runs, Passed, Warned, Failed int }

// Add counts the verdict of a run.
func (v *Verdicts) Add(s Status) {
	switch s {
	case Pass:
		v.Passed++
	case Warn:
		v.Warned++
	default:
		v.Failed++
	}
}

// String returns the verdicts in a few words: "ok", or "3 ok, 1 incomplete, 1 missing".
func (v Verdicts) String() string {
	text, kinds := "", 0
	add := func(n int, what string) {
		if n == 0 {
			return
		}
		if kinds++; kinds > 1 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", n, what)
	}
	add(v.Passed, Pass.Word())
	add(v.Warned, Warn.Word())
	add(v.Failed, Fail.Word())
	add(v.Runs-v.Passed-v.Warned-v.Failed, "missing")
	if kinds == 1 {
		return text[len(strconv.Itoa(v.Runs))+1:]
	}
	return text
}

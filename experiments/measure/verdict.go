package measure

import (
	"fmt"
	"strconv"
)

// Status is a verdict in one word. It is about a run's numbers, never about how good a congestion control is.
type Status string

// Statuses.
const (
	// Pass: every invariant holds, and all that the scenario and its user asked for happened.
	Pass Status = "PASS"
	// Warn: every invariant holds, but something that was asked for did not happen, so the run may not show what it is
	// meant to.
	Warn Status = "WARN"
	// Fail: an invariant was broken, or the run did not reach its end. The numbers cannot be trusted, or not as a whole.
	Fail Status = "FAIL"
)

// Word returns the status as people read it, which nobody takes for a grade of the congestion control: "ok",
// "incomplete" or "broken".
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

// Verdict says whether a run's numbers can be trusted, and why not.
type Verdict struct {
	Status   Status   `json:"status"`
	Messages []string `json:"messages"` // why it is not PASS
	// Notes are what to know of the numbers though nothing is off: what stood by and was not needed, and what did the
	// work.
	Notes []string `json:"notes,omitempty"`
}

// Worsen adds what is off.
func (v *Verdict) Worsen(s Status, format string, args ...any) {
	v.Messages = append(v.Messages, fmt.Sprintf(format, args...))
	if s == Fail || v.Status == Pass {
		v.Status = s
	}
}

// Note adds what is not off.
func (v *Verdict) Note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

// Verdicts count those of several runs; a run that has none is missing.
type Verdicts struct{ Runs, Passed, Warned, Failed int }

// Add counts that of a run.
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

// String returns the verdicts in few words: "ok", or "3 ok, 1 incomplete, 1 missing".
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

package kernel

import "errors"

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
	if remedy := Remedy(err); remedy != "" {
		return &Advice{Err: err, Remedy: remedy}
	}
	return err
}

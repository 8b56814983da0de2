package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
)

// ID returns a name of the finding that does not depend on lines and numbers in files, for baselines and SARIF.
func (f *Finding) ID() string {
	h := fnv.New64a()
	for _, part := range append([]string{f.Rule, f.File, f.Key, f.Message}, f.Ports...) {
		_, _ = h.Write([]byte(part + "\x00"))
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// baseline is the form of a baseline file.
type baseline struct {
	Accepted []accepted `json:"accepted"`
}

// accepted is a finding that is known and ignored.
type accepted struct {
	ID      string `json:"id"`
	Rule    string `json:"rule"`
	Place   string `json:"place"`
	Message string `json:"message"`
}

// Baseline returns a baseline file that accepts all findings.
func (r *Report) Baseline() ([]byte, error) {
	b := baseline{Accepted: []accepted{}}
	for _, f := range r.Findings {
		place := f.Place
		place.Line = 0
		b.Accepted = append(b.Accepted, accepted{f.ID(), f.Rule, place.String(), f.Message})
	}
	data, err := json.MarshalIndent(b, "", "  ")
	return append(data, '\n'), err
}

// Accept removes the findings that a baseline file accepts.
func (r *Report) Accept(data []byte) error {
	var b baseline
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return errors.New("not a baseline (write one with --write-baseline FILE)")
	}
	ids := map[string]bool{}
	for _, of := range b.Accepted {
		ids[of.ID] = true
	}
	before := len(r.Findings)
	r.Findings = slices.DeleteFunc(r.Findings, func(f *Finding) bool { return ids[f.ID()] })
	r.Suppressed = before - len(r.Findings)
	return nil
}

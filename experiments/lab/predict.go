package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Locked predictions have a seal over the exercise, the student and the values. It reveals predictions that were edited
// after they were locked, or locked by somebody else. It is no signature: who reads this source can make one.

// Lock writes the predictions in a student's answers.yaml into predictions.yaml, where they count. It fails if a
// prediction is missing, or if the folder already has locked predictions or results.
func Lock(e *Exercise, folder string) (*Submission, error) {
	if !e.predicts() {
		return nil, fmt.Errorf("exercise %s has nothing to predict", e.Name)
	}
	for name, why := range map[string]string{
		LockedFile: "the predictions are locked already", resultFolder: "a check has measured already",
	} {
		if _, err := os.Lstat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists: %s", filepath.Join(folder, name), why)
		}
	}
	s := Submit(e, folder)
	if problem := s.Problems[AnswersFile]; problem != "" {
		return nil, errors.New(problem)
	}
	for i := range e.Answers {
		if q := &e.Answers[i]; q.Predicted && s.predicted[q.Name] == "" {
			return nil, fmt.Errorf("%s has no %s: predict the %s", filepath.Join(folder, AnswersFile), q.Name, q.Text)
		}
	}
	into, err := files.OpenFolder(folder, folder)
	if err != nil {
		return nil, err
	}
	defer into.Close()
	return s, into.Write(LockedFile, []byte(s.Sealed()))
}

// Sealed returns the content of predictions.yaml for the predictions in answers.yaml.
func (s *Submission) Sealed() string {
	text := "# Locked by pausenet lab predict. Changes break the seal.\n"
	for i := range s.e.Answers {
		if q := &s.e.Answers[i]; q.Predicted && s.predicted[q.Name] != "" {
			text += q.Name + ": " + strconv.Quote(s.predicted[q.Name]) + "\n"
		}
	}
	return text + "seal: " + s.seal(s.predicted) + "\n"
}

// Predictions returns the predictions in answers.yaml, by question.
func (s *Submission) Predictions() map[string]string { return s.predicted }

// seal returns the seal of predictions as written.
func (s *Submission) seal(predicted map[string]string) string {
	parts := []string{"pausenet lab predict", s.e.Name, canonical(s.e.Student)}
	for i := range s.e.Answers {
		if q := &s.e.Answers[i]; q.Predicted {
			parts = append(parts, q.Name, predicted[q.Name])
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// takeLocked reads predictions.yaml. Without the file no prediction is locked, which is no mistake.
func (s *Submission) takeLocked() error {
	data, err := files.Read(s.path(LockedFile), submittedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return plainError(LockedFile, err)
	}
	report := new(yamlspec.Report)
	root := report.Parse(LockedFile, data)
	if root == nil {
		return report.Err()
	}
	m := root.Mapping()
	written, values, seal := map[string]string{}, map[string]float64{}, ""
	for i := range s.e.Answers {
		q := &s.e.Answers[i]
		v := m.Get(q.Name)
		if !q.Predicted || v == nil {
			continue
		}
		x, err := q.Kind.Parse(v.Raw())
		if err != nil {
			v.Errorf("%v", err)
			continue
		}
		written[q.Name], values[q.Name] = v.Raw(), x
	}
	m.Need("seal").String(&seal)
	m.Done()
	if err := report.Err(); err != nil {
		return err
	}
	if seal != s.seal(written) {
		return fmt.Errorf("%s: the seal does not fit: the predictions were changed after they were locked, or locked for "+
			"another student or exercise", LockedFile)
	}
	for name, x := range values {
		s.answers[name] = x
	}
	return nil
}

// awaits returns the name of a prediction that is not locked and that a run would measure; empty: none.
func (s *Submission) awaits(run string) string {
	i := slices.IndexFunc(s.e.Checks, func(c Check) bool {
		q := s.e.question(c.Answer)
		_, locked := s.answers[c.Answer]
		return q != nil && q.Predicted && !locked && c.Run == run
	})
	if i < 0 {
		return ""
	}
	return s.e.Checks[i].Answer
}

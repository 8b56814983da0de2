package explore

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/pausenet/pausenet/internal/files"
)

// JournalName holds the name of the journal in an output folder.
const JournalName = "journal.jsonl"

// Journal keeps the outcomes of runs in a file of JSON lines, in the order in which the runs ended. The first line
// identifies the search. A line that a killed process left unfinished is dropped.
type Journal struct {
	mu    sync.Mutex
	file  *os.File
	known map[string]*Outcome
	by    map[string]string // workers, by key
	reads int               // outcomes that were in the file
}

type journalHead struct {
	Journal string `json:"journal"` // hash of everything that decides outcomes
}

type journalLine struct {
	Key     string   `json:"key"`
	Outcome *Outcome `json:"outcome,omitempty"`
	By      string   `json:"by,omitempty"` // worker that has made the run
	// Without lists workers whose outcomes in earlier lines are discarded.
	Without []string `json:"without,omitempty"`
}

// OtherJournalError reports that a journal belongs to another search.
type OtherJournalError struct{ Path string }

func (e *OtherJournalError) Error() string {
	return fmt.Sprintf("%s holds another family's or another version's runs: remove it, or choose another "+
		"folder with --out",
		e.Path)
}

// OpenJournal opens or creates the journal of the search with this identity.
func OpenJournal(path, identity string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: file, known: map[string]*Outcome{}, by: map[string]string{}}
	if err := j.read(path, identity); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// Identity returns a hash of everything that decides outcomes: the program's version, and the texts and other files of
// a search.
func Identity(version string, sources []files.Source, texts ...[]byte) string {
	sum := sha256.New()
	fmt.Fprintln(sum, "2", version)
	for _, text := range texts {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	for i := range sources {
		fmt.Fprintln(sum, sources[i].Path, sources[i].SHA256)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// read reads the journal, and removes an unfinished line at its end.
func (j *Journal) read(path, identity string) error {
	r, end := bufio.NewReader(j.file), int64(0)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if end == 0 {
			var head journalHead
			if json.Unmarshal(line, &head) != nil || head.Journal != identity {
				return &OtherJournalError{path}
			}
		} else {
			var l journalLine
			if json.Unmarshal(line, &l) != nil || l.Outcome == nil && l.Without == nil {
				break // damaged by a crash of the machine: what follows is measured again
			}
			j.apply(&l)
		}
		end += int64(len(line))
	}
	j.reads = len(j.known)
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	if _, err := j.file.Seek(end, io.SeekStart); err != nil || end > 0 {
		return err
	}
	return j.append(journalHead{identity})
}

// apply adds a line to the known outcomes, or discards those that it revokes.
func (j *Journal) apply(l *journalLine) {
	if l.Without == nil {
		j.known[l.Key], j.by[l.Key] = l.Outcome, l.By
		return
	}
	maps.DeleteFunc(j.known, func(key string, _ *Outcome) bool { return slices.Contains(l.Without, j.by[key]) })
}

func (j *Journal) append(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(data, '\n'))
	return err
}

// find returns the outcome of a run; nil if it is not known.
func (j *Journal) find(key string) *Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.known[key]
}

// keep applies a line and appends it to the file.
func (j *Journal) keep(l *journalLine) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.apply(l)
	return j.append(l)
}

// Drop discards the outcomes of runs that these workers made.
func (j *Journal) Drop(workers []string) error { return j.keep(&journalLine{Without: workers}) }

// Known returns the number of outcomes that the journal had when it was opened.
func (j *Journal) Known() int { return j.reads }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

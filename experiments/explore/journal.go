package explore

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	reads int // outcomes that were in the file
}

type journalHead struct {
	Journal string `json:"journal"` // hash of everything that decides outcomes
}

type journalLine struct {
	Key     string   `json:"key"`
	Outcome *Outcome `json:"outcome"`
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
	j := &Journal{file: file, known: map[string]*Outcome{}}
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
			if json.Unmarshal(line, &l) != nil || l.Outcome == nil {
				break // damaged by a crash of the machine: what follows is measured again
			}
			j.known[l.Key] = l.Outcome
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

func (j *Journal) append(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(data, '\n'))
	return err
}

// find returns the outcome of a run, nil if it is not known.
func (j *Journal) find(key string) *Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.known[key]
}

func (j *Journal) keep(key string, o *Outcome) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known[key] = o
	return j.append(journalLine{key, o})
}

// Known returns the number of outcomes that the journal had when it was opened.
func (j *Journal) Known() int { return j.reads }

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

//go:build linux

package live

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// Record is what outlives a fabric that had no terminal: what it was and, once it has ended and nobody had asked for
// that, why. It is a file beside its socket. What the program says as it crashes is in another, which ends in .log.
type Record struct {
	Schema   int    `json:"schema"` // files.Schema
	Name     string `json:"name"`
	Scenario string `json:"scenario"`
	kernel.Process
	Up time.Time `json:"up"` // when it came up
	// Of one that has ended.
	Ended   time.Time `json:"ended,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Verdict *Verdict  `json:"verdict,omitempty"` // nil if its process was killed
}

const (
	// mostRecords is how many fabrics that have ended are remembered, the last ones.
	mostRecords = 64
	// longestRecord and longestLog bound what is read of the files, in bytes.
	longestRecord, longestLog = 1 << 20, 1 << 16
	// dyingTimeout is how long a process that has closed its socket has to be gone.
	dyingTimeout = 2 * time.Second
)

func recordPath(name string) string { return filepath.Join(Folder, name+".json") }

// LogPath is the file that the process of a detached fabric writes to as it crashes.
func LogPath(name string) string { return filepath.Join(Folder, name+".log") }

// remember writes the fabric's record, as it comes up.
func (f *Fabric) remember() error {
	own, err := kernel.ThisProcess()
	if err != nil {
		return err
	}
	forgetOld()
	f.record = &Record{Schema: files.Schema, Name: f.Name, Scenario: f.Made.Scenario.Name, Process: own, Up: time.Now()}
	f.record.Forget() // the one before
	if err := f.record.write(); err != nil {
		return fmt.Errorf("write the fabric's record: %w", err)
	}
	return nil
}

// EndedBy says what ended the fabric, before Close, if that was neither itself nor another terminal: a signal.
func (f *Fabric) EndedBy(what string) { f.why = what }

// conclude writes into the record why the fabric has ended, or removes it if another terminal had asked for that: it is
// told the verdict. It comes before the socket goes, and before events end: a client that finds no socket, or was
// reading events, reads it.
func (f *Fabric) conclude(v *Verdict, err error) {
	if f.record == nil {
		return
	}
	if f.wasAsked() {
		f.record.Forget()
		return
	}
	f.record.Ended, f.record.Verdict, f.record.Reason = time.Now(), v, f.why
	if err != nil {
		f.record.Reason = err.Error()
	}
	_ = f.record.write() // there is nobody to tell
}

// wasAsked says whether another terminal has asked for the end.
func (f *Fabric) wasAsked() bool {
	select {
	case <-f.Asked():
		return true
	default:
		return false
	}
}

// concluded adds what failed after all was over, or removes the record of a fabric whose end was asked for meanwhile.
func (f *Fabric) concluded(err error) {
	if f.record != nil && (f.wasAsked() || err != nil && err.Error() != f.record.Reason) {
		f.conclude(f.record.Verdict, err)
	}
}

// write replaces the record's file.
func (r *Record) write() error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return renameio.WriteFile(recordPath(r.Name), append(data, '\n'), 0o600, renameio.WithTempDir(Folder))
}

// Forget removes the record.
func (r *Record) Forget() {
	_ = os.Remove(recordPath(r.Name))
	_ = os.Remove(LogPath(r.Name))
}

// String says when the fabric has ended, and why.
func (r *Record) String() string {
	if r.Ended.IsZero() { // nobody has seen it
		return fmt.Sprintf("%s, up since %s, has ended: %s", r.Name, r.Up.Format(time.DateTime), r.Reason)
	}
	return fmt.Sprintf("%s ended at %s, %v ago: %s", r.Name, r.Ended.Format(time.DateTime),
		time.Since(r.Ended).Round(time.Second), r.Reason)
}

// Ended is the record of a fabric that has ended by itself; nil if there is none, or it is up.
func Ended(name string) *Record {
	if !fabricName.MatchString(name) {
		return nil
	}
	r := readRecord(name)
	if r == nil || !r.Ended.IsZero() {
		return r
	}
	if r.Runs() {
		conn, err := net.Dial("unix", socketPath(name))
		if err == nil {
			conn.Close()
		}
		// Without a socket it is about to be gone, or to say why.
		if !ended(err) || !r.Wait(dyingTimeout) {
			return nil
		}
		if r = readRecord(name); r == nil || !r.Ended.IsZero() {
			return r
		}
	}
	r.Reason = fmt.Sprintf("its process, %d, was killed, as by kill -9, or by the kernel for want of memory", r.PID)
	if crash, at := crashOf(name); crash != "" {
		r.Ended, r.Reason = at, fmt.Sprintf("its process, %d, crashed: %s; the rest is in %s", r.PID, crash, LogPath(name))
	}
	return r
}

// AllEnded are the records of fabrics that have ended by themselves, the last first.
func AllEnded() []*Record {
	paths, _ := filepath.Glob(filepath.Join(Folder, "*.json")) // the pattern is well formed
	var all []*Record
	for _, path := range paths {
		if r := Ended(strings.TrimSuffix(filepath.Base(path), ".json")); r != nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *Record) int { return cmp.Or(b.last().Compare(a.last()), cmp.Compare(a.Name, b.Name)) })
	return all
}

// last is the last time at which the fabric is known to have been up.
func (r *Record) last() time.Time {
	if r.Ended.IsZero() {
		return r.Up
	}
	return r.Ended
}

// readRecord is a fabric's record; nil: there is none that can be read.
func readRecord(name string) *Record {
	file, err := os.OpenFile(recordPath(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	r := &Record{}
	if json.NewDecoder(io.LimitReader(file, longestRecord)).Decode(r) != nil || r.Name != name {
		return nil
	}
	return r
}

// crashOf is the first line of what a process said as it crashed, and when that was.
func crashOf(name string) (line string, at time.Time) {
	file, err := os.OpenFile(LogPath(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", at
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil {
		at = info.ModTime()
	}
	for lines := bufio.NewScanner(io.LimitReader(file, longestLog)); lines.Scan(); {
		for _, begin := range []string{"panic: ", "fatal error: ", "SIG", "unexpected fault address"} {
			if strings.HasPrefix(lines.Text(), begin) {
				return lines.Text(), at
			}
		}
	}
	return "", at
}

// forgetOld keeps the number of records within bounds.
func forgetOld() {
	all := AllEnded()
	for _, r := range all[min(len(all), mostRecords):] {
		r.Forget()
	}
}

// sweep removes a socket that nobody answers, unless another process is at the fabrics' sockets just now.
func sweep(path string) {
	folder, err := os.Open(Folder)
	if err != nil {
		return
	}
	defer folder.Close()
	// The process that makes a socket has the lock; for a moment nobody answers.
	if unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return
	}
	if info, serr := os.Lstat(path); serr == nil && info.Mode().Type() == os.ModeSocket &&
		errors.Is(err, unix.ECONNREFUSED) {
		_ = os.Remove(path)
	}
}

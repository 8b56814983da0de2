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

	"github.com/pausenet/pausenet/internal/jsonfile"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// Record describes a detached fabric and, if it ended without a request, the reason. It is a file next to the
// fabric's socket. The output of a crash is in another, ending in .log.
type Record struct {
	Schema   int    `json:"schema"` // jsonfile.Schema
	Name     string `json:"name"`
	Scenario string `json:"scenario"`
	kernel.Process
	Up time.Time `json:"up"` // time of bring-up
	// Only set after the fabric's end.
	Ended   time.Time `json:"ended,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Verdict *Verdict  `json:"verdict,omitempty"` // nil if its process was killed
}

const (
	// mostRecords limits the remembered fabrics that have ended, keeping the latest.
	mostRecords = 64
	// longestRecord and longestLog limit the bytes read of the files.
	longestRecord, longestLog = 1 << 20, 1 << 16
	// dyingTimeout limits how long a process that closed its socket may take to end.
	dyingTimeout = 2 * time.Second
)

func recordPath(name string) string { return filepath.Join(Folder, name+".json") }

// LogPath returns the file for the output of a detached fabric's crash.
func LogPath(name string) string { return filepath.Join(Folder, name+".log") }

// remember writes the fabric's record at bring-up.
func (f *Fabric) remember() error {
	own, err := kernel.ThisProcess()
	if err != nil {
		return err
	}
	forgetOld()
	f.record = &Record{Schema: jsonfile.Schema, Name: f.Name, Scenario: f.Made.Scenario.Name, Process: own, Up: time.Now()}
	f.record.Forget() // an earlier record of this name
	if err := f.record.write(); err != nil {
		return fmt.Errorf("write the fabric's record: %w", err)
	}
	return nil
}

// EndedBy records an external reason for the fabric's end, such as a signal. Call it before Close.
func (f *Fabric) EndedBy(what string) { f.why = what }

// conclude writes the reason for the fabric's end into the record, or removes the record if another terminal
// requested the end and receives the verdict. It runs before the socket closes and events end, because clients then
// read the record.
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
	_ = f.record.write() // there is nobody to report an error to
}

// wasAsked reports whether another terminal has requested the end.
func (f *Fabric) wasAsked() bool {
	select {
	case <-f.Asked():
		return true
	default:
		return false
	}
}

// concluded adds errors after the end, or removes the record if a terminal requested the end meanwhile.
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

// String returns when and why the fabric ended.
func (r *Record) String() string {
	if r.Ended.IsZero() { // the time of the end is unknown
		return fmt.Sprintf("%s, up since %s, has ended: %s", r.Name, r.Up.Format(time.DateTime), r.Reason)
	}
	return fmt.Sprintf("%s ended at %s, %v ago: %s", r.Name, r.Ended.Format(time.DateTime),
		time.Since(r.Ended).Round(time.Second), r.Reason)
}

// Ended returns the record of a fabric that ended by itself, or nil if there is none or the fabric is up.
func Ended(name string) *Record {
	if !fabricName().MatchString(name) {
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
		// Without a socket its process is about to end, or to write the reason.
		if !ended(err) || !r.Wait(dyingTimeout) {
			return nil
		}
		if r = readRecord(name); r == nil || !r.Ended.IsZero() {
			return r
		}
	}
	r.Reason = fmt.Sprintf("its process, %d, was killed, as by kill -9, or by the kernel for lack of memory", r.PID)
	if crash, at := crashOf(name); crash != "" {
		r.Ended, r.Reason = at, fmt.Sprintf("its process, %d, crashed: %s (more in %s)", r.PID, crash, LogPath(name))
	}
	return r
}

// AllEnded returns the records of fabrics that ended by themselves, latest first.
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

// last returns the last time at which the fabric is known to have been up.
func (r *Record) last() time.Time {
	if r.Ended.IsZero() {
		return r.Up
	}
	return r.Ended
}

// readRecord returns a fabric's record, or nil if there is no readable one.
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

// crashOf returns the first line of a process's crash output, and its time.
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

// forgetOld removes the oldest records beyond the limit.
func forgetOld() {
	all := AllEnded()
	for _, r := range all[min(len(all), mostRecords):] {
		r.Forget()
	}
}

// sweep removes a socket without a process, unless another process has locked the folder.
func sweep(path string) {
	folder, err := os.Open(Folder)
	if err != nil {
		return
	}
	defer folder.Close()
	// The process that creates a socket holds the lock; until then nobody answers.
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

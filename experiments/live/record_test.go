//go:build linux

package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/vtime"
)

// folder creates the fabrics' folder, and removes fabrics of the given names at the end.
func folder(t *testing.T, names ...string) {
	t.Helper()
	testenv.NeedRoot(t)
	if err := os.MkdirAll(Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range names {
			(&Record{Name: name}).Forget()
			_ = os.Remove(socketPath(name))
		}
	})
}

// gone represents a process that has ended.
var gone = kernel.Process{PID: 1 << 30, Start: 1}

// recorded brings a fabric up as one without a terminal, ends it, and returns its record.
func recorded(t *testing.T, name string, end func(f *Fabric)) *Record {
	t.Helper()
	f := bringUpAs(t, Options{Name: name, Record: true})
	if r := Ended(name); r != nil {
		t.Errorf("the record of the fabric that is up is %v", r)
	}
	end(f)
	_, _ = f.Close()
	return Ended(name)
}

// TestRecord checks that a fabric that ends without a request leaves its reason and its verdict for clients, until the
// next of its name comes up.
func TestRecord(t *testing.T) {
	t.Parallel()
	const name = "test-record"
	folder(t, name)
	r := recorded(t, name, func(f *Fabric) {
		_ = unix.Kill(f.programs.InitPID(), unix.SIGKILL)
		<-f.Done()
	})
	if r == nil || r.Verdict == nil || !strings.HasPrefix(r.Reason, "the fabric has ended: its namespace init, process ") {
		t.Fatalf("after its namespace init was killed: %+v", r)
	}
	// Not as String has it, whose seconds go on.
	if _, err := Dial(name); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), r.Reason) {
		t.Errorf("Dial returned %v", err)
	}
	// Other packages' tests may have some up.
	if c, err := Dial(""); err == nil {
		if c.fabric == name {
			t.Error("who looks for any finds the one that has ended")
		}
		c.Close()
	} else if !errors.Is(err, ErrNone) && !errors.Is(err, ErrSeveral) ||
		errors.Is(err, ErrSeveral) && strings.Contains(err.Error(), name) {
		t.Errorf("Dial returned %v", err)
	}
	if all := AllEnded(); !slices.ContainsFunc(all, func(o *Record) bool {
		return o.Name == r.Name && o.Reason == r.Reason
	}) {
		t.Errorf("among all there are %v", all)
	}
	if r := recorded(t, name, func(f *Fabric) { f.EndedBy("a signal") }); r == nil || r.Reason != "a signal" {
		t.Errorf("after a signal: %+v", r)
	}
	answered := make(chan error, 1)
	r = recorded(t, name, func(f *Fabric) {
		c, err := Dial(name)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := c.Ask(Request{Verb: "down"})
			c.Close()
			answered <- err
		}()
		<-f.Asked()
	})
	if err := <-answered; err != nil || r != nil {
		t.Errorf("after down: %v, %+v", err, r)
	}
}

// TestKilledRecord checks the record of a process that ended without a word: it was killed, or it crashed, with the
// output.
func TestKilledRecord(t *testing.T) {
	t.Parallel()
	const name = "test-killed-record"
	folder(t, name)
	r := Record{Name: name, Scenario: "small", Process: gone, Up: time.Now()}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	if got := Ended(name); got == nil || !strings.Contains(got.String(),
		fmt.Sprintf("its process, %d, was killed", gone.PID)) {
		t.Errorf("killed: %v", got)
	}
	if err := os.WriteFile(LogPath(name), []byte("said before\npanic: all is lost\n\ngoroutine 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Ended(name); got == nil || !strings.Contains(got.String(),
		"crashed: panic: all is lost (more in "+LogPath(name)) {
		t.Errorf("crashed: %v", got)
	}
	var left []string
	for _, l := range Left() {
		if strings.HasPrefix(filepath.Base(l.Path), name+".") {
			left = append(left, l.Path)
			if err := l.Remove(); err != nil {
				t.Error(err)
			}
		}
	}
	if want := []string{recordPath(name), LogPath(name)}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	if got := Ended(name); got != nil {
		t.Errorf("after that: %v", got)
	}
}

// TestRecordsAreBounded checks that the oldest records are removed.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range mostRecords + 3 {
		names = append(names, fmt.Sprintf("test-old-record-%d", i))
	}
	folder(t, names...)
	for i, name := range names {
		at := time.Date(2000, 1, 1, 0, 0, i, 0, time.UTC) // older than any other
		r := Record{Name: name, Process: gone, Up: at, Ended: at, Reason: "test"}
		if err := r.write(); err != nil {
			t.Fatal(err)
		}
	}
	forgetOld()
	left := 0
	for _, name := range names { // of others, which other packages' tests make and forget, there may be some
		if Ended(name) != nil {
			left++
		}
	}
	if left == 0 || left > mostRecords {
		t.Errorf("%d records are left", left)
	}
	for _, name := range names[:3] {
		if r := Ended(name); r != nil {
			t.Errorf("left is %v", r)
		}
	}
}

// TestStrangeRecords checks that files that are no records are ignored, and delay nobody.
func TestStrangeRecords(t *testing.T) {
	const name = "test-strange-record"
	folder(t, name)
	for what, make := range map[string]func(path string) error{
		"a pipe":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a link":      func(path string) error { return os.Symlink("/proc/self/status", path) },
		"a folder":    func(path string) error { return os.Mkdir(path, 0o700) },
		"another's":   func(path string) error { return os.WriteFile(path, []byte(`{"name":"other"}`), 0o600) },
		"no JSON":     func(path string) error { return os.WriteFile(path, []byte("..."), 0o600) },
		"an open end": func(path string) error { return os.WriteFile(path, []byte(`{"name":"`+name), 0o600) },
		"a large file": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	} {
		if err := make(recordPath(name)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if r := Ended(name); r != nil {
			t.Errorf("%s: %v", what, r)
		}
		_ = os.Remove(recordPath(name))
	}
}

// TestStaleSockets checks that a client that finds the socket of a killed fabric removes it, unless another process is
// just creating one.
func TestStaleSockets(t *testing.T) {
	const name = "test-stale-socket"
	folder(t, name)
	path := socketPath(name)
	l := socket(t, name)
	l.SetUnlinkOnClose(false)
	names, err := Names()
	if err != nil || !slices.Contains(names, name) {
		t.Errorf("%v, %v", names, err)
	}
	unlock := lockFolder(t)
	l.Close() // only now: another package's tests may look at the same time
	if names, err = Names(); err != nil || slices.Contains(names, name) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("while another makes a socket: %v", err)
	}
	unlock()
	until(t, "it is removed", func() bool { // another package's test may make a socket just then
		if names, err = Names(); err != nil || slices.Contains(names, name) {
			t.Errorf("%v, %v", names, err)
		}
		_, err := os.Lstat(path)
		return errors.Is(err, os.ErrNotExist)
	})
}

// TestDoesNotHalt checks that a fabric whose engine does not return, as from a congestion control that loops, still
// ends, with a verdict and a record that say so.
func TestDoesNotHalt(t *testing.T) {
	t.Parallel()
	const name = "test-no-halt"
	folder(t, name)
	f := bringUpAs(t, Options{Name: name, Record: true})
	started, goOn := make(chan struct{}), make(chan struct{})
	go func() {
		_ = f.Do(func(*engine.Engine) error {
			close(started)
			<-goOn
			return nil
		})
	}()
	<-started
	v, err := f.Close()
	if err != nil || v.Status != measure.Fail || len(v.Reasons) != 1 ||
		!strings.Contains(v.Reasons[0], "did not stop") {
		t.Errorf("%+v, %v", v, err)
	}
	if r := Ended(name); r == nil || !strings.Contains(r.Reason, "did not stop") || r.Verdict == nil {
		t.Errorf("%+v", r)
	}
	close(goOn)
	<-f.Done()
	f.verbs.Close() // those who have to end it could wait for ever
	if err := f.plane.Close(); err != nil {
		t.Error(err)
	}
}

// panicky implements a congestion control that panics at the first ACK.
type panicky struct{ cc.Controller }

func (panicky) OnAck(s *cc.Sample) { panic(fmt.Sprintf("no hop %d", len(s.Hops))) }

// TestPanic checks that a congestion control that panics ends the fabric with a record, and with a verdict that names
// the congestion control and the file of its stack.
func TestPanic(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const name = "test-panic"
	folder(t, name)
	f := bringUpAs(t, Options{Name: name, Record: true})
	config, err := f.Made.Flow(&scenario.Flow{Source: f.Plan.Hosts[1], Destination: f.Plan.Hosts[5]}, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	config.NewController = func(int) (cc.Controller, error) { return panicky{cc.Constant(1e9)}, nil }
	config.Controller = "mine"
	if err := f.Do(func(e *engine.Engine) error {
		config.Start = e.Now()
		f.watch.flowAdded(e.AddFlow(config), func(vtime.Time) {})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	<-f.Done()
	v, err := f.Close()
	var p *engine.PanicError
	if !errors.As(err, &p) || v.Status != measure.Fail ||
		!strings.Contains(v.Reasons[0], "the congestion control panicked: mine, flow 0 (h1 to h5) at ") ||
		!strings.Contains(v.Reasons[0], "no hop 0") {
		t.Fatalf("%+v, %v", v, err)
	}
	if stack, err := os.ReadFile(p.File); err != nil || !strings.Contains(string(stack), "record_test.go:") {
		t.Errorf("stack in %q: %q, %v", p.File, stack, err)
	}
	if r := Ended(name); r == nil || !strings.Contains(r.Reason, "panicked: mine") || r.Verdict == nil {
		t.Errorf("%+v", r)
	}
}

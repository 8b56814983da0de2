//go:build unix

package files

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/testenv"
)

// inFolder makes the test program write a file into the named folder, and stop before the file has its name.
const inFolder = "PAUSENET_FILES_TEST"

func TestMain(m *testing.M) {
	if folder := os.Getenv(inFolder); folder != "" {
		shutdown.Start(7)
		beforeRename = func() {
			_, _ = os.Stderr.WriteString("ready\n")
			select {}
		}
		_ = WriteWhole(filepath.Join(folder, "new.json"), []byte("new"))
	}
	testenv.DefaultSignals()
	os.Exit(m.Run())
}

// TestForcedEnd checks that a process that is ended while it writes a file leaves only the old file.
func TestForcedEnd(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		folder := t.TempDir()
		must(t, os.WriteFile(filepath.Join(folder, "new.json"), []byte("old"), 0o600))
		self, err := os.Executable()
		must(t, err)
		c := exec.Command(self)
		c.Env = append(os.Environ(), inFolder+"="+folder)
		stderr, err := c.StderrPipe()
		must(t, err)
		must(t, c.Start())
		said := bufio.NewReader(stderr)
		if line, err := said.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		before := names(t, folder)
		if of, ok := Unfinished(before[0]); len(before) != 2 || !ok || of != "new.json" {
			t.Errorf("in between there are %q", before)
		}
		must(t, c.Process.Signal(signal))
		last, _ := said.ReadString('\n')
		_ = c.Wait()
		if signal == syscall.SIGTERM && (c.ProcessState.ExitCode() != 7 || strings.Contains(last, "kept")) {
			t.Errorf("%v: %q", c.ProcessState, last)
		}
		if signal == syscall.SIGKILL { // nobody was there to tidy up: who writes there next does
			f := open(t, folder, folder)
			must(t, f.Tidy("new.json"))
		}
		if got := names(t, folder); !slices.Equal(got, []string{"new.json"}) ||
			content(t, filepath.Join(folder, "new.json")) != "old" {
			t.Errorf("%v leaves %q", signal, got)
		}
	}
}

// TestReplaceStaysOpen checks that a replaced file can be changed in place, has the permissions of the umask, and is
// not another user's file.
func TestReplaceStaysOpen(t *testing.T) {
	base := t.TempDir()
	f := open(t, base, base)
	file, err := f.Replace("a.json", func(w io.Writer) error {
		_, err := w.Write([]byte("running"))
		return err
	})
	must(t, err)
	_, err = file.WriteAt([]byte("partial"), 0)
	must(t, err)
	must(t, file.Close())
	if got := content(t, filepath.Join(base, "a.json")); got != "partial" {
		t.Errorf("%q", got)
	}
	info, err := os.Stat(filepath.Join(base, "a.json"))
	must(t, err)
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	if want := os.FileMode(0o644 &^ mask); info.Mode() != want {
		t.Errorf("mode %v, want %v", info.Mode(), want)
	}
}

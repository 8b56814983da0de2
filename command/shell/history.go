//go:build linux

package shell

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
)

// mostHistory limits the number of remembered lines.
const mostHistory = 1000

// historyFile limits the size of the history, as a pasted line may be long.
var historyFile = files.Kind{Name: "a history", Most: 16 << 20}

// history holds the lines of this session and earlier ones. It is stored in the user's state folder if possible,
// else only in memory.
type history struct {
	path  string // empty if it is not stored
	lines []string
}

// historyPath returns $XDG_STATE_HOME/pausenet/history, or its equivalent below ~/.local/state.
func historyPath() string {
	folder := os.Getenv("XDG_STATE_HOME")
	if folder == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(folder, "pausenet", "history")
}

func openHistory() *history {
	h := &history{path: historyPath()}
	data, err := files.Read(h.path, historyFile)
	if err != nil {
		return h
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	if h.lines = lines[max(0, len(lines)-mostHistory):]; len(lines) > 2*mostHistory {
		_ = os.WriteFile(h.path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// add appends a line, unless it repeats the previous one.
func (h *history) add(line string) {
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(line + "\n")
	_ = f.Close()
}

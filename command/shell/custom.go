//go:build linux

package shell

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/topologies"
)

// commandFile is a user's command: a few lines.
var commandFile = files.Kind{Name: "a command", Most: 1 << 20}

// custom is a verb of the user's: lines, or a program on the machine.
type custom struct {
	name    string
	lines   []string
	program string // a path; empty: it is lines

	topology bool // it is the topology's
}

// customFolder is where the user's commands are, a file each; empty: nowhere.
func customFolder() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "pausenet", "commands")
}

// customNames are the names of the user's commands, and the topology's, sorted.
func customNames(of []topologies.Command) (names []string) {
	entries, _ := os.ReadDir(customFolder())
	for _, e := range entries {
		if name := e.Name(); isCustomName(name) && !isVerb(name) {
			names = append(names, name)
		}
	}
	for i := range of {
		if !isVerb(of[i].Name) {
			names = append(names, of[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckCommands refuses a topology's commands that nobody can reach.
func CheckCommands(plan *topologies.Plan) (err error) {
	for i := range plan.Commands {
		if c := &plan.Commands[i]; isVerb(c.Name) {
			err = c.Refuse("%s is a verb of the shell, which takes precedence: choose another name", c.Name)
		}
	}
	return err
}

// isCustomName says whether a file's name may be a command's: what an editor leaves beside it is none.
func isCustomName(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") &&
		!strings.ContainsAny(name, "/ \t#'\"")
}

func isVerb(name string) bool {
	return slices.ContainsFunc(verbs, func(v verb) bool { return v.name == name })
}

// findCustom finds a command of the topology's, or of the user's; nil: there is none of that name.
func findCustom(name string, of []topologies.Command) (*custom, error) {
	for i := range of {
		if of[i].Name == name {
			return &custom{name: name, lines: of[i].Lines, topology: true}, nil
		}
	}
	folder := customFolder()
	if folder == "" || !isCustomName(name) {
		return nil, nil
	}
	path := filepath.Join(folder, name)
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
		return &custom{name: name, program: path}, nil
	}
	data, err := files.Read(path, commandFile)
	if err != nil {
		return nil, err
	}
	c := &custom{name: name}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		c.lines = append(c.lines, lines.Text())
	}
	return c, nil
}

// help is the comment that its lines begin with; of a program where it is.
func (c *custom) help() string {
	if c.program != "" {
		return "your program " + c.program
	}
	if len(c.lines) > 0 {
		if text, found := strings.CutPrefix(strings.TrimSpace(c.lines[0]), "#"); found && strings.TrimSpace(text) != "" {
			return strings.TrimSpace(text)
		}
	}
	if c.topology {
		return "the topology's command"
	}
	return "your command"
}

// with are its lines with arguments in the places of $1 to $9 and $@; $$ is a $.
func (c *custom) with(args []string) ([]string, error) {
	needs, all := 0, false
	put := make([]string, len(c.lines))
	for i, line := range c.lines {
		var b strings.Builder
		for k := 0; k < len(line); k++ {
			if line[k] != '$' || k+1 == len(line) {
				b.WriteByte(line[k])
				continue
			}
			switch next := line[k+1]; {
			case next == '$':
				b.WriteByte('$')
			case next == '@':
				all = true
				b.WriteString(strings.Join(args, " "))
			case next >= '1' && next <= '9':
				n := int(next - '0')
				if needs = max(needs, n); n <= len(args) {
					b.WriteString(args[n-1])
				}
			default: // a shell's variable
				b.WriteByte('$')
				continue
			}
			k++
		}
		put[i] = b.String()
	}
	if len(args) < needs || len(args) > needs && !all {
		return nil, fmt.Errorf("%s takes %s, not %d", c.name, counted(needs, "argument", all), len(args))
	}
	return put, nil
}

// counted is a number of things in words.
func counted(n int, what string, more bool) string {
	text := strconv.Itoa(n) + " " + what
	if n != 1 {
		text += "s"
	}
	if more {
		text += " or more"
	}
	return text
}

// do does a command: its lines by lines, its program on the machine, by a way to run it with the terminal.
func (c *custom) do(fabric string, args []string, lines func(text string) error,
	attached func(cmd *exec.Cmd, run func() error) error,
) error {
	if c.program != "" {
		cmd := exec.Command(c.program, args...)
		cmd.Env = append(os.Environ(), "PAUSENET_FABRIC="+fabric) // what --fabric is by default
		return attached(cmd, cmd.Run)
	}
	put, err := c.with(args)
	if err != nil {
		return err
	}
	if err := lines(strings.Join(put, "\n")); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// elsewhere are Mininet's verbs, and those of the command line, that are done by other means here.
var elsewhere = map[string]string{
	"py":      pythonHint,
	"px":      pythonHint,
	"x":       "write: xterm NODE; for a single program: h1 COMMAND, with DISPLAY where programs find it",
	"gterm":   "write: xterm NODE",
	"capture": "in another terminal: sudo pausenet capture NODE [PORT]; of a host's interface here: h1 tcpdump -n -i h1-eth1",
	"down":    "exit ends the fabric; of a link: link A B down",
	"events":  "in another terminal: sudo pausenet events",
	"exec":    "a line that begins with a node is run there: h1 COMMAND",
	"inspect": "in another terminal: sudo pausenet inspect; here: nodes, links, dump, top",
	"run":     "in another terminal: pausenet run SCENARIO; here start begins the flows of the scenario that the fabric is of",
	"view":    "in another terminal: sudo pausenet view --fabric NAME",
	"dpctl":   "switches here are no OpenFlow switches: dump and top show them, set changes them",
}

const pythonHint = "the shell runs no Python: a script has pausenet.up() of the Python package (docs/python.md), with net[\"h1\"].cmd(\"ping -c1 h2\") and net.shell(LINE)"

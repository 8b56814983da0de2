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

// commandFile limits the size of a user's command.
var commandFile = files.Kind{Name: "a command", Most: 1 << 20}

// custom represents a user's command: lines, or a program on the machine.
type custom struct {
	name    string
	lines   []string
	program string // path of a program; empty if the command is lines

	topology bool // defined by the topology
}

// customFolder returns the folder of the user's commands, one per file; empty if there is none.
func customFolder() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "pausenet", "commands")
}

// customNames returns the names of the user's and the topology's commands, sorted.
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

// CheckCommands returns an error if a topology's command has the name of a built-in command or a node.
func CheckCommands(plan *topologies.Plan) (err error) {
	for i := range plan.Commands {
		if c := &plan.Commands[i]; isVerb(c.Name) {
			err = c.Refuse("%s is a command of the shell, which takes precedence (choose another name)", c.Name)
		}
	}
	return err
}

// isCustomName reports whether a file's name may be a command's. It excludes an editor's backup files.
func isCustomName(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~") &&
		!strings.ContainsAny(name, "/ \t#'\"")
}

func isVerb(name string) bool {
	return slices.ContainsFunc(verbs, func(v verb) bool { return v.name == name })
}

// findCustom returns the topology's or user's command of that name, or nil.
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

// help returns the comment at the start of the command's lines, or a program's path.
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

// with returns the lines with arguments in place of $1 to $9 and $@; $$ becomes $.
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
			default: // a variable of sh
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

// counted formats a number of things in words.
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

// do runs a command: its lines by lines, or its program on the machine by attached.
func (c *custom) do(fabric string, args []string, lines func(text string) error,
	attached func(cmd *exec.Cmd, run func() error) error,
) error {
	if c.program != "" {
		cmd := exec.Command(c.program, args...)
		cmd.Env = append(os.Environ(), "PAUSENET_FABRIC="+fabric) // the default of --fabric
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

// elsewhere maps commands of Mininet, and of our command line, to their equivalents here.
var elsewhere = map[string]string{
	"py":    pythonHint,
	"px":    pythonHint,
	"x":     "use xterm NODE; for a single program, h1 COMMAND (DISPLAY is set)",
	"gterm": "use xterm NODE",
	"capture": "use sudo pausenet capture NODE [PORT] in another terminal, or a host's own interface here: h1 " +
		"tcpdump -n -i h1-eth1",
	"down":    "use exit to end the fabric, or link A B down for a link",
	"events":  "use sudo pausenet events in another terminal",
	"exec":    "to run a command on a node, start the line with the node: h1 COMMAND",
	"inspect": "use nodes, links, dump or top, or sudo pausenet inspect in another terminal",
	"run": "use pausenet run SCENARIO in another terminal; here, start begins the flows of the scenario that the " +
		"fabric was brought up from",
	"view":  "use sudo pausenet view --fabric NAME in another terminal",
	"dpctl": "switches here do not use OpenFlow: dump and top show them, set changes them",
}

const pythonHint = "the shell does not run Python; in a program of Python, pausenet.up() returns a fabric, with " +
	"net[\"h1\"].cmd(\"ping -c1 h2\") and net.shell(LINE); pausenet.mininet has Mininet's Topo (docs/mininet.md)"

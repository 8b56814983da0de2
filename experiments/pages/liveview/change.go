//go:build linux

package liveview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/spelling"
)

// mostRequest limits a request in bytes, and mostOutput the returned output of the fabric's shell.
const mostRequest, mostOutput = 1 << 12, 1 << 16

// change describes a command of the fabric's shell that a page may use.
type change struct {
	name   string
	fields []string // all fields; those in brackets are optional
	line   func(of map[string]string) string
}

var changes = []change{
	{"flow", []string{"from", "to", "size", "[cc]"}, func(of map[string]string) string {
		return fmt.Sprintf("flow %s %s %s%s &", of["from"], of["to"], of["size"], ccWord(of))
	}},
	{"incast", []string{"senders", "to", "size", "[cc]"}, func(of map[string]string) string {
		return fmt.Sprintf("incast %s %s %s%s &", of["senders"], of["to"], of["size"], ccWord(of))
	}},
	{"start", []string{"[tag]"}, func(of map[string]string) string {
		return strings.Join(strings.Fields("start "+of["tag"]+" &"), " ")
	}},
	{"link", []string{"a", "b", "state"}, func(of map[string]string) string {
		return fmt.Sprintf("link %s %s %s", of["a"], of["b"], of["state"])
	}},
	{"pfc-storm", []string{"host", "state"}, func(of map[string]string) string {
		return fmt.Sprintf("host %s pfc-storm %s", of["host"], of["state"])
	}},
	{"set", []string{"node", "setting", "value"}, func(of map[string]string) string {
		return fmt.Sprintf("set %s.%s=%s", of["node"], of["setting"], of["value"])
	}},
}

func ccWord(of map[string]string) string {
	if of["cc"] == "" {
		return ""
	}
	return " cc=" + of["cc"]
}

// word matches a field's value: a single word of the shell.
var word = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_.+%-]{0,99}$`)

// valueWord matches a setting's value, such as {detect: 200us, restore: 500us}.
var valueWord = lazy.Regexp(`^[A-Za-z0-9\[{][A-Za-z0-9_.:,%+{}\[\] -]{0,199}$`)

// lineOf returns the shell line for a page's action. Its node must exist, because a shell line may also run a
// program on a node.
func (h *head) lineOf(of map[string]string) (string, error) {
	names := lists.Map(changes, func(c change) string { return c.name })
	at := slices.Index(names, of["do"])
	if at < 0 {
		return "", fmt.Errorf("unknown action %q: a page can %s", of["do"], strings.Join(names, ", "))
	}
	c := &changes[at]
	if slices.ContainsFunc(h.Nodes, func(n node) bool { return n.Name == c.verb() }) {
		return "", fmt.Errorf("a node of this fabric is named %s, like the command: use the shell", c.verb())
	}
	for _, field := range slices.Sorted(maps.Keys(of)) {
		if field == "do" {
			continue
		}
		if !slices.Contains(c.fields, field) && !slices.Contains(c.fields, "["+field+"]") {
			return "", fmt.Errorf("%s: %s does not use it", field, c.name)
		}
		if err := h.check(c, field, of[field]); err != nil {
			return "", err
		}
	}
	for _, field := range c.fields {
		if of[field] == "" && !strings.HasPrefix(field, "[") {
			return "", fmt.Errorf("%s: %s needs it", field, c.name)
		}
	}
	return c.line(of), nil
}

// verb returns the first word of its line.
func (c *change) verb() string {
	if c.name == "pfc-storm" {
		return "host"
	}
	return c.name
}

// check validates a field's value as far as the shell does not.
func (h *head) check(c *change, field, value string) error {
	fine := word()
	if field == "value" {
		fine = valueWord()
	}
	if value != "" && !fine.MatchString(value) {
		return fmt.Errorf("%s: invalid value %q", field, value)
	}
	one := func(of []string) error {
		if slices.Contains(of, value) {
			return nil
		}
		return fmt.Errorf("%s: no %q%s", field, value, spelling.Suggest(value, of))
	}
	switch field {
	case "a", "b", "from", "to", "host", "node":
		names := lists.Map(h.Nodes, func(n node) string { return n.Name })
		if field == "node" {
			names = append(names, "switch")
		}
		return one(names)
	case "state":
		if c.name == "link" {
			return one([]string{"up", "down"})
		}
		return one([]string{"on", "off"})
	case "setting":
		return one(h.Settings)
	}
	return nil
}

// did holds the reply to a change. A change that the fabric rejects is not an HTTP error, which a browser would log.
type did struct {
	Line  string `json:"line"` // line of the shell
	Said  string `json:"said,omitempty"`
	Error string `json:"error,omitempty"`
}

// serveChange runs a page's action.
func (p *Page) serveChange(w http.ResponseWriter, r *http.Request) {
	if !p.changes {
		http.Error(w, "this page is read-only: serve it with --web=rw to change the fabric", http.StatusForbidden)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "expected a request of type application/json", http.StatusUnsupportedMediaType)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	var of map[string]string
	if err := json.Unmarshal(data, &of); err != nil {
		http.Error(w, "invalid request: expected an object of strings", http.StatusBadRequest)
		return
	}
	line, err := p.head.lineOf(of)
	if err != nil {
		answer(w, did{Error: err.Error()})
		return
	}
	if !p.changing.TryLock() {
		answer(w, did{Line: line, Error: "another change is in progress: try again"})
		return
	}
	defer p.changing.Unlock()
	said, err := p.do(line)
	d := did{Line: line, Said: said}
	if err != nil {
		d.Error = err.Error()
	}
	answer(w, d)
}

func answer(w http.ResponseWriter, d did) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the browser may have gone
}

// do runs a line in the fabric's shell.
func (p *Page) do(line string) (said string, err error) {
	c, err := live.Dial(p.fabric)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var out bytes.Buffer
	err = c.Do(line, &out)
	return string(out.Bytes()[:min(out.Len(), mostOutput)]), err
}

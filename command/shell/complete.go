//go:build linux

package shell

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/internal/lists"
)

// Complete returns completions of a line's last word: a command or node first, then the command's arguments, or the
// hosts for a program on a node.
func (s *Shell) Complete(line string) (lines []string) {
	start := strings.LastIndexByte(line, ' ') + 1
	words := strings.Fields(line[:start])
	for _, word := range s.candidates(words, line[start:]) {
		if !strings.HasPrefix(word, line[start:]) {
			continue
		}
		if !strings.HasSuffix(word, "=") && !strings.HasSuffix(word, ".") && !strings.HasSuffix(word, "/") {
			word += " "
		}
		lines = append(lines, line[:start]+word)
	}
	return lines
}

// candidates returns words that may follow others.
func (s *Shell) candidates(words []string, prefix string) []string {
	for len(words) > 0 && isBefore(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return slices.Concat(completeVerbs(s, nil), customNames(s.Fabric.Plan.Commands), s.Fabric.Plan.Names())
	}
	if s.Fabric.Plan.NodeByName(words[0]) != nil {
		return s.Fabric.Plan.NamesOf(s.Fabric.Plan.Hosts)
	}
	if words[0] == "source" {
		paths, _ := filepath.Glob(prefix + "*")
		return paths
	}
	if words[0] == "set" && strings.Contains(prefix, ".") {
		return completeSetting(prefix)
	}
	for i := range verbs {
		if v := &verbs[i]; v.name == words[0] && v.complete != nil {
			return v.complete(s, words[1:])
		}
	}
	return nil
}

func completeVerbs(*Shell, []string) (names []string) {
	return lists.Map(verbs, func(v verb) string { return v.name })
}

// completeLine returns nothing: candidates completes the rest of a line after time and noecho.
func completeLine(*Shell, []string) []string { return nil }

// completeNodesOnce returns the nodes that are not named yet.
func completeNodesOnce(s *Shell, args []string) []string {
	return slices.DeleteFunc(s.Fabric.Plan.Names(), func(name string) bool { return slices.Contains(args, name) })
}

func completeSwitch(s *Shell, args []string) []string {
	switch len(args) {
	case 0:
		return s.Fabric.Plan.NamesOf(s.Fabric.Plan.Switch)
	case 1:
		return []string{"stop", "start"}
	}
	return nil
}

// completeUDP returns the hosts after a rate.
func completeUDP(s *Shell, args []string) []string {
	if len(args) == 0 {
		return nil
	}
	return completeHosts(s, args)
}

func completeHosts(s *Shell, _ []string) []string { return s.Fabric.Plan.NamesOf(s.Fabric.Plan.Hosts) }

func completeFlow(s *Shell, args []string) []string {
	switch len(args) {
	case 0, 1:
		return completeHosts(s, args)
	case 2:
		return nil // a size
	}
	return completeControllers(s)
}

func completeIncast(s *Shell, args []string) []string {
	switch len(args) {
	case 0, 2:
		return nil // numbers
	case 1:
		return completeHosts(s, args)
	}
	return completeControllers(s)
}

func completeControllers(s *Shell) (words []string) {
	for _, name := range s.Fabric.Made.Controllers() {
		words = append(words, "cc="+name)
	}
	return append(words, "qps=", "&")
}

func completeTags(s *Shell, _ []string) (tags []string) {
	for i := range s.Fabric.Made.Scenario.Flows {
		if tag := s.Fabric.Made.Scenario.Flows[i].Tag; !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return append(tags, "&")
}

// completeOpenFlows returns the numbers of unfinished flows, except those of programs.
func completeOpenFlows(s *Shell, _ []string) (numbers []string) {
	snapshot, err := s.Fabric.Snapshot()
	if err != nil {
		return nil
	}
	for i := range snapshot.Flows {
		if f := &snapshot.Flows[i]; f.QueuePair == 0 {
			numbers = append(numbers, strconv.Itoa(f.Flow))
		}
	}
	return numbers
}

func completeLink(s *Shell, args []string) (names []string) {
	plan := s.Fabric.Plan
	switch len(args) {
	case 0:
		return plan.Names()
	case 1:
		n := plan.NodeByName(args[0])
		if n == nil {
			return nil
		}
		for _, id := range n.Ports {
			if peer := plan.PeerNode(id).Name; !slices.Contains(names, peer) {
				names = append(names, peer)
			}
		}
		return names
	}
	return live.LinkWords
}

func completeHost(s *Shell, args []string) []string {
	switch {
	case len(args) == 0:
		return completeHosts(s, args)
	case args[len(args)-1] == "pfc-storm":
		return []string{"on", "off"}
	}
	return live.HostWords
}

// completeSet returns the nodes of settings.
func completeSet(s *Shell, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	names := []string{"switch."}
	for _, name := range s.Fabric.Plan.NamesOf(s.Fabric.Plan.Switch) {
		names = append(names, name+".")
	}
	return names
}

// completeSetting returns the settings of a node.
func completeSetting(prefix string) (words []string) {
	node, _, _ := strings.Cut(prefix, ".")
	for _, key := range live.Settings {
		words = append(words, node+"."+key+"=")
	}
	return words
}

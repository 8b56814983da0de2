package counters

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrFormat reports a file in none of the formats.
var ErrFormat = errors.New("none of the formats: show pfc counters, ethtool -S, a dump of COUNTERS_DB")

// Read adds a file of counters to a fabric. The file's name up to its first dot is the name of the node: leaf0.pfc.txt.
// If output of `ethtool -S` names no port, the port has that name, too.
func (f *Fabric) Read(name string, data []byte) error {
	if len(data) > mostBytes {
		return fmt.Errorf("larger than %d MiB", mostBytes>>20)
	}
	node, _, _ := strings.Cut(filepath.Base(name), ".")
	n := &Node{Name: node}
	if known := f.Node(node); known != nil {
		n = known
	}
	err := n.read(data)
	if err == nil && f.Node(node) == nil {
		f.Nodes = append(f.Nodes, n)
	}
	return err
}

func (n *Node) read(data []byte) error {
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		return n.readDump(trimmed)
	}
	lines := sniff(data)
	table, err := n.readPFC(lines)
	if err != nil {
		return err
	}
	list, err := n.readEthtool(lines, n.Name)
	if err != nil {
		return err
	}
	if !table && !list {
		return ErrFormat
	}
	return nil
}

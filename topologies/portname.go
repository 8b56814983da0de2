package topologies

import (
	"fmt"
	"strconv"
	"strings"
)

// ParsePort finds the port that "node:peer" means, or "node:n" for the node's n-th port.
func ParsePort(p *Plan, s string) (PortID, error) {
	name, other, ok := strings.Cut(s, ":")
	node := p.NodeByName(name)
	if !ok {
		return 0, fmt.Errorf("port %q: write node:peer, such as L2:S1", s)
	}
	if node == nil {
		return 0, fmt.Errorf("port %q: there is no node %q", s, name)
	}
	if n, err := strconv.Atoi(other); err == nil {
		if n < 1 || n > len(node.Ports) {
			return 0, fmt.Errorf("port %q: %s has the ports 1 to %d", s, name, len(node.Ports))
		}
		return node.Ports[n-1], nil
	}
	peer := p.NodeByName(other)
	if peer == nil {
		return 0, fmt.Errorf("port %q: there is no node %q", s, other)
	}
	ports := p.PortBetween(node.ID, peer.ID)
	switch len(ports) {
	case 0:
		return 0, fmt.Errorf("port %q: no link joins %s and %s", s, name, other)
	case 1:
		return ports[0], nil
	}
	return 0, fmt.Errorf("port %q: %d links join %s and %s: write %s:%d for the first", s, len(ports), name, other,
		name, p.Ports[ports[0]].Number)
}

package topologies

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// View represents a plan in structured output, with names instead of indexes and units in the names of the JSON fields.
type View struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Framing     string     `json:"framing"`
	MTU         int        `json:"mtu_bytes"`
	Nodes       []NodeView `json:"nodes"`
	Links       []LinkView `json:"links"`
	Commands    []Command  `json:"commands,omitempty"`
}

// NodeView describes a node of a View.
type NodeView struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Tier    int    `json:"tier"`
	Address string `json:"address,omitempty"`
	// Addresses holds the addresses of a host with several ports, by port; Address is the first of them.
	Addresses []string    `json:"addresses,omitempty"`
	Buffer    units.Bytes `json:"buffer_bytes,omitempty"`
	Programs  *Programs   `json:"programs,omitempty"`
}

// LinkView describes a link of a View; its ends are interface names.
type LinkView struct {
	A     string     `json:"a"`
	B     string     `json:"b"`
	Rate  units.Rate `json:"rate_bps"`
	Delay float64    `json:"delay_ns"`
	// Weight holds the link's share of flows, relative to the weights of other equal-cost links; absent: 1.
	Weight int `json:"weight,omitempty"`
	// Breakout holds the number of ports into which A's physical port is split, and Lane A's position among them, from
	// 0; absent: it is not split.
	Breakout int  `json:"breakout,omitempty"`
	Lane     *int `json:"lane,omitempty"`
	// InterfaceMTU holds the MTU of the interfaces at its ends; absent: 1500 bytes.
	InterfaceMTU int `json:"interface_mtu_bytes,omitempty"`
}

// View returns the plan in the form for structured output.
func (p *Plan) View() View {
	v := View{Name: p.Name, Description: p.Description, Framing: p.Framing.String(), MTU: p.MTU, Commands: p.Commands}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		node := NodeView{Name: n.Name, Kind: n.Kind.String(), Tier: n.Tier, Buffer: n.Buffer, Programs: n.Programs}
		if n.Kind == Host {
			node.Address = n.Addr.String()
			for _, id := range n.Ports {
				if len(n.Ports) > 1 {
					node.Addresses = append(node.Addresses, p.Address(id).String())
				}
			}
		}
		v.Nodes = append(v.Nodes, node)
	}
	for i := range p.Links {
		l := &p.Links[i]
		link := LinkView{
			A: p.Ports[l.A].Name, B: p.Ports[l.B].Name, Rate: l.Rate, Delay: float64(l.Delay) / float64(vtime.Nanosecond),
		}
		if l.Weight > 1 {
			link.Weight = l.Weight
		}
		if mtu := p.Ports[l.A].MTU; mtu != 1500 {
			link.InterfaceMTU = mtu
		}
		if a := &p.Ports[l.A]; a.Breakout > 0 {
			lane := int(a.Lane)
			link.Breakout, link.Lane = int(a.Breakout), &lane
		}
		v.Links = append(v.Links, link)
	}
	return v
}

// Describe writes the plan for people: one line for the whole, and one for each switch's neighbours.
func (p *Plan) Describe(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "topology %s: %s\n", p.Name, p.Summary())
	if p.Description != "" {
		fmt.Fprintf(&b, "  %s\n", p.Description)
	}
	fmt.Fprintf(&b, "  framing %v, MTU %d B%s\n", p.Framing, p.MTU, p.interfaceMTUs())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, id := range p.Switch {
		n := &p.Nodes[id]
		buffer := ""
		if n.Buffer > 0 {
			buffer = fmt.Sprintf(", buffer %v", n.Buffer)
		}
		fmt.Fprintf(t, "  %s\ttier %d, %s%s\t%s\n", n.Name, n.Tier, p.portCount(n), buffer, p.neighbours(n))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// interfaceMTUs returns the interfaces' MTUs if there are others than 1500: ", of interfaces 1500 and 9000 B".
func (p *Plan) interfaceMTUs() string {
	var mtus []int
	for i := range p.Ports {
		if mtu := p.Ports[i].MTU; !slices.Contains(mtus, mtu) {
			mtus = append(mtus, mtu)
		}
	}
	if len(mtus) == 1 && mtus[0] == 1500 {
		return ""
	}
	slices.Sort(mtus)
	return fmt.Sprintf(", of interfaces %s B", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(mtus), "[]")), ", "))
}

// portCount returns the number of a switch's ports in words: "6 ports", "10 ports, 8 of them by breakout of 2".
func (p *Plan) portCount(n *Node) string {
	parts, whole := 0, 0
	for _, id := range n.Ports {
		if port := &p.Ports[id]; port.Breakout > 0 {
			parts++
			if port.Lane == 0 {
				whole++
			}
		}
	}
	text := Plural(len(n.Ports), "port")
	if parts > 0 {
		text += fmt.Sprintf(", %d of them by breakout of %d", parts, whole)
	}
	return text
}

// neighbours lists the neighbours of a switch in the order of its ports. It adds the port of a host with several, and
// the weight of a link that has one: "h0..h7 (eth2) spine0 (weight 3)".
func (p *Plan) neighbours(n *Node) string {
	var parts []string
	var names []string // names with the current note
	note := ""
	flush := func() {
		if len(names) > 0 {
			parts = append(parts, Abbreviate(names)+note)
		}
		names = names[:0]
	}
	for _, port := range n.Ports {
		peer, of := p.PeerNode(port), ""
		if peer.Kind == Host && len(peer.Ports) > 1 {
			of = fmt.Sprintf(" (eth%d)", p.Ports[p.Ports[port].Peer].Number)
		}
		if w := p.Links[p.Ports[port].Link].Weight; w > 1 {
			of = fmt.Sprintf(" (weight %d)", w)
		}
		if of != note {
			flush()
			note = of
		}
		names = append(names, peer.Name)
	}
	flush()
	return strings.Join(parts, " ")
}

// Abbreviate joins names, with sequences of numbers shortened as specs write them: "R0 R1 H2..H15".
func Abbreviate(names []string) string {
	var parts []string
	for i := 0; i < len(names); {
		word, number, ok := numbered(names[i])
		last := i
		for ok && last+1 < len(names) && names[last+1] == fmt.Sprintf("%s%d", word, number+last+1-i) {
			last++
		}
		if last-i >= 2 {
			parts = append(parts, names[i]+".."+names[last])
			i = last + 1
			continue
		}
		parts = append(parts, names[i])
		i++
	}
	return strings.Join(parts, " ")
}

// numbered splits a name from the number at its end.
func numbered(name string) (word string, number int, ok bool) {
	word = strings.TrimRight(name, "0123456789")
	_, err := fmt.Sscanf(name[len(word):], "%d", &number)
	return word, number, err == nil
}

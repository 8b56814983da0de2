package audit

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// readLLDP reads the output of lldpcli show neighbors -f json, of one device.
func (r *reader) readLLDP(f *File, device string) error {
	var top struct {
		LLDP struct {
			Interface json.RawMessage `json:"interface"`
		} `json:"lldp"`
	}
	if err := json.Unmarshal(f.Data, &top); err != nil {
		return errors.New("not the output of lldpcli show neighbors -f json")
	}
	type neighbour struct {
		Chassis map[string]json.RawMessage `json:"chassis"`
		Port    struct {
			ID struct {
				Type  string `json:"type"`
				Value string `json:"value"`
			} `json:"id"`
			Descr string `json:"descr"`
		} `json:"port"`
	}
	// One interface is an object, several are a list of objects, each with the interface's name as its key.
	var list []map[string]neighbour
	if err := json.Unmarshal(top.LLDP.Interface, &list); err != nil {
		var one map[string]neighbour
		if err := json.Unmarshal(top.LLDP.Interface, &one); err != nil {
			return errors.New("lldp.interface: expected objects by interface, as lldpcli show neighbors -f json prints")
		}
		list = append(list, one)
	}
	for _, each := range list {
		for _, name := range sortedKeys(each) {
			n := each[name]
			port := n.Port.ID.Value
			if n.Port.ID.Type != "ifname" && n.Port.ID.Type != "local" && n.Port.Descr != "" {
				port = n.Port.Descr
			}
			for _, system := range sortedKeys(n.Chassis) {
				r.cables = append(r.cables, Link{
					Ends: [2]End{{device, name}, {system, port}}, Place: Place{f.Name, lineOf(f.Data, []string{name}), name},
				})
			}
		}
	}
	return nil
}

// readClab reads the links of a topology of containerlab.
func (r *reader) readClab(f *File) error {
	var report yamlspec.Report
	v := report.Parse(f.Name, f.Data)
	if err := report.Err(); err != nil {
		return err
	}
	for _, link := range v.Mapping().Get("topology").Mapping().Get("links").Items() {
		ends := link.Mapping().Get("endpoints").Items()
		if len(ends) != 2 {
			continue // to the host or the management network
		}
		var l Link
		for side, end := range ends {
			var text string
			if end.IsMapping() { // an unquoted leaf0:eth1 in a list in brackets
				end.Mapping().All(func(device, port *yamlspec.Value) { text = device.Raw() + ":" + port.Raw() })
			} else if !end.String(&text) {
				return report.Err()
			}
			l.Ends[side].Device, l.Ends[side].Port, _ = strings.Cut(text, ":")
		}
		l.Place = Place{f.Name, link.Line(), "topology.links"}
		r.cables = append(r.cables, l)
	}
	return report.Err()
}

// readMinigraph reads the cables between devices of a minigraph.xml of SONiC (sonic-buildimage, minigraph.py). Its
// ports are aliases.
func (r *reader) readMinigraph(f *File) error {
	d := xml.NewDecoder(bytes.NewReader(f.Data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		line, _ := d.InputPos()
		start, isStart := token.(xml.StartElement)
		if err == nil && isStart && start.Name.Local == "DeviceLinkBase" {
			var link struct{ ElementType, StartDevice, StartPort, EndDevice, EndPort string }
			if err = d.DecodeElement(&link, &start); err == nil && link.ElementType == "DeviceInterfaceLink" {
				r.cables = append(r.cables, Link{
					Ends:  [2]End{{link.StartDevice, link.StartPort}, {link.EndDevice, link.EndPort}},
					Place: Place{f.Name, line, "DeviceLinkBase"},
				})
			}
		}
		if err != nil {
			return fmt.Errorf("line %d: not a minigraph in XML, or cut off: %w", line, err)
		}
	}
}

// readSlurm reads the switches of Slurm's topology.conf (man page topology.conf(5)), a line each.
func (r *reader) readSlurm(f *File) error {
	for i, text := range strings.Split(string(f.Data), "\n") {
		text, _, _ = strings.Cut(text, "#")
		var name string
		var below []string
		for _, word := range strings.Fields(text) {
			key, value, found := strings.Cut(word, "=")
			switch key = strings.ToLower(key); {
			case !found:
				return fmt.Errorf("line %d: expected KEY=VALUE, such as SwitchName=leaf0 Nodes=h[0-3], not %q", i+1, word)
			case key == "switchname":
				name = value
			case key == "nodes", key == "switches":
				all, err := hostlist(value)
				if err != nil {
					return fmt.Errorf("line %d: %w", i+1, err)
				}
				below = append(below, all...)
			}
		}
		for _, device := range below {
			r.fabric.Tree = append(r.fabric.Tree, Branch{name, device, Place{f.Name, i + 1, "SwitchName=" + name}})
		}
	}
	return nil
}

// mostHosts limits the names of a host list.
const mostHosts = 1 << 16

// hostlist expands a list such as h[0-3,7],x1 (Slurm, hostlist expressions); numbers keep their leading zeros.
func hostlist(text string) (all []string, err error) {
	bad := fmt.Errorf("%q is not a list of names such as h[0-3,7],x1 with at most %d names", text, mostHosts)
	for text != "" {
		end := strings.IndexAny(text, ",[")
		if end < 0 {
			return append(all, text), nil
		}
		if text[end] == ',' {
			all, text = append(all, text[:end]), text[end+1:]
			continue
		}
		prefix, rest := text[:end], text[end+1:]
		list, rest, found := strings.Cut(rest, "]")
		suffix, rest, _ := strings.Cut(rest, ",")
		if !found || strings.ContainsAny(suffix, "[]") {
			return nil, bad
		}
		for _, span := range strings.Split(list, ",") {
			from, to, ranged := strings.Cut(span, "-")
			if !ranged {
				to = from
			}
			a, err1 := strconv.Atoi(from)
			b, err2 := strconv.Atoi(to)
			if err1 != nil || err2 != nil || a < 0 || b < a || b-a+len(all) >= mostHosts {
				return nil, bad
			}
			for ; a <= b; a++ {
				all = append(all, fmt.Sprintf("%s%0*d%s", prefix, len(from), a, suffix))
			}
		}
		text = rest
	}
	return all, nil
}

var (
	ibDevice = lazy.Regexp(`^(?:Switch|Ca)\s+\d+\s+"([SH]-[^"]*)"\s+# "([^"]*)"`)
	ibCable  = lazy.Regexp(`^\[(\d+)\](?:\([0-9a-fx]+\))?\s+"([SH]-[^"]*)"\[(\d+)\]`)
	ibName   = lazy.Regexp(`^MF0;([^:]+):`)
)

// readIBNet reads the output of ibnetdiscover (man page ibnetdiscover(8)). A device has the first word of its
// description, or its GUID if several have the same.
func (r *reader) readIBNet(f *File) {
	lines := bytes.Split(f.Data, []byte("\n"))
	names, count := map[string]string{}, map[string]int{}
	for _, line := range lines {
		if m := ibDevice().FindSubmatch(line); m != nil {
			name, _, _ := strings.Cut(string(m[2]), " ")
			if of := ibName().FindStringSubmatch(string(m[2])); of != nil {
				name = of[1]
			}
			if names[string(m[1])] == "" && m[1][0] == 'S' {
				count[name]++
			}
			names[string(m[1])] = name
		}
	}
	device := func(guid string) string {
		if name := names[guid]; name != "" && count[name] <= 1 {
			return name
		}
		return guid
	}
	here := ""
	for i, line := range lines {
		if m := ibDevice().FindSubmatch(line); m != nil {
			here = string(m[1])
		} else if m := ibCable().FindSubmatch(line); m != nil && here != "" {
			r.cables = append(r.cables, Link{
				Ends:  [2]End{{device(here), string(m[1])}, {device(string(m[2])), string(m[3])}},
				Place: Place{f.Name, i + 1, here + "[" + string(m[1]) + "]"},
			})
		}
	}
}

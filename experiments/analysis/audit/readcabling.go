package audit

import (
	"encoding/json"
	"errors"
	"strings"

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

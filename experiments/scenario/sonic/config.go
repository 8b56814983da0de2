// Package sonic reads the buffer, PFC and ECN settings of a SONiC switch's config_db.json, as documented in
// sonic-buildimage (src/sonic-yang-models/doc/Configuration.md), and writes a scenario with such a switch.
//
//   - The file: config.go (tables and fields), lookup.go (pg_profile_lookup.ini).
//   - Its meaning here: switch.go (the settings of a group of ports), scenario.go (the text).
package sonic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lazy"
)

// Table represents a table of the configuration: rows by key, fields by name.
type Table map[string]map[string]string

// Config holds the buffer, PFC and ECN settings of a configuration. Keys that name several ports are split.
type Config struct {
	Name   string // the switch's name; empty if it has no valid one
	Ports  []Port // in order of their numbers
	tables map[string]Table
}

// Port represents a front-panel port.
type Port struct {
	Name  string
	Speed int64 // Mb/s
	Cable string
	MTU   int // in bytes of an IP packet; 0: not in the file
}

// Tables that are read. A file has many others.
var tables = []string{
	"PORT", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "PORT_QOS_MAP", "WRED_PROFILE", "QUEUE", "SCHEDULER", "PFC_WD",
	"CABLE_LENGTH",
	"DEFAULT_LOSSLESS_BUFFER_PARAMETER", "LOSSLESS_TRAFFIC_PATTERN", "DEVICE_METADATA",
}

// perPort lists the tables whose keys start with ports.
var perPort = []string{"BUFFER_PG", "PORT_QOS_MAP", "QUEUE", "PFC_WD"}

// Parse reads a config_db.json. Errors name the position in the file, as TABLE|KEY|FIELD.
func Parse(data []byte) (*Config, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			before := data[:min(int(syntax.Offset), len(data))]
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(before, []byte("\n")), err)
		}
		return nil, errors.New("not a config_db.json: expected an object of tables, such as {\"PORT\": {...}, " +
			"\"BUFFER_PG\": {...}}")
	}
	c := &Config{tables: map[string]Table{}}
	for _, name := range tables {
		var rows map[string]map[string]any
		if text, found := all[name]; found {
			if err := json.Unmarshal(text, &rows); err != nil {
				return nil, fmt.Errorf("%s: expected an object of rows, each an object of fields", name)
			}
		}
		t := Table{}
		for _, key := range sorted(rows) {
			row := map[string]string{}
			for field, value := range rows[key] {
				switch v := value.(type) {
				case string:
					row[field] = strings.TrimSpace(v)
				case float64, bool:
					row[field] = fmt.Sprint(v)
				}
			}
			// BUFFER_PG|Ethernet0,Ethernet4|3-4 is a row for each of the ports in older releases.
			first, rest, more := strings.Cut(key, "|")
			if !slices.Contains(perPort, name) || !strings.Contains(first, ",") {
				t[key] = row
				continue
			}
			for _, port := range strings.Split(first, ",") {
				if more {
					port += "|" + rest
				}
				t[port] = row
			}
		}
		c.tables[name] = t
	}
	if name := c.tables["DEVICE_METADATA"]["localhost"]["hostname"]; portName().MatchString(name) {
		c.Name = name
	}
	return c, c.readPorts()
}

// sorted returns a map's keys in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var portName = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_./-]{0,63}$`)

// MostPorts limits a switch's ports.
const MostPorts = 1024

func (c *Config) readPorts() error {
	cables := map[string]string{}
	for _, rows := range c.tables["CABLE_LENGTH"] {
		for port, length := range rows {
			cables[port] = length
		}
	}
	for _, name := range sorted(c.tables["PORT"]) {
		row := c.tables["PORT"][name]
		if row["admin_status"] == "down" {
			continue
		}
		if !portName().MatchString(name) {
			return fmt.Errorf("PORT: %q is not a port's name such as Ethernet0", name)
		}
		speed, err := strconv.ParseInt(row["speed"], 10, 64)
		if err != nil || speed < 10 || speed > 10_000_000 {
			return fmt.Errorf("PORT|%s|speed: %q is not a speed in Mbps", name, row["speed"])
		}
		mtu := 0
		if text, found := row["mtu"]; found {
			if mtu, err = strconv.Atoi(text); err != nil || mtu < 68 || mtu > 9216 {
				return fmt.Errorf("PORT|%s|mtu: %q is not an MTU of 68 to 9216 bytes", name, text)
			}
		}
		c.Ports = append(c.Ports, Port{Name: name, Speed: speed, Cable: cables[name], MTU: mtu})
	}
	switch {
	case len(c.Ports) == 0:
		return errors.New("PORT: no port is up, so there is nothing to import")
	case len(c.Ports) > MostPorts:
		return fmt.Errorf("PORT: %d ports exceed the limit of %d", len(c.Ports), MostPorts)
	}
	slices.SortFunc(c.Ports, func(a, b Port) int {
		if d := number(a.Name) - number(b.Name); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return nil
}

// number returns the number at the end of a port's name.
func number(name string) int {
	n, _ := strconv.Atoi(name[len(strings.TrimRight(name, "0123456789")):])
	return n
}

// reference returns the name in a field's reference: "name", or "[TABLE|name]" in older releases.
func reference(field string) string {
	field = strings.Trim(field, "[]")
	return field[strings.LastIndex(field, "|")+1:]
}

// bytesOf parses a field with a number of bytes.
func bytesOf(at, field string) (int64, error) {
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0, fmt.Errorf("%s: %q is not a number of bytes", at, field)
	}
	return n, nil
}

// Span parses "3" or "3-4": numbers of priorities, queues or priority groups, at most 64. at is the place that an error
// names.
func Span(at, text string) (all []int, err error) {
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	a, err1 := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || a < 0 || b < a || b > 63 {
		return nil, fmt.Errorf("%s: %q is not a number or range such as 3 or 3-4", at, text)
	}
	for n := a; n <= b; n++ {
		all = append(all, n)
	}
	return all, nil
}

// metres parses a cable's length such as "40m".
func metres(at, text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "m"), 10, 64)
	if err != nil || !strings.HasSuffix(text, "m") || n < 0 || n > 1_000_000 {
		return 0, fmt.Errorf("%s: %q is not a length such as 40m", at, text)
	}
	return n, nil
}

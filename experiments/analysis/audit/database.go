package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
)

// rows holds a table of a SONiC configuration: fields by key, and each row's file.
type rows struct {
	fields map[string]map[string]string
	files  map[string]string
}

// database holds the tables of a switch, from several files.
type database struct {
	tables map[string]*rows
	main   string                         // the file with PORT, or the first
	byPort map[string]map[string][]string // keys of a table by port, in order; filled at first use
}

// fieldText returns a field's value as text; lists become words separated by commas.
func fieldText(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		return strings.Join(lists.Map(v, fieldText), ",")
	case nil, map[string]any:
		return ""
	}
	return fmt.Sprint(v)
}

// merge adds a file's tables. A field of a later file replaces that of an earlier one.
func (d *database) merge(f *File) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(f.Data, &all); err != nil {
		return fmt.Errorf("%s: not a JSON object of tables, such as {\"PORT\": {...}}: %w", f.Name, err)
	}
	for _, name := range sortedKeys(all) {
		var table map[string]map[string]any
		if err := json.Unmarshal(all[name], &table); err != nil {
			if tableName().MatchString(strconv.Quote(name)) {
				return fmt.Errorf("%s: %s: expected rows of fields, such as {\"Ethernet0\": {\"speed\": \"100000\"}}: %w", f.Name,
					name, err)
			}
			continue // a table that audit does not read
		}
		t := d.tables[name]
		if t == nil {
			t = &rows{map[string]map[string]string{}, map[string]string{}}
			d.tables[name] = t
		}
		for _, key := range sortedKeys(table) {
			first, rest, more := strings.Cut(key, "|")
			ports := []string{first}
			if strings.Contains(first, ",") { // older releases: Ethernet0,Ethernet4|3-4
				ports = strings.Split(first, ",")
			}
			for _, port := range ports {
				if more {
					port += "|" + rest
				}
				if t.fields[port] == nil {
					t.fields[port] = map[string]string{}
				}
				for field, value := range table[key] {
					t.fields[port][field] = fieldText(value)
				}
				t.files[port] = f.Name
			}
		}
		if name == "PORT" || d.main == "" {
			d.main = f.Name
		}
	}
	return nil
}

// row returns a row's fields; nil if it is absent.
func (d *database) row(table, key string) map[string]string {
	if t := d.tables[table]; t != nil {
		return t.fields[key]
	}
	return nil
}

// keys returns a table's keys in order.
func (d *database) keys(table string) []string {
	if t := d.tables[table]; t != nil {
		return sortedKeys(t.fields)
	}
	return nil
}

// keysOf returns the keys of a table's rows for a port: PORT|NUMBERS or, on a chassis, SWITCH|ASIC|PORT|NUMBERS.
func (d *database) keysOf(table, port string) []string {
	if d.byPort == nil {
		d.byPort = map[string]map[string][]string{}
	}
	if d.byPort[table] == nil {
		d.byPort[table] = map[string][]string{}
		for _, key := range d.keys(table) {
			last := strings.LastIndex(key, "|")
			name := key[:max(0, last)]
			name = name[strings.LastIndex(name, "|")+1:]
			d.byPort[table][name] = append(d.byPort[table][name], key)
		}
	}
	return d.byPort[table][port]
}

// numbersOf returns the part of a key behind the port.
func numbersOf(key string) string { return key[strings.LastIndex(key, "|")+1:] }

// ports returns the names of ports. They are the rows of PORT. If no file has it, as with parts of a configuration,
// they are the ports in PORT_QOS_MAP and BUFFER_PG.
func (d *database) ports() []string {
	if all := d.keys("PORT"); len(all) > 0 {
		return all
	}
	names := map[string]bool{}
	for _, table := range []string{"PORT_QOS_MAP", "BUFFER_PG"} {
		for _, key := range d.keys(table) {
			name, _, _ := strings.Cut(key, "|")
			names[name] = name != "global"
		}
	}
	return slices.DeleteFunc(sortedKeys(names), func(name string) bool { return !names[name] })
}

// missing records a reference to a row that does not exist, but only if some file has the table.
func (s *Switch) missing(d *database, at Place, table, name string) {
	if d.tables[table] != nil {
		s.Missing = append(s.Missing, Missing{at, table, name})
	}
}

// place returns the position of a row's field.
func (d *database) place(table, key, field string) Place {
	file := d.main
	if t := d.tables[table]; t != nil {
		file = cmp.Or(t.files[key], file)
	}
	return Place{File: file, Key: strings.TrimRight(table+"|"+key+"|"+field, "|")}
}

// lineOf finds words in quotes in a file, each after the one before, and returns the line of the last one that it
// finds; 0 if it finds none.
func lineOf(data []byte, words []string) int {
	at, line := 0, 0
	for _, word := range words {
		i := bytes.Index(data[at:], []byte(strconv.Quote(word)))
		if i < 0 {
			break
		}
		at += i
		line = 1 + bytes.Count(data[:at], []byte("\n"))
		at++
	}
	return line
}

// number parses a field with a whole number; an empty field is 0.
func (d *database) number(table, key, field string, least, most int64) (int64, error) {
	text := d.row(table, key)[field]
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%s: %q is not a number from %d to %d", d.place(table, key, field), text, least, most)
	}
	return n, nil
}

// reference returns the name in a reference: "name", or "[TABLE|name]" in older releases.
func reference(field string) string {
	field = strings.Trim(field, "[]")
	return field[strings.LastIndex(field, "|")+1:]
}

const (
	mostBytes = 1 << 40
	mostTC    = 15
)

// resolveLines sets the lines of findings in JSON files.
func (r *Report) resolveLines(list []File) {
	for _, f := range r.Findings {
		i := slices.IndexFunc(list, func(of File) bool { return of.Name == f.File })
		if f.Line > 0 || i < 0 || f.Key == "" {
			continue
		}
		table, rest, _ := strings.Cut(f.Key, "|")
		words := []string{table, rest}
		if last := strings.LastIndex(rest, "|"); last >= 0 && !bytes.Contains(list[i].Data, []byte(strconv.Quote(rest))) {
			words = []string{table, rest[:last], rest[last+1:]}
		}
		f.Line = lineOf(list[i].Data, words)
	}
}

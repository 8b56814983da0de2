package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario/sonic"
)

// readSwitch reads the files of a switch. Files without PORT and without a lossless setting are no switch.
func (r *reader) readSwitch(s *source) error {
	d := &database{tables: map[string]*rows{}}
	for _, f := range s.files {
		if err := d.merge(f); err != nil {
			return err
		}
	}
	sw := &Switch{Name: s.device, device: s.device, Pools: map[string]*Pool{}, Seed: -1}
	if name := d.row("DEVICE_METADATA", "localhost")["hostname"]; name != "" {
		sw.Name = name
	}
	for _, f := range s.portIni {
		d.mergePorts(f)
	}
	sw.Place = Place{File: d.main}
	if err := sw.readLookups(s.lookup); err != nil {
		return err
	}
	if err := sw.readSeed(d, s.set); err != nil {
		return err
	}
	for _, name := range d.keys("BUFFER_POOL") {
		p := &Pool{Name: name, Place: d.place("BUFFER_POOL", name, "")}
		var err error
		if p.Size, err = d.number("BUFFER_POOL", name, "size", 0, mostBytes); err != nil {
			return err
		}
		if p.Shared, err = d.number("BUFFER_POOL", name, "xoff", 0, mostBytes); err != nil {
			return err
		}
		sw.Pools[name] = p
	}
	mtu, err := d.number("LOSSLESS_TRAFFIC_PATTERN", "AZURE", "mtu", 64, 9216)
	if err != nil {
		return err
	}
	poll, err := d.number("PFC_WD", "GLOBAL", "POLL_INTERVAL", 1, 100_000)
	if err != nil {
		return err
	}
	sw.Whole = d.tables["PORT"] != nil && d.tables["PORT_QOS_MAP"] != nil
	sw.LosslessMTU, sw.Poll = int(mtu), int(poll)
	for _, name := range d.ports() {
		if err := sw.readPort(d, name); err != nil {
			return err
		}
	}
	slices.SortStableFunc(sw.Ports, func(x, y *Port) int {
		return cmp.Or(cmp.Compare(len(x.Name), len(y.Name)), strings.Compare(x.Name, y.Name))
	})
	if len(sw.Ports)+len(sw.Lookup) > 0 {
		r.fabric.Switches = append(r.fabric.Switches, sw)
	}
	return nil
}

// mergePorts adds ports of a port_config.ini, whose comment names the columns.
func (d *database) mergePorts(f *File) {
	columns := []string{"name", "lanes", "alias", "index", "speed"}
	t := d.tables["PORT"]
	if t == nil {
		t = &rows{map[string]map[string]string{}, map[string]string{}}
		d.tables["PORT"] = t
	}
	for _, line := range strings.Split(string(f.Data), "\n") {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		if len(words) == 0 {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			if words[0] == "name" {
				columns = words
			}
			continue
		}
		row := t.fields[words[0]]
		if row == nil {
			row = map[string]string{}
			t.fields[words[0]], t.files[words[0]] = row, f.Name
		}
		for i, word := range words {
			if i < len(columns) && slices.Contains([]string{"speed", "fec", "alias"}, columns[i]) && row[columns[i]] == "" {
				row[columns[i]] = word
			}
		}
	}
	d.main = cmp.Or(d.main, f.Name)
}

// readLookups reads the rows of pg_profile_lookup.ini files.
func (s *Switch) readLookups(list []*File) error {
	for _, f := range list {
		all, err := sonic.LookupRows(f.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		for i := range all {
			row := &all[i]
			metres, err := row.Metres()
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			p := &Profile{
				Name: fmt.Sprintf("%d %s", row.Speed, row.Cable), Speed: row.Speed, Metres: metres,
				Place: Place{f.Name, row.Line, fmt.Sprintf("%d %s", row.Speed, row.Cable)},
			}
			if err := p.read(row.Fields); err != nil {
				return fmt.Errorf("%s, line %d: %w", f.Name, row.Line, err)
			}
			s.Lookup = append(s.Lookup, p)
		}
	}
	return nil
}

// read reads a profile's fields.
func (p *Profile) read(fields map[string]string) error {
	p.XON, p.Offset = -1, -1
	for _, f := range []struct {
		name string
		into *int64
	}{{"size", &p.Size}, {"xoff", &p.XOFF}, {"xon", &p.XON}, {"xon_offset", &p.Offset}, {"static_th", &p.Static}} {
		text, found := fields[f.name]
		if !found || text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || n > mostBytes {
			return fmt.Errorf("%s: %q is not a number of bytes", f.name, text)
		}
		*f.into = n
	}
	if text, found := fields["dynamic_th"]; found && p.Static == 0 {
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && n >= -8 && n <= 8:
			p.Alpha = math.Ldexp(1, n)
		case err == nil && n > 8: // a platform whose column is a static threshold, in bytes
			p.Static = int64(n)
		default:
			return fmt.Errorf("dynamic_th: %q is not an exponent of -8 to 8", text)
		}
	}
	p.Pool = reference(fields["pool"])
	return nil
}

// seeds are the hash seeds that SONiC's switch.json.j2 gives roles of switches.
var seeds = []struct {
	role string
	seed int
}{
	{"ToRRouter", 0}, {"LeafRouter", 10}, {"SpineRouter", 25}, {"FabricSpineRouter", 40}, {"UpperSpineRouter", 50},
}

// readSeed reads ECMP's hash seed from switch.json, or takes that of the role.
func (s *Switch) readSeed(d *database, set []*File) error {
	for _, f := range set {
		var list []map[string]json.RawMessage
		if err := json.Unmarshal(f.Data, &list); err != nil {
			return fmt.Errorf("%s: expected a list of tables, as in SONiC's switch.json", f.Name)
		}
		for _, each := range list {
			var fields map[string]any
			if json.Unmarshal(each["SWITCH_TABLE:switch"], &fields) != nil {
				continue
			}
			text := fieldText(fields["ecmp_hash_seed"])
			if text == "" {
				continue
			}
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return fmt.Errorf("%s: ecmp_hash_seed: %q is not a number", f.Name, text)
			}
			s.Seed = n
			s.SeedPlace = Place{f.Name, lineOf(f.Data, []string{"ecmp_hash_seed"}), "SWITCH_TABLE:switch|ecmp_hash_seed"}
		}
	}
	role := d.row("DEVICE_METADATA", "localhost")["type"]
	for _, of := range seeds {
		if s.Seed < 0 && of.role == role {
			s.Seed, s.SeedPlace = of.seed, d.place("DEVICE_METADATA", "localhost", "type")
		}
	}
	return nil
}

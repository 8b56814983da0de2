package audit

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario/sonic"
)

// readPort reads a port's settings from all tables.
func (s *Switch) readPort(d *database, name string) (err error) {
	row := d.row("PORT", name)
	p := &Port{
		Switch: s, Name: name, Alias: row["alias"], Up: row["admin_status"] != "down", Metres: -1,
		Places: map[string]Place{}, FEC: fecName(row["fec"]),
	}
	for _, field := range []string{"speed", "mtu", "fec"} {
		p.Places[field] = d.place("PORT", name, field)
	}
	if p.Speed, err = d.number("PORT", name, "speed", 10, 10_000_000); err != nil {
		return err
	}
	mtu, err := d.number("PORT", name, "mtu", 68, 65_535)
	if err != nil {
		return err
	}
	p.MTU = int(mtu)
	for _, key := range d.keys("CABLE_LENGTH") {
		text, found := d.row("CABLE_LENGTH", key)[name]
		if !found {
			continue
		}
		p.Places["cable"] = d.place("CABLE_LENGTH", key, name)
		n, err := strconv.ParseInt(strings.TrimSuffix(text, "m"), 10, 64)
		if err != nil || n < 0 || n > 1_000_000 {
			return fmt.Errorf("%s: %q is not a length such as 40m", p.Places["cable"], text)
		}
		p.Metres = n
	}
	for _, step := range []func(*database, *Port) error{s.readMaps, s.readGroups, s.readQueues, s.readWatchdog} {
		if err := step(d, p); err != nil {
			return err
		}
	}
	s.Ports = append(s.Ports, p)
	return nil
}

// readMaps reads PFC and the QoS maps of a port.
func (s *Switch) readMaps(d *database, p *Port) error {
	row := maps.Clone(d.row("PORT_QOS_MAP", "global"))
	if row == nil {
		row = map[string]string{}
	}
	own := d.row("PORT_QOS_MAP", p.Name)
	maps.Copy(row, own)
	p.QoS = own != nil
	p.Places["pfc"] = d.place("PORT_QOS_MAP", p.Name, "pfc_enable")
	for _, word := range strings.Split(row["pfc_enable"], ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > 7 {
			return fmt.Errorf("%s: %q is not a list of priorities such as 3,4", p.Places["pfc"], row["pfc_enable"])
		}
		p.PFC |= 1 << n
	}
	for n := range p.TCToPG {
		p.TCToPG[n], p.TCToQueue[n] = min(n, 7), n
	}
	for n := range 8 {
		p.PFCToPG[n], p.PFCQueue[n] = n, n
	}
	p.Trusted = row["dscp_to_tc_map"] != ""
	for _, m := range []struct {
		field, setting string
		tables         []string
		into           []int
		most           int
	}{
		{"dscp_to_tc_map", "dscp", []string{"DSCP_TO_TC_MAP"}, p.DSCP[:], mostTC},
		{"tc_to_pg_map", "pg", []string{"TC_TO_PRIORITY_GROUP_MAP"}, p.TCToPG[:], 7},
		{"tc_to_queue_map", "queue", []string{"TC_TO_QUEUE_MAP"}, p.TCToQueue[:], 63},
		{"pfc_to_pg_map", "pfcpg", []string{"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"}, p.PFCToPG[:], 7},
		{
			"pfc_to_queue_map", "pfcqueue",
			[]string{"MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_QUEUE_MAP"},
			p.PFCQueue[:],
			63,
		},
	} {
		p.Places[m.setting] = d.place("PORT_QOS_MAP", p.Name, m.field)
		name := reference(row[m.field])
		if name == "" {
			continue
		}
		var fields map[string]string
		for _, table := range m.tables {
			if of := d.row(table, name); of != nil {
				fields = of
				p.Places[m.setting] = d.place(table, name, "")
			}
		}
		if fields == nil {
			s.missing(d, p.Places[m.setting], m.tables[0], name)
			p.Unmapped = p.Unmapped || m.setting == "dscp"
			p.NoPGMap = p.NoPGMap || m.setting == "pg"
			continue
		}
		for _, from := range sortedKeys(fields) {
			to := fields[from]
			a, err1 := strconv.Atoi(from)
			b, err2 := strconv.Atoi(to)
			if err1 != nil || err2 != nil || a < 0 || a >= len(m.into) || b < 0 || b > m.most {
				return fmt.Errorf("%s: %q: %q is not a valid pair", p.Places[m.setting], from, to)
			}
			m.into[a] = b
		}
	}
	return nil
}

// readGroups reads the profiles of a port's priority groups.
func (s *Switch) readGroups(d *database, p *Port) error {
	for _, key := range d.keysOf("BUFFER_PG", p.Name) {
		at := d.place("BUFFER_PG", key, "")
		all, err := sonic.Span(at.String(), numbersOf(key))
		if err != nil {
			return err
		}
		name := reference(d.row("BUFFER_PG", key)["profile"])
		if name == "" {
			continue
		}
		of := &Profile{Name: name, Dynamic: name == "NULL", Place: d.place("BUFFER_PROFILE", name, "xoff")}
		if of.Dynamic {
			of.Place = at
		} else {
			fields := d.row("BUFFER_PROFILE", name)
			if fields == nil {
				s.missing(d, at, "BUFFER_PROFILE", name)
				continue
			}
			if err := of.read(fields); err != nil {
				return fmt.Errorf("%s: %w", d.place("BUFFER_PROFILE", name, ""), err)
			}
			if fields["xoff"] == "" {
				continue // of lossy groups
			}
		}
		for _, n := range all {
			if n < 8 {
				p.Groups[n] = of
			}
		}
	}
	// SONiC makes the profiles of other lossless groups from the lookup table.
	for _, n := range p.PFC.All() {
		if g := p.PFCToPG[n]; p.Groups[g] == nil {
			for _, row := range s.Lookup {
				if row.Speed == p.Speed && row.Metres == p.Metres {
					p.Groups[g] = row
				}
			}
		}
	}
	return nil
}

// readQueues reads WRED and schedulers of a port's queues.
func (s *Switch) readQueues(d *database, p *Port) error {
	for _, key := range d.keysOf("QUEUE", p.Name) {
		at := d.place("QUEUE", key, "")
		all, err := sonic.Span(at.String(), numbersOf(key))
		if err != nil {
			return err
		}
		row := d.row("QUEUE", key)
		q := Queue{Place: at, Scheduler: strings.ToUpper(d.row("SCHEDULER", reference(row["scheduler"]))["type"])}
		if name := reference(row["wred_profile"]); name != "" {
			fields := d.row("WRED_PROFILE", name)
			if fields == nil {
				s.missing(d, at, "WRED_PROFILE", name)
			}
			w := &WRED{
				Unknown: fields == nil, Name: name, Place: d.place("WRED_PROFILE", name, ""),
				ECN: fields["ecn"] == "ecn_all" || strings.HasPrefix(fields["ecn"], "ecn_green"),
			}
			if w.KMin, err = d.number("WRED_PROFILE", name, "green_min_threshold", 0, mostBytes); err != nil {
				return err
			}
			if w.KMax, err = d.number("WRED_PROFILE", name, "green_max_threshold", 0, mostBytes); err != nil {
				return err
			}
			percent, err := d.number("WRED_PROFILE", name, "green_drop_probability", 0, 100)
			if err != nil {
				return err
			}
			w.PMax = float64(percent) / 100
			q.WRED = w
		}
		for _, n := range all {
			if n < 8 {
				before := p.Queues[n]
				p.Queues[n] = Queue{WRED: cmp.Or(q.WRED, before.WRED), Scheduler: cmp.Or(q.Scheduler, before.Scheduler), Place: at}
			}
		}
	}
	return nil
}

// readWatchdog reads a port's PFC watchdog.
func (s *Switch) readWatchdog(d *database, p *Port) error {
	row := d.row("PFC_WD", p.Name)
	if row == nil {
		return nil
	}
	detect, err := d.number("PFC_WD", p.Name, "detection_time", 0, 1_000_000)
	if err != nil {
		return err
	}
	restore, err := d.number("PFC_WD", p.Name, "restoration_time", 0, 1_000_000)
	if err != nil {
		return err
	}
	at := d.place("PFC_WD", p.Name, "")
	p.Watchdog = &Watchdog{Detect: int(detect), Restore: int(restore), Action: row["action"], Place: at}
	return nil
}

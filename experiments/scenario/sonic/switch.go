package sonic

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Switch holds the common settings of a group of ports, in pausenet's terms.
type Switch struct {
	Ports []Port
	Speed int64      // Mb/s
	Delay vtime.Time // of their cables
	MTU   int        // of the ports, in bytes of an IP packet; 0: not in the file
	// LosslessMTU and SmallPackets describe lossless traffic for SONiC's computation of headroom; 0: not in the file.
	LosslessMTU  int
	SmallPackets float64 // fraction of the packets
	Lossless     []int   // priorities
	// Headroom, XOFF and Alpha apply to a lossless priority of a port. Alpha 0: XOFF is static. XONOffset is the
	// distance of RESUME below XOFF, XON its absolute level; negative: not in the file.
	Headroom, XOFF, XONOffset, XON int64
	Alpha                          float64
	Auto                           bool  // SONiC computes headroom (dynamic buffer model)
	Pool, Shared                   int64 // bytes of the ingress lossless pool and of its shared headroom; 0: none
	ECN                            *ECN  // nil: none
	Weights                        map[int]int
	Watchdog                       *Watchdog // nil: none
	Notes                          []string
}

// ECN holds the marking of a WRED profile.
type ECN struct {
	Profile    string
	Priorities []int
	KMin, KMax int64 // bytes
	PMax       float64
}

// Watchdog holds the settings of the PFC watchdog.
type Watchdog struct {
	Detect, Restore vtime.Time
	Action          string // "drop" or "forward"
}

// Unsupported reports a port with well-formed settings that cannot be imported.
type Unsupported struct {
	Port   Port
	Reason string // without the port's name, so that equal reasons are equal
}

// Error returns the port's name and the reason.
func (u *Unsupported) Error() string { return u.Port.Name + ": " + u.Reason }

func unsupported(p Port, format string, args ...any) error {
	return &Unsupported{p, fmt.Sprintf(format, args...)}
}

// Switches returns the settings of all ports, one Switch for all ports with equal settings, most ports first. lookup,
// which may be nil, has the profiles of ports for which the configuration lacks lossless priority groups. Switches
// also returns the ports that cannot be imported; if none can, it returns the first one's error.
func (c *Config) Switches(lookup Lookup) (all []*Switch, left []*Unsupported, err error) {
	by := map[string]*Switch{}
	for _, p := range c.Ports {
		s, err := c.port(p, lookup)
		var without *Unsupported
		switch {
		case errors.As(err, &without):
			left = append(left, without)
			continue
		case err != nil:
			return nil, nil, err
		}
		key := fmt.Sprint(s.parts())
		if by[key] == nil {
			by[key] = s
			all = append(all, s)
		}
		by[key].Ports = append(by[key].Ports, p)
	}
	if len(all) == 0 {
		return nil, nil, left[0]
	}
	slices.SortStableFunc(all, func(a, b *Switch) int { return len(b.Ports) - len(a.Ports) })
	return all, left, nil
}

// part holds a table's settings of ports.
type part struct{ table, text string }

// parts returns texts that are equal for equal settings.
func (s *Switch) parts() []part {
	ecn, dog := "", ""
	if s.ECN != nil {
		ecn = fmt.Sprint(*s.ECN)
	}
	if s.Watchdog != nil {
		dog = fmt.Sprint(*s.Watchdog)
	}
	return []part{
		{"speed", fmt.Sprint(s.Speed)},
		{"CABLE_LENGTH", fmt.Sprint(s.Delay)},
		{"mtu", fmt.Sprint(s.MTU)},
		{"pfc_enable", fmt.Sprint(s.Lossless)},
		{"buffer profile", fmt.Sprint(s.Headroom, s.XOFF, s.XONOffset, s.XON, s.Alpha, s.Auto)},
		{"SCHEDULER", fmt.Sprint(s.Weights)},
		{"WRED_PROFILE", ecn},
		{"PFC_WD", dog},
	}
}

// differ returns the tables in which the settings of two groups differ.
func differ(a, b *Switch) (tables []string) {
	other := b.parts()
	for i, p := range a.parts() {
		if p != other[i] {
			tables = append(tables, p.table)
		}
	}
	return tables
}

func (c *Config) port(p Port, lookup Lookup) (*Switch, error) {
	const lightspeed = 198 // metres per microsecond, as in SONiC's formula for headroom
	s := &Switch{Speed: p.Speed, MTU: p.MTU, XONOffset: -1, XON: -1}
	if p.Cable != "" {
		m, err := metres("CABLE_LENGTH|"+p.Name, p.Cable)
		if err != nil {
			return nil, err
		}
		s.Delay = vtime.Microsecond * vtime.Time(m) / lightspeed
	}
	var without error // of an unsupported setting; a malformed setting takes precedence
	for _, err := range []error{
		c.lossless(s, p), c.pattern(s), c.profile(s, p, lookup), c.marking(s, p),
		c.watchdog(s, p),
	} {
		if u := (*Unsupported)(nil); errors.As(err, &u) {
			without = cmp.Or(without, err)
		} else if err != nil {
			return nil, err
		}
	}
	return s, without
}

// lossless reads the priorities with PFC.
func (c *Config) lossless(s *Switch, p Port) error {
	enabled := c.tables["PORT_QOS_MAP"][p.Name]["pfc_enable"]
	for _, word := range strings.Split(enabled, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > 7 {
			return fmt.Errorf("PORT_QOS_MAP|%s|pfc_enable: %q is not a list of priorities such as 3,4", p.Name, enabled)
		}
		s.Lossless = append(s.Lossless, n)
	}
	slices.Sort(s.Lossless)
	s.Lossless = slices.Compact(s.Lossless)
	if len(s.Lossless) == 0 {
		s.note("PORT_QOS_MAP has no pfc_enable for these ports, so PFC is off and no priority is lossless")
	}
	return nil
}

// pattern reads SONiC's assumptions on lossless traffic.
func (c *Config) pattern(s *Switch) (err error) {
	const at = "LOSSLESS_TRAFFIC_PATTERN|AZURE"
	row := c.tables["LOSSLESS_TRAFFIC_PATTERN"]["AZURE"]
	if text, found := row["mtu"]; found {
		if s.LosslessMTU, err = strconv.Atoi(text); err != nil || s.LosslessMTU < 64 || s.LosslessMTU > 9216 {
			return fmt.Errorf("%s|mtu: %q is not an MTU of 64 to 9216 bytes", at, text)
		}
		s.LosslessMTU = min(s.LosslessMTU, 9216-headers) // the largest topology.mtu, which excludes headers
	}
	if text, found := row["small_packet_percentage"]; found {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || percent < 0 || percent > 100 {
			return fmt.Errorf("%s|small_packet_percentage: %q is not a percentage", at, text)
		}
		s.SmallPackets = percent / 100
	}
	return nil
}

// profile reads the buffer profile of the port's lossless priority groups, and its pool.
func (c *Config) profile(s *Switch, p Port, lookup Lookup) error {
	if len(s.Lossless) == 0 {
		return nil
	}
	name, at := "", ""
	var row map[string]string
	groupRows := c.tables["BUFFER_PG"]
	for _, key := range sorted(groupRows) {
		port, groups, _ := strings.Cut(key, "|")
		if port != p.Name {
			continue
		}
		all, err := Span("BUFFER_PG|"+key, groups)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(n int) bool { return slices.Contains(s.Lossless, n) }) {
			continue
		}
		of := reference(groupRows[key]["profile"])
		if name != "" && of != name {
			return unsupported(p,
				"BUFFER_PG has profile %s for one lossless priority and %s for another, but pausenet supports one for all",
				min(of, name), max(of, name))
		}
		name = of
	}
	switch name {
	case "NULL":
		s.Auto = true
		at = "DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE"
		th, found := c.tables["DEFAULT_LOSSLESS_BUFFER_PARAMETER"]["AZURE"]["default_dynamic_th"]
		if !found {
			return fmt.Errorf("BUFFER_PG: %s has profile NULL, which SONiC derives from %s|default_dynamic_th, "+
				"but the file does not have that", p.Name, at)
		}
		row = map[string]string{"dynamic_th": th, "pool": "ingress_lossless_pool"}
	case "":
		row = lookup[lookupKey{p.Speed, p.Cable}]
		at = fmt.Sprintf("the lookup's line %d %s", p.Speed, p.Cable)
		if row == nil && lookup != nil {
			return unsupported(p, "BUFFER_PG has no lossless priority group, and the lookup file has no line for %d %s", p.Speed,
				cmp.Or(p.Cable, "(no CABLE_LENGTH)"))
		}
		if row == nil {
			return unsupported(p, "BUFFER_PG has no profile for its lossless priorities %v. SONiC creates it from its "+
				"platform's pg_profile_lookup.ini: give that file with --lookup FILE", s.Lossless)
		}
	default:
		at = "BUFFER_PROFILE|" + name
		if row = c.tables["BUFFER_PROFILE"][name]; row == nil {
			return fmt.Errorf("BUFFER_PG: %s has profile %s, which is not in BUFFER_PROFILE", p.Name, name)
		}
	}
	return errors.Join(c.thresholds(s, at, row), c.pool(s, row))
}

// thresholds reads a lossless profile.
func (c *Config) thresholds(s *Switch, at string, row map[string]string) (err error) {
	read := func(field string, into *int64) {
		if text, found := row[field]; found && err == nil {
			*into, err = bytesOf(at+"|"+field, text)
		}
	}
	read("xoff", &s.Headroom)
	read("xon_offset", &s.XONOffset)
	read("static_th", &s.XOFF)
	if s.XONOffset < 0 {
		read("xon", &s.XON)
	}
	if th, found := row["dynamic_th"]; found && err == nil {
		n, wrong := strconv.Atoi(th)
		if wrong != nil || n < -8 || n > 6 {
			return fmt.Errorf("%s|dynamic_th: %q is not an exponent of -8 to 6", at, th)
		}
		s.Alpha = math.Ldexp(1, n)
	}
	switch {
	case err != nil:
	case s.Alpha == 0 && s.XOFF == 0:
		err = fmt.Errorf("%s needs dynamic_th or static_th", at)
	case s.Headroom == 0 && !s.Auto:
		err = fmt.Errorf("%s needs xoff, the headroom", at)
	}
	return err
}

// pool reads the ingress pool of lossless traffic.
func (c *Config) pool(s *Switch, profile map[string]string) (err error) {
	name := cmp.Or(reference(profile["pool"]), "ingress_lossless_pool")
	row := c.tables["BUFFER_POOL"][name]
	if text, found := row["size"]; found {
		s.Pool, err = bytesOf("BUFFER_POOL|"+name+"|size", text)
	}
	if text, found := row["xoff"]; found && err == nil {
		s.Shared, err = bytesOf("BUFFER_POOL|"+name+"|xoff", text)
	}
	return err
}

// marking reads the WRED profile and the scheduler of the port's queues.
func (c *Config) marking(s *Switch, p Port) error {
	profile := ""
	for _, key := range sorted(c.tables["QUEUE"]) {
		row := c.tables["QUEUE"][key]
		port, queues, _ := strings.Cut(key, "|")
		if port != p.Name {
			continue
		}
		all, err := Span("QUEUE|"+key, queues)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(n int) bool { return n > 7 })
		if of := reference(row["wred_profile"]); of != "" {
			if profile != "" && profile != of {
				return unsupported(p,
					"QUEUE has WRED profile %s for one queue and %s for another, but pausenet supports one for all marked queues",
					profile, of)
			}
			profile = of
			if s.ECN == nil {
				s.ECN = &ECN{Profile: of}
			}
			s.ECN.Priorities = append(s.ECN.Priorities, all...)
		}
		of := reference(row["scheduler"])
		scheduler := c.tables["SCHEDULER"][of]
		if of != "" && scheduler == nil {
			return fmt.Errorf("QUEUE: %s has %s, which is not in SCHEDULER", p.Name, of)
		}
		if kind := strings.ToUpper(scheduler["type"]); kind == "DWRR" || kind == "WRR" {
			weight, err := strconv.Atoi(scheduler["weight"])
			if err != nil || weight < 1 || weight > 100 {
				return fmt.Errorf("SCHEDULER|%s|weight: %q is not a weight of 1 to 100", of, scheduler["weight"])
			}
			if s.Weights == nil {
				s.Weights = map[int]int{}
			}
			for _, n := range all {
				s.Weights[n] = weight
			}
		}
	}
	if s.ECN == nil {
		return nil
	}
	slices.Sort(s.ECN.Priorities)
	row, at := c.tables["WRED_PROFILE"][profile], "WRED_PROFILE|"+profile
	if row == nil {
		return fmt.Errorf("QUEUE: %s has %s, which is not in WRED_PROFILE", p.Name, profile)
	}
	if ecn := row["ecn"]; ecn != "ecn_all" && !strings.HasPrefix(ecn, "ecn_green") {
		s.note("WRED profile %s has ecn %q, which drops packets without marking: no ECN is imported", profile, ecn)
		s.ECN = nil
		return nil
	}
	var err error
	if s.ECN.KMin, err = bytesOf(at+"|green_min_threshold", row["green_min_threshold"]); err != nil {
		return err
	}
	if s.ECN.KMax, err = bytesOf(at+"|green_max_threshold", row["green_max_threshold"]); err != nil {
		return err
	}
	percent, err := strconv.ParseFloat(row["green_drop_probability"], 64)
	if err != nil || percent < 0 || percent > 100 {
		return fmt.Errorf("%s|green_drop_probability: %q is not a percentage", at, row["green_drop_probability"])
	}
	if s.ECN.KMax < s.ECN.KMin {
		return fmt.Errorf("%s: green_max_threshold %d is below green_min_threshold %d", at, s.ECN.KMax, s.ECN.KMin)
	}
	s.ECN.PMax = percent / 100
	return nil
}

// watchdog reads the PFC watchdog's times, which are in milliseconds.
func (c *Config) watchdog(s *Switch, p Port) error {
	row := c.tables["PFC_WD"][p.Name]
	if row == nil || len(s.Lossless) == 0 {
		return nil
	}
	w := &Watchdog{Action: row["action"]}
	for _, f := range []struct {
		field string
		into  *vtime.Time
	}{{"detection_time", &w.Detect}, {"restoration_time", &w.Restore}} {
		n, err := strconv.ParseInt(row[f.field], 10, 64)
		if err != nil || n < 1 || n > 10_000 {
			return fmt.Errorf("PFC_WD|%s|%s: %q is not a time of 1 to 10000 ms", p.Name, f.field, row[f.field])
		}
		*f.into = vtime.Time(n) * vtime.Millisecond
	}
	switch w.Action {
	case "drop", "forward":
		s.Watchdog = w
	default:
		s.note("PFC_WD has action %q, which does not change traffic: no watchdog is imported", w.Action)
	}
	return nil
}

func (s *Switch) note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// rate returns the ports' line rate.
func (s *Switch) rate() units.Rate { return rate(s.Speed) }

// rate converts Mb/s.
func rate(speed int64) units.Rate { return units.Rate(speed) * 1_000_000 }

package audit

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lazy"
)

// host returns a host, or one interface of it: the file's name has h0 or h0@eth1.
func (r *reader) host(device string) *Host {
	name, nic, _ := strings.Cut(device, "@")
	if r.hosts[device] == nil {
		r.hosts[device] = &Host{Name: name, NIC: nic, ToS: -1, CNPDSCP: -1, CNPPrio: -1, Places: map[string]Place{}}
	}
	return r.hosts[device]
}

var (
	trustState   = lazy.Regexp(`(?m)^Priority trust state:[ \t]*(\w+)`)
	dscpToPrio   = lazy.Regexp(`(?m)^[ \t]*prio:(\d+)[ \t]+dscp:([\d,]*)`)
	enabledPFC   = lazy.Regexp(`(?m)^[ \t]*enabled((?:[ \t]+[01]){8})`)
	dcbPFC       = lazy.Regexp(`(?m)\bprio-pfc((?:[ \t]+\d:(?:on|off)){1,8})`)
	dcbApp       = lazy.Regexp(`(?m)\bdscp-prio((?:[ \t]+[\w]+:\d)+)`)
	ethtoolSpeed = lazy.Regexp(`(?m)^[ \t]*Speed:[ \t]*(\d+)Mb/s`)
	ethtoolFEC   = lazy.Regexp(`(?mi)^[ \t]*Active FEC encodings?:[ \t]*(\w+)`)
)

// readNIC reads a file of a host.
func (r *reader) readNIC(k kind, f *File, device string) error {
	h := r.host(device)
	place := func(setting string, line int, key string) {
		h.Places[setting] = Place{f.Name, line, key}
	}
	number := func(setting string, most int, into *int) error {
		text := strings.TrimSpace(string(numbers().Find(f.Data)))
		n, err := strconv.Atoi(text)
		if err != nil || n > most {
			return fmt.Errorf("expected a number from 0 to %d", most)
		}
		*into = n
		place(setting, 1, "")
		return nil
	}
	switch k {
	case mlnxQoS:
		return h.readMlnxQoS(f, place)
	case dcbText:
		return h.readDCB(f, place)
	case romaTos:
		return number("tos", 255, &h.ToS)
	case cnpDSCP:
		return number("cnp_dscp", 63, &h.CNPDSCP)
	case cnpPrio:
		return number("cnp_802p_prio", 7, &h.CNPPrio)
	case ethtool:
		if text, line := first(ethtoolSpeed(), f.Data); text != "" {
			h.Speed, _ = strconv.ParseInt(text, 10, 64)
			place("speed", line, "Speed")
		}
		if text, line := first(ethtoolFEC(), f.Data); text != "" {
			h.FEC = fecName(text)
			place("fec", line, "Active FEC encoding")
		}
	case ipLink:
		text, line := first(regexpMTU(), f.Data)
		h.MTU, _ = strconv.Atoi(text)
		place("mtu", line, "mtu")
	}
	return nil
}

// fecName returns rs, fc, none or another name, in lower case, for names of SONiC and ethtool.
func fecName(text string) string {
	switch text = strings.ToLower(text); text {
	case "baser":
		return "fc"
	case "off":
		return "none"
	case "llrs":
		return "rs"
	}
	return text
}

// readMlnxQoS reads the output of mlnx_qos -i INTERFACE.
func (h *Host) readMlnxQoS(f *File, place func(string, int, string)) error {
	if text, line := first(trustState(), f.Data); text != "" {
		h.Trust = strings.ToLower(text)
		place("trust", line, "Priority trust state")
	}
	for _, of := range []struct {
		title string
		rows  *regexp.Regexp
	}{{"dscp2prio mapping:", dscpToPrio()}, {"PFC configuration:", enabledPFC()}} {
		if at := bytes.Index(f.Data, []byte(of.title)); at >= 0 && !of.rows.Match(f.Data[at:]) {
			return fmt.Errorf("line %d: %q has no rows: the output is cut off", 1+bytes.Count(f.Data[:at], []byte("\n")),
				of.title)
		}
	}
	for _, m := range dscpToPrio().FindAllSubmatch(f.Data, -1) {
		prio, err := strconv.Atoi(string(m[1]))
		if err != nil || prio > 7 {
			return fmt.Errorf("dscp2prio mapping: %q is not a priority of 0 to 7", m[1])
		}
		for _, word := range strings.FieldsFunc(string(m[2]), func(c rune) bool { return c == ',' }) {
			dscp, err := strconv.Atoi(word)
			if err != nil || dscp > 63 {
				return fmt.Errorf("dscp2prio mapping: %q is not a DSCP of 0 to 63", word)
			}
			h.Prio[dscp] = prio
			h.HasPrio = true
		}
	}
	if m := dscpToPrio().FindIndex(f.Data); m != nil {
		place("dscp", 1+bytes.Count(f.Data[:m[0]], []byte("\n")), "dscp2prio mapping")
	}
	if text, line := first(enabledPFC(), f.Data); text != "" {
		h.HasPFC, h.PFC = true, 0
		for n, word := range strings.Fields(text) {
			if word == "1" {
				h.PFC |= 1 << n
			}
		}
		place("pfc", line, "PFC configuration")
	}
	return nil
}

// dscpNames are the names of DSCPs that dcb app prints (RFC 2474, 2597, 3246, 5865, 8622).
var dscpNames = map[string]int{
	"CS0": 0, "CS1": 8, "CS2": 16, "CS3": 24, "CS4": 32, "CS5": 40, "CS6": 48, "CS7": 56, "AF11": 10, "AF12": 12,
	"AF13": 14,
	"AF21": 18, "AF22": 20, "AF23": 22, "AF31": 26, "AF32": 28, "AF33": 30, "AF41": 34, "AF42": 36, "AF43": 38, "EF": 46,
	"VOICE-ADMIT": 44, "LE": 1,
}

// readDCB reads the output of dcb pfc show and dcb app show.
func (h *Host) readDCB(f *File, place func(string, int, string)) error {
	if text, line := first(dcbPFC(), f.Data); text != "" {
		h.HasPFC, h.PFC = true, 0
		for _, word := range strings.Fields(text) {
			if n := int(word[0] - '0'); strings.HasSuffix(word, ":on") && n < 8 {
				h.PFC |= 1 << n
			}
		}
		place("pfc", line, "prio-pfc")
	}
	if text, line := first(dcbApp(), f.Data); text != "" {
		h.HasPrio, h.Trust = true, "dscp"
		for _, word := range strings.Fields(text) {
			name, prio, _ := strings.Cut(word, ":")
			dscp, named := dscpNames[strings.ToUpper(name)]
			if n, err := strconv.Atoi(name); err == nil {
				dscp, named = n, true
			}
			p, err := strconv.Atoi(prio)
			if !named || dscp > 63 || err != nil || p > 7 {
				return fmt.Errorf("dscp-prio: %q is not a DSCP and a priority such as 26:3", word)
			}
			h.Prio[dscp] = p
		}
		place("dscp", line, "dscp-prio")
	}
	return nil
}

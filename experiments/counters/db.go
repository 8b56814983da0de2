package counters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Database holds the hashes of SONiC's COUNTERS_DB, by key and field.
type Database map[string]map[string]string

// CountersDB holds the number of COUNTERS_DB among the databases of SONiC's redis server.
const CountersDB = 2

// Keys of maps from names to object IDs and back.
const (
	portNames  = "COUNTERS_PORT_NAME_MAP"
	queueNames = "COUNTERS_QUEUE_NAME_MAP"
	groupNames = "COUNTERS_PG_NAME_MAP"
)

// Object IDs of SAI: the type in the upper 16 bits.
const (
	portObject  = 0x1000000000000
	queueObject = 0x15000000000000
	groupObject = 0x1a000000000000
)

// portFields returns the counters of a port with their names in SAI.
func (p *Port) portFields() []field {
	all := []field{
		{"SAI_PORT_STAT_IF_IN_UCAST_PKTS", &p.RxPackets, 1},
		{"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", &p.TxPackets, 1},
		{"SAI_PORT_STAT_IF_IN_ERRORS", &p.RxErrors, 1},
		{"SAI_PORT_STAT_IF_IN_DISCARDS", &p.RxNoRoom, 1},
		{"SAI_PORT_STAT_IF_OUT_DISCARDS", &p.TxDrops, 1},
		{"SAI_PORT_STAT_ECN_MARKED_PACKETS", &p.ECNMarks, 1},
	}
	for i := range p.Class {
		c := &p.Class[i]
		for _, f := range []field{
			{"SAI_PORT_STAT_PFC_%d_RX_PKTS", &c.RxPause, 1},
			{"SAI_PORT_STAT_PFC_%d_TX_PKTS", &c.TxPause, 1},
			{"SAI_PORT_STAT_PFC_%d_RX_PAUSE_DURATION_US", &c.RxPauseNS, 1000},
			{"SAI_PORT_STAT_PFC_%d_TX_PAUSE_DURATION_US", &c.TxPauseNS, 1000},
		} {
			f.name = fmt.Sprintf(f.name, i)
			all = append(all, f)
		}
	}
	return all
}

// queueFields returns the counters of the egress queue of a priority.
func (c *Class) queueFields() []field {
	return []field{
		{"SAI_QUEUE_STAT_BYTES", &c.TxBytes, 1},
		{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", &c.Storms, 1},
		{"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", &c.WatchdogDrops, 1},
	}
}

// groupFields returns the counters of the ingress priority group of a priority.
func (c *Class) groupFields() []field {
	return []field{{"SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", &c.RxBytes, 1}}
}

// Database returns the counters of a node as COUNTERS_DB has them. Each priority has its own queue and priority group.
func (n *Node) Database() Database {
	d := Database{portNames: {}, queueNames: {}, groupNames: {}}
	for i, p := range n.Ports {
		oid := func(object, index int) string { return fmt.Sprintf("oid:0x%x", object+index) }
		port := oid(portObject, i+1)
		d[portNames][p.Name] = port
		d.put(port, p.portFields())
		for k := range p.Class {
			name := p.Name + ":" + strconv.Itoa(k)
			queue, group := oid(queueObject, i*Priorities+k+1), oid(groupObject, i*Priorities+k+1)
			d[queueNames][name], d[groupNames][name] = queue, group
			d.put(queue, p.Class[k].queueFields())
			d.put(group, p.Class[k].groupFields())
			d.set("COUNTERS_QUEUE_PORT_MAP", queue, port)
			d.set("COUNTERS_QUEUE_INDEX_MAP", queue, strconv.Itoa(k))
			d.set("COUNTERS_PG_PORT_MAP", group, port)
			d.set("COUNTERS_PG_INDEX_MAP", group, strconv.Itoa(k))
		}
	}
	return d
}

func (d Database) put(oid string, fields []field) {
	for _, f := range fields {
		d.set("COUNTERS:"+oid, f.name, strconv.FormatUint(*f.at/f.unit, 10))
	}
}

func (d Database) set(key, field, value string) {
	if d[key] == nil {
		d[key] = map[string]string{}
	}
	d[key][field] = value
}

// dumpedHash is the form of a key in the output of sonic-db-dump.
type dumpedHash struct {
	Type  string            `json:"type"`
	Value map[string]string `json:"value"`
}

// Dump returns the database as `sonic-db-dump -n COUNTERS_DB -y` prints it, with a line for each key, and without
// times to live.
func (d Database) Dump() ([]byte, error) {
	var b bytes.Buffer
	for i, key := range sorted(d) {
		separator := ",\n"
		if i == 0 {
			separator = "{\n"
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		hash, err := json.Marshal(dumpedHash{"hash", d[key]})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s  %s: %s", separator, name, hash)
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// readDump reads a dump into a node. The number of a queue or priority group is its priority.
func (n *Node) readDump(data []byte) error {
	var all map[string]struct {
		Type  string         `json:"type"`
		Value map[string]any `json:"value"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("not a dump of COUNTERS_DB: %w", err)
	}
	read := func(p *Port, oid any, fields []field) error {
		hash := all["COUNTERS:"+fmt.Sprint(oid)].Value
		for _, f := range fields {
			value, ok := hash[f.name]
			if !ok {
				continue
			}
			count, err := number(fmt.Sprint(value))
			if err != nil {
				return fmt.Errorf("COUNTERS:%v: %s: %w", oid, f.name, err)
			}
			p.put(f.at, count*f.unit)
		}
		return nil
	}
	if len(all[portNames].Value) == 0 {
		return fmt.Errorf("not a dump of COUNTERS_DB: it has no key %s", portNames)
	}
	for _, name := range sorted(all[portNames].Value) {
		p := n.port(name)
		if err := read(p, all[portNames].Value[name], p.portFields()); err != nil {
			return err
		}
	}
	for _, of := range []string{queueNames, groupNames} {
		for _, name := range sorted(all[of].Value) {
			at := strings.LastIndexByte(name, ':')
			if at < 0 {
				continue
			}
			k, err := strconv.Atoi(name[at+1:])
			if err != nil || k < 0 || k >= Priorities { // queues of multicast
				continue
			}
			p := n.port(name[:at])
			c := &p.Class[k]
			fields := c.queueFields()
			if of == groupNames {
				fields = c.groupFields()
			}
			if err := read(p, all[of].Value[name], fields); err != nil {
				return err
			}
		}
	}
	return nil
}

// sorted returns the keys of a map in the order of CompareNames.
func sorted[V any](m map[string]V) []string { return slices.SortedFunc(maps.Keys(m), CompareNames) }

// WriteDatabase writes the dump of a node's COUNTERS_DB.
func (n *Node) WriteDatabase(w io.Writer) error {
	data, err := n.Database().Dump()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// Files returns the contents of a node's dumps by file name: the formats of hosts, or those of switches.
func (n *Node) Files() map[string][]byte {
	all := map[string][]byte{}
	write := func(name string, to func(io.Writer) error) {
		var b bytes.Buffer
		_ = to(&b) // a buffer does not fail
		all[n.Name+name] = b.Bytes()
	}
	if n.Host {
		write(".ethtool.txt", n.WriteEthtool)
		return all
	}
	write(".pfc.txt", n.WritePFC)
	write(".counters_db.json", n.WriteDatabase)
	return all
}

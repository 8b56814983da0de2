package audit

import (
	"fmt"
	"strings"
	"testing"
)

// TestPolicies reads EOS's policy maps: the first class that matches a DSCP decides its traffic class, and class-default
// decides the others. A class map that matches by more than DSCPs, and a policy that is absent, leave the classes unknown.
// The lines have the form of Arista's manual (Quality of Service, Traffic Management).
func TestPolicies(t *testing.T) {
	const text = `class-map type qos match-any DATA
   match dscp 24-27 af41
class-map type qos match-any OTHER
   match dscp 26,30
class-map type qos match-any VLAN
   match vlan 7
policy-map type quality-of-service P
   class DATA
      set traffic-class 3
      set dscp 26
   class OTHER
      set traffic-class 4
policy-map type quality-of-service ALL
   class DATA
      police rate 1 gbps burst-size 1 kbytes
   class class-default
      set traffic-class 5
policy-map type quality-of-service Q
   class VLAN
      set traffic-class 3
interface Ethernet1
   no switchport
   service-policy type qos input P
interface Ethernet2
   service-policy type qos input P
interface Ethernet3
   service-policy type qos input ALL
interface Ethernet4
   no switchport
   service-policy type qos input Q
interface Ethernet5
   no switchport
   service-policy type qos input NONE
interface Ethernet6
   no switchport
   qos map dscp to traffic-class name M
`
	f, _, err := Read(files("leaf.cfg", text))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Switches[0]
	var got []string
	for _, p := range s.Ports {
		got = append(got, fmt.Sprint(p.DSCP[24], p.DSCP[26], p.DSCP[30], p.DSCP[34], p.DSCP[46], p.Trusted, p.Unmapped))
	}
	// Without a policy DSCP 24 to 30 are in class 3, 34 in class 4 and 46 in class 5.
	want := []string{
		"3 3 4 3 5 true false", "3 3 4 3 5 true true", "3 3 5 4 5 true false", "3 3 3 4 5 true true", "3 3 3 4 5 true true",
		"3 3 3 4 5 true true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(s.Missing) != 1 || s.Missing[0].Name != "NONE" || len(s.Unread) != 2 {
		t.Errorf("missing %v, unread %v", s.Missing, s.Unread)
	}
	for _, wrong := range []string{"set traffic-class 8", "set traffic-class x"} {
		if _, _, err := Read(files("leaf.cfg", strings.Replace(text, "set traffic-class 3", wrong, 1))); err == nil ||
			!strings.Contains(err.Error(), "leaf.cfg:9: ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestGroups expands Junos's groups with wildcards, at the top and below: only statements that exist inherit, and their
// own values come first (Junos OS CLI User Guide, Configuration Groups).
func TestGroups(t *testing.T) {
	f, _, err := Read(files("leaf.conf", `groups {
    mtus { interfaces { <et-*> { mtu 9216; gigether-options { fec fec91; } } <xe-*> { mtu 1500; } } }
    slow { interfaces { <*> { speed 25g; } } }
}
apply-groups mtus;
interfaces {
    et-0/0/0 { description a; }
    et-0/0/1 { mtu 4000; apply-groups slow; }
    ge-0/0/2 { apply-groups [ slow none ]; }
}
class-of-service { interfaces { et-* { unit 0; } } }
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range f.Switches[0].Ports {
		got = append(got, fmt.Sprint(p.Name, " ", p.MTU, p.Speed, " ", p.FEC))
	}
	// mtu counts 14 B of header.
	if want := "et-0/0/0 9202 0 rs\net-0/0/1 3986 25000 rs\nge-0/0/2 0 25000 "; strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestUnread reports each statement that no reader understands as a note, with its line.
func TestUnread(t *testing.T) {
	for name, text := range map[string]string{
		"a.cfg":  "interface Ethernet1\n   no switchport\n   dcbx mode ieee\n",
		"b.cfg":  "interface Ethernet1\n   no switchport\ndcbx application tcp-sctp 3260 priority 4\n",
		"c.conf": "interfaces {\n    et-0/0/0 { mtu 9216; }\n    interface-range r { member et-0/0/1; }\n}\nclass-of-service { }\n",
		"d.conf": "interfaces {\n    et-0/0/0 { \n apply-groups-except g;\n mtu 9216; }\n}\nclass-of-service { }\n",
		"startup.yaml": "- set:\n    qos:\n      traffic-pool:\n        default-lossless: {memory-percent: 50}\n" +
			"    interface: {swp1: {type: swp}}\n",
	} {
		r, err := Audit(files(name, text), Assumptions{})
		if err != nil || len(r.Findings) != 1 || r.Findings[0].Rule != "unread" || r.Findings[0].Severity != Note ||
			r.Findings[0].Line != 3 {
			t.Errorf("%s: %v", name, err)
			for _, f := range r.Findings {
				t.Errorf("%+v", *f)
			}
		}
	}
	sound := "interface Ethernet1\n   no switchport\n   dcbx mode none\n"
	if r, err := Audit(files("a.cfg", sound), Assumptions{}); err != nil || len(r.Findings) > 0 {
		t.Errorf("%v, %+v", err, r.Findings)
	}
}

package audit

import (
	"fmt"
	"strings"
	"testing"
)

// The samples have the forms of public documentation and configurations: for EOS the configurations that Arista's AVD
// writes (aristanetworks/avd at 3cac535c, eos_cli_config_gen) and Arista's manual; for NVUE NVIDIA's Cumulus Linux User
// Guide 5.14 (Quality of Service, RoCE); for Junos Juniper's example of DCQCN on QFX (Traffic Management User Guide); for
// ibnetdiscover its man page; for a minigraph the samples of sonic-buildimage at 086b03bd.
const eosSample = `! Command: show running-config
! device: leaf1 (DCS-7060CX2-32S, EOS-4.32.1F)
!
hostname leaf1
!
priority-flow-control pause watchdog default timeout 0.2
priority-flow-control pause watchdog default recovery-time 1.22
!
qos profile ROCE
   qos trust dscp
   !
   uc-tx-queue 3
      !! data
      no priority
      bandwidth percent 95
      random-detect ecn minimum-threshold 256 kbytes maximum-threshold 512 kbytes max-mark-probability 100 weight 0
   !
   uc-tx-queue 6
      priority strict
   !
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control priority 1 drop
!
interface Port-Channel1
   service-profile ROCE
   no switchport
!
interface Ethernet1/1
   description spine1
   mtu 9214
   speed 100g-4
   error-correction encoding reed-solomon
   no switchport
   service-profile ROCE
!
interface Ethernet2/1
   channel-group 1 mode active
   no priority-flow-control pause watchdog
!
interface Ethernet3/1
   shutdown
   switchport access vlan 20
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   tx-queue 3
      random-detect ecn minimum-threshold 3 milliseconds maximum-threshold 9 milliseconds
!
interface Ethernet4/1
   priority-flow-control priority 3 no-drop
!
interface Management1
   mtu 1500
!
qos map dscp 18 26 to traffic-class 4 drop-precedence 2
qos map dscp 8-9,46 to traffic-class 5
qos map traffic-class 4 to tx-queue 2
!
end
`

const nvueSample = `- header:
    model: SN4600C
    nvue-api-version: nvue_v1
    rev-id: 1.0
    version: Cumulus Linux 5.14.0
- set:
    interface:
      eth0:
        type: eth
      swp1-2,swp5:
        link:
          mtu: 9216
          speed: 100G
          fec: rs
          state:
            up: {}
        qos:
          pfc-watchdog: {}
        type: swp
      swp8:
        link:
          state:
            down: {}
        qos:
          mapping:
            profile: tags
          pfc:
            profile: lossless
          congestion-control:
            profile: mine
        type: swp
    qos:
      congestion-control:
        mine:
          traffic-class:
            '2,3':
              max-threshold: 200000
              min-threshold: 40000 B
              probability: 50
              ecn: enable
              red: disable
      mapping:
        default-global:
          dscp:
            '22':
              switch-priority: 3
          trust: both
        tags:
          trust: l2
      pfc:
        lossless:
          cable-length: 50
          port-buffer: 25000
          rx: enable
          switch-priority:
            '3': {}
            '4': {}
          tx: enable
          xoff-threshold: 10000
          xon-threshold: 2000
      pfc-watchdog:
        polling-interval: 200
        robustness: 5
      roce: {}
    system:
      hostname: leaf01
`

const junosSample = `## Last commit: 2026-01-02 03:04:05 UTC by x
version 23.4R2.13;
groups { port { interfaces { et-0/0/2 { mtu 9216; } } } }
apply-groups [ port none ];
system {
    host-name "leaf1";
}
interfaces {
    et-0/0/0 {
        description "to spine1; { not a brace";
        mtu 9216;
        speed 400g;
        unit 0 {
            family inet {
                mtu 9170;
            }
        }
    }
    et-0/0/1 { /* a comment
        of two lines */
        disable;
        gigether-options {
            fec fec74;
            speed 100g;
        }
    }
    inactive: et-0/0/9 {
        mtu 1500;
    }
    lo0 {
        unit 0;
    }
}
class-of-service {
    classifiers {
        dscp mydscp {
            forwarding-class CNP {
                loss-priority low code-points 110000;
            }
            forwarding-class NO-LOSS {
                loss-priority low code-points [ 011010 af21 ];
            }
        }
    }
    drop-profiles {
        dp1 {
            interpolate {
                fill-level [ 55 90 ];
                drop-probability [ 0 100 ];
            }
        }
    }
    forwarding-classes {
        class CNP queue-num 3;
        class NO-LOSS queue-num 4 no-loss pfc-priority 3;
    }
    congestion-notification-profile {
        cnp {
            pfc-watchdog {
                detection 5;
            }
            input {
                dscp {
                    code-point 011010 {
                        pfc;
                    }
                }
                cable-length 50;
            }
            output {
                ieee-802.1 {
                    code-point 011 {
                        flow-control-queue [ 3 4 ];
                    }
                }
            }
        }
    }
    interfaces {
        et-* {
            congestion-notification-profile cnp;
            scheduler-map sm1;
            unit * {
                classifiers {
                    dscp mydscp;
                }
            }
        }
    }
    scheduler-maps {
        sm1 {
            forwarding-class CNP scheduler s2-cnp;
            forwarding-class NO-LOSS scheduler s1;
        }
    }
    schedulers {
        s1 {
            drop-profile-map loss-priority any protocol any drop-profile dp1;
            explicit-congestion-notification;
        }
        s2-cnp {
            transmit-rate percent 5;
            priority strict-high;
        }
    }
}
`

const ibnetSample = `#
# Topology file: generated on Tue Jun  5 14:15:10 2007
#
# Initiated from node 0008f10403960558 port 0008f10403960559

vendid=0x2c9
devid=0xd2f2
switchguid=0x5442ba00003080(5442ba00003080)
Switch	24 "S-005442ba00003080"		# "MF0;leaf0:MQM9700/U1" enhanced port 0 lid 6 lmc 0
[22]	"H-0008f10403961354"[1](8f10403961355) 		# "h1 mlx5_0" lid 4 2xNDR
[10]	"S-0008f10400410015"[1]		# "SW-6IB4 Voltaire" lid 3 4xSDR

Switch	24 "S-0008f10400410015"		# "SW-6IB4 Voltaire" base port 0 lid 3 lmc 0
[1]	"S-005442ba00003080"[10]		# "MF0;leaf0:MQM9700/U1" lid 6 4xSDR

Switch	24 "S-0008f10400410016"		# "SW-6IB4 Voltaire" base port 0 lid 7 lmc 0

Ca	2 "H-0008f10403961354"		# "h1 mlx5_0"
[1](8f10403961355) 	"S-005442ba00003080"[22]		# lid 4 lmc 0 "MF0;leaf0:MQM9700/U1" lid 6 2xNDR
`

const minigraphSample = `<DeviceMiniGraph xmlns="Microsoft.Search.Autopilot.Evolution">
  <PngDec>
    <DeviceInterfaceLinks>
      <DeviceLinkBase>
        <ElementType>DeviceInterfaceLink</ElementType>
        <EndDevice>ARISTA01T1</EndDevice>
        <EndPort>Ethernet1</EndPort>
        <StartDevice>a</StartDevice>
        <StartPort>Ethernet1/1</StartPort>
      </DeviceLinkBase>
      <DeviceLinkBase>
        <ElementType>DeviceSerialLink</ElementType>
        <EndDevice>a</EndDevice>
      </DeviceLinkBase>
    </DeviceInterfaceLinks>
  </PngDec>
</DeviceMiniGraph>
`

// TestReadSystems reads the samples, and compares with what their documentation says that they mean.
func TestReadSystems(t *testing.T) {
	f, ignored, err := Read(files("eos/leaf1.cfg", eosSample, "nvue/startup.yaml", nvueSample, "j.conf", junosSample,
		"empty.cfg", "interface Port-Channel1\n   mtu 9000\n"))
	if err != nil || len(f.Switches) != 3 || fmt.Sprint(ignored) != "[empty.cfg]" {
		t.Fatalf("%d switches, ignored %v, %v", len(f.Switches), ignored, err)
	}
	describe := func(p *Port) string {
		text := fmt.Sprintf("up=%t %d Mb/s mtu=%d fec=%s cable=%d pfc=%v trusted=%t/%t", p.Up, p.Speed, p.MTU, p.FEC, p.Metres, p.PFC,
			p.Trusted, !p.Unmapped)
		l := p.land(26)
		text += fmt.Sprintf(" 26:%d/%d/%d", l.tc, l.queue, l.priority)
		for q, of := range p.Queues {
			if of.WRED != nil {
				text += fmt.Sprintf(" %d:%t,%d,%d%s", q, of.WRED.ECN, of.WRED.KMin, of.WRED.KMax, of.WRED.Unit)
			}
			if of.Scheduler != "" {
				text += fmt.Sprintf(" %d:%s", q, of.Scheduler)
			}
		}
		if w := p.Watchdog; w != nil {
			text += fmt.Sprintf(" watchdog=%d,%d,%d", w.Detect, w.Restore, w.Poll)
		}
		return text
	}
	var got []string
	for _, s := range f.Switches {
		for _, p := range s.Ports {
			got = append(got, p.Label()+" "+describe(p))
		}
	}
	want := []string{
		"leaf1:Ethernet1/1 up=true 100000 Mb/s mtu=9214 fec=rs cable=-1 pfc=3 trusted=true/true " +
			"26:4/2/-1 3:true,256000,512000 3:WRR 6:STRICT watchdog=200,1220,0",
		"leaf1:Ethernet2/1 up=true 0 Mb/s mtu=0 fec= cable=-1 pfc=3 trusted=true/true " +
			"26:4/2/-1 3:true,256000,512000 3:WRR 6:STRICT",
		"leaf1:Ethernet3/1 up=false 0 Mb/s mtu=0 fec= cable=-1 pfc=3 trusted=false/false " +
			"26:4/2/-1 3:true,3,9milliseconds watchdog=200,1220,0",
		"leaf1:Ethernet4/1 up=true 0 Mb/s mtu=0 fec= cable=-1 pfc=none trusted=true/false " +
			"26:4/2/-1",
		"leaf1:et-0/0/0 up=true 400000 Mb/s mtu=9170 fec= cable=50 pfc=3 trusted=true/true " +
			"26:4/4/3 3:STRICT 4:true,55,90% 4:WRR watchdog=500,200,100",
		"leaf1:et-0/0/1 up=false 100000 Mb/s mtu=0 fec=fc cable=50 pfc=3 trusted=true/true " +
			"26:4/4/3 3:STRICT 4:true,55,90% 4:WRR watchdog=500,200,100",
		"leaf1:et-0/0/2 up=true 0 Mb/s mtu=9202 fec= cable=50 pfc=3 trusted=true/true " +
			"26:4/4/3 3:STRICT 4:true,55,90% 4:WRR watchdog=500,200,100",
		"leaf01:swp1 up=true 100000 Mb/s mtu=9216 fec=rs cable=-1 pfc=3 trusted=true/true " +
			"26:3/3/3 0:true,150000,1500000 3:true,150000,1500000 6:STRICT watchdog=1000,-1,200",
		"leaf01:swp8 up=false 0 Mb/s mtu=0 fec= cable=50 pfc=3,4 trusted=false/false " +
			"26:3/3/3 0:true,150000,1500000 2:true,40000,200000 3:true,40000,200000 6:STRICT",
	}
	for _, line := range want {
		if !strings.Contains(strings.Join(got, "\n")+"\n", line+"\n") {
			t.Errorf("no port is\n%s\nof\n%s", line, strings.Join(got, "\n"))
		}
	}
	if len(got) != len(want)+2 { // swp2 and swp5 are as swp1
		t.Errorf("%d ports:\n%s", len(got), strings.Join(got, "\n"))
	}
}

// TestReadTopologies reads cables of ibnetdiscover and a minigraph, and compares topology.conf with them.
func TestReadTopologies(t *testing.T) {
	f, _, err := Read(files("ibnetdiscover", ibnetSample, "a/minigraph.xml", minigraphSample, "a/config_db.json",
		`{"PORT": {"Ethernet0": {"alias": "Ethernet1/1"}}, "PORT_QOS_MAP": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range f.Links {
		got = append(got, f.Links[i].String())
	}
	want := "[a:Ethernet0 - ARISTA01T1:Ethernet1 leaf0:22 - h1:1 leaf0:10 - S-0008f10400410015:1]"
	if fmt.Sprint(got) != want || f.Links[0].Ports[0] == nil {
		t.Errorf("%v, want %s", got, want)
	}
	r, err := Audit(files("ibnetdiscover", ibnetSample, "topology.conf", "# comment\nSwitchName=leaf0 Nodes=h[0-1] # h0 has no cable\n"+
		"switchname=S-0008f10400410015 Nodes=h1\n"), Assumptions{})
	if err != nil || len(r.Findings) != 1 || r.Findings[0].Line != 3 || !strings.HasPrefix(r.Findings[0].Message, "h1 is below S-0008f1") {
		t.Errorf("%+v, %v", r, err)
	}
	for text, want := range map[string]string{
		"tux[0-2,12]": "[tux0 tux1 tux2 tux12]", "a,b[08-10]x,c": "[a b08x b09x b10x c]", "": "[]", "a[1": "", "a[2-1]": "", "a[1-9999999]": "",
		"a[0-1]b[0-1]": "",
	} {
		all, err := hostlist(text)
		if got := fmt.Sprint(all); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("hostlist %q: %s, %v", text, got, err)
		}
	}
}

// TestReadSystemErrors checks that a mistake in a file names the file and the line, once.
func TestReadSystemErrors(t *testing.T) {
	deep := strings.Repeat("a { ", 100)
	for _, c := range []struct{ name, text, want string }{
		{
			"running-config", "interface Ethernet1\n   mtu huge\n",
			`running-config:2: interface Ethernet1 mtu huge: "huge" is not an MTU`,
		},
		{
			"running-config", "interface Ethernet1\n   priority-flow-control priority 9 no-drop\n",
			`:2: interface Ethernet1 priority-flow-control priority 9 no-drop: "9"`,
		},
		{
			"running-config", "interface Ethernet1\n\nqos map dscp 64 to traffic-class 3\n",
			`:3: qos map dscp 64 to traffic-class 3: "64" is not a list`,
		},
		{
			"running-config", "interface Ethernet1\n tx-queue 3\n  random-detect ecn minimum-threshold x kbytes maximum-threshold 1 kbytes\n",
			`:3: interface Ethernet1 tx-queue 3`,
		},
		{
			"running-config", "interface Ethernet1\npriority-flow-control pause watchdog default timeout soon\n",
			`:2: priority-flow-control pause`,
		},
		{"running-config", "interface Ethernet1-99999\n", `:1: interface Ethernet1-99999: "Ethernet1-99999" is not a range`},
		{"running-config", "interface Ethernet1\n" + nested(100), `nested deeper than 64 levels`},
		{
			"nvue.yaml", "- set:\n    interface:\n      swp1:\n        link:\n          mtu: big\n",
			`nvue.yaml:5: set interface swp1 link mtu big: "big" is not a number`,
		},
		{
			"nvue.yaml", "- set:\n    interface:\n      swp1: {}\n    qos:\n      mapping:\n        default-global:\n" +
				"          dscp:\n            '99': {}\n",
			`nvue.yaml:8: `,
		},
		{"nvue.yaml", "- set:\n  interface: [\n", `nvue.yaml:`},
		{
			"junos.conf", "interfaces {\n  et-0/0/0 {\n    mtu x;\n  }\n}\n",
			`junos.conf:3: interfaces et-0/0/0 mtu x: "x" is not a number`,
		},
		{"junos.conf", "interfaces {\n  et-0/0/0 {\n    mtu 9000;\n", `junos.conf:2: { has no }: the file is cut off`},
		{"junos.conf", "interfaces {\n  et-0/0/0;\n}\n}\n", `junos.conf:4: } without {`},
		{"junos.conf", "interfaces {\n  et-0/0/0 \"x\n}\n", `junos.conf:2: a quoted text has no end`},
		{"junos.conf", "interfaces {\n  et-0/0/0\n}\n", `junos.conf:3: "et-0/0/0" has no ;`},
		{"junos.conf", "interfaces { " + deep, `nested deeper than 64 levels`},
		{"junos.conf", "set class-of-service classifiers dscp a forwarding-class f loss-priority low code-points 2\n" +
			"set interfaces et-0/0/0 mtu 9000\nset class-of-service interfaces et-0/0/0 unit 0 classifiers dscp a\n" +
			"set class-of-service classifiers dscp a forwarding-class f loss-priority low code-points 0122222\n", `junos.conf:4: `},
		{
			"topology.conf", "SwitchName=a Nodes=h[0-1]\nSwitchName=b Nodes=h[1-0]\n",
			`topology.conf: line 2: "h[1-0]" is not a list`,
		},
		{"topology.conf", "SwitchName=a\nrubbish\n", `topology.conf: line 2: expected KEY=VALUE`},
		{"minigraph.xml", "<DeviceMiniGraph>\n<PngDec>\n", `minigraph.xml: line 3: not a minigraph in XML, or cut off`},
		{"running-config", "\x00\x01interface Ethernet1\n", `running-config: not the format that its name says`},
		{"running-config", "! Command: show running-config\ninterface Ethernet1\n   mtu 9", `running-config:3: the configuration does not close`},
		{"mlnx_qos", "DCBX mode: OS\nPFC configuration:\n\tprior", `mlnx_qos: line 2: "PFC configuration:" has no rows`},
		{"mlnx_qos", "", `mlnx_qos: not the format that its name says`},
		{"junos.conf", "login:\n", `junos.conf: not the format that its name says`},
	} {
		_, err := Audit(files(c.name, c.text), Assumptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), c.name) != 1 {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// nested returns lines that nest by indentation.
func nested(levels int) string {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i+1) + fmt.Sprintf("x%d\n", i))
	}
	return b.String()
}

// TestSystemDetails checks defaults and settings that the samples lack, at the first port of the first switch.
func TestSystemDetails(t *testing.T) {
	const nvue = "- set:\n    interface:\n      swp1:\n        link: {mtu: 9000}\n    qos:\n"
	const junos = "set interfaces et-0/0/0 mtu 9000\nset class-of-service interfaces et-0/0/0 congestion-notification-profile p\n" +
		"set class-of-service interfaces et-0/0/0 unit 0 classifiers dscp c\n" +
		"set class-of-service classifiers dscp c forwarding-class a loss-priority low code-points [ 26 24 ]\n" +
		"set class-of-service congestion-notification-profile p input dscp code-point 011010 pfc\n"
	tc := func(dscp int) func(*Port) any { return func(p *Port) any { return p.DSCP[dscp] } }
	pfc := func(p *Port) any { return p.PFC.String() }
	for _, c := range []struct {
		name, text string
		get        func(*Port) any
		want       any
	}{
		{"a.cfg", "interface Ethernet1\n", tc(0), 1},
		{"a.cfg", "interface Ethernet1\n", tc(15), 0},
		{"a.cfg", "interface Ethernet1\n", tc(16), 2},
		{
			"a.cfg", "interface Ethernet1\n no switchport\n qos trust dscp\n service-policy type qos input x\n",
			func(p *Port) any { return p.Unmapped }, true,
		},
		{
			"a.cfg", "priority-flow-control all off\ninterface Ethernet1\n priority-flow-control on\n" +
				" priority-flow-control priority 3 no-drop\n", pfc, "none",
		},
		{"a.cfg", "qos map traffic-class 3 to tx-queue 2\ninterface Ethernet1\n", func(p *Port) any { return p.PFCQueue[3] }, 2},
		{ // 3 ms at 100 Gb/s
			"a.cfg", "interface Ethernet1\n speed 100g\n tx-queue 3\n  random-detect ecn minimum-threshold 3 milliseconds" +
				" maximum-threshold 4 milliseconds\n",
			func(p *Port) any { return p.Queues[3].WRED.KMin }, int64(37_500_000),
		},
		{"a.yaml", nvue + "      roce: {mode: lossy}\n", pfc, "none"},
		{"a.yaml", nvue + "      roce: {}\n", pfc, "3"},
		{"a.yaml", nvue + "      roce: {}\n", func(p *Port) any { return p.TCToQueue[4] }, 0},
		{"a.yaml", nvue + "      pfc: {default-global: {switch-priority: {'3': {}}, tx: disable}}\n", pfc, "none"},
		{"a.yaml", nvue + "      pfc: {default-global: {switch-priority: {'3': {}}, tx: enable}}\n", pfc, "3"},
		{"a.conf", junos + "set class-of-service forwarding-classes class a queue-num 4 no-loss pfc-priority 3\n", pfc, "3"},
		{"a.conf", junos + "set class-of-service forwarding-classes class a queue-num 4 pfc-priority 3\n", pfc, "none"},
		{"a.conf", junos + "set class-of-service forwarding-classes class a queue-num 4 no-loss\n", pfc, "none"},
		{ // a DSCP of the class that the profile does not pause
			"a.conf", junos + "set class-of-service forwarding-classes class a queue-num 4 no-loss pfc-priority 3\n",
			func(p *Port) any { l := p.land(24); return l.lossless }, false,
		},
		{
			"a.conf", junos + "set class-of-service forwarding-classes class a queue-num 4 no-loss pfc-priority 3\n" +
				"set class-of-service congestion-notification-profile p output ieee-802.1 code-point 011 flow-control-queue [ 3 4 ]\n",
			func(p *Port) any { return p.PFCQueue[3] }, 4,
		},
		{
			"a.conf", strings.Replace(junos, " pfc\n", " mru 9000\n", 1) +
				"set class-of-service forwarding-classes class a queue-num 4 no-loss pfc-priority 3\n", pfc, "none",
		},
	} {
		f, _, err := Read(files(c.name, c.text))
		if err != nil || len(f.Switches) != 1 {
			t.Errorf("%s: %v\n%s", c.name, err, c.text)
		} else if got := c.get(f.Switches[0].Ports[0]); got != c.want {
			t.Errorf("%s: %v, want %v:\n%s", c.name, got, c.want, c.text)
		}
	}
	// Two files with the same name in two folders are two switches.
	const one = "interface Ethernet1\n"
	if f, _, err := Read(files("x/a.cfg", one, "y/a.cfg", one, "y/a.b.cfg", one)); err != nil || len(f.Switches) != 3 {
		t.Errorf("%+v, %v", f, err)
	}
}

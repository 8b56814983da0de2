//go:build linux

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cilium/ebpf/link"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/vtime"
)

// largeFabric sets the number of devices that limits are compared with: 1024 hosts and the switches of the smallest
// fat-tree for them (k = 16).
const largeFabric = 1024 + 320

// Diagnose checks whether this machine can run the kernel plane. It mostly tries things: it loads programs, and builds
// and drives a fabric of two hosts. Versions and configurations are unreliable.
func Diagnose() *Diagnosis {
	d := &Diagnosis{Kernel: kernel.Release()}
	d.add(checkKernel(d.Kernel))
	privileges := checkPrivileges()
	d.add(privileges)
	probes := []struct {
		name  string
		probe func() (found string, err error)
	}{
		{"bpf", kernel.ProbePipelines},
		{"namespaces", kernel.ProbeNamespaces},
		{"veth", kernel.ProbeVeth},
		{"packet ring", kernel.ProbeRing},
		{"clsact", func() (string, error) { return probeFabric(kernel.HooksClsact) }},
	}
	unprivileged := os.Geteuid() != 0 && privileges.Status == CheckMissing
	for _, p := range probes {
		if unprivileged {
			d.add(Check{Name: p.name, Status: CheckSkipped, Found: "not tried: privileges are missing"})
			continue
		}
		d.add(check(p.name, p.probe))
	}
	if d.Checks[len(d.Checks)-1].Status == CheckFine {
		d.add(checkTCX())
		d.add(checkEntry(kernel.ProbeEntry))
	}
	for _, c := range []Check{checkOpenFiles(), checkNamespaceLimit(), checkJIT(), checkLockdown(), checkLeftovers()} {
		if c.Status != "" {
			d.add(c)
		}
	}
	d.Works = true
	for _, c := range d.Checks {
		d.Works = d.Works && c.Status != CheckMissing
	}
	return d
}

// add adds a check. If one cause makes several checks fail, only the first shows its remedy.
func (d *Diagnosis) add(c Check) {
	for _, before := range d.Checks {
		if c.Remedy != "" && c.Remedy == before.Remedy {
			c.Remedy = "see the message about " + before.Name
		}
	}
	d.Checks = append(d.Checks, c)
}

// check tries a feature that the kernel plane requires.
func check(name string, probe func() (string, error)) Check {
	found, err := probe()
	if err == nil {
		return Check{Name: name, Status: CheckFine, Found: found}
	}
	c := Check{Name: name, Status: CheckMissing, Found: firstLine(err), Remedy: kernel.Remedy(err)}
	c.Remedy = cmp.Or(c.Remedy, "unknown error: please report it with the whole output of pausenet doctor")
	return c
}

// firstLine returns an error's first line. It keeps a verifier's log, thousands of lines, out of the table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func checkKernel(release string) Check {
	c := Check{Name: "kernel", Status: CheckFine, Found: "Linux " + release}
	major, minor, ok := kernel.Version(release)
	if ok && (major < kernel.OldestMajor || major == kernel.OldestMajor && minor < kernel.OldestMinor) {
		c.Status = CheckWarning
		c.Remedy = fmt.Sprintf("pausenet is tested on Linux %d.%d and newer; failures below may be due to the kernel's age",
			kernel.OldestMajor, kernel.OldestMinor)
	}
	return c
}

func checkPrivileges() Check {
	c := Check{Name: "privileges", Status: CheckFine, Found: "root with all capabilities needed"}
	missing := kernel.MissingCapabilities()
	if os.Geteuid() != 0 {
		c.Found = fmt.Sprintf("user %d with all capabilities needed", os.Geteuid())
	}
	if len(missing) == 0 {
		return c
	}
	c.Status = CheckMissing
	c.Found = "without " + strings.Join(missing, ", ")
	c.Remedy = kernel.PermissionRemedy()
	return c
}

// probeFabric builds two hosts and a switch, sends a message and its acknowledgement across, and makes the final check.
func probeFabric(way kernel.Hooks) (found string, err error) {
	plan, err := spec.Parse("doctor.yaml", []byte("name: doctor\nstar: {hosts: 2}\n"))
	if err != nil {
		return "", err
	}
	start := time.Now()
	plane, err := kernel.Open(plan, kernel.FabricOptions{Hooks: way})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	up := time.Since(start)
	switches, hosts := switchagent.Default(), hostagent.Default()
	e, err := engine.New(engine.Config{
		Plan: plan, Plane: plane, Switches: []*switchagent.Settings{&switches},
		Hosts: &hosts, Seed: 1,
	})
	if err != nil {
		return "", err
	}
	e.AddFlow(engine.FlowConfig{
		Source: plan.Hosts[0], Destination: plan.Hosts[1], Size: 1, Ports: paths.Ports{Source: 0xc000},
		NewController: func(int) (cc.Controller, error) {
			return cc.Constant(float64(plan.Ports[plan.Nodes[plan.Hosts[0]].Ports[0]].Rate)), nil
		},
	})
	if err := e.Run(vtime.Second, vtime.Second, nil); err != nil {
		return "", err
	}
	if n := e.OpenFlows(); n != 0 {
		return "", errors.New("a message through the fabric did not arrive")
	}
	if broken := e.Check(); len(broken) > 0 {
		return "", fmt.Errorf("a message crossed the fabric, but %v", broken[0])
	}
	return fmt.Sprintf("a fabric of 2 hosts came up in %v; a message crossed it in %d passes",
		up.Round(time.Millisecond), e.Passes), nil
}

// checkTCX checks whether a fabric works with TCX. It is optional: without it, and for all but the smallest fabrics,
// clsact is used.
func checkTCX() Check {
	found, err := probeFabric(kernel.HooksTCX)
	switch {
	case err == nil:
		return Check{Name: "tcx", Status: CheckFine, Found: found}
	case errors.Is(err, link.ErrNotSupported):
		return Check{Name: "tcx", Status: CheckNote, Found: "not in this kernel (new in Linux 6.6); clsact is used instead"}
	}
	return Check{
		Name: "tcx", Status: CheckWarning, Found: firstLine(err),
		Remedy: "clsact, which works, is used unless you request TCX",
	}
}

// checkEntry checks whether frames get to the pipelines by a TAP interface. It is optional.
func checkEntry(probe func() (string, error)) Check {
	found, err := probe()
	if err == nil {
		return Check{Name: "tap", Status: CheckFine, Found: found}
	}
	return Check{
		Name: "tap", Status: CheckWarning,
		Found:  firstLine(err) + ": frames go through a packet socket instead, and take a third more time",
		Remedy: "sudo modprobe tun; in a container --device /dev/net/tun",
	}
}

func checkOpenFiles() Check {
	limit := kernel.OpenFilesLimit()
	c := Check{Name: "open files", Status: CheckFine, Found: fmt.Sprintf("up to %d", limit)}
	if needs := uint64(largeFabric + 200); limit < needs {
		c.Status = CheckWarning
		c.Remedy = fmt.Sprintf("enough for about %d hosts and switches (for more: ulimit -n %d)", max(int(limit)-200, 0),
			needs)
	}
	return c
}

func checkNamespaceLimit() Check {
	limit, ok := kernel.Sysctl("user/max_net_namespaces")
	if !ok || limit >= largeFabric+1 {
		return Check{}
	}
	return Check{
		Name: "namespace limit", Status: CheckWarning, Found: fmt.Sprintf("up to %d network namespaces", limit),
		Remedy: fmt.Sprintf("sudo sysctl -w user.max_net_namespaces=%d, for fabrics with more hosts and switches",
			4*largeFabric),
	}
}

// checkJIT checks whether the kernel compiles BPF programs. Otherwise it interprets the pipelines.
func checkJIT() Check {
	// The initial network namespace alone has the file.
	if on, ok := kernel.Sysctl("net/core/bpf_jit_enable"); !ok || on != 0 {
		return Check{}
	}
	return Check{
		Name: "bpf jit", Status: CheckWarning,
		Found:  "off: the kernel interprets the pipelines, which is several times slower",
		Remedy: "sudo sysctl -w net.core.bpf_jit_enable=1",
	}
}

func checkLockdown() Check {
	mode := kernel.LockdownMode()
	if mode == "" || mode == "none" {
		return Check{}
	}
	return Check{Name: "lockdown", Status: CheckNote, Found: mode + ": it forbids nothing that the fabric needs"}
}

func checkLeftovers() Check {
	left, err := kernel.FindLeftovers()
	if err != nil || len(left) == 0 {
		return Check{}
	}
	return Check{
		Name: "leftovers", Status: CheckWarning,
		Found:  fmt.Sprintf("%d namespaces are left of fabrics whose process no longer exists", len(left)),
		Remedy: "list them with pausenet clean --dry-run, and remove them with pausenet clean",
	}
}

//go:build linux

package kernel

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/topologies"
)

// ProbePipelines loads the pipelines.
func ProbePipelines() (found string, err error) {
	start := time.Now()
	k, err := kernel.Load(ebpf.Sizes{
		Ports: 1, Switches: 1, Hosts: 1, Leaves: 1, NextHops: 1, Fanouts: 1,
		Features: ebpf.Features{BurstDetection: true},
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the verifier accepts the pipelines, in %v", time.Since(start).Round(time.Millisecond)), k.Close()
}

// inNewNamespace calls f on a thread of its own, in a temporary namespace.
func inNewNamespace(f func() error) error {
	return onOwnThread(func() error {
		ns, err := newNamespace()
		if err != nil {
			return err
		}
		return errors.Join(f(), ns.Close())
	})
}

// ProbeNamespaces creates a network namespace with a fabric's mark. Like the other probes it returns a description of
// its result.
func ProbeNamespaces() (found string, err error) {
	err = onOwnThread(func() error {
		ns, err := newNamespace()
		if err != nil {
			return err
		}
		return errors.Join(markOwn("doctor"), ns.Close())
	})
	return "can be made and entered", err
}

// ProbeVeth makes a veth pair.
func ProbeVeth() (string, error) {
	err := inNewNamespace(func() error {
		err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "doctor0"}, PeerName: "doctor1"})
		if err != nil {
			return fmt.Errorf("create a veth pair: %w", err)
		}
		return nil
	})
	return "pairs can be made", err
}

// ProbeEntry makes a TAP interface.
func ProbeEntry() (string, error) {
	err := inNewNamespace(func() error {
		e, err := openEntry(&topologies.Plan{})
		if err != nil {
			return err
		}
		return e.Close()
	})
	return "interfaces can be made", err
}

// ProbeRing sets a receive ring up.
func ProbeRing() (string, error) {
	err := inNewNamespace(func() error {
		r, err := newRing(2048, ProgramSlots, ofPrograms(0))
		if err != nil {
			return err
		}
		return r.Close()
	})
	return "TPACKET_V2 can be set up and mapped", err
}

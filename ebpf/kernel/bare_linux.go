package kernel

import (
	"fmt"

	cilium "github.com/cilium/ebpf"

	"github.com/pausenet/pausenet/ebpf"
)

// Bare are programs that send every frame back: with them a pass costs what the kernel itself takes.
type Bare struct {
	Ingress, Egress, Entry *cilium.Program

	objects bareObjects
}

// LoadBare loads the programs.
func LoadBare() (*Bare, error) {
	spec, err := loadBare()
	if err != nil {
		return nil, fmt.Errorf("read the embedded bare programs: %w", err)
	}
	if err := spec.Variables["mark"].Set(ebpf.FrameMark); err != nil {
		return nil, fmt.Errorf("set the mark: %w", err)
	}
	if err := spec.Variables["outer"].Set(ebpf.FirstOuter); err != nil {
		return nil, fmt.Errorf("set the outer end: %w", err)
	}
	b := &Bare{}
	if err := spec.LoadAndAssign(&b.objects, nil); err != nil {
		return nil, fmt.Errorf("load the bare programs: %w", err)
	}
	b.Ingress, b.Egress, b.Entry = b.objects.BareIngress, b.objects.BareEgress, b.objects.BareEntry
	return b, nil
}

// Close unloads the programs.
func (b *Bare) Close() error { return b.objects.Close() }

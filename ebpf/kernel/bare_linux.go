package kernel

import (
	"fmt"

	cilium "github.com/cilium/ebpf"
)

// Bare are programs that send every frame back: with them a pass costs what the kernel itself takes.
type Bare struct {
	Ingress, Egress *cilium.Program

	objects bareObjects
}

// LoadBare loads the programs.
func LoadBare() (*Bare, error) {
	b := &Bare{}
	if err := loadBareObjects(&b.objects, nil); err != nil {
		return nil, fmt.Errorf("load the bare programs: %w", err)
	}
	b.Ingress, b.Egress = b.objects.BareIngress, b.objects.BareEgress
	return b, nil
}

// Close unloads the programs.
func (b *Bare) Close() error { return b.objects.Close() }

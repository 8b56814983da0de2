package planefuzz_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// pool keeps the fabrics of the last topologies in the kernel: bringing one up takes longer than a case. Before a
// fabric is used again its tables become what they were when it was new. A pool belongs to one goroutine.
type pool struct {
	limit   int
	fabrics []*kernelFabric // the last used last

	opened  int
	opening time.Duration
}

type kernelFabric struct {
	key    string
	plane  reusedPlane
	tables []table
}

// reusedPlane implements a plane that serves several engines. The kernel's count of frames can be read only once, so
// the plane's own final check is made when it is closed, and not with each engine.
type reusedPlane struct{ plane.Plane }

// Check returns nothing: Close makes the check.
func (reusedPlane) Check() []string { return nil }

// end closes the plane and, before, makes its final check. A plane whose passes failed has none.
func (p reusedPlane) end(failed bool) error {
	var errs []error
	if problems := p.Plane.Check(); !failed && problems != nil {
		errs = append(errs, fmt.Errorf("the kernel plane's counts do not agree: %s", strings.Join(problems, "; ")))
	}
	return errors.Join(append(errs, p.Plane.Close())...)
}

// get returns a fabric for the scenario, in its initial state.
func (p *pool) get(s *scenario.Scenario) (*kernelFabric, error) {
	// The plan is made of the topology's text, so equal plans print equally.
	plan := *s.Topology
	plan.Name = ""
	key := fmt.Sprintf("%v %+v", featuresOf(s), plan)
	if i := slices.IndexFunc(p.fabrics, func(f *kernelFabric) bool { return f.key == key }); i >= 0 {
		f := p.fabrics[i]
		p.fabrics = append(slices.Delete(p.fabrics, i, i+1), f)
		for _, t := range f.tables {
			t.restore()
		}
		return f, nil
	}
	if len(p.fabrics) >= p.limit {
		if err := p.discard(p.fabrics[0], false); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	opened, err := kernel.OpenPlane(plane.Kernel, s.Topology, fabricOptions(s))
	if err != nil {
		return nil, err
	}
	p.opened++
	p.opening += time.Since(start)
	f := &kernelFabric{key: key, plane: reusedPlane{opened}, tables: tablesOf(opened.State())}
	p.fabrics = append(p.fabrics, f)
	return f, nil
}

// discard removes a fabric. failed says that a pass did.
func (p *pool) discard(f *kernelFabric, failed bool) error {
	p.fabrics = slices.DeleteFunc(p.fabrics, func(o *kernelFabric) bool { return o == f })
	return f.plane.end(failed)
}

func (p *pool) close() error {
	var errs []error
	for len(p.fabrics) > 0 {
		errs = append(errs, p.discard(p.fabrics[0], false))
	}
	return errors.Join(errs...)
}

// table holds one of a state's tables and its initial content.
type table struct {
	name   string
	memory []byte
	fresh  []byte // nil: zeros
}

// tablesOf returns all tables of a state, by reflection. The pass is no table: each pass fills it again, and its counts
// belong to the plane.
func tablesOf(state *ebpf.State) []table {
	var tables []table
	v := reflect.ValueOf(state).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice || field.Len() == 0 {
			continue
		}
		t := table{name: v.Type().Field(i).Name}
		t.memory = unsafe.Slice((*byte)(field.UnsafePointer()), field.Len()*int(field.Type().Elem().Size()))
		if slices.ContainsFunc(t.memory, func(b byte) bool { return b != 0 }) {
			t.fresh = slices.Clone(t.memory)
		}
		tables = append(tables, t)
	}
	return tables
}

func (t *table) restore() {
	if t.fresh == nil {
		clear(t.memory)
	} else {
		copy(t.memory, t.fresh)
	}
}

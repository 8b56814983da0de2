// Package ebpf is the switches' pipelines as data: the C source, and a typed Go view of the tables and registers that
// the pipelines and the traffic manager share. Packages kernel and wasm below it hold the compiled pipelines and load
// them.
//
// State is all of that memory. The engine fills the tables once, and writes Pass to say what the next pass is for. A
// pass through the pipelines leaves in it what became of the frame. The switch's registers are in Ports and Switches,
// the routes in Hosts, Routes and NextHops.
//
//   - The slices of State are memory that was not made by Go: maps of the kernel, or the memory of a WebAssembly
//     module. Once the
//     pipelines are closed they are gone, and a slice that somebody kept crashes the process.
//   - Nothing locks them. One goroutine drives a fabric, and touches State between two passes only.
//   - Flows and Fanouts are nil unless burst detection is on, Flowlets unless load balancing has use for them.
//   - types_bpfel.go and the objects of both planes are generated from c/ (go generate, with clang 14), and committed.
//   - SwitchState.Counted and State's Threshold, ResumeLevel and ResumeDue say in Go what c/pfc.h says in C: counted,
//     xoff_threshold,
//     xon_threshold and resume_due. Release undoes what its account does, and Overrun goes by what account puts into
//     the headroom.
//     Whoever changes one changes the other.
package ebpf

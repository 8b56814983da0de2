// Package ebpf holds the switches' pipelines as data: the C source, and a typed Go view of the tables and registers
// that the pipelines and the traffic manager share. Packages kernel and wasm below it hold the compiled pipelines and
// load them.
//
// State holds these tables and registers. The engine fills the tables once, and writes the arguments of each pass to
// Pass. The pipelines write the pass's results to it. The switches' registers are in Ports and Switches, the routes in
// Hosts, Routes and NextHops.
//
//   - The slices of State are not Go memory: they are maps of the kernel, or the memory of a WebAssembly module. Do not
//     keep them after closing the pipelines: a read or write then crashes the process.
//   - State has no locks. One goroutine drives a fabric, and accesses State only between two passes.
//   - Flows and Fanouts are nil unless burst detection is on, Flowlets unless load balancing needs it.
//   - types_bpfel.go and the objects of both planes are generated from c/ (go generate, with clang 14), and committed.
//   - SwitchState.Counted and State's Threshold, ResumeLevel and ResumeDue repeat functions of c/pfc.h in Go: counted,
//     xoff_threshold, xon_threshold and resume_due. Release reverts account of c/pfc.h, and Overrun depends on what
//     account adds to the headroom. Change both sides together.
package ebpf

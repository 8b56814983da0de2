// Package command implements the command pausenet: its flags, output and exit codes. The packages that it calls do the
// work of each command. A program that calls Main behaves as pausenet does, and also knows the controllers that it has
// registered (see hostagent/cc).
//
// Files:
//
//   - Commands about files and built-ins: list.go, show.go, validate.go, schema.go, graph.go, import.go, check.go,
//     checktables.go (SONiC's headroom tables), checkdeadlock.go, audit.go, bound.go, estimate.go and expect.go.
//   - Commands of experiments: run.go, rerun.go, report.go, why.go, counters.go, diagnose.go, view.go (its exports:
//     viewexport.go), compare.go (compareplot.go: its plot), search.go, tune.go and train.go.
//   - Sweeps: sweep.go, sweepmerge.go, sweeppoint.go (the process of one point), sweepdisplay.go (progress),
//     sweepserve.go (on other machines), sweepserver.go (with the built-in server), sweepstatus.go and worker.go.
//   - Commands of live fabrics, on Linux: up.go, usernamespace.go (without root), detach.go (into the background),
//     startup.go (programs on nodes), down.go, shell.go, exec.go, inspect.go, events.go, top.go, capture.go, set.go,
//     fault.go and web.go (the page in a browser). livelist.go lists them, and live.go holds what they share;
//     live_other.go replaces both on other systems.
//   - Congestion controllers in files: cc.go, and watch.go (runs again when a file is saved).
//   - The course: lab.go, labteacher.go, labbook.go, labtournament.go, and labgrade.go (grades all submissions, each in
//     a process of its own; memory_linux.go and memory_other.go limit it).
//   - Commands about the machine: doctor.go, bench.go and clean.go; about AI fabrics: benchaifabric.go; about
//     congestion controllers: benchcc.go; about the program: version.go, docs.go, serve.go, servesocket.go (with
//     sockets_linux.go and sockets_other.go, which depend on the system), env.go (environments for agents) and mcp.go
//     (tools for language models).
//   - The command as a whole: command.go (Main), root.go (the list of commands), flags.go (common flags), help.go
//     (help), usage.go (errors about words and flags), config.go (flags from the environment and a file), complete.go
//     (completion), numbers.go (flags that are numbers), subject.go (the meaning of NAME and FILE), environment.go (the
//     plane, privileges, locks), interrupt.go (signals) and exit.go (exit codes).
//   - Output: output.go, plain.go (escapes control characters), fold.go (folds lines to the width of the screen),
//     columns.go, format.go (columns of cells), progress.go and bars.go (bars), results.go (results of runs) and
//     published.go (measured next to published figures).
package command

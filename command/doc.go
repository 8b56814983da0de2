// Package command is the command pausenet: what users type and read. What a verb does is in the packages that it calls.
// A program of somebody else's that calls Main is pausenet too, with what it has registered beside (see hostagent/cc).
//
// Where what is:
//
//   - Verbs about files and what comes with the program: list.go, show.go, validate.go, schema.go, graph.go, import.go,
//     check.go (headroom) and bound.go.
//   - Verbs of experiments: run.go, rerun.go, report.go, why.go, view.go (what it writes into files: viewexport.go) and
//     train.go; sweep.go, with sweepmerge.go, sweeppoint.go (the process of one point),
//     sweepdisplay.go (how far the points are), sweepserve.go (by other machines), sweepserver.go (with the server
//     built in), sweepstatus.go; worker.go.
//   - Verbs of live fabrics, on Linux: up.go, with detach.go (into the background) and startup.go (programs on nodes),
//     down.go, shell.go, exec.go, inspect.go, events.go,
//     top.go, capture.go, set.go and web.go (its page in a browser). live.go lists them, and has what they share;
//     live_other.go is for systems without them.
//   - Congestion controls in files: cc.go, watch.go (running again as they are saved).
//   - The course: lab.go, and labgrade.go (all hand-ins, a process each; memory_linux.go and memory_other.go bound its
//     memory).
//   - Verbs about the machine: doctor.go, bench.go and clean.go; of AI fabrics: benchaifabric.go; about the program:
//     version.go.
//   - The command as a whole: command.go (Main), root.go (the list of verbs, and common flags), help.go (help),
//     usage.go (what is wrong with words and flags), config.go (flags from the environment and
//     a file), complete.go (completion), numbers.go (flags that are numbers), subject.go (what NAME and FILE mean),
//     environment.go (the
//     plane, privileges, locks), interrupt.go (signals), exit.go (exit codes).
//   - What is printed: output.go, plain.go (nothing that a terminal would obey), fold.go (lines no wider than the
//     screen), columns.go, format.go (columns of cells), progress.go (bars),
//     results.go (what runs came to), published.go (beside what a source says).
package command

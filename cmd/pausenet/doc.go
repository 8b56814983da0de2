// Command pausenet builds lossless data-center fabrics on one machine and runs experiments on them. This package is what users type
// and read: what a verb does is in the packages that it calls.
//
// Where what is:
//
//   - Verbs about files and what comes with the program: list.go, show.go, validate.go, schema.go, graph.go, import.go and bound.go.
//   - Verbs of experiments: run.go, report.go and train.go; sweep.go, with sweeppoint.go (the process of one point) and sweepdisplay.go
//     (how far the points are).
//   - Verbs of live fabrics, on Linux: up.go, with detach.go (into the background), down.go, shell.go, exec.go, inspect.go, events.go,
//     top.go and capture.go. live.go lists them, and has what they share; live_other.go is for systems without them.
//   - Verbs about the machine: doctor.go, bench.go and clean.go.
//   - The command as a whole: main.go, root.go (the list of the other verbs, and common flags), config.go (flags from the environment and
//     a file), complete.go (completion), numbers.go (flags that are numbers), subject.go (what NAME and FILE mean), environment.go (the
//     plane, privileges, locks), interrupt.go (signals), exit.go (exit codes).
//   - What is printed: output.go, plain.go (nothing that a terminal would obey), columns.go (columns of cells), progress.go (bars),
//     results.go (what runs came to), published.go (beside what a source says).
package main

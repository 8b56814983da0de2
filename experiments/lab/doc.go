// Package lab is exercises that check themselves.
//
// An exercise is a folder: exercise.yaml says what is to be handed in and what is checked, text.md is what a student
// reads, start/ what a student edits, scenarios/ what checks run beside that, solution/ a hand-in with full marks and
// wrong/ a plausible one without. Those that come with the program are in exercises/; a teacher's own are folders
// anywhere.
//
//		e, err := lab.Load("pfc")                 // by name or folder, each mistake with its place
//		s := lab.Submit(e, folder)                // reads the hand-ins, and runs nothing
//		g, err := s.Check(ctx, lab.Options{...})  // runs what the checks need, and grades
//
//	  - A hand-in's mistake costs points and is no error: it is in the Grade, with its place. An error is the machine's,
//	    or the exercise's.
//	  - A hand-in is not trusted. No file is opened but those that the exercise names, plain and short; a scenario may
//	    differ from
//	    the exercise's only where that says so, so that no value in it names a file.
//	  - Runs are on the wasm plane. Grades depend on virtual time alone: they are the same on any machine.
//
// Files:
//
//   - An exercise: exercise.go; builtin.go (those that come with the program, and how one is found).
//   - Its file: read_keys.go (its keys), read.go (hand-ins and runs), read_checks.go; hidden.go (what a teacher adds).
//   - A student's folder: start.go writes it, submission.go reads it.
//   - A grade: check.go, runs.go (the runs that it needs) and words.go (what was required and measured).
//   - A class: class.go (its hand-ins, and the files about them).
//   - Shown: formats.go (Gradescope, GitHub Classroom, a gradebook), pages.go (for a student and a class), curves.go.
package lab

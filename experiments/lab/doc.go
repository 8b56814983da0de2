// Package lab grades exercises.
//
// An exercise is a folder. Its exercise.yaml lists the files to submit and the checks, and text.md is the text for the
// student. The folder start/ has the files that the student edits, and scenarios/ those that checks also run. The
// built-in exercises are in exercises/. A teacher's exercise may be a folder anywhere.
//
// The program contains exercises/ only. Solutions and hidden checks are in teacher/, which students do not have.
//
//	e, err := lab.Load("pfc")                 // by name or folder, each mistake with its position
//	s := lab.Submit(e, folder)                // reads the submitted files, and runs nothing
//	g, err := s.Check(ctx, lab.Options{...})  // makes the runs of the checks, and grades
//
// Rules:
//
//   - A mistake in a submission costs points and is no error: the Grade has it, with its position. An error is a
//     problem of the machine or the exercise.
//   - Submissions are not trusted. Only files that the exercise names are opened, if they are regular and short. A
//     scenario may differ from the exercise's only where the exercise allows it, so that no value names a file.
//   - Runs use the wasm plane. Grades depend only on virtual time, so they are the same on every machine.
//
// Files:
//
//   - An exercise: exercise.go, builtin.go (the built-in exercises, and finding an exercise), parameters.go (values
//     that differ between students).
//   - Its file: read_keys.go (its keys), read.go (submitted files and runs), read_checks.go, hidden.go (the teacher's
//     further checks).
//   - A student's folder: start.go (writes it), notebook.go (for Jupyter), submission.go
//     (reads it), predict.go (locked predictions).
//   - A grade: check.go, runs.go (the runs that it needs), evidence.go (sentences, pictures, curves like others),
//     limit.go (figures relative to the bound), words.go (requirements and measurements in words).
//   - A class: collect.go (its submissions), locate.go (the files of one), class.go (the files about them), late.go
//     (points that late ones lose), similar.go (which are alike), book.go (all exercises of a course), tournament.go
//     (plays them against each other), teacher.go (the teacher's material), trials.go (its honest solutions and
//     cheats), selftest.go (tests an exercise).
//   - Output: formats.go (Gradescope, GitHub Classroom, a gradebook), pages.go (for a student and a class), curves.go.
package lab

// Package train repeats the training of the LSTM-PID thesis on this emulator: the network that predicts RTTs, and the
// gains of the PID control. The same options give the same result, to the byte.
//
// Files:
//
//   - Trainings: lstm.go (the network), gains.go (of the PID control), cells.go (other kinds of network); options.go is
//     what they are
//     told.
//   - What else is measured: features.go (how far RTTs are from smoothed ones), loop.go (how well the network predicts
//     what it causes).
//   - Data: incast.go (the scenarios), collect.go (RTTs out of runs), dataset.go (pairs to learn from).
//   - What is shown: text.go, drawings.go.
package train

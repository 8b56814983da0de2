// Package train repeats the training of the LSTM-PID thesis on this emulator: the network that predicts RTTs, and the
// gains of the PID control. The same options give the same result, to the byte.
//
// Files:
//
//   - Trainings: lstm.go (the network), gains.go (of the PID control), cells.go (other kinds of network) and
//     options.go.
//   - Further measurements: features.go (how far RTTs are from smoothed ones), loop.go (how well the network predicts
//     RTTs that its predictions influence).
//   - Data: incast.go (the scenarios), collect.go (RTTs from runs), dataset.go (pairs for the training).
//   - Output: text.go and drawings.go.
package train

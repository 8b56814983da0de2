// Package train repeats the training of the LSTM-PID thesis on this emulator: the network that predicts RTTs, and the
// gains of the PID control. The same options give the same result, to the byte.
package train

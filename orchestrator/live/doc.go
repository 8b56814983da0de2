// Package live drives a fabric by the wall clock, so that programs in its hosts can use it. A Driver takes the engine's steps as the
// wall reaches their times, and programs' frames as they come; Clock says what virtual time it is, Status how well the machine follows.
// Other goroutines reach the engine by Driver.Do alone. It is Linux's: elsewhere the package is empty.
package live

// Package fingerprints compares the fingerprints of runs with a committed table, to show every change in the treatment
// of frames. It consists of tests (package fingerprints_test):
//
//	TestTable        runs every row of table.txt: each built-in under each of its controllers and variants, and the
//	                 scenarios of testdata under every congestion control. Long built-ins run in their quick form, and
//	                 end early.
//	TestKernel       runs some of these rows on the kernel plane, or all with -fingerprints.kernel (needs root)
//
// To accept changed fingerprints, run go test ./test/fingerprints -update. make fingerprints runs all rows, as root on
// both planes.
package fingerprints

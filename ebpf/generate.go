package ebpf

// The files generated from c/ are committed, so that users need no clang. CI generates them again and compares.
//
//go:generate ./generate.sh

package ebpf

// What is generated from c/ is committed, so that users need no clang; CI generates it again and compares.
//
//go:generate ./generate.sh

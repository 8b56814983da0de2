// Package kernel loads the pipelines into the kernel and maps their tables into this process. It needs Linux, CAP_BPF
// and CAP_NET_ADMIN. Elsewhere it holds the objects alone.
package kernel

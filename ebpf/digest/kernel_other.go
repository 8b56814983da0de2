//go:build !linux

package digest

func kernelHash() string { return "" }

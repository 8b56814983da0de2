package digest

import "github.com/pausenet/pausenet/ebpf/kernel"

func kernelHash() string { return hash(kernel.Object()) }

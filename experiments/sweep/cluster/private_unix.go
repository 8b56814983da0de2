//go:build unix

package cluster

// foreign says that files' modes do not say who may read them.
const foreign = false

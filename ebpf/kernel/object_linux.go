package kernel

// Object is the pipelines as they are loaded.
func Object() []byte { return _PipelinesBytes }

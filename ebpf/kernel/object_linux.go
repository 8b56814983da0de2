package kernel

// Object returns the pipelines' object file.
func Object() []byte { return _PipelinesBytes }

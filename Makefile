# Everything a user or a contributor runs. `make` lists nothing but builds; see README.md.
GO ?= go

.PHONY: build
build:
	$(GO) build -o bin/pausenet ./cmd/pausenet

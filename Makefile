# make            build bin/pausenet
# make run        build it and run dcon-burst under dcqcn and dcon
# make test       every test; those that need root run through sudo unless you are root
# make help       the rest
GO ?= go
SUDO ?= sudo
# Flags of go test.
TESTFLAGS ?=

# Without git, or in somebody else's checkout (sudo make), the binary goes without the commit's name.
BUILDFLAGS := $(shell git rev-parse HEAD >/dev/null 2>&1 || echo -buildvcs=false)

# Packages with tests that load eBPF programs and make namespaces.
ROOT_PACKAGES = $(sort $(dir $(addprefix ./,$(shell grep -rl --include='*_test.go' 'testenv\.NeedRoot' command ebpf experiments internal orchestrator))))
# Packages whose own code starts goroutines or protects what several use, and the pipelines, which several may call at once. What simulates
# or renders on one goroutine has no races to find.
RACE_PACKAGES = $(sort ./ebpf/wasm/ $(dir $(shell grep -rlE --include='*.go' --exclude='*_test.go' \
	'^[[:space:]]*go [a-zA-Z]|"sync["/]' .)))

# What `make generate` writes.
GENERATED = ebpf/types_bpfel.go ebpf/kernel/*_bpfel.go ebpf/kernel/*_bpfel.o ebpf/wasm/pipelines.wasm ebpf/wasm/translated/pipelines.go examples/controllers/*.wasm

.PHONY: build
build: ## build bin/pausenet (the default)
	@[ -e bin/pausenet ] || echo "building pausenet: the first build takes one to two minutes of processor time"
	$(GO) build $(BUILDFLAGS) -o bin/pausenet ./cmd/pausenet

# They take the place of libibverbs and librdmacm for programs on hosts of live fabrics, which find them beside the program.
VERBS_C = $(sort $(wildcard verbs/c/*.c verbs/c/*.h verbs/c/*.map))
VERBS_FLAGS = -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra -Werror -Wl,-z,defs
RDMACM_C = $(wildcard verbs/c/cm*.c)
CLOCK_C = $(wildcard verbs/c/clock*.c)
VERBS ?= bin/verbs

.PHONY: verbs
verbs: $(VERBS)/librdmacm.so.1 $(VERBS)/libpausenet-clock.so ## build bin/verbs, the libraries for RDMA programs on hosts of live fabrics (needs gcc, libibverbs-dev, librdmacm-dev)

$(VERBS)/libibverbs.so.1: $(VERBS_C)
	@mkdir -p $(VERBS)
	$(CC) $(VERBS_FLAGS) -Wl,-soname,libibverbs.so.1 -Wl,--version-script=verbs/c/libibverbs.map -o $@ $(filter-out $(RDMACM_C) $(CLOCK_C),$(filter %.c,$(VERBS_C))) -lpthread

$(VERBS)/librdmacm.so.1: $(VERBS_C) $(VERBS)/libibverbs.so.1
	$(CC) $(VERBS_FLAGS) -Wl,-soname,librdmacm.so.1 -Wl,--version-script=verbs/c/librdmacm.map -o $@ $(RDMACM_C) $(VERBS)/libibverbs.so.1 -lpthread

$(VERBS)/libpausenet-clock.so: $(VERBS_C)
	@mkdir -p $(VERBS)
	$(CC) $(VERBS_FLAGS) -Wl,--version-script=verbs/c/clock.map -o $@ $(CLOCK_C) -ldl -lpthread

.PHONY: run
run: build ## build, run dcon-burst under dcqcn and dcon, write results/dcon-burst/report.html
	bin/pausenet run dcon-burst

.PHONY: demo
demo: build ## show on a fabric in the kernel where namespaces, veth pairs and TC programs are, and run an incast (root, 3 s)
	$(if $(filter 0,$(shell id -u)),,$(SUDO)) bin/pausenet up incast --cc none --plane kernel --slowdown 500 --name demo --netns-names <examples/demo

# Packages that take longest, longest first: one that starts last keeps a single processor busy.
SLOW_PACKAGES = $(addprefix ./,experiments/lab command experiments/runner playground/site experiments/observe experiments/train \
	experiments/live experiments/sweep/cluster orchestrator/engine test/reference ebpf test/fingerprints orchestrator/wallclock \
	experiments/analysis/headroom experiments/analysis/expect internal/planefuzz orchestrator/kernel experiments/sweep \
	experiments/aifabric hostagent experiments/suite experiments/pages/report experiments/pages/view command/shell)
# go test ends a package after ten minutes, which a busy machine may take for whole scenarios.
RUN_TESTS = $(GO) run ./test/run $(GO) test -timeout 40m

.PHONY: test
test: ## run every test
ifeq ($(shell id -u),0)
	$(RUN_TESTS) $(TESTFLAGS) $(SLOW_PACKAGES) ./...
else ifneq ($(shell command -v $(SUDO)),)
	CI= $(RUN_TESTS) $(TESTFLAGS) $(SLOW_PACKAGES) ./...
	@echo "the tests that need root:"
	$(SUDO) -v && $(RUN_TESTS) -count=1 -exec '$(SUDO)' $(ROOT_PACKAGES)
else
	$(RUN_TESTS) $(TESTFLAGS) $(SLOW_PACKAGES) ./...
	@echo "the tests that need root were skipped: there is no $(SUDO); run make test as root for them"
endif

.PHONY: reference
reference: ## compare with public simulators and closed forms, and write the tables of docs/validation.md
	$(GO) test ./test/reference -count=1 -update

# A program under the race detector sleeps for a second when it ends, unless told otherwise, and the tests start hundreds of programs.
RACE_ENVIRONMENT = GORACE=atexit_sleep_ms=50 CGO_ENABLED=1
# -short: without the tests of whole scenarios on one goroutine (testenv.WholeScenario), which `make test` runs.
.PHONY: race
race: ## run the tests of the packages with goroutines under the race detector (needs gcc)
	$(RACE_ENVIRONMENT) $(RUN_TESTS) $(TESTFLAGS) -short -race $(filter $(RACE_PACKAGES),$(addsuffix /,$(SLOW_PACKAGES))) $(RACE_PACKAGES)
	$(RACE_ENVIRONMENT) $(GO) test $(TESTFLAGS) -short -race -run Worker ./orchestrator/engine

.PHONY: fmt
fmt: ## format the Go files
	$(GO) tool gofumpt -w .

.PHONY: check-fmt
check-fmt: ## list Go files that are not formatted
	@unformatted=$$($(GO) tool gofumpt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; fi

.PHONY: check-fmt-c
check-fmt-c: ## list C files that are not formatted (needs clang-format 14)
	clang-format-14 --dry-run -Werror ebpf/c/*.[ch] verbs/c/*.[ch]

.PHONY: vet
vet: ## run go vet
	$(GO) vet ./...

# What misspell reads. It takes ECN-capable transport, and htsim's option -strat, for mistakes.
TEXTS = $(sort $(filter-out bin results,$(patsubst %/,%,$(wildcard */)))) .ci .github $(wildcard *.md) Makefile
TEXT_NAMES = -name '*.go' -o -name '*.[ch]' -o -name '*.md' -o -name '*.py' -o -name '*.yaml' -o -name '*.yml' -o -name '*.sh' -o -name '*.txtar' \
	-o -name run -o -name Makefile

.PHONY: lint
lint: check-fmt ## check the format; run staticcheck, unparam, exhaustive, misspell
	$(GO) tool staticcheck ./...
	$(GO) tool unparam ./...
	$(GO) tool exhaustive -e ./...
	@$(GO) tool misspell -error -i ect,recieve,strat $$(find $(TEXTS) -type f \( $(TEXT_NAMES) \))

.PHONY: generate
generate: ## compile the pipelines again: eBPF objects, their Go view, WebAssembly, its translation (needs clang 14, llvm, lld, libbpf-dev)
	$(GO) generate ./ebpf
	examples/controllers/generate.sh

.PHONY: check-generated
check-generated: ## fail if compiling the pipelines again changes what is committed
	@before=$$(mktemp -d) && trap 'rm -rf "$$before"' EXIT && cp $(GENERATED) "$$before" && \
	$(GO) generate ./ebpf && examples/controllers/generate.sh && after=$$(mktemp -d) && cp $(GENERATED) "$$after" && \
	if ! diff -rq "$$before" "$$after"; then rm -rf "$$after"; \
		echo "the committed objects are not what $$(clang --version | head -n 1) and wasm2go make of ebpf/c and examples/controllers: commit the new ones"; exit 1; \
	fi; rm -rf "$$after"; echo "the committed objects are what clang and wasm2go make of ebpf/c and examples/controllers"

.PHONY: bench
bench: build ## measure this machine (needs root for the kernel plane): packet-hops, sizes, processors, whole runs, start-up, bring-up
	bin/pausenet bench --out bin/bench.json

.PHONY: bench-docs
bench-docs: ## put what make bench has measured into docs/performance.md
	$(GO) test ./experiments/bench -count=1 -run '^TestDocument$$' -update $(CURDIR)/bin/bench.json

# The compiler inlines and lays out by it what is hot (Go's profile-guided optimization). It needs no renewal for results to be right: what has
# changed since is compiled as without it. The paths in it are of modules, not of this machine, and the program's is the same on all.
.PHONY: profile
profile: ## run the benchmarks for a minute and write their profile to cmd/pausenet/default.pgo, by which go build optimizes
	@mkdir -p /tmp/pausenet-profile
	$(GO) test -c -trimpath -o /tmp/pausenet-profile/bench.test ./experiments/bench
	cd experiments/bench && /tmp/pausenet-profile/bench.test -test.run '^$$' -test.bench . -test.benchtime 2s -test.cpuprofile $(CURDIR)/cmd/pausenet/default.pgo
	@rm -r /tmp/pausenet-profile

.PHONY: bench-compare
bench-compare: ## Go benchmarks beside the committed baseline, or with BASE=REVISION beside that commit's on this machine
	test/bench/compare.sh $(BASE)

.PHONY: live-cycles
live-cycles: ## bring a live fabric up and down CYCLES times, and kill one as often (needs root): nothing may be left
	PAUSENET_CYCLES=$(or $(CYCLES),100) $(GO) test ./experiments/live -count=1 -v -run '^TestCycles$$'
	PAUSENET_KILLS=$(or $(CYCLES),100) $(GO) test ./command -count=1 -v -run '^TestKill$$'
	PAUSENET_KILLS=$(or $(CYCLES),100) $(GO) test ./experiments/live -count=1 -v -run '^TestVerbsKill$$'

.PHONY: fingerprints
fingerprints: ## compare the fingerprints of all built-ins with test/fingerprints/table.txt, as root on both planes; UPDATE=-update writes the table anew
	$(GO) test ./test/fingerprints -count=1 -timeout 3h -fingerprints.kernel $(UPDATE)

.PHONY: test-vagrant
test-vagrant: ## run the Vagrantfile's provisioning in a Debian root (needs debootstrap)
	$(if $(filter 0,$(shell id -u)),,$(SUDO)) test/vagrant/run.sh

.PHONY: test-kernels
test-kernels: ## run the fabric tests under Debian's 6.1 and 6.12 kernels, in qemu
	test/kernels/run.sh

# Congestion controls of the gallery: all of the registry, and some of those with an addition.
GALLERY ?= all,dcqcn+win,lstm-pid+win,timely+win

.PHONY: gallery
gallery: build ## draw docs/figures/controllers anew: two and eight flows on one link under every controller
	rm -rf results/gallery
	bin/pausenet run convergence-2 convergence-8 --cc $(GALLERY) --plane wasm --figures=svg --out results/gallery --force
	@mkdir -p docs/figures/controllers && rm -f docs/figures/controllers/*.svg
	@for n in 2 8; do for f in results/gallery/convergence-$$n/*/figure.svg; do \
		cp "$$f" "docs/figures/controllers/$$(basename "$$(dirname "$$f")")-$$n.svg"; done; done

.PHONY: results
results: ## measure the tables of docs/results again that TABLES matches (default: all, hours), and write them
	$(GO) test ./command -count=1 -v -timeout 0 -run '^TestTables$$' -tables '$(or $(TABLES),.)' -update

.PHONY: playground
playground: ## build the lab for a browser's tab into bin/playground: serve that folder (python3 -m http.server -d bin/playground)
	$(GO) run ./playground/site bin/playground

.PHONY: teacher
teacher: build ## archive solutions and hidden checks of the exercises, which no program contains, as bin/pausenet-teacher.zip
	bin/pausenet lab teacher experiments/lab/teacher --archive bin/pausenet-teacher.zip

.PHONY: site test-site
site: playground ## build the documentation's web site, with the playground, into bin/site
	rm -rf bin/site && cd site && $(GO) tool hugo --panicOnWarning --destination ../bin/site
	cp -r bin/playground bin/site/playground

test-site: ## build the documentation's web site and follow its links
	cd site && $(GO) test $(TESTFLAGS) ./...

# npm takes the packages by the hashes of package-lock.json. None of this is needed to build the playground: the bundle is committed.
.PHONY: playground-editor
playground-editor: ## bundle the playground's editor again, after a change in playground/editor (needs npm)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && cp playground/editor/* "$$folder" && \
	(cd "$$folder" && npm ci --ignore-scripts --no-audit --no-fund) && \
	$(GO) tool esbuild "$$folder/editor.js" --bundle --minify --format=esm --target=es2022 --charset=utf8 \
		--banner:js="/* CodeMirror and more, under the MIT license (NOTICE); made by make playground-editor of $$(cat playground/editor/* | sha256sum | cut -d' ' -f1) */" \
		--outfile=playground/site/page/editor.js

# The bundles of pages, as FOLDER:ENTRY:BUNDLE, below experiments/pages. A test compares the hash of what one is bundled of with that which it has.
PAGES = view:main.js:view.js view:view.css:view.css report:page.js:page.js report:page.css:page.css

.PHONY: pages
pages: ## bundle the pages of view and of reports again, after a change in experiments/pages/view/page, experiments/pages/report/page or internal/pages
	@export LC_ALL=C; for page in $(PAGES); do \
		folder=experiments/pages/$${page%%:*}; entry=$${page#*:}; bundle=$${entry#*:}; entry=$${entry%:*}; \
		hash=$$(cat $$folder/page/*.js $$folder/page/*.css internal/pages/uplot/* | sha256sum | cut -d' ' -f1); \
		$(GO) tool esbuild $$folder/page/$$entry --bundle --minify --format=esm --charset=utf8 --legal-comments=none --log-level=warning \
		--banner:$${entry##*.}="/* pausenet, Apache-2.0, with uPlot, Copyright (c) 2022 Leon Sorokin, MIT (NOTICE); made by make pages of $$hash */" \
		--outfile=$$folder/bundle/$$bundle || exit 1; done

# A Python with setuptools and wheel (Debian's python3-setuptools, python3-wheel, python3-venv); for the tests python3-pytest, python3-pandas,
# python3-matplotlib, python3-nbconvert, python3-ipykernel and mypy too. Nothing is taken from the network.
# A python3 that comes first in PATH may be another than Debian's, and lack them.
PYTHON ?= $(or $(shell for p in python3 /usr/bin/python3; do $$p -c 'import setuptools; import wheel; import pip' 2>/dev/null && echo $$p && break; done),$(error \
	no Python with pip and setuptools and wheel: apt-get install python3-pip python3-setuptools python3-wheel; or say PYTHON=PATH of one that has them))
# The machine that the wheel is for, as Go calls it, and as wheels do. A static program runs with any libc.
WHEEL_OS ?= $(shell $(GO) env GOOS)
WHEEL_ARCH ?= $(shell $(GO) env GOARCH)
WHEEL_TAG_linux-amd64 = manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64
WHEEL_TAG_linux-arm64 = manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64
WHEEL_TAG_darwin-amd64 = macosx_12_0_x86_64
WHEEL_TAG_darwin-arm64 = macosx_12_0_arm64
WHEEL_TAG_windows-amd64 = win_amd64
WHEEL_TAG = $(or $(WHEEL_TAG_$(WHEEL_OS)-$(WHEEL_ARCH)),$(error there is no wheel for $(WHEEL_OS)/$(WHEEL_ARCH)))
# By PEP 440: a tag's, v1.2.3, or a development version's with its commit.
WHEEL_VERSION ?= $(shell git describe --tags --exact-match 2>/dev/null | sed -n 's/^v//p' | grep . || \
	echo "0.0.0.dev0$$(git rev-parse --short HEAD 2>/dev/null | sed 's/^/+g/')")

.PHONY: wheel
wheel: ## build the Python package with the program in it into bin/wheel, without network; WHEEL_OS, WHEEL_ARCH for another machine
	@rm -rf bin/wheel && mkdir -p bin/wheel/source
	@cp -r python/pyproject.toml python/setup.py python/README.md LICENSE NOTICE bin/wheel/source
	@mkdir -p bin/wheel/source/pausenet/bin && cp python/pausenet/*.py python/pausenet/py.typed bin/wheel/source/pausenet
	CGO_ENABLED=0 GOOS=$(WHEEL_OS) GOARCH=$(WHEEL_ARCH) $(GO) build $(BUILDFLAGS) -trimpath -ldflags='-s -w' \
		-o bin/wheel/source/pausenet/bin/$(if $(filter windows,$(WHEEL_OS)),pausenet.exe,pausenet) ./cmd/pausenet
	WHEEL_VERSION=$(WHEEL_VERSION) WHEEL_TAG=$(WHEEL_TAG) $(PYTHON) -m pip wheel --quiet --no-index --no-deps --no-build-isolation \
		-w bin/wheel bin/wheel/source
	@rm -rf bin/wheel/source && ls -l bin/wheel/*.whl

.PHONY: test-python
test-python: wheel ## test the Python package, as its wheel installs it; as root with live fabrics
	$(PYTHON) -m venv --clear --system-site-packages bin/wheel/venv
	bin/wheel/venv/bin/pip install --quiet --no-index --no-deps bin/wheel/*.whl
	cd python && $(PYTHON) -m mypy --cache-dir=/dev/null pausenet
	cd bin/wheel && PYTHONDONTWRITEBYTECODE=1 WHEEL_TESTED=$(CURDIR)/bin/wheel/venv MPLBACKEND=Agg venv/bin/python -m pytest -q -p no:cacheprovider \
		--durations=5 $(PYTESTFLAGS) $(CURDIR)/python/tests

.PHONY: pictures
pictures: build ## take the documents' pictures of the pages of pausenet view and of a report again (needs chromium), and draw the README's animation and the playground's cards (minutes)
	bin/pausenet view dcon-burst --out results/pictures --force --export docs/figures/dcon-burst.gif
	bin/pausenet view results/pictures/dcon-burst --export playground/site/page/dcon-burst.png
	$(GO) test ./experiments/pages/view -count=1 -run TestPictures -args -update
	$(GO) test ./playground/site -count=1 -run TestCards -args -update

# Where make install puts things: DESTDIR before all, for packages.
PREFIX ?= /usr/local
DESTDIR ?=
share = $(DESTDIR)$(PREFIX)/share

.PHONY: install-texts
install-texts: ## write the manual pages and the shells' completions into bin/texts
	@rm -rf bin/texts && mkdir -p bin/texts/man bin/texts/completions
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || date +%s)} $(GO) run ./cmd/pausenet-man bin/texts/man
	@$(GO) build $(BUILDFLAGS) -o bin/texts/pausenet ./cmd/pausenet && \
		bin/texts/pausenet completion bash > bin/texts/completions/pausenet.bash && \
		bin/texts/pausenet completion zsh > bin/texts/completions/_pausenet && \
		bin/texts/pausenet completion fish > bin/texts/completions/pausenet.fish && rm bin/texts/pausenet

# The libraries for RDMA programs, for each Linux that packages are for.
PACKAGED = $(addprefix bin/packaged/linux_,amd64 arm64)

.PHONY: packaged
packaged: $(PACKAGED)

.PHONY: $(PACKAGED)
$(PACKAGED):
	verbs/package.sh $@ $(@:bin/packaged/linux_%=%)

.PHONY: install
install: static install-texts ## install the program, libraries, manual pages and completions below DESTDIR and PREFIX (/usr/local)
	install -D -m 755 bin/static/pausenet $(DESTDIR)$(PREFIX)/bin/pausenet
	if [ "$$($(GO) env GOOS)" = linux ]; then verbs/package.sh bin/packaged/installed "$$($(GO) env GOARCH)" && \
		install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/pausenet/verbs bin/packaged/installed/*; fi
	install -d $(share)/man/man1 && install -m 644 bin/texts/man/* $(share)/man/man1
	install -D -m 644 bin/texts/completions/pausenet.bash $(share)/bash-completion/completions/pausenet
	install -D -m 644 bin/texts/completions/_pausenet $(share)/zsh/site-functions/_pausenet
	install -D -m 644 bin/texts/completions/pausenet.fish $(share)/fish/vendor_completions.d/pausenet.fish

.PHONY: static
static: ## build a static program into bin/static, which runs on any machine of its kind (GOOS, GOARCH)
	CGO_ENABLED=0 $(GO) build $(BUILDFLAGS) -trimpath -ldflags='-s -w' -o bin/static/ ./cmd/pausenet

.PHONY: image-root
image-root: static ## put what the container image has into bin/image: the program, its libraries, and a folder for what is temporary
	@rm -rf bin/image && mkdir -p bin/image/bin bin/image/work && install -d -m 1777 bin/image/tmp
	verbs/package.sh bin/image/lib/pausenet/verbs "$$($(GO) env GOARCH)"
	install -m 755 bin/static/pausenet bin/image/bin/pausenet && install -m 644 LICENSE NOTICE bin/image

.PHONY: test-static
test-static: image-root ## run, sweep and report in a root that has nothing but the program (needs root)
	test/static/run.sh bin/static/pausenet bin/image

# It is no part of go.mod: it would decide which versions of shared modules pausenet is built with. Go builds it first, which takes minutes.
GORELEASER = github.com/goreleaser/goreleaser/v2@v2.14.0

.PHONY: release-snapshot release
release-snapshot: RELEASE = --snapshot
release-snapshot release: ## build archives, .deb packages, checksums and SBOMs into bin/release; a snapshot publishes nothing (needs git)
	$(GO) build $(BUILDFLAGS) -o bin/tools/ ./cmd/pausenet-sbom
	PATH=$(CURDIR)/bin/tools:$$PATH $(GO) run $(GORELEASER) release $(RELEASE) --clean --parallelism 2

.PHONY: notebook
notebook: build ## execute the notebooks of python/examples again, and keep what they come to (needs Debian's python3-nbconvert and python3-ipykernel)
	for n in python/examples/*.ipynb; do PYTHONPATH=$(CURDIR)/python PAUSENET=$(CURDIR)/bin/pausenet $(PYTHON) python/tests/notebook.py $$n $$n || exit 1; done

.PHONY: clean
clean: ## remove what make build and make run wrote
	rm -rf bin results

.PHONY: help
help: ## list these
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | awk -F'\t' '{ printf "  %-16s %s\n", $$1, $$2 }'

# Every fuzz function of the repository: its package and its name (internal/fuzz_test.go). make test runs what they begin with.
FUZZ = \
	command/shell:FuzzLine \
	command:FuzzControllerFiles \
	controllerfile/star:FuzzProgram \
	controllerfile/star:FuzzRead \
	controllerfile/wasm:FuzzMutant \
	controllerfile/wasm:FuzzRead \
	ebpf:FuzzIngress \
	experiments/analysis/audit:FuzzBaseline \
	experiments/analysis/audit:FuzzCabling \
	experiments/analysis/audit:FuzzConfig \
	experiments/analysis/audit:FuzzEOS \
	experiments/analysis/audit:FuzzIBNet \
	experiments/analysis/audit:FuzzJunos \
	experiments/analysis/audit:FuzzMinigraph \
	experiments/analysis/audit:FuzzNIC \
	experiments/analysis/audit:FuzzNVUE \
	experiments/analysis/audit:FuzzSlurm \
	experiments/analysis/deadlock/certificate:FuzzRead \
	experiments/analysis/diagnose:FuzzReadAnswers \
	experiments/analysis/expect:FuzzReadLog \
	experiments/counters:FuzzPerftest \
	experiments/counters:FuzzRead \
	experiments/counters:FuzzRedis \
	experiments/lab/picture:FuzzLikeness \
	experiments/lab:FuzzParse \
	experiments/live:FuzzRequest \
	experiments/results:FuzzReadJSON \
	experiments/scenario/sonic:FuzzParse \
	experiments/scenario:FuzzHPCCFlows \
	experiments/scenario:FuzzMessages \
	experiments/scenario:FuzzParseScenario \
	experiments/search:FuzzParse \
	experiments/traffic/collective:FuzzReadChakra \
	experiments/traffic/steps:FuzzReadGOAL \
	experiments/traffic/workload:FuzzParseSizes \
	experiments/tune:FuzzParse \
	hostagent/lstm:FuzzParse \
	hostagent/qp:FuzzPairFrames \
	hostagent:FuzzRecovery \
	internal/table:FuzzRead \
	internal/wire:FuzzParse \
	internal/wire:FuzzParseHeaders \
	internal/yamlspec:FuzzParse \
	orchestrator/verbs:FuzzRequests \
	switchagent:FuzzProcessor \
	topologies/clab:FuzzConvert \
	topologies/spec:FuzzHPCC \
	topologies:FuzzParse \
	units:FuzzParse

.PHONY: fuzz
fuzz: ## fuzz each function of FUZZ for FUZZTIME (default 30s, 1000x: as many inputs); what fails is left in the package's testdata/fuzz
	set -e; for f in $(FUZZ); do echo "$$f"; $(GO) test ./$${f%%:*} -run '^$$' -fuzz "^$${f##*:}$$" -fuzztime $(or $(FUZZTIME),30s); done

.PHONY: fuzz-planes
fuzz-planes: ## compare the planes on CASES random scenarios (needs root); failures go to results/fuzz-planes
	$(GO) test ./internal/planefuzz -count=1 -v -timeout 0 -run '^TestFuzz$$' -planefuzz.cases=$(or $(CASES),10000) \
		-planefuzz.seed=$(or $(SEED),1) -planefuzz.out=$(CURDIR)/results/fuzz-planes

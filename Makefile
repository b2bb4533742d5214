# `make help` lists the targets. Nothing is assumed but Go; `make test` installs what else it needs (Debian, as root).

SHELL := /bin/sh
.DEFAULT_GOAL := help
BIN := bin
GOFLAGS_BUILD := -trimpath
export CGO_ENABLED ?= 0

.PHONY: help build install demo test test-fast soak fuzz bench bench-tokens recording generate man completions release-snapshot release site lint image image-pins image-pins-data container clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

build: ## build bin/mcpgen, bin/mcprun and bin/mcpdemo
	go build $(GOFLAGS_BUILD) -o $(BIN)/ ./cmd/mcpgen ./cmd/mcprun ./cmd/mcpdemo

# Where `make install` puts the programs: PREFIX/bin.
PREFIX ?= $(HOME)/.local

install: ## build mcpgen and mcprun into ~/.local/bin (PREFIX=DIR for DIR/bin; needs Go only)
	@mkdir -p "$(PREFIX)/bin"
	go build $(GOFLAGS_BUILD) -ldflags "-s -w" -o "$(PREFIX)/bin/" ./cmd/mcpgen ./cmd/mcprun
	@echo "installed mcpgen and mcprun in $(PREFIX)/bin"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "$(PREFIX)/bin is not on your PATH: add it, and open a new shell" ;; esac

demo: build ## sync the demo servers, run a TypeScript and a Python example, show what that saved (needs Go only)
	@sh examples/demo.sh

test: ## pass every test, installing and starting what it needs: Docker, node, python3, npm packages, the image
	bash .ci/test

# Leaves out the tests that start sandboxes or whole programs.
SLOW := /runner/sandbox/(docker|gvisor|process|pool|embedded)(/|$$)|/cmd/internal/(integration|eval/.*)$$|/cmd/mcp(gen|run)$$

test-fast: ## pass the tests of single packages, in two minutes once compiled; without Docker, npm packages and the race detector
	go test -short $$(go list ./... | grep -Ev '$(SLOW)')

soak: ## make 10,000 runs in every sandbox and kill 200 in the middle; count what is left, and rows of 10,000 recorded runs (SOAK_RUNS=10000 SOAK_KILLS=200 SOAK_RECORD=10000)
	bash .ci/soak

fuzz: ## make files of a million hostile tools and read each back (FUZZ_TOOLS=1000000; FUZZ_SEED=1 for others)
	MCPGEN_FUZZ_TOOLS=$${FUZZ_TOOLS:-1000000} MCPGEN_FUZZ_SEED=$${FUZZ_SEED:-1} go test ./cmd/internal/eval/hostile -run '^TestManyTools$$' -count=1 -v -timeout 6h

bench: build ## measure and compare; BENCH_JSON=FILE writes one JSON object per line as well
	bash .ci/bench

bench-tokens: build ## prove what code saves in tokens, task by task, each checked (PROOF_CATALOGS=DIR, PROOF_SIZES=20,50,500,all)
	go run $(GOFLAGS_BUILD) ./cmd/internal/eval/proof $(if $(PROOF_CATALOGS)$(PROOF_SIZES),,-page docs/tokens.md)

recording: build ## record docs/demo.svg, the terminal in README.md, from real runs
	bash .ci/recording

generate: build ## make the checked-in servers/ tree again from the demo servers
	MCPGEN_TRUST=1 $(BIN)/mcpgen sync

man: ## write the manual pages to bin/man
	MCPGEN_MAN=$(CURDIR)/$(BIN)/man go test $(GOFLAGS_BUILD) ./cmd/mcpgen ./cmd/mcprun -run '^TestManPages$$' -count=1

completions: ## write completion scripts for bash, zsh, fish and PowerShell to bin/completions
	@mkdir -p $(BIN)/completions
	@set -e; for program in mcpgen mcprun; do \
	  go build $(GOFLAGS_BUILD) -o $(BIN)/ ./cmd/$$program; \
	  for shell in bash zsh fish powershell; do $(BIN)/$$program completion $$shell >$(BIN)/completions/$$program.$$shell; done; \
	done

# Reads .goreleaser.yaml. The Go command keeps the compiled program; the first time takes some minutes.
GORELEASER := go run github.com/goreleaser/goreleaser/v2@v2.16.0

# CI uses another configuration, which builds one platform only.
RELEASE_CONFIG := .goreleaser.yaml
RELEASE_DIST := build/dist

release-snapshot: ## build all files of a release for all platforms to build/dist, with npm packages, the Python wheel, MCPB bundles and, with Docker, this machine's container image; nothing is published
	$(GORELEASER) release --config $(RELEASE_CONFIG) --snapshot --skip=docker --clean
	node deploy/npm/pack.mjs $(RELEASE_DIST)
	python3 deploy/python/pack.py $(RELEASE_DIST)
	set -e; for program in $(RELEASE_DIST)/mcprun_*/mcprun*; do set -- $$(basename $$(dirname $$program) | tr _ " "); node deploy/mcpb/pack.mjs $$program $$2 $$3 0.0.0; done
	@if docker version >/dev/null 2>&1; then $(MAKE) --no-print-directory container; else echo "no container image: no Docker engine answers"; fi

release: # of the tag at HEAD, by .github/workflows/release.yml only
	$(GORELEASER) release --clean --release-notes build/notes.md
	node deploy/npm/pack.mjs
	python3 deploy/python/pack.py

site: ## build the documentation as a website in build/site and check its links (installs MkDocs: Debian, as root)
	bash .ci/site/render

lint: ## gofmt, go vet, staticcheck, govulncheck
	bash .ci/lint

image: ## build the pinned sandbox image, unless the engine has it
	go run $(GOFLAGS_BUILD) ./cmd/mcprun image --build

image-pins: ## pin the newest Debian packages, and the image made from them
	runner/sandbox/docker/image.sh --newest build/image

image-pins-data: ## the same for the larger image, that of mcprun image --data
	runner/sandbox/docker/image.sh --newest --data build/image

container: ## build the container image of mcprun serve, for this machine, as mcpgen/mcprun
	GOOS=linux go build $(GOFLAGS_BUILD) -ldflags "-s -w" -o build/container/linux/$$(go env GOARCH)/mcprun ./cmd/mcprun
	cp /etc/ssl/certs/ca-certificates.crt build/container/
	docker build -t mcpgen/mcprun --build-arg TARGETPLATFORM=linux/$$(go env GOARCH) -f deploy/image/Dockerfile build/container

clean: ## remove what was built
	rm -rf $(BIN) build

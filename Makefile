# Every target is a plain go command under a short name. Checks come in three sizes: `make check`
# before a commit, `.ci/run` before it lands, `make check-all` from time to time (docs/adr/0003).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TOOL := go tool -modfile=tools/tools.mod
FUZZTIME ?= 30s
COUNT ?= 1
BENCHTIME ?= 50x

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## the program, in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/ohgw ./cmd/ohgw

.PHONY: test
test: ## unit tests
	go test ./...

.PHONY: race
race: ## unit tests with the race detector, in random order
	scripts/gotest ./... -race -shuffle=on

.PHONY: lint
lint: ## formatting, vet, linter, tidy modules
	@scripts/lint

.PHONY: generate
generate: ## write the generated files that are committed
	go generate ./...

.PHONY: fuzz
fuzz: ## every fuzz target, FUZZTIME each (30s, or a count: 1000x)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz

.PHONY: e2e
e2e: ## the program with real agent-servers and real clients, which it installs
	scripts/e2e-setup
	scripts/e2e

.PHONY: soak
soak: ## run under faults for half an hour (OHGW_SOAK=30m, OHGW_SOAK_SEED)
	scripts/e2e-setup
	scripts/soak

.PHONY: bench
bench: ## figures: benchmarks of the packages, then the program beside a bare proxy
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./...
	scripts/agent-server install
	go test -tags e2e -run '^$$' -bench . -skip 'Outside|Holding|Sandbox|Sockets' -benchtime $(BENCHTIME) -timeout 30m ./e2e ./e2e/terminal
	COUNT=$(COUNT) scripts/bench-outside
	scripts/figures

.PHONY: package
package: ## build the files of a release in dist/
	@scripts/package

.PHONY: vuln
vuln: ## check dependencies for known vulnerabilities (asks vuln.go.dev)
	$(TOOL) govulncheck ./...

.PHONY: check
check: lint ## before a commit: lint, the tests of what the change touches (BASE), generated files
	scripts/gotest "$$(scripts/touched)"
	@scripts/generated

.PHONY: check-all
check-all: ## everything, for an hour: also all end-to-end tests, two releases, a clean Debian, fuzzing
	.ci/run --all

# Everything a person needs, one target a line of help.
GO      ?= go
BIN     := bin/kubectl-rollout_sim
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X github.com/rollout-sim/kubectl-rollout-sim/pkg/cli/version.Version=$(VERSION)

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build the plugin into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/kubectl-rollout_sim

.PHONY: example
example: build ## Plan the example rollout of the README
	$(BIN) plan --from examples/web.yaml -f examples/web-next.yaml

.PHONY: install
install: ## Install the plugin where kubectl finds it (GOBIN or GOPATH/bin)
	CGO_ENABLED=0 $(GO) install -trimpath -ldflags '$(LDFLAGS)' ./cmd/kubectl-rollout_sim

.PHONY: test
test: unit oracle ## Run all tests and static checks
	cd test && $(GO) vet ./... && $(GO) test -short ./cluster/... ./e2e

.PHONY: unit
unit: ## Run what of them needs no code of Kubernetes' own
	$(GO) vet ./...
	$(GO) test ./...

.PHONY: rewrite
rewrite: ## Regenerate what data-driven tests expect, documents and pictures; read the diff
	$(GO) test $$(grep -rl cockroachdb/datadriven --include=*_test.go pkg plugins | xargs -n1 dirname | sort -u | sed "s,^,./,") -args -rewrite
	$(GO) test ./pkg/sim ./pkg/view -args -rewrite
	$(GO) test ./cmd/kubectl-rollout_sim -run 'TestDocuments|TestReference|TestPictures' -args -rewrite

.PHONY: picture
picture: build ## Take the picture of the HTML report in docs/pictures anew; needs chromium
	$(BIN) plan --from examples/web.yaml -f examples/web-next.yaml -o jsonl > bin/report.jsonl
	$(GO) test ./pkg/view/report -count=1 -run TestPicture -args -plan $(CURDIR)/bin/report.jsonl -picture $(CURDIR)/docs/pictures/report.png

.PHONY: oracle
oracle: ## Compare with upstream's own code; WORLDS=50000 SEED=7 for longer, others
	cd test && $(GO) test -count=1 -timeout 0 ./oracle/arithmetic ./oracle/objects ./oracle/admission ./oracle/autoscaler ./oracle/mutants
	cd test/oracle/worlds && $(GO) test -count=1 -timeout 0

.PHONY: cluster
cluster: tools ## Start a real control plane and print its kubeconfig (NODES=3)
	cd test && $(GO) run ./cluster/cmd/cluster -nodes $(or $(NODES),3)

.PHONY: tools
tools: ## Build the control plane's programs into the user's cache folder
	cd test && $(GO) run ./cluster/cmd/cluster -build

.PHONY: store
store: tools ## Hold the simulated API server against a real one
	cd test && $(GO) test -count=1 -timeout 45m ./cluster/...

.PHONY: schedule
schedule: tools ## Hold the simulated scheduler against the real one, in process and on a real control plane
	cd test && $(GO) test -count=1 -timeout 30m -v -run 'TestAssess|TestCluster' ./scheduler

.PHONY: e2e
e2e: tools ## Plan and make real rollouts on a real control plane, and compare; REWRITE=1 writes docs/accuracy.md
	cd test && $(GO) test ./e2e -v -count=1 -timeout 30m -parallel 8 $(if $(REWRITE),-args -rewrite)

.PHONY: live
live: tools ## Drive a real API server with our controllers, killed at the moments of SEED=1
	cd test/live && $(GO) test -v -count=1 -timeout 40m -parallel 8 . $(if $(SEED),-args -seed=$(SEED))

.PHONY: conformance
conformance: tools ## Let Kubernetes' own end-to-end suite judge the controllers
	cd test/live && $(GO) test -v -count=1 -timeout 90m -run TestConformance . -args -conformance

.PHONY: fuzz
fuzz: ## Fuzz the decoder and random worlds, half a minute each
	$(GO) test ./pkg/manifest -run '^$$' -fuzz FuzzDecode -fuzztime 30s
	$(GO) test ./pkg/scenario -run '^$$' -fuzz FuzzWorld -fuzztime 30s

.PHONY: bench
bench: build ## Measure rollouts, sweeps, dumps and the start of the command; docs/performance.md
	$(GO) test ./pkg/scenario -run '^$$' -bench 'Rollout|Trace|Constrained' -short -benchmem -benchtime 3x
	$(GO) test ./pkg/cli/plan -run '^$$' -bench Runs -benchmem -benchtime 100x
	$(GO) test ./pkg/manifest -run '^$$' -bench List -benchmem
	for i in 1 2 3 4 5; do time -p $(BIN) plan --offline -f examples/web.yaml > /dev/null; done

# Tools have a module each, so that none chooses the versions of another, nor of the program.
TOOLS := $(CURDIR)/bin/tools

$(TOOLS)/%: test/tools/%/go.mod test/tools/%/go.sum
	cd test/tools/$* && $(GO) build -o $(TOOLS)/ tool

.PHONY: lint
lint: $(TOOLS)/golangci-lint ## Look for mistakes in all modules
	for module in . test test/live; do (cd $$module && $(TOOLS)/golangci-lint run ./...) || exit 1; done

.PHONY: vuln
vuln: $(TOOLS)/govulncheck ## Look for known vulnerabilities; VULNDB=module makes the database of its Go module
ifeq ($(VULNDB),module)
	$(GO) -C / run golang.org/x/vulndb/cmd/indexdb@latest -out $(TOOLS)/vulndb -vulns \
		"$$($(GO) -C / mod download -json golang.org/x/vulndb@latest | sed -n 's,^.*"Dir": "\(.*\)".*,\1,p')/data/osv"
endif
	$(TOOLS)/govulncheck $(if $(VULNDB),-db file://$(TOOLS)/vulndb) ./...

.PHONY: dist
dist: $(TOOLS)/goreleaser $(TOOLS)/cyclonedx-gomod ## Make a snapshot of a release in dist/
	PATH="$(TOOLS):$$PATH" goreleaser release --snapshot --clean

.PHONY: release
release: $(TOOLS)/goreleaser $(TOOLS)/cyclonedx-gomod ## Make a release of the tag that is checked out; needs GITHUB_TOKEN
	PATH="$(TOOLS):$$PATH" goreleaser release --clean

.PHONY: dist-test
dist-test: dist $(TOOLS)/krew ## Install the snapshot with real krew, and use it through real kubectl
	cd test && $(GO) test ./dist -count=1 -timeout 60m -args -dist=$(CURDIR)/dist -tools=$(TOOLS)

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist

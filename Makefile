# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0

.DEFAULT_GOAL := help
SHELL := bash

PROFILE     ?= hardened
NODE_IMAGE  ?= auto
# Another version than the default is built from source: docs/support.md.
KUBERNETES  ?=
KUBELET_API ?= true
NODE_SCOPE  ?=
# Settings of docs/hardening.md that the cluster is created without, or all.
HARDENING_OFF ?=
OVERRIDE    ?= false
LABEL       ?=
DEMO_FLAGS  ?=
# The page that docs-run runs: install or rotate-ca.
PAGE        ?= install
MINUTES     ?= 60
# make test starts no part of its tests later than this. 0 means no limit.
TEST_LIMIT  ?= 50m
# Inputs of each fuzz target.
INPUTS      ?= 100000
# Pairs of clusters of each policy.
PAIRS       ?= 1000000
NODES       ?= 50,500,2000
CALLS       ?= 1000
# Of a release: docs/releases.md.
VERSION            ?=
RELEASE_KEY        ?=
RELEASE_PUBLIC_KEY ?=
RELEASE_FLAGS      ?=

# The same for all that is compiled: once for the tools, the checks and the suites, and once
# for all checkouts of a machine. Only the race detector is cgo. Without data for debuggers, the
# compiler takes a sixth less time. Stack traces keep their lines.
export CGO_ENABLED := 0
export GOFLAGS     += -trimpath -buildvcs=false -gcflags=all=-dwarf=false

# The policy packages: their conditions are the rules.
MUTATE ?= components/nodeauthorizer components/noderestriction components/nodescope components/nodescope/admission components/kubeletauth

# An old Go is reported with what to do, before it reads go.mod.
REFCLUSTER := ./scripts/require-go.sh && go run ./kind/cmd/refcluster
TESTRUN    := ./scripts/require-go.sh && go run ./scripts/testrun
# The results of the benchmarks, in the format of Go.
RESULTS    := _output/benchmarks.txt
BENCH      := go -C components/conformance test -run='^$$' -bench=. -benchtime=3s -timeout=3h ./benchmarks
REPORT     := go -C components/conformance run ./cmd/report -input=$(CURDIR)/$(RESULTS)
RELEASE    := go -C scripts/release run .
BENCHSTAT  := go run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da -col=/subject $(RESULTS)

##@ The cluster

.PHONY: up
up: ## make up [PROFILE=hardened|parity|in-tree] [KUBELET_API=false] [NODE_SCOPE=false] [HARDENING_OFF=encryption,tls|all] [KUBERNETES=v1.36.3] [INSTALL_FLAGS=--mode=audit]: a two-node cluster with Bulkhead installed; run it again to switch
	@$(REFCLUSTER) up --profile=$(PROFILE) --node-image=$(NODE_IMAGE) --kubernetes='$(KUBERNETES)' --kubelet-api=$(KUBELET_API) $(if $(NODE_SCOPE),--node-scope=$(NODE_SCOPE)) --hardening-off='$(HARDENING_OFF)' $(addprefix --install-flag=,$(INSTALL_FLAGS))

.PHONY: ha
ha: ## the same with three control planes, two workers and a load balancer, as cluster bulkhead-ha
	@$(REFCLUSTER) up --name=bulkhead-ha --control-planes=3 --workers=2 --profile=$(PROFILE) --node-image=$(NODE_IMAGE) --hardening-off='$(HARDENING_OFF)'

.PHONY: down
down: ## remove all clusters and whatever was started for them
	@$(REFCLUSTER) down

.PHONY: status
status: ## what runs, and what is installed in it
	@$(REFCLUSTER) status

.PHONY: env
env: ## eval "$(make env)" sets PATH, KUBECONFIG and DOCKER_HOST for a shell
	@$(REFCLUSTER) env

.PHONY: demo
demo: ## make demo [DEMO_FLAGS='--pace=0.5 --no-color']: the story of one stolen certificate on the cluster that is up, in-tree beside hardened (three minutes)
	@go build -o _output/bin/demo ./scripts/demo && exec _output/bin/demo $(DEMO_FLAGS)

##@ The proof

.PHONY: test
test: ## make test [TEST_LIMIT=50m]: verify (without golangci-lint), unit (without the race detector), end-to-end in all three profiles; the last line is the count
	@$(TESTRUN) all --limit=$(TEST_LIMIT)

.PHONY: unit
unit: ## unit tests with the race detector, and a bounded run of every fuzz target
	@$(TESTRUN) unit

.PHONY: fuzz
fuzz: ## make fuzz [INPUTS=100000]: so many inputs for each fuzz target, guided by coverage (hours)
	@$(TESTRUN) fuzz --inputs=$(INPUTS)

.PHONY: e2e
e2e: ## make e2e [LABEL='rule: containsAny NA-LEASE-3']: end-to-end on the cluster that is up, or on E2E_KUBECONFIG, or on one that it makes
	@$(TESTRUN) e2e --profile=$(PROFILE) --label='$(LABEL)'

.PHONY: attack
attack: ## make attack T=T8 [PROFILE=in-tree]: one attack of docs/attacks.md as a story, on the cluster that is up, or on one that it makes with this profile
	@$(TESTRUN) attack --profile=$(PROFILE) --id='$(T)'

.PHONY: conformance
conformance: ## the program _output/bin/bulkhead-conformance: it reports which rules any cluster enforces
	@echo "compiling the suites and the program: some minutes without a build cache"
	@scripts/conformance.sh _output/bin/bulkhead-conformance _output/conformance
	@echo "_output/bin/bulkhead-conformance --help"

.PHONY: conformance-check
conformance-check: ## build that program, run it on the cluster that is up as a user does, and check its report (20 minutes)
	@$(TESTRUN) conformance --profile=$(PROFILE)

.PHONY: ha-full
ha-full: ## make ha-full [LABEL='!long']: all specs for three control planes on a new cluster: install, kubeadm's commands, upgrade, removal (75 minutes)
	@$(TESTRUN) ha --label='$(LABEL)'

.PHONY: failure
failure: ## make failure [LABEL=etcd-paused]: the long form of every disruption, on the cluster that is up or on a new one; writes docs/reliability.md (an hour and a half)
	@$(TESTRUN) failure --label='$(LABEL)'

.PHONY: soak
soak: ## make soak [MINUTES=60]: memory, open files and goroutines while pods come and go; writes docs/soak.svg
	@$(TESTRUN) soak --minutes=$(MINUTES)

.PHONY: alerts
alerts: ## cause each alert of manifests/monitoring on the cluster that is up, with a real Prometheus, and repair it; writes docs/alerts.md and docs/dashboard.svg (20 minutes)
	@eval "$$($(REFCLUSTER) env)" && go -C components/monitoring run ./cmd/alerts -root='$(CURDIR)' -write='$(CURDIR)/docs/alerts.md' -draw='$(CURDIR)/docs/dashboard.svg'

.PHONY: verify
verify: ## formatting, linters, shellcheck, generated docs, licence headers, manifests, known vulnerabilities
	@$(TESTRUN) verify

.PHONY: bench
bench: ## the programs beside the in-tree code, with 100,000 pods; writes docs/performance.md (an hour)
	@mkdir -p _output
	@set -o pipefail; $(BENCH) -turns=5 -pods=100000 | tee $(RESULTS)
	@$(BENCHSTAT)
	@$(REPORT) -write=$(CURDIR)/docs/performance.md

.PHONY: bench-api
bench-api: ## make bench-api [CALLS=1000]: single calls through the API server of the cluster that is up, in-tree and hardened in turns; writes docs/performance.md (half an hour)
	@go -C components/conformance run ./cmd/load -root='$(CURDIR)' -calls='$(CALLS)' -write='$(CURDIR)/docs/performance.md'

.PHONY: bench-scale
bench-scale: ## make bench-scale [NODES=50,500,2000]: the cluster that is up with so many simulated kubelets, in-tree and hardened; writes docs/performance.md (half an hour)
	@go -C components/conformance run ./cmd/scale -root='$(CURDIR)' -nodes='$(NODES)' -write='$(CURDIR)/docs/performance.md'

.PHONY: bench-quick
bench-quick: ## the reviews over loopback only, with 2,000 pods; writes nothing (three minutes)
	@mkdir -p _output
	@set -o pipefail; $(BENCH) -bench=Review -turns=3 | tee $(RESULTS)
	@$(BENCHSTAT)
	@$(REPORT)

.PHONY: interference
interference: ## make interference [PAIRS=1000000]: random pairs of clusters that differ only in what is unrelated to a node, which must get the same answers
	@BULKHEAD_DIFF_QUESTIONS=$(PAIRS) nice go -C components/conformance test -v -count=1 -timeout=12h ./interference

.PHONY: mutate
mutate: ## make mutate [MUTATE=components/nodescope]: invert the conditions of the policy packages one by one, and list those that no unit test notices
	@nice go run ./scripts/mutate $(MUTATE)

.PHONY: reports
reports: ## docs/reports and docs/index.html, from the results of make e2e with in-tree and with hardened
	@go run ./scripts/reports

.PHONY: bench-cis
bench-cis: ## make bench-cis [OVERRIDE=true]: the CIS benchmark on both nodes of the cluster that is up, by kube-bench; writes docs/benchmark-cis.md
	@go run ./scripts/benchcis -override=$(OVERRIDE)

.PHONY: docs-run
docs-run: ## make docs-run [CONTROL_PLANES=3], or make docs-run PAGE=rotate-ca: run the commands of docs/install.md, or of docs/rotate-ca.md, on a new cluster, and compare their output
	@PAGE='$(PAGE)' CONTROL_PLANES='$(CONTROL_PLANES)' ./scripts/docs-run.sh

##@ Upkeep

.PHONY: update
update: ## write the generated files again
	@go run ./components/cmd/bulkhead rules --output=markdown >docs/rules.md
	@BULKHEAD_UPDATE_MATCH_CONDITION=1 go test -count=1 -run=TestRegistrationHasTheGeneratedCondition ./manifests >/dev/null
	@./scripts/prometheusrule.sh >manifests/monitoring/operator/prometheusrule.yaml
	@BULKHEAD_UPDATE_SPECS=1 go test -count=1 -run='TestEveryRuleIsProved|TestSpecsNameRules|TestAttacksPage' ./e2e/nodeauthorizer ./e2e/noderestriction ./e2e/kubeletauth ./e2e/nodescope ./e2e/certificates ./e2e/failure ./e2e/attacks >/dev/null

.PHONY: image
image: ## make image IMAGE=registry/name:tag: the image with the programs, for a production registry
	@IMAGE='$(IMAGE)' ./scripts/image.sh

.PHONY: release
release: ## make release VERSION=v0.2.0 [RELEASE_KEY=release.pem]: programs, image, checksums, SBOM and notes in _output/release/VERSION, without a container engine
	@$(RELEASE) build -root='$(CURDIR)' -version='$(VERSION)' -output='$(CURDIR)/_output/release/$(VERSION)' -key='$(abspath $(RELEASE_KEY))' $(RELEASE_FLAGS)

.PHONY: release-check
release-check: ## build a release twice, from two folders and without the build cache, and compare every file (VERSION is optional)
	@$(RELEASE) check -root='$(CURDIR)' $(if $(VERSION),-version='$(VERSION)',-version=v0.0.0-check -changelog-section=$$(sed -n 's/^## \([^ ]*\).*/\1/p' docs/CHANGELOG.md | head -1)) $(RELEASE_FLAGS)

.PHONY: release-verify
release-verify: ## make release-verify VERSION=v0.2.0 RELEASE_PUBLIC_KEY=release.pub: the signature and every file of a release
	@$(RELEASE) verify -output='$(CURDIR)/_output/release/$(VERSION)' -public-key='$(abspath $(RELEASE_PUBLIC_KEY))'

.PHONY: clean
clean: ## remove everything that git ignores below _output
	@rm -rf _output

.PHONY: help
help: ## this text
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

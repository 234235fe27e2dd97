# Copyright The Bulkhead Authors
# SPDX-License-Identifier: Apache-2.0

.DEFAULT_GOAL := help
SHELL := bash

PROFILE     ?= hardened
NODE_IMAGE  ?= auto
KUBELET_API ?= true
NODE_SCOPE  ?=
LABEL       ?=

# The same for all that is compiled: once for the tools, the checks and the suites, and once
# for all checkouts of a machine. Only the race detector is cgo.
export CGO_ENABLED := 0
export GOFLAGS     += -trimpath -buildvcs=false

REFCLUSTER := go run ./kind/cmd/refcluster
TESTRUN    := go run ./scripts/testrun
# Each writes its own part of docs/performance.md.
BENCH_AUTHORIZER  := go -C components/nodeauthorizer/againstupstream run ./cmd/bench -root=$(CURDIR)
BENCH_RESTRICTION := go -C components/noderestriction/againstupstream run ./cmd/bench -root=$(CURDIR)
BENCH_KUBELET     := go -C components/kubeletauth/againstupstream run ./cmd/bench -root=$(CURDIR)

##@ The cluster

.PHONY: up
up: ## make up [PROFILE=hardened|parity|in-tree] [KUBELET_API=false] [NODE_SCOPE=false]: a two-node cluster with Bulkhead installed; run it again to switch
	@$(REFCLUSTER) up --profile=$(PROFILE) --node-image=$(NODE_IMAGE) --kubelet-api=$(KUBELET_API) $(if $(NODE_SCOPE),--node-scope=$(NODE_SCOPE))

.PHONY: down
down: ## remove the cluster and whatever was started for it
	@$(REFCLUSTER) down

.PHONY: status
status: ## what runs, and what is installed in it
	@$(REFCLUSTER) status

.PHONY: env
env: ## eval "$(make env)" sets PATH, KUBECONFIG and DOCKER_HOST for a shell
	@$(REFCLUSTER) env

##@ The proof

.PHONY: test
test: ## everything: verify, unit tests, end-to-end in all three profiles; the last line is the count
	@$(TESTRUN) all

.PHONY: unit
unit: ## unit tests with the race detector, and a bounded run of every fuzz target
	@$(TESTRUN) unit

.PHONY: e2e
e2e: ## make e2e [LABEL='rule: containsAny NA-LEASE-3']: end-to-end on the cluster that is up, or on E2E_KUBECONFIG, or on one that it makes
	@$(TESTRUN) e2e --profile=$(PROFILE) --label='$(LABEL)'

.PHONY: verify
verify: ## formatting, vet, linters, shellcheck, generated docs, licence headers, manifests
	@$(TESTRUN) verify

.PHONY: bench
bench: ## everything that docs/performance.md tells, measured against the in-tree authorizer and plugin and a bare reverse proxy; writes that page (50 minutes); KUBECONFIG has a real kubelet measured too
	@$(BENCH_AUTHORIZER)
	@$(BENCH_RESTRICTION)
	@$(BENCH_KUBELET)

.PHONY: bench-quick
bench-quick: ## the tables only, in five minutes, without the whole process
	@$(BENCH_AUTHORIZER) -quick
	@$(BENCH_RESTRICTION) -quick
	@$(BENCH_KUBELET) -quick

##@ Upkeep

.PHONY: update
update: ## write the generated files again
	@go run ./components/cmd/bulkhead rules --output=markdown >docs/rules.md

.PHONY: image
image: ## make image IMAGE=registry/name:tag: the image with the programs, for a production registry
	@IMAGE='$(IMAGE)' ./scripts/image.sh

.PHONY: clean
clean: ## remove everything that git ignores below _output
	@rm -rf _output

.PHONY: help
help: ## this text
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

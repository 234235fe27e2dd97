// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// oldest is the first version that always tells authorizers about field
// selectors (AuthorizeWithSelectors, GA in 1.34), without which "the pods of
// this node" cannot be told from "all pods".
const oldest = "1.34.0"

// tested is the version whose rules ours are checked against.
const tested = "1.37.0"

func versionFindings(_ context.Context, in Input) ([]Finding, error) {
	const check = "kube-apiserver version"
	info, err := in.Client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking kube-apiserver for its version: %w", err)
	}
	v, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return nil, fmt.Errorf("reading kube-apiserver's version: %w", err)
	}
	if emulated, set := in.Server.Arg("emulated-version"); set {
		return []Finding{{Warn, check, fmt.Sprintf("%s, emulating %s: field selectors reach authorizers from 1.34 on", info.GitVersion, emulated)}}, nil
	}
	switch {
	case v.LessThan(version.MustParseGeneric(oldest)):
		return []Finding{{Fail, check, info.GitVersion + ": older than 1.34, it does not tell authorizers about field selectors; upgrade first"}}, nil
	case v.Minor() != version.MustParseGeneric(tested).Minor():
		return []Finding{{Warn, check, info.GitVersion + ": it should work; the rules are tested against 1.37"}}, nil
	}
	return []Finding{{OK, check, info.GitVersion}}, nil
}

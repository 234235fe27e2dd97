// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = "apiVersion: bulkhead.dev/v1alpha1\nkind: Installation\n"

const full = head + `profile: hardened
image: registry.example/bulkhead:v1
timeout: 5m0s
rules:
  mode: audit
  modes:
    KA-EXEC-1: "off"
    NA-CSR-1: enforce
  terminatedPodGrace: 1m0s
  credentialProviderTokens: true
  unknownResources: deny
certificates:
  validity: 48h0m0s
  renewBefore: 24h0m0s
nodeRestriction:
  failurePolicy: Fail
kubeletAPI:
  enabled: true
  loopbackClients: allow
  authentication:
    x509:
      expiredRevocationLists: refuse
    webhook:
      enabled: true
      cacheTTL: 1m0s
  authorization:
    webhook:
      cacheAuthorizedTTL: 1m0s
      cacheUnauthorizedTTL: 0s
  streamingConnectionIdleTimeout: 1h0m0s
nodeScope:
  enabled: true
  customResources:
    - widgets.example.com=field:spec.node
nodePolicy:
  apiVersion: noderestriction.admission.k8s.io/v1
  kind: Configuration
  # The comment stays.
  allowedLabels:
    - example.com/rack
`

func TestMarshalReturnsTheFileThatParseReads(t *testing.T) {
	for _, text := range []string{head, full} {
		c, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestPolicyOfMarshalledFileIsTheSame(t *testing.T) {
	c, err := Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Policy()
	if err != nil || !strings.HasPrefix(string(want), "apiVersion: noderestriction.admission.k8s.io/v1\n") {
		t.Fatalf("the policy is %q, %v", want, err)
	}
	again := Installation{APIVersion: APIVersion, Kind: Kind}
	if err := again.SetPolicy(want); err != nil {
		t.Fatal(err)
	}
	got, err := again.Policy()
	if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
		t.Errorf("error %v; -want +got:\n%s", err, diff)
	}
}

func TestInvalidFileIsRejected(t *testing.T) {
	const policy = "nodePolicy:\n  apiVersion: noderestriction.admission.k8s.io/v1\n  kind: Configuration\n"
	checkRejected(t, []invalidFile{
		{"unknown field", "profile: hardened", "profil: hardened", `line 3: unknown field "profil"; did you mean "profile"?`},
		{"unknown profile", "profile: parity", "profile: strict", `line 3: profile: Unsupported value: "strict"`},
		{"unknown mode of all rules", "rules: {mode: audit}", "rules:\n  mode: warn",
			`line 4: rules.mode: Unsupported value: "warn"`},
		{"unknown mode of a rule", "rules: {modes: {NA-CSR-1: audit}}", "rules:\n  modes:\n    NA-CSR-1: on",
			`line 5: rules.modes.NA-CSR-1: Invalid value: "on"`},
		{"unquoted off is a string", "rules: {mode: off}", "rules: {mode: false}", "line 3: rules.mode must be a string"},
		{"unknown rule", "rules: {modes: {NA-CSR-1: audit}}", "rules: {modes: {NA-CSR-99: audit}}",
			`line 3: rules.modes.NA-CSR-99: Invalid value: "audit": there is no rule "NA-CSR-99"`},
		{"rule that is always enforced", "rules: {modes: {NA-CSR-1: audit}}", "rules: {modes: {NA-SECRET-1: audit}}",
			`line 3: rules.modes.NA-SECRET-1: Invalid value: "audit": NA-SECRET-1 is always enforced`},
		{"failure policy in lower case", "nodeRestriction: {failurePolicy: Ignore}",
			"nodeRestriction:\n  failurePolicy: ignore", `line 4: nodeRestriction.failurePolicy: Unsupported value: "ignore"`},
		{"failure policy Ignore in profile parity", "profile: parity\nnodeRestriction: {failurePolicy: Fail}",
			"profile: parity\nnodeRestriction: {failurePolicy: Ignore}",
			`line 4: nodeRestriction.failurePolicy: Invalid value: "Ignore": needs profile: hardened`},
		{"unknown field of nodeRestriction", "nodeRestriction: {failurePolicy: Fail}", "nodeRestriction: {failPolicy: Fail}",
			`line 3: unknown field "nodeRestriction.failPolicy"`},
		{"in-tree with a failure policy", "profile: in-tree", "profile: in-tree\nnodeRestriction: {failurePolicy: Fail}",
			`line 3: profile: Invalid value: "in-tree": has no components`},
		{"unknown decision for unknown resources", "rules: {unknownResources: audit-on-newer-kubernetes}",
			"rules:\n  unknownResources: allow", `line 4: rules.unknownResources: Unsupported value: "allow"`},
		{"negative grace", "rules: {terminatedPodGrace: 0s}", "rules: {terminatedPodGrace: -1s}",
			`line 3: rules.terminatedPodGrace: Invalid value: "-1s": must be 0 or more`},
		{"timeout of 0", "timeout: 1s", "timeout: 0s", `line 3: timeout: Invalid value: "0s": must be more than 0`},
		{"negative cache time", "kubeletAPI: {authorization: {webhook: {cacheAuthorizedTTL: 0s}}}",
			"kubeletAPI: {authorization: {webhook: {cacheAuthorizedTTL: -1s}}}",
			`line 3: kubeletAPI.authorization.webhook.cacheAuthorizedTTL: Invalid value: "-1s": must be 0 or more`},
		{"expired lists, no such decision", "kubeletAPI: {authentication: {x509: {expiredRevocationLists: allow}}}",
			"kubeletAPI: {authentication: {x509: {expiredRevocationLists: deny}}}",
			`line 3: kubeletAPI.authentication.x509.expiredRevocationLists: Unsupported value: "deny": ` +
				`supported values: "refuse", "allow"`},
		{"no tokens in mode audit", "mode: enforce\nkubeletAPI: {authentication: {webhook: {enabled: false}}}",
			"mode: audit\nkubeletAPI: {authentication: {webhook: {enabled: false}}}",
			"line 4: kubeletAPI.authentication.webhook.enabled: Invalid value: false: cannot be false with mode: audit"},
		{"loopback clients, no such decision", "kubeletAPI: {loopbackClients: allow}",
			"kubeletAPI: {loopbackClients: cluster}",
			`line 3: kubeletAPI.loopbackClients: Unsupported value: "cluster": supported values: "deny", "allow"`},
		{"idle timeout of 0", "kubeletAPI: {streamingConnectionIdleTimeout: 1s}",
			"kubeletAPI: {streamingConnectionIdleTimeout: 0s}",
			`line 3: kubeletAPI.streamingConnectionIdleTimeout: Invalid value: "0s": must be more than 0`},
		{"invalid custom resource", "nodeScope: {enabled: true, customResources: [w.example.com=field:spec.n]}",
			"nodeScope: {enabled: true, customResources: [a.b]}", `line 3: nodeScope.customResources: Invalid value: "a.b"`},
		{"custom resource without node scope", "nodeScope: {enabled: true, customResources: [w.example.com=field:spec.n]}",
			"nodeScope: {customResources: [w.example.com=field:spec.n]}",
			`line 3: nodeScope.customResources: Invalid value: "w.example.com=field:spec.n": needs nodeScope.enabled: true`},
		{"in-tree with a component's field", "profile: in-tree", "profile: in-tree\nimage: a",
			`line 3: profile: Invalid value: "in-tree": has no components`},
		{"unknown field of the node policy", policy + "  allowedLabels: [a]", policy + "  allowedLabel: [a]",
			`nodePolicy: line 6: unknown field "allowedLabel"`},
	})
}

func TestOtherVersionsAreRejected(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty file", "", "is empty"},
		{"no header", "profile: hardened",
			"line 1: apiVersion is missing; it must be bulkhead.dev/v1alpha1\nline 1: kind is missing; it must be Installation"},
		{"newer version", "apiVersion: bulkhead.dev/v1\nkind: Installation\nnew: 1",
			`line 1: apiVersion is "bulkhead.dev/v1"; this program supports only bulkhead.dev/v1alpha1`},
		{"other kind", "apiVersion: bulkhead.dev/v1alpha1\nkind: Cluster",
			`line 2: kind is "Cluster"; this program supports only Installation`},
		{"half a file", full[:strings.Index(full, "renewBefore")+5], "is neither YAML nor JSON: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	have, err := Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(full, "bulkhead:v1", "bulkhead:v2", 1)
	text = strings.Replace(text, "    NA-CSR-1: enforce\n", "", 1)
	want, err := Parse([]byte(strings.Replace(text, "example.com/rack", "example.com/row", 1)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Diff(have, want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{
		`image: "registry.example/bulkhead:v1" -> "registry.example/bulkhead:v2"`,
		`nodePolicy.allowedLabels[0]: "example.com/rack" -> "example.com/row"`,
		`rules.modes.NA-CSR-1: "enforce" -> (default)`,
	}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if same, err := Diff(have, have); len(same) > 0 || err != nil {
		t.Errorf("the file differs from itself: %v, %v", same, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", head, full, head + "rules: {modes: {a: b}}", head + "nodePolicy: []"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err != nil {
			if err.Error() == "" || len(err.Error()) > 40_000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		text, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text); err != nil {
			t.Fatalf("what Marshal returns is invalid: %v\n%s", err, text)
		}
	})
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package scopelist

import (
	"strings"
	"testing"
)

// authorization is a file as the installer writes it, with this list.
const authorization = `# Who decides.
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
  - type: Webhook
    name: node-authorizer.bulkhead.dev
    webhook:
      failurePolicy: NoOpinion
      matchConditions:
        - expression: has(request.user) && request.user in ['other']
  - type: Webhook
    name: node-scope.bulkhead.dev
    webhook: # ältere [Server]
      timeout: 3s
      failurePolicy: Deny
      matchConditions:
        # The list [of accounts] is scope-sync's.
        - expression: >-
            has(request.user) &&
            request.user in [LIST]
  - type: RBAC
    name: rbac
`

const admission = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: node-scope.bulkhead.static.k8s.io
webhooks:
- admissionReviewVersions: ["v1"]
  failurePolicy: Fail
  matchConditions:
  - expression: has(request.userInfo) && has(request.userInfo.username) && request.userInfo.username in [LIST]
    name: accounts
  name: node-scope.bulkhead.dev
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
  sideEffects: None
  timeoutSeconds: 2
`

func with(template, list string) []byte { return []byte(strings.Replace(template, "LIST", list, 1)) }

func accounts(t *testing.T, names ...string) []Account {
	t.Helper()
	var all []Account
	for _, name := range names {
		namespace, name, ok := strings.Cut(name, "/")
		if !ok {
			t.Fatalf("%q", name)
		}
		all = append(all, Account{Namespace: namespace, Name: name})
	}
	return all
}

var kinds = map[string]struct {
	kind     *Kind
	template string
}{"authorization": {Authorization, authorization}, "admission": {Admission, admission}}

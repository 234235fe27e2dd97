// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// restrict returns a Restriction with the feature gates of 1.37 and no optional rules, unless
// edited.
func restrict(c *fakeCluster, edits ...func(*Config)) *Restriction {
	config := Config{Cluster: c, Features: DefaultFeatures()}
	for _, edit := range edits {
		edit(&config)
	}
	return New(config)
}

// enforce enforces the given rules.
func enforce(ids ...rules.ID) func(*Config) { return inMode(rules.Enforce, ids...) }

// inMode sets the mode of the given rules.
func inMode(mode rules.Mode, ids ...rules.ID) func(*Config) {
	return func(c *Config) {
		if c.Modes == nil {
			c.Modes = map[rules.ID]rules.Mode{}
		}
		for _, id := range ids {
			c.Modes[id] = mode
		}
	}
}

// attributes are the attributes of a request before it is built.
type attributes struct {
	kind            schema.GroupVersionKind
	resource        schema.GroupVersionResource
	namespace, name string
	dryRun          bool
	user            user.Info
}

// kinds maps the resource names that write accepts to their kinds.
var kinds = map[string]schema.GroupVersionKind{
	"pods":                       {Version: "v1", Kind: "Pod"},
	"nodes":                      {Version: "v1", Kind: "Node"},
	"persistentvolumeclaims":     {Version: "v1", Kind: "PersistentVolumeClaim"},
	"serviceaccounts":            {Version: "v1", Kind: "ServiceAccount"},
	"secrets":                    {Version: "v1", Kind: "Secret"},
	"events":                     {Version: "v1", Kind: "Event"},
	"events.events.k8s.io":       {Group: "events.k8s.io", Version: "v1", Kind: "Event"},
	"leases":                     {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	"csinodes":                   {Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"},
	"resourceslices":             {Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"},
	"podcertificaterequests":     {Group: "certificates.k8s.io", Version: "v1", Kind: "PodCertificateRequest"},
	"certificatesigningrequests": {Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"},
}

// write returns the attributes that the API server sends for a write of a node. The name and the
// namespace are those of the objects. On create, there is no name if the object asks for a
// generated one. resource is a key of kinds. A missing object is nil.
func write(node string, op admission.Operation, resource, subresource string, object, old runtime.Object,
	edits ...func(*attributes)) admission.Attributes {
	kind := kinds[resource]
	plural, _, _ := strings.Cut(resource, ".")
	a := &attributes{
		kind:     kind,
		resource: kind.GroupVersion().WithResource(plural),
		user:     &user.DefaultInfo{Name: "system:node:" + node, Groups: []string{"system:nodes", "system:authenticated"}},
	}
	for _, o := range []runtime.Object{old, object} {
		if accessor, err := meta.Accessor(present(o)); err == nil {
			a.namespace, a.name = accessor.GetNamespace(), accessor.GetName()
			if op == admission.Create && accessor.GetGenerateName() != "" {
				a.name = ""
			}
		}
	}
	for _, edit := range edits {
		edit(a)
	}
	return admission.NewAttributesRecord(object, old, a.kind, a.namespace, a.name, a.resource, subresource, op, nil,
		a.dryRun, a.user)
}

// named sets a name that differs from that of the objects.
func named(name string) func(*attributes) { return func(a *attributes) { a.name = name } }

// in sets a namespace that differs from that of the objects.
func in(namespace string) func(*attributes) { return func(a *attributes) { a.namespace = namespace } }

// dry makes the request a dry run.
func dry(a *attributes) { a.dryRun = true }

// as sets the user of the request.
func as(who user.Info) func(*attributes) { return func(a *attributes) { a.user = who } }

// row is one write and the expected decision.
type row struct {
	name  string
	write admission.Attributes
	// by is the rule that denies. If it is empty, the write is admitted.
	by rules.ID
	// code is the status code of the denial. 0 means 403.
	code int32
	// says is the whole message.
	says string
}

var reasons = map[int32]metav1.StatusReason{
	403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound, 500: metav1.StatusReasonInternalError,
}

func run(t *testing.T, r *Restriction, rows []row) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Helper()
			row.check(t, r.Review(t.Context(), row.write))
			row.checkAudited(t, r)
			row.checkOneAudited(t, r)
		})
	}
}

// checkOneAudited reviews the write with a Restriction that audits only the rule that denies it. It
// must report the rule, or deny by another one.
func (row row) checkOneAudited(t *testing.T, r *Restriction) {
	t.Helper()
	if rule, _ := rules.Find(Rules, row.by); !rule.HasMode() {
		return
	}
	config := r.config
	config.Modes = maps.Clone(config.Modes)
	if config.Modes == nil {
		config.Modes = map[rules.ID]rules.Mode{}
	}
	config.Modes[row.by] = rules.Audit
	got := New(config).Review(t.Context(), row.write)
	if got.Rule == row.by || got.Allowed() && !slices.Contains(got.Audited(), row.by) {
		t.Errorf("%s in audit: denied by %q, reported %v", row.by, got.Rule, got.Audited())
	}
}

// checkAudited reviews the write with a Restriction that only audits. It must report what the other
// one denies: as a finding, or as a denial, which the webhook handler changes into a finding.
func (row row) checkAudited(t *testing.T, r *Restriction) {
	t.Helper()
	config := r.config
	config.AuditOnly = true
	got := New(config).Review(t.Context(), row.write)
	reported := got.Audited()
	if !got.Allowed() {
		reported = append(reported, got.Rule)
	}
	if row.by != "" && !slices.Contains(reported, row.by) {
		t.Errorf("audit only: reported %v, want %s", reported, row.by)
	}
	if row.by == "" && !got.Allowed() {
		t.Errorf("audit only: denied by %s: %s", got.Rule, got.Reason())
	}
}

func (row row) check(t *testing.T, got rules.Decision) {
	t.Helper()
	if row.by == "" {
		if !got.Allowed() || got.Rule != "" {
			t.Errorf("refused by %s: %v", got.Rule, got.Reason())
		}
		return
	}
	if got.Allowed() {
		t.Fatalf("admitted, want a refusal by %s", row.by)
	}
	code := row.code
	if code == 0 {
		code = 403
	}
	status := got.Status
	if got.Rule != row.by || status.Code != code || status.Reason != reasons[code] {
		t.Errorf("got rule %s, code %d, reason %s; want %s, %d, %s", got.Rule, status.Code, status.Reason, row.by, code,
			reasons[code])
	}
	if status.Message != row.says {
		t.Errorf("the message is\n  %s\nwant\n  %s", status.Message, row.says)
	}
	if code == 403 {
		checkUpstreamText(t, row.by, status.Message)
	}
}

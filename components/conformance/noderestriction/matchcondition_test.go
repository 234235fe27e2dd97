// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package noderestriction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/bulkhead-k8s/bulkhead/components/conformance/harness"
	"github.com/bulkhead-k8s/bulkhead/components/conformance/noderestriction/generator"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction"
	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/configuration"
	"github.com/bulkhead-k8s/bulkhead/components/rules"
)

// matcher evaluates a match condition with the code of kube-apiserver. sends reports whether
// kube-apiserver calls the webhook for a write.
type matcher struct{ matchconditions.Matcher }

func newMatcher(t *testing.T, expression string) matcher {
	t.Helper()
	condition := &matchconditions.MatchCondition{Name: "changes", Expression: expression}
	// A version of CEL that every supported API server has.
	compiled := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())).
		CompileCondition([]cel.ExpressionAccessor{condition}, cel.OptionalVariableDeclarations{HasAuthorizer: true},
			environment.NewExpressions)
	for _, err := range compiled.CompilationErrors() {
		t.Fatal(err)
	}
	fail := admissionregistrationv1.Fail
	return matcher{matchconditions.NewMatcher(compiled, &fail, "webhook", "validating", "test")}
}

func (m matcher) sends(w *generator.Write) (bool, error) {
	got := m.Match(context.Background(), &admission.VersionedAttributes{
		Attributes: attributesOf(w), VersionedKind: w.Kind(),
		VersionedObject: admission.NewLazyObject(w.Object), VersionedOldObject: admission.NewLazyObject(w.Old),
	}, nil, nil)
	return got.Matches, got.Error
}

func attributesOf(w *generator.Write) admission.Attributes {
	kind := schema.GroupVersionKind{Version: "v1", Kind: w.Resource.Resource}
	return admission.NewAttributesRecord(w.Object, w.Old, kind, w.Namespace, w.Name, w.Resource, w.Subresource,
		w.Operation, nil, w.DryRun, w.User)
}

// noCluster panics at every lookup but one: of every Node, it knows that it lacks a sticky taint.
type noCluster struct{ noderestriction.Cluster }

func (noCluster) History(context.Context, string) (noderestriction.NodeHistory, error) {
	return noderestriction.NodeHistory{Absent: []corev1.Taint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}}}, nil
}

// policies returns the policy with every rule enforced, and with every rule in audit mode, each with
// several configurations.
func policies(t *testing.T) map[string]*noderestriction.Restriction {
	t.Helper()
	all := map[string]*noderestriction.Restriction{}
	for name, text := range map[string]string{
		"no": "", "sticky": stickyConfiguration, "machine table": machineConfiguration,
	} {
		var parsed *configuration.Configuration
		if text != "" {
			var err error
			if parsed, err = configuration.Parse([]byte(configurationHead + text)); err != nil {
				t.Fatal(err)
			}
		}
		for _, mode := range []rules.Mode{rules.Enforce, rules.Audit} {
			all[fmt.Sprintf("%s configuration, mode %v", name, mode)] = noderestriction.New(noderestriction.Config{
				Cluster: noCluster{}, Features: noderestriction.DefaultFeatures(), Modes: noderestriction.Modes(mode),
				Configuration: func() *configuration.Configuration { return parsed }, AuditOnly: mode == rules.Audit,
			})
		}
	}
	return all
}

const (
	configurationHead = "apiVersion: noderestriction.admission.k8s.io/v1\nkind: Configuration\n" +
		"allowedLabels: [\"topology.*\"]\nallowedTaints: []\n"
	stickyConfiguration  = "stickyTaints: [\"*\"]\n"
	machineConfiguration = "machines:\n- name: n1\n  labels: {a: b}\n  addresses: [192.0.2.1]\n"
)

// objection returns why the policies do not admit a write, or "".
func objection(policies map[string]*noderestriction.Restriction, w *generator.Write) string {
	for name, policy := range policies {
		if why := objectionOf(policy, w); why != "" {
			return "with " + name + ": " + why
		}
	}
	return ""
}

func objectionOf(policy *noderestriction.Restriction, w *generator.Write) (why string) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Sprintf("a lookup, or another panic: %v", r)
		}
	}()
	d := policy.Review(context.Background(), attributesOf(w))
	switch {
	case !d.Allowed():
		return "denied: " + d.Reason()
	case len(d.Findings) > 0:
		return fmt.Sprintf("finding of %s: %s", d.Findings[0].Rule, d.Findings[0].Message)
	case len(d.Warnings)+len(d.Annotations) > 0:
		return "a warning or an annotation"
	}
	return ""
}

// wrong returns why the condition must not leave out a write that it leaves out, or the error of its
// evaluation, or "".
func wrong(
	m matcher, policies map[string]*noderestriction.Restriction, w *generator.Write, counts harness.Counts,
) string {
	sends, err := m.sends(w)
	switch {
	case err != nil:
		return fmt.Sprintf("the condition has no value: %v", err)
	case sends:
		counts["sent: "+w.Resource.Resource]++
		return ""
	}
	counts["not sent: "+w.Resource.Resource]++
	return objection(policies, w)
}

const statusesPerSeed = 50

// TestMatchConditionLeavesOutOnlyWhatIsAdmitted compares the condition of the registration with the
// policy: the policy admits each write that kube-apiserver does not send, without a finding and
// without a lookup.
func TestMatchConditionLeavesOutOnlyWhatIsAdmitted(t *testing.T) {
	counts, full := harness.Suite{
		Questions: 100_000, PerSeed: statusesPerSeed, Seed: 1,
		Gates: []harness.Gates{{Name: "defaults", Share: 10}},
		Worker: func(t *testing.T, _ harness.Gates) func(uint64, harness.Counts) string {
			m, all := newMatcher(t, noderestriction.MatchCondition()), policies(t)
			return func(seed uint64, counts harness.Counts) string { return searchSeed(m, all, seed, counts) }
		},
	}.Run(t)
	if !full {
		return
	}
	if counts["sent: pods"] == 0 || counts["not sent: pods"]*10 < counts["sent: pods"] {
		t.Error("too few statuses of pods are left out, or all of them")
	}
	if counts["sent: nodes"] == 0 || counts["not sent: nodes"] > 0 {
		t.Error("statuses of Nodes are left out, or none was tried")
	}
}

// searchSeed returns a description of a wrong write, with as few edits as possible, or "".
func searchSeed(m matcher, all map[string]*noderestriction.Restriction, seed uint64, counts harness.Counts) string {
	g := harness.Seeded(seed)
	for range statusesPerSeed {
		edits := newEdits(g)
		if wrong(m, all, statusWrite(edits), counts) == "" {
			continue
		}
		edits = harness.Shrink(edits, harness.WithoutParts, func(some []uint64) bool {
			return wrong(m, all, statusWrite(some), harness.Counts{}) != ""
		})
		w := statusWrite(edits)
		return wrong(m, all, w, harness.Counts{}) + "\n" + describeStatus(w)
	}
	return ""
}

// TestMatchConditionMutants widens the condition by one field or one check at a time. The search above
// must find a write for each of them.
func TestMatchConditionMutants(t *testing.T) {
	right, all := noderestriction.MatchCondition(), policies(t)
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			expression := strings.ReplaceAll(right, mutant.old, mutant.new)
			if expression == right {
				t.Fatalf("the condition does not contain %q", mutant.old)
			}
			m := newMatcher(t, expression)
			for seed := range uint64(4000) {
				if found := searchSeed(m, all, seed, harness.Counts{}); found != "" {
					return
				}
			}
			t.Error("no wrong write was found")
		})
	}
}

// TestMatchConditionSendsLongLists: the API server must not compute the text of a status with a very
// large number of elements.
func TestMatchConditionSendsLongLists(t *testing.T) {
	const most = 100
	m := newMatcher(t, noderestriction.MatchCondition())
	container := func(change func(c *corev1.ContainerStatus, n int)) func(*corev1.PodStatus, int) {
		return func(s *corev1.PodStatus, n int) { change(&s.ContainerStatuses[0], n) }
	}
	for name, fill := range map[string]func(s *corev1.PodStatus, n int){
		"conditions": func(s *corev1.PodStatus, n int) { s.Conditions = make([]corev1.PodCondition, n) },
		"containers": func(s *corev1.PodStatus, n int) { s.ContainerStatuses = make([]corev1.ContainerStatus, n) },
		"initial containers": func(s *corev1.PodStatus, n int) {
			s.InitContainerStatuses = make([]corev1.ContainerStatus, n)
		},
		"ephemeral containers": func(s *corev1.PodStatus, n int) {
			s.EphemeralContainerStatuses = make([]corev1.ContainerStatus, n)
		},
		"mounts": container(func(c *corev1.ContainerStatus, n int) { c.VolumeMounts = make([]corev1.VolumeMountStatus, n) }),
		"groups": container(func(c *corev1.ContainerStatus, n int) {
			c.User = &corev1.ContainerUser{Linux: &corev1.LinuxContainerUser{SupplementalGroups: make([]int64, n)}}
		}),
		"claims": container(func(c *corev1.ContainerStatus, n int) {
			c.Resources = &corev1.ResourceRequirements{Claims: make([]corev1.ResourceClaim, n)}
		}),
		"devices": container(func(c *corev1.ContainerStatus, n int) {
			c.AllocatedResourcesStatus = make([]corev1.ResourceStatus, n/(most+1))
		}),
	} {
		t.Run(name, func(t *testing.T) {
			for n, want := range map[int]bool{1: false, most: false, most + 1: true} {
				w := statusWrite(nil)
				fill(&w.Old.(*corev1.Pod).Status, 1)
				fill(&w.Object.(*corev1.Pod).Status, n)
				if sends, err := m.sends(w); err != nil || sends != want {
					t.Errorf("%d elements: sent is %v, want %v, error %v", n, sends, want, err)
				}
			}
		})
	}
}

const (
	podFields = "['conditions', 'containerStatuses'"
	metadata  = "['managedFields']"
)

// mutants are errors that the condition could have.
var mutants = func() []struct{ name, old, new string } {
	all := []struct{ name, old, new string }{
		{"pod of another node", "request.userInfo.username == 'system:node:' + oldObject.spec.nodeName", "true"},
		{"any resource", "request.resource.resource == 'pods'", "true"},
		{"any subresource", "request.subResource == 'status'", "true"},
		{"size of a pod", "<= 21845", "<= 300000"},
	}
	for _, field := range []string{"phase", "podIP", "podIPs", "hostIP", "hostIPs", "resourceClaimStatuses",
		"extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses"} {
		all = append(all, struct{ name, old, new string }{"pod's " + field, podFields, "['" + field + "', " + podFields[1:]})
	}
	for _, field := range []string{"labels", "annotations", "finalizers", "ownerReferences"} {
		all = append(all, struct{ name, old, new string }{
			"metadata's " + field, metadata, "['" + field + "', " + metadata[1:]})
	}
	return all
}()

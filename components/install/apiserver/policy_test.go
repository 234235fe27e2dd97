// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
	"github.com/bulkhead-k8s/bulkhead/manifests"
)

// grants are the rights of a user. "verb subresource" means that verb on that subresource of node
// worker-1.
type grants []string

func (g grants) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, grant := range g {
		if grant == a.GetVerb()+" "+a.GetSubresource() && a.GetAPIGroup() == "" && a.GetResource() == "nodes" &&
			a.GetName() == "worker-1" {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func kubeletPolicy(t testing.TB) (*admissionregistrationv1.ValidatingAdmissionPolicy, compiled) {
	t.Helper()
	dir := t.TempDir()
	data, err := manifests.FS.ReadFile(manifests.KubeletPolicy)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	policies, err := loadPolicies(dir)
	if err != nil || len(policies) != 1 {
		t.Fatalf("%d policies: %v", len(policies), err)
	}
	policy, err := compilePolicy(policies[0])
	if err != nil {
		t.Fatal(err)
	}
	return policies[0], policy
}

// refusal returns the policy's message for a path behind nodes/proxy. It is empty if the policy
// allows the path.
func refusal(t *testing.T, object *admissionregistrationv1.ValidatingAdmissionPolicy, policy compiled, path string,
	may grants) string {
	t.Helper()
	return refusalOf(t, object, policy, "worker-1", path, may)
}

func refusalOf(t *testing.T, object *admissionregistrationv1.ValidatingAdmissionPolicy, policy compiled, node,
	path string, may grants) string {
	t.Helper()
	kind, resource := corev1.SchemeGroupVersion.WithKind("NodeProxyOptions"),
		corev1.SchemeGroupVersion.WithResource("nodes")
	attributes := admission.NewAttributesRecord(&corev1.NodeProxyOptions{Path: path}, nil, kind, "", node, resource,
		"proxy",
		admission.Connect, nil, false, &user.DefaultInfo{Name: "monitor"})
	versioned, err := admission.NewVersionedAttributes(attributes, kind, objectInterfaces{})
	if err != nil {
		t.Fatal(err)
	}
	request := cel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(resource), metav1.GroupVersionKind(kind))
	results, _, err := policy.validations.ForInput(t.Context(), versioned, request,
		cel.OptionalVariableBindings{Authorizer: may}, nil, celconfig.RuntimeCELCostBudget)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if result.Error != nil {
			return "error: " + result.Error.Error()
		}
		if result.EvalResult == types.True {
			continue
		}
		if object.Spec.Validations[i].MessageExpression == "" {
			return object.Spec.Validations[i].Message
		}
		texts, _, err := policy.messages.ForInput(t.Context(), versioned, request, cel.OptionalVariableBindings{}, nil,
			celconfig.RuntimeCELCostBudget)
		if err != nil || texts[0].Error != nil {
			t.Fatal(err, texts)
		}
		text, _ := texts[0].EvalResult.Value().(string)
		return text
	}
	return ""
}

type objectInterfaces struct{ admission.ObjectInterfaces }

func (objectInterfaces) GetObjectCreater() runtime.ObjectCreater     { return scheme.Scheme }
func (objectInterfaces) GetObjectConvertor() runtime.ObjectConvertor { return scheme.Scheme }

func TestPolicyOfNodesProxySubresource(t *testing.T) {
	const unclean, lacks, node = "is not clean", "also needs the verb ", " of node worker-1 [KA-VAP-1]"
	object, policy := kubeletPolicy(t)
	for _, tc := range []struct {
		path     string
		may      grants
		mentions string
	}{
		// Each denied request stands next to a request that is allowed.
		{"/exec/default/p/c", nil, lacks + "create on nodes/exec" + node},
		{"/exec/default/p/c", grants{"get exec", "get proxy", "create proxy", "create attach"},
			lacks + "create on nodes/exec"},
		{"/exec/default/p/c", grants{"create exec"}, ""},
		{"/exec", nil, lacks + "create on nodes/exec"},
		{"exec", nil, lacks + "create on nodes/exec"},
		{"exec/", nil, lacks + "create on nodes/exec"},
		{"/exec/", grants{"create exec"}, ""},
		{"/EXEC/default/p/c", nil, lacks + "create on nodes/exec"},
		{"/portforward/default/p", nil, lacks + "create on nodes/portforward"},
		{"/containerLogs/default/exec/run", grants{"get proxy", "create exec", "create run"},
			lacks + "get on nodes/containerlogs" + node},
		{"/containerLogs/default/exec/run", grants{"get containerlogs"}, ""},
		{"/debug/pprof/heap", grants{"get proxy"}, lacks + "get on nodes/debug" + node},
		{"/debug/pprof/heap", grants{"get debug"}, ""},
		{"/debug/flags/v", grants{"get debug"}, lacks + "update on nodes/debug" + node},
		{"/debug/flags/v", grants{"update debug"}, ""},
		{"/pods", nil, lacks + "get on nodes/pods or get on nodes/proxy" + node},
		{"/pods", grants{"get proxy"}, ""},
		{"/pods/", grants{"get pods"}, ""},
		{"/metrics/cadvisor", grants{"get proxy"}, lacks + "get on nodes/metrics"},
		{"/metrics/cadvisor", grants{"get metrics"}, ""},
		{"/logs/syslog.1", grants{"get proxy"}, lacks + "get on nodes/log"},
		{"/logs/syslog.1", grants{"get log"}, ""},
		{"", grants{"get proxy"}, lacks + "create on nodes/unknown"},
		{"", grants{"create unknown"}, ""},
		{"/", grants{"get proxy"}, lacks + "create on nodes/unknown"},
		{"/", grants{"create unknown"}, ""},
		{"/executor", grants{"get proxy", "create exec"}, lacks + "create on nodes/unknown"},
		{"/executor", grants{"create unknown"}, ""},
		// These paths can be read in two ways. They are denied, whatever rights the user has.
		{"//exec/default/p/c", grants{"create exec"}, unclean},
		{"/exec//default/p/c", grants{"create exec"}, unclean},
		{"/exec/default/p/c//", grants{"create exec"}, unclean},
		{"./exec/default/p/c", grants{"create exec"}, unclean},
		{"/./exec/default/p/c", grants{"create exec"}, unclean},
		{"/pods/../exec/default/p/c", grants{"create exec"}, unclean},
		{"/..", nil, unclean},
		{"/%65xec/default/p/c", grants{"create exec"}, unclean},
		{"/pods%2f..%2fexec", grants{"create exec"}, unclean},
		{"/pods;/exec", nil, unclean},
		{"/pods\\..\\exec", nil, unclean},
		{"/exec\x00/default/p/c", grants{"create exec"}, unclean},
		{"/ex\nec", nil, unclean},
		{"//", nil, unclean},
	} {
		got := refusal(t, object, policy, tc.path, tc.may)
		if (got == "") != (tc.mentions == "") || !strings.Contains(got, tc.mentions) || got != "" &&
			!strings.HasSuffix(got, " [KA-VAP-1]") {
			t.Errorf("%q with %q: %q, want %q", tc.path, tc.may, got, tc.mentions)
		}
	}
}

// TestEveryPathOfTheKubeletIsInThePolicy checks that each path of the mapping needs the right of
// the mapping, and that no other right is enough.
func TestEveryPathOfTheKubeletIsInThePolicy(t *testing.T) {
	object, policy := kubeletPolicy(t)
	all := grants{"get proxy", "create proxy", "* proxy"}
	for _, path := range kubeletauth.ServerPaths() {
		for _, right := range path.Rights {
			all = append(all, right.Verb+" "+right.Subresource)
		}
	}
	for _, path := range kubeletauth.ServerPaths() {
		for _, suffix := range []string{"", "/", "/a/b"} {
			for _, grant := range all {
				needed := slices.ContainsFunc(path.Rights,
					func(a kubeletauth.Attributes) bool { return grant == a.Verb+" "+a.Subresource })
				if got := refusal(t, object, policy, "/"+path.Prefix+suffix, grants{grant}); (got == "") != needed {
					t.Errorf("/%s%s with %q: %q", path.Prefix, suffix, grant, got)
				}
			}
		}
	}
}

// TestAnotherPortOfANode: a path that no kubelet serves may belong to another server on the node.
func TestAnotherPortOfANode(t *testing.T) {
	object, policy := kubeletPolicy(t)
	for _, tc := range []struct {
		node, path string
		passes     bool
	}{
		{"worker-1:9100", "/probe", true}, {"worker-1", "/probe", false},
		{"worker-1:9100", "/", true}, {"worker-1", "/", false},
		{"https:worker-1:10250", "/exec/default/p/c", false}, {"worker-1:9100", "/debug/pprof/", false},
		{"worker-1:9100", "//probe", false},
	} {
		if got := refusalOf(t, object, policy, tc.node, tc.path, nil); (got == "") != tc.passes {
			t.Errorf("%s%s: %q", tc.node, tc.path, got)
		}
	}
}

func TestValidatePolicies(t *testing.T) {
	data, err := manifests.FS.ReadFile(manifests.KubeletPolicy)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, old, new, mentions string }{
		{"rendered policy: valid", "", "", ""},
		{"a name without the suffix is refused", "kubelet-api.bulkhead.static.k8s.io", "kubelet-api.bulkhead",
			"must have a name ending with"},
		{"a typing error in a field is refused", "failurePolicy", "failurPolicy", "failurPolicy"},
		{"a variable that does not compile is refused", "substring(1)", "substring('')", "variable trimmed"},
		{"a validation that does not compile is refused", "variables.clean\"", "variables.cleen\"",
			"undefined field 'cleen'"},
		{"a message that does not compile is refused", "' [KA-VAP-1]'", "1", "no matching overload"},
		{"binding without a policy: rejected", "policyName: kubelet-api", "policyName: other", "which does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			text := string(data)
			if tc.old != "" {
				text = strings.ReplaceAll(text, tc.old, tc.new)
			}
			if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := ValidatePolicies(dir)
			if (err == nil) != (tc.mentions == "") || err != nil && !strings.Contains(err.Error(), tc.mentions) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T21", Title: "The policy for a DaemonSet names another account",
	Source: "NVIDIA/k8s-dra-driver-gpu#1317",
	Effect: "A chart protects a device driver by a ValidatingAdmissionPolicy that names its account. The name is " +
		"wrong, so the policy applies to no pod, and nothing says so. A driver's pod writes devices of other nodes.",
	Stops: "The scope is at the account itself. If no pod runs as an account with a scope, bulkhead scope list and " +
		"bulkhead doctor name it.",
	Attempts: []Attempt{{
		Name:   "writing a ResourceSlice of another node",
		Effect: "the scheduler has devices of the other node that do not exist",
		By:     driver, Rights: []rbacv1.PolicyRule{right("resource.k8s.io", []string{"create"}, "resourceslices")},
		Rule: "NS-ADMIT-1", Text: "[NR-SLICE-1]",
		Attack: sends(func(r *Run) Request { return sliceOf(r, r.Victim()) }),
		Show: func(ctx context.Context, r *Run, _ Answer) {
			found := must(suite.Client.ResourceV1().ResourceSlices().Get(ctx, r.Names["slice"], metav1.GetOptions{}))
			Expect(found.Spec.NodeName).To(HaveValue(Equal(r.Victim())))
		},
		TwinIs: "a ResourceSlice of the own node",
		Twin:   sends(func(r *Run) Request { return sliceOf(r, r.Attacker()) }),
	}},
})

const (
	// driverName is the account that the driver's pod runs as. misnamed has one letter more.
	driverName = "dra-driver"
	misnamed   = "dra-drivers"
	// slicesScope is the scope of the driver.
	slicesScope = "resourceslices.resource.k8s.io"
)

// driver is the attacker in the pod of a device driver. Without protection means that the policy, and
// where there is node scope also the scope, are of a misnamed account.
var driver = Credential{
	Words: "the token of a device driver's pod on the worker, from inside the pod",
	Real: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		return inDriver(ctx, r, driverName, rights)
	},
	Unprotected: func(ctx context.Context, r *Run, rights []rbacv1.PolicyRule) *Identity {
		misnamingPolicy(ctx, r)
		return inDriver(ctx, r, misnamed, rights)
	},
}

// inDriver creates both accounts and a pod of the driver. One of the accounts has the scope.
func inDriver(ctx context.Context, r *Run, withScope string, rights []rbacv1.PolicyRule) *Identity {
	GinkgoHelper()
	for _, name := range []string{driverName, misnamed} {
		account := fixtures.ServiceAccount(r.Namespace(ctx), name)
		if name == withScope {
			account.Annotations = map[string]string{nodescope.ScopeAnnotation: slicesScope}
		}
		r.Put(ctx, account)
	}
	r.Grant(ctx, "system:serviceaccount:"+r.Namespace(ctx)+":"+driverName, rights...)
	pod := running(ctx, r.Env.Pod(ctx, r.Attacker(), fixtures.As(driverName), fixtures.WithAccount,
		fixtures.WithShell("shell", "while :; do sleep 60; done")))
	if nodeScopeInstalled(ctx) {
		awaitLiveIn(ctx, r.Namespace(ctx), withScope)
	}
	r.Say("The attacker is in the pod of account %s. The scope is at account %s.", driverName, withScope)
	return outside(ctx, tokenIn(ctx, pod)).From(suite.FromPod(pod))
}

// misnamingPolicy creates a policy that denies the misnamed account slices of other nodes.
func misnamingPolicy(ctx context.Context, r *Run) {
	GinkgoHelper()
	name := r.NewName("dra-policy")
	r.Put(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{"resource.k8s.io"}, APIVersions: []string{"*"},
							Resources: []string{"resourceslices"}},
					}}},
			},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "driver",
				Expression: "request.userInfo.username == 'system:serviceaccount:" + r.Namespace(ctx) + ":" + misnamed + "'"}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false"}},
		},
	}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	})
	r.Say("A ValidatingAdmissionPolicy denies all ResourceSlices of account %s.", misnamed)
}

var _ = It("T21: bulkhead scope list names the account with a scope that no pod runs as", Attack("T21"),
	AllowsBy("NS-ADMIT-1", Behind), Label(OnHardened, OnHost, OnWorker), func(ctx SpecContext) {
		skipWithoutNodeScope(ctx)
		r := &Run{Env: suite.Env(), Names: map[string]string{}}
		who := inDriver(ctx, r, misnamed, []rbacv1.PolicyRule{right("resource.k8s.io", []string{"create"}, "resourceslices")})
		Expect(r.Send(ctx, who, sliceOf(r, r.Victim())).Code).To(Equal(http.StatusCreated), "the scope does not limit it")
		out := suite.OnControlPlane(ctx, "KUBECONFIG=/etc/kubernetes/admin.conf bulkhead scope list")
		const nobody = ": no pod runs as this account"
		Expect(out).To(ContainSubstring(r.Namespace(ctx) + "/" + misnamed + nobody))
		Expect(out).NotTo(ContainSubstring(stage.Namespace+"/"+scoped+nobody), "its pod runs")
		var report struct {
			Findings []struct {
				Check, Problem string
				Names          []string
			}
		}
		text := suite.OnControlPlane(ctx, "bulkhead doctor --kubeconfig=/etc/kubernetes/admin.conf -o json || test $? = 2")
		Expect(json.Unmarshal([]byte(text), &report)).To(Succeed(), text)
		Expect(report.Findings).To(ContainElement(And(HaveField("Check", "scopes"),
			HaveField("Names", ContainElement(r.Namespace(ctx)+"/"+misnamed)), HaveField("Problem", HavePrefix("no pod runs")))))
	})

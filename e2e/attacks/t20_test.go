// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T20", Title: "A node asks for more by forged selectors and dry runs",
	Source: "KEP-4601; KEP-576",
	Effect: "RBAC does not see selectors. So a node that may list its pods lists those of all nodes, with their " +
		"environment variables, and every secret. A dry run of a token request returns a valid token.",
	Stops: "A node lists only with a selector for itself, or for one object that it may get. A dry run has the same " +
		"rules as a write.",
	Attempts: []Attempt{
		wide("pods without a selector", "NA-POD-2", onlySelectedPods, func(r *Run) Request {
			return List(api.Pods).In(r.Namespace(context.Background()))
		}),
		wide("pods with the name of another node in the selector", "NA-POD-2", onlySelectedPods, func(r *Run) Request {
			return List(api.Pods).Where("spec.nodeName=" + r.Victim())
		}),
		wide("pods of all nodes but its own", "NA-POD-2", onlySelectedPods, func(r *Run) Request {
			return List(api.Pods).In(r.Namespace(context.Background())).Where("spec.nodeName!=" + r.Attacker())
		}),
		wide("the secrets of a namespace", "NA-SECRET-2", "No Object name found", func(r *Run) Request {
			return List(api.Secrets).In(r.Namespace(context.Background()))
		}),
		wide("another node's secret by its name", "NA-SECRET-2", unrelated, func(r *Run) Request {
			return secretsNamed(r, r.Victim())
		}),
		{
			Name:   "certificate signing requests of all nodes",
			Effect: "the request of the other node's kubelet is printed, with its name and addresses",
			By:     kubelet, Rule: "NA-CSR-1",
			Prepare: servingRequest,
			Attack: sends(func(*Run) Request {
				return List(api.CertificateSigningRequests).Where("spec.signerName=" + certificatesv1.KubeletServingSignerName)
			}),
			Show:   func(_ context.Context, r *Run, answer Answer) { expectListed(r, answer, r.Name) },
			TwinIs: "its own request, by its name", TwinRule: "NA-UNI-CERTIFICATESIGNINGREQUESTS",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				Expect(joins((*Run).Attacker)(ctx, r, who).Code).To(Equal(http.StatusCreated))
				return r.Send(ctx, who, Get(api.CertificateSigningRequests).Named(r.Name))
			},
		},
		{
			Name: "a token of another node's pod in a dry run", Effect: "the token is valid",
			By: kubelet, Rule: "NR-SA-3", Text: "bound to a pod scheduled on a different node",
			Prepare: func(ctx context.Context, r *Run) {
				r.Env.Pod(ctx, r.Attacker(), fixtures.WithToken())
				r.Pod = r.Env.Pod(ctx, r.Victim(), fixtures.WithToken())
			},
			Attack: sends(func(r *Run) Request { return tokenFor(r.Pod) }),
			Show: func(ctx context.Context, r *Run, answer Answer) {
				r.Say("The API server accepts the token as %s.", mintedBy(ctx, answer))
			},
			TwinIs: "a pod on the own node",
			Twin: func(ctx context.Context, r *Run, who *Identity) Answer {
				return r.Send(ctx, who, tokenFor(r.Env.Pod(ctx, r.Attacker(), fixtures.WithToken())))
			},
		},
	},
	Also: []string{"e2e/nodeauthorizer/pods_test.go", "e2e/nodeauthorizer/related_test.go"},
})

// wide is a list of objects of other nodes. The twin is the same list of the worker's own objects.
func wide(name string, by rules.ID, text string, list func(*Run) Request) Attempt {
	a := Attempt{
		Name: name, Effect: "the list has an object of the other node", By: kubelet, Rule: by, Text: text,
		Prepare: secretsOfBoth, Attack: sends(list),
		Show:   func(_ context.Context, r *Run, answer Answer) { expectListed(r, answer, r.Names[r.Victim()]) },
		TwinIs: "the own node's pods", Twin: sends(func(r *Run) Request {
			return List(api.Pods).Where("spec.nodeName=" + r.Attacker())
		}),
	}
	if by == "NA-SECRET-2" {
		a.TwinIs = "its own secret, by its name"
		a.Twin = sends(func(r *Run) Request { return secretsNamed(r, r.Attacker()) })
	}
	return a
}

func secretsNamed(r *Run, node string) Request {
	return listSecret(r.Namespace(context.Background()), r.Names[node])
}

// expectListed expects that a list has an object with the name, or one that uses it.
func expectListed(r *Run, answer Answer, name string) {
	GinkgoHelper()
	Expect(string(answer.Body)).To(ContainSubstring(`"` + name + `"`))
	r.Say("The list has %s.", name)
}

// servingRequest creates a request for a serving certificate in the name of the victim's kubelet. The
// administrator creates it, so no controller approves it.
func servingRequest(ctx context.Context, r *Run) {
	GinkgoHelper()
	request, _, err := fixtures.SigningRequest(r.NewName("csr"), certificatesv1.KubeletServingSignerName,
		certificatesv1.UsageServerAuth, fixtures.NodeSubject("system:node:"+r.Victim()))
	Expect(err).NotTo(HaveOccurred())
	r.Name = request.Name
	r.Put(ctx, request)
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/bulkhead-k8s/bulkhead/components/rules"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

var _ = tell(Story{
	ID: "T20", Title: "A node asks for more by forged selectors and dry runs",
	Source: "KEP-4601; KEP-576",
	Effect: "RBAC does not see selectors. So a node that may list its pods lists and watches those of all nodes, with " +
		"their environment variables, and every secret. One request deletes the pods, or the ResourceSlices, of all " +
		"nodes. A dry run of a token request returns a valid token.",
	Stops: "A node lists and watches only with a selector for itself, or for one object that it may get. It deletes no " +
		"collection of pods, and of ResourceSlices only its own. A dry run has the same rules as a write.",
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
		watches("pods without a selector", "NA-POD-2", onlySelectedPods, newPod, func(r *Run) Request {
			return Watch(api.Pods).In(r.Namespace(context.Background()))
		}),
		watches("pods with the name of another node in the selector", "NA-POD-2", onlySelectedPods, newPod,
			func(r *Run) Request { return watchPods(r, r.Victim()) }),
		watches("another node's secret by its name", "NA-SECRET-2", unrelated, newWord, func(r *Run) Request {
			return watchSecret(r.Namespace(context.Background()), r.Names[r.Victim()])
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
			TwinAlso: "A node may list no requests, not even its own, so the twin also has another verb.",
		},
		{
			Name: "deleting all pods of a namespace", Effect: "the pod of the other node is gone",
			By: kubelet, Rights: []rbacv1.PolicyRule{right("", []string{"deletecollection"}, "pods")},
			Rule:    "NA-POD-3",
			Prepare: podsOnBoth,
			Attack:  sends(func(r *Run) Request { return DeleteAll(api.Pods).In(r.Pod.Namespace).Stored() }),
			Show:    func(ctx context.Context, r *Run, _ Answer) { gone(ctx, r, r.Pod) },
			TwinIs:  "the pod on its own node, by its name (as a dry run)",
			Twin:    sends(func(r *Run) Request { return Delete(api.Pods).In(r.Pod.Namespace).Named(r.Names["own"]) }),
			// The verb delete needs the name of an object.
			TwinAlso: "A node may delete no collection of pods, so the twin has another verb and the name of a pod.",
		},
		deletes("ResourceSlices without the name of a node in the selector", ofDriver),
		deletes("ResourceSlices with the name of another node in the selector", func(r *Run) Request {
			return ofDriverOn(r, r.Victim())
		}),
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
			return list(r).Where("spec.nodeName=" + r.Attacker())
		}),
	}
	if by == "NA-SECRET-2" {
		a.TwinIs = "its own secret, by its name"
		a.Twin = sends(func(r *Run) Request { return secretsNamed(r, r.Attacker()) })
	}
	return a
}

// watches is a watch of objects of other nodes. Without protection, it reports the change that happens after it has
// begun. The twin is the same watch of the worker's own objects.
func watches(what string, by rules.ID, text string, change func(context.Context, *Run) func(watch.Event) bool,
	request func(*Run) Request) Attempt {
	a := Attempt{
		Name: "watching " + what, Effect: "the watch reports a new pod of the other node",
		By: kubelet, Rule: by, Text: text,
		Prepare: secretsOfBoth, Attack: sends(request),
		Show: func(ctx context.Context, r *Run, answer Answer) {
			stream := begins(ctx, r, answer.Request)
			Eventually(ctx, stream.ResultChan()).WithTimeout(Soon).Should(Receive(Satisfy(change(ctx, r))))
			r.Say("The watch reports it.")
		},
		TwinIs: "the own node's pods", Twin: sends(func(r *Run) Request { return watchPods(r, r.Attacker()) }),
	}
	if by == "NA-SECRET-2" {
		a.Effect, a.TwinIs = "the watch reports the new content of the secret", "its own secret, by its name"
		a.Twin = sends(func(r *Run) Request {
			return watchSecret(r.Namespace(context.Background()), r.Names[r.Attacker()])
		})
	}
	return a
}

func watchPods(r *Run, node string) Request {
	return Watch(api.Pods).In(r.Namespace(context.Background())).Where("spec.nodeName=" + node)
}

// begins opens the watch of a request as the attacker, and returns it after its first event, which is an object that
// exists. The API server ends a watch with 504 if its cache is behind etcd; clients then watch again. [Run.Send] closes
// a watch without reading it.
func begins(ctx context.Context, r *Run, request Request) (stream watch.Interface) {
	GinkgoHelper()
	Eventually(ctx, func() watch.Event {
		stream = must(must(r.Who.Client()).CoreV1().RESTClient().Get().Namespace(request.Namespace).
			Resource(request.Resource.Resource).VersionedParams(&metav1.ListOptions{
			FieldSelector: request.Selector, Watch: true}, scheme.ParameterCodec).Watch(ctx))
		DeferCleanup(stream.Stop)
		select {
		case event := <-stream.ResultChan():
			return event
		case <-time.After(Soon / 3):
			return watch.Event{}
		}
	}).WithTimeout(Soon).Should(HaveField("Type", watch.Added))
	return stream
}

// newPod creates a pod on the other node, and returns what the watch must report.
func newPod(ctx context.Context, r *Run) func(watch.Event) bool {
	GinkgoHelper()
	made := r.Env.Pod(ctx, r.Victim())
	r.Say("Pod %s is created on %s.", made.Name, r.Victim())
	return func(event watch.Event) bool {
		pod, ok := event.Object.(*corev1.Pod)
		return ok && pod.UID == made.UID
	}
}

// newWord changes the content of the other node's secret, and returns what the watch must report.
func newWord(ctx context.Context, r *Run) func(watch.Event) bool {
	GinkgoHelper()
	const changed = "changed"
	patch := must(json.Marshal(fields{"stringData": fields{"word": changed}}))
	must(r.Client.CoreV1().Secrets(r.Namespace(ctx)).Patch(ctx, r.Names[r.Victim()], types.MergePatchType, patch,
		metav1.PatchOptions{}))
	r.Say("The content of secret %s becomes %q.", r.Names[r.Victim()], changed)
	return func(event watch.Event) bool {
		secret, ok := event.Object.(*corev1.Secret)
		return ok && string(secret.Data["word"]) == changed
	}
}

// deletes is a deletion of ResourceSlices of other nodes. The twin is the request that a kubelet sends when a driver
// is gone. All requests select the driver of the spec, so they delete no slices of others.
func deletes(what string, request func(*Run) Request) Attempt {
	return Attempt{
		Name: "deleting " + what, Effect: "the scheduler has no devices of the other node",
		By: kubelet, Rule: "NA-SLICE-3", Text: onlySelectedSlices,
		Prepare: slicesOfBoth, Attack: sends(request),
		Show: func(ctx context.Context, r *Run, _ Answer) {
			_, err := suite.Client.ResourceV1().ResourceSlices().Get(ctx, r.Names[r.Victim()], metav1.GetOptions{})
			Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
			r.Say("ResourceSlice %s of %s does not exist any more.", r.Names[r.Victim()], r.Victim())
		},
		TwinIs: "the ResourceSlices of its own node",
		Twin:   sends(func(r *Run) Request { return ofDriverOn(r, r.Attacker()) }),
	}
}

// slicesOfBoth creates a ResourceSlice of each of the two nodes, of a driver that no other spec has.
func slicesOfBoth(ctx context.Context, r *Run) {
	GinkgoHelper()
	r.Names["driver"] = r.NewName("driver")
	for _, node := range []string{r.Victim(), r.Attacker()} {
		slice := fixtures.ResourceSlice(r.NewName("slice"), node)
		slice.Spec.Driver = r.Names["driver"]
		r.Put(ctx, slice)
		r.Names[node] = slice.Name
	}
}

func ofDriver(r *Run) Request {
	return DeleteAll(api.ResourceSlices).Where("spec.driver=" + r.Names["driver"]).Stored()
}

func ofDriverOn(r *Run, node string) Request {
	return DeleteAll(api.ResourceSlices).Where("spec.nodeName=" + node + ",spec.driver=" + r.Names["driver"]).Stored()
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

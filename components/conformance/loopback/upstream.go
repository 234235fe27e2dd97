// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	// These imports register the API types in the scheme.
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
	kubejson "sigs.k8s.io/json"
)

// UpstreamAuthorizer answers SubjectAccessReviews with the in-tree Node authorizer. It uses the
// same informers as in kube-apiserver. It returns when the graph is complete.
func UpstreamAuthorizer(ctx context.Context, factory informers.SharedInformerFactory) (http.Handler, error) {
	graph := node.NewGraph()
	node.AddGraphEventHandlers(
		graph,
		factory.Core().V1().Nodes(),
		factory.Core().V1().Pods(),
		factory.Core().V1().PersistentVolumes(),
		factory.Storage().V1().VolumeAttachments(),
		factory.Resource().V1().ResourceSlices(),
		factory.Certificates().V1().PodCertificateRequests(),
	)
	z := node.NewAuthorizer(graph, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules())
	if err := errors.Join(startInformers(ctx, factory), waitForPods(ctx, z, factory)); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := decode(req.Body, &review); err != nil || review.Spec.ResourceAttributes == nil {
			http.Error(w, "not a review of a resource", http.StatusBadRequest)
			return
		}
		about := review.Spec.ResourceAttributes
		decision, reason, err := z.Authorize(req.Context(), authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: review.Spec.User, UID: review.Spec.UID, Groups: review.Spec.Groups},
			Verb: about.Verb, Namespace: about.Namespace, APIGroup: about.Group, APIVersion: about.Version,
			Resource: about.Resource, Subresource: about.Subresource, Name: about.Name, ResourceRequest: true,
		})
		review.Status = authorizationv1.SubjectAccessReviewStatus{
			Allowed: decision == authorizer.DecisionAllow,
			Reason:  reason,
		}
		if err != nil {
			review.Status.EvaluationError = err.Error()
		}
		answer(w, review)
	}), nil
}

// waitForPods waits until the graph has every pod of the list. The graph's event handlers run after
// the informers have synced.
func waitForPods(
	ctx context.Context, z authorizer.UnconditionalAuthorizer, factory informers.SharedInformerFactory,
) error {
	pods, err := factory.Core().V1().Pods().Lister().List(labels.Everything())
	for _, pod := range pods {
		get := authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "system:node:" + pod.Spec.NodeName, Groups: []string{user.NodesGroup}},
			Verb: "get", Namespace: pod.Namespace, Resource: "pods", Name: pod.Name, ResourceRequest: true,
		}
		for decision := authorizer.DecisionNoOpinion; decision != authorizer.DecisionAllow && ctx.Err() == nil; {
			if decision, _, err = z.Authorize(ctx, get); decision != authorizer.DecisionAllow {
				time.Sleep(time.Millisecond)
			}
		}
	}
	return errors.Join(err, ctx.Err())
}

// UpstreamAdmission answers AdmissionReviews with the in-tree NodeRestriction plugin. It returns
// when the informers have synced.
func UpstreamAdmission(ctx context.Context, factory informers.SharedInformerFactory) (http.Handler, error) {
	plugin := noderestriction.NewPlugin(nodeidentifier.NewDefaultNodeIdentifier())
	plugin.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	plugin.SetExternalKubeInformerFactory(factory)
	plugin.SetUnconditionalAuthorizer(noOpinion{})
	if err := errors.Join(plugin.ValidateInitialization(), startInformers(ctx, factory)); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if err := decode(req.Body, &review); err != nil || review.Request == nil {
			http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		attributes, err := attributesOf(review.Request)
		if err == nil {
			err = plugin.Admit(req.Context(), attributes, nil)
		}
		if err != nil {
			review.Response.Allowed, review.Response.Result = false, &metav1.Status{Message: err.Error()}
		}
		review.Request = nil
		answer(w, review)
	}), nil
}

// noOpinion is the authorizer for requests that the benchmarks do not make.
type noOpinion struct{}

func (noOpinion) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// attributesOf converts the objects to the API server's internal types, which the plugin requires.
func attributesOf(r *admissionv1.AdmissionRequest) (admission.Attributes, error) {
	decoder := legacyscheme.Codecs.UniversalDecoder()
	object, err := runtime.Decode(decoder, r.Object.Raw)
	if err != nil {
		return nil, err
	}
	old, err := runtime.Decode(decoder, r.OldObject.Raw)
	return admission.NewAttributesRecord(object, old, schema.GroupVersionKind(r.Kind), r.Namespace, r.Name,
		schema.GroupVersionResource(r.Resource), r.SubResource, admission.Operation(r.Operation), nil, false,
		&user.DefaultInfo{Name: r.UserInfo.Username, Groups: r.UserInfo.Groups}), err
}

// startInformers waits until every informer has synced.
func startInformers(ctx context.Context, factory informers.SharedInformerFactory) error {
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return errors.New("cannot list " + kind.String())
		}
	}
	return nil
}

func decode(body io.Reader, into any) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return kubejson.UnmarshalCaseSensitivePreserveInts(data, into)
}

func answer(w http.ResponseWriter, review any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

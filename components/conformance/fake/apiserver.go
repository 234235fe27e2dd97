// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"io"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// User is the user of every token.
const User = "system:serviceaccount:monitoring:scraper"

// APIServer answers TokenReviews and SubjectAccessReviews: every token is valid, and every access
// is allowed. It supports protobuf and JSON, as kube-apiserver does.
func APIServer() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(asked, nil, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch review := object.(type) {
		case *authenticationv1.TokenReview:
			review.Status = authenticationv1.TokenReviewStatus{
				Authenticated: true, Audiences: review.Spec.Audiences,
				User: authenticationv1.UserInfo{
					Username: User,
					UID:      "6f2c3f5e-0a1b-4c7d-9e8f-1a2b3c4d5e6f",
					Groups: []string{
						"system:serviceaccounts",
						"system:serviceaccounts:monitoring",
						"system:authenticated",
					},
				},
			}
		case *authorizationv1.SubjectAccessReview:
			review.Status = authorizationv1.SubjectAccessReviewStatus{
				Allowed: true,
				Reason:  `RBAC: allowed by ClusterRoleBinding "scraper" of ClusterRole "scraper"`,
			}
		default:
			http.Error(w, "only reviews are answered", http.StatusNotFound)
			return
		}
		answer(w, req, object)
	})
}

func answer(w http.ResponseWriter, req *http.Request, object runtime.Object) {
	mediaType := req.Header.Get("Content-Type")
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		http.Error(w, "no such media type", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(http.StatusCreated)
	_ = info.Serializer.Encode(object, w)
}

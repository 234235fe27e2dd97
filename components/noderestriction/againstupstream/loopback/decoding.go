// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"errors"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
)

// decodeAndAdmit is the least that a webhook which looks at objects does.
func decodeAndAdmit(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	var pod, old corev1.Pod
	err = json.UnmarshalCaseSensitivePreserveInts(body, &review)
	if err == nil && review.Request != nil {
		err = errors.Join(
			json.UnmarshalCaseSensitivePreserveInts(review.Request.Object.Raw, &pod),
			json.UnmarshalCaseSensitivePreserveInts(review.Request.OldObject.Raw, &old))
	}
	if err != nil || review.Request == nil {
		http.Error(w, "no review of a pod", http.StatusBadRequest)
		return
	}
	answer(w, &review)
}

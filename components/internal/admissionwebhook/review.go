// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package admissionwebhook

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/json"
)

const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"

	// maxBody bounds a review. kube-apiserver reads at most 3 MiB of a request, and etcd stores at
	// most 1.5 MiB of an object. A new and an old object of that size, as JSON, fit. A protobuf
	// request that consists mostly of empty strings and lists can become a review of 70 MiB.
	maxBody = 8 << 20
	// maxUID bounds the uid, which is repeated to the caller. kube-apiserver sends a UUID.
	maxUID = 256
)

// review is the part of an AdmissionReview that is decoded.
type review struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

// request is the part of an AdmissionRequest that is decoded. It leaves out the options, and
// requestKind, requestResource and requestSubResource, which are the client's request before the
// API server converted it.
type request struct {
	UID         types.UID                   `json:"uid"`
	Kind        metav1.GroupVersionKind     `json:"kind"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	SubResource string                      `json:"subResource"`
	Name        string                      `json:"name"`
	Namespace   string                      `json:"namespace"`
	Operation   admission.Operation         `json:"operation"`
	UserInfo    authenticationv1.UserInfo   `json:"userInfo"`
	Object      raw                         `json:"object"`
	OldObject   raw                         `json:"oldObject"`
	DryRun      bool                        `json:"dryRun"`
}

// raw is an object as it was sent, or nil for null. It is a slice of the body, not a copy, because
// an object may have megabytes.
type raw []byte

// UnmarshalJSON keeps a reference to data. The decoder guarantees data only until UnmarshalJSON
// returns, but data is a part of the body, which lives longer.
func (r *raw) UnmarshalJSON(data []byte) error {
	*r = data
	if string(data) == "null" {
		*r = nil
	}
	return nil
}

// decodeReview decodes the request of one AdmissionReview v1. It does not decode the objects, which
// share memory with data.
//
// Field names are case-sensitive, and a duplicate field is an error. So two readers cannot see
// different reviews in the same bytes. Unknown fields are ignored, because newer servers add some.
// The decoder bounds the nesting. A user without a name is an error: that user could be a node.
func decodeReview(data []byte) (*request, error) {
	var r review
	duplicates, err := json.UnmarshalStrict(data, &r, json.DisallowDuplicateFields)
	switch {
	case err != nil:
		return nil, fmt.Errorf("decoding the review: %w", err)
	case len(duplicates) > 0:
		return nil, fmt.Errorf("decoding the review: %w", duplicates[0])
	case !utf8.Valid(data):
		return nil, errors.New("decoding the review: invalid UTF-8")
	case r.APIVersion != apiVersion || r.Kind != kind:
		return nil, fmt.Errorf("want %s %s", apiVersion, kind)
	case r.Request == nil:
		return nil, errors.New("request is missing")
	case r.Request.UID == "" || len(r.Request.UID) > maxUID:
		return nil, fmt.Errorf("want a uid of at most %d bytes", maxUID)
	case r.Request.UserInfo.Username == "":
		return nil, errors.New("userInfo names no user")
	}
	return r.Request, nil
}

// uidIn finds the uid in the first bytes of a review.
func uidIn(head []byte) (types.UID, bool) {
	d := gojson.NewDecoder(bytes.NewReader(head))
	if !seek(d, "request") || !seek(d, "uid") {
		return "", false
	}
	var uid string
	if err := d.Decode(&uid); err != nil {
		return "", false
	}
	return types.UID(uid), uid != "" && len(uid) <= maxUID
}

// seek enters an object and moves to the value of the field name.
func seek(d *gojson.Decoder, name string) bool {
	if start, err := d.Token(); err != nil || start != gojson.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		if key == name {
			return true
		}
		var skipped gojson.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return false
		}
	}
	return false
}

func (q *request) user() user.Info {
	info := &user.DefaultInfo{Name: q.UserInfo.Username, UID: q.UserInfo.UID, Groups: q.UserInfo.Groups}
	if q.UserInfo.Extra != nil {
		info.Extra = make(map[string][]string, len(q.UserInfo.Extra))
		for k, v := range q.UserInfo.Extra {
			info.Extra[k] = v
		}
	}
	return info
}

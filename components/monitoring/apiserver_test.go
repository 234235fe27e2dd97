// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// watched are the resources of the fake API server, each with its kind and one object or none.
var watched = map[string]struct{ kind, version, object string }{
	"pods": {"Pod", "v1", `"metadata":{"namespace":"n","name":"p","uid":"1","resourceVersion":"1"},
		"spec":{"nodeName":"node-1","serviceAccountName":"a","volumes":[{"name":"v","secret":{"secretName":"s"}}]}`},
	"nodes":                      {"Node", "v1", `"metadata":{"name":"node-1","resourceVersion":"1"}`},
	"serviceaccounts":            {"ServiceAccount", "v1", ""},
	"configmaps":                 {"ConfigMap", "v1", ""},
	"persistentvolumes":          {"PersistentVolume", "v1", ""},
	"persistentvolumeclaims":     {"PersistentVolumeClaim", "v1", ""},
	"volumeattachments":          {"VolumeAttachment", "storage.k8s.io/v1", ""},
	"resourceslices":             {"ResourceSlice", "resource.k8s.io/v1", ""},
	"podcertificaterequests":     {"PodCertificateRequest", "certificates.k8s.io/v1", ""},
	"certificatesigningrequests": {"CertificateSigningRequest", "certificates.k8s.io/v1", ""},
}

// serveAPI is a fake API server: a Node, a pod on it, and watches without changes. A user may
// request everything of the kubelet but its statistics.
func serveAPI(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	last := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	resource, known := watched[last]
	switch {
	case last == "subjectaccessreviews":
		decide(w, req)
	case known && req.URL.Query().Get("watch") != "":
		watch(w, req, resource.kind, resource.version, resource.object)
	case known:
		fmt.Fprintf(w, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"2"},"items":[]}`, resource.kind,
			resource.version)
	case req.URL.Path == "/api/v1/namespaces/kube-system":
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system"}}`)
	case req.URL.Path == "/api/v1/namespaces/n/pods/p":
		fmt.Fprintf(w, `{"kind":"Pod","apiVersion":"v1",%s}`, watched["pods"].object)
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

// decide answers a SubjectAccessReview, in JSON or in protobuf.
func decide(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	review, ok := object.(*authorizationv1.SubjectAccessReview)
	if err != nil || !ok {
		http.Error(w, fmt.Sprint("not a review: ", err), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":%v}}`,
		review.Spec.ResourceAttributes.Subresource != "stats")
}

// watch sends the object, the end of the list, and then bookmarks.
func watch(w http.ResponseWriter, req *http.Request, kind, version, object string) {
	const line = `{"type":%q,"object":{"apiVersion":%q,"kind":%q,%s}}` + "\n"
	if object != "" {
		fmt.Fprintf(w, line, "ADDED", version, kind, object)
	}
	fmt.Fprintf(w, line, "BOOKMARK", version, kind,
		`"metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}`)
	for req.Context().Err() == nil {
		fmt.Fprintf(w, line, "BOOKMARK", version, kind, `"metadata":{"resourceVersion":"2"}`)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(20 * time.Millisecond)
	}
}

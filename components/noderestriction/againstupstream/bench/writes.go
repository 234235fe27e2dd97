// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"

	"github.com/bulkhead-k8s/bulkhead/components/noderestriction/againstupstream/world"
)

const (
	create = admission.Create
	update = admission.Update
	remove = admission.Delete
)

// Cases are of every family: what is admitted, and what is refused.
func Cases() []Case {
	var all []Case
	for _, family := range [][]Case{podCases(), nodeCases(), claimCases(), tokenCases(), podCertificateCases(), otherCases(), certificateCases()} {
		all = append(all, family...)
	}
	return all
}

// with is a value that is edited.
func with[T any](value *T, edit func(*T)) *T {
	edit(value)
	return value
}

func mirrorPod(edit func(*corev1.Pod)) *corev1.Pod {
	controller := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: "static-" + me, Labels: map[string]string{"component": "x", "tier": "control-plane"},
		Annotations:     map[string]string{corev1.MirrorPodAnnotationKey: "hash", "kubernetes.io/config.hash": "hash", "kubernetes.io/config.source": "file"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: me, UID: me + "-uid", Controller: &controller}},
	}}
	pod.Spec = corev1.PodSpec{NodeName: me, Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/c", Env: []corev1.EnvVar{{Name: "a", Value: "b"}}}}}
	for _, name := range []string{"etc", "certs", "conf", "log"} {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/" + name}}})
	}
	return with(pod, edit)
}

// EndedPod is a pod of the node that writes, as it is once it has ended and as it was
// before.
func EndedPod() (pod, old *corev1.Pod) {
	return with(newPod("mine", me), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), newPod("mine", me)
}

func podCases() []Case {
	same := func(*corev1.Pod) {}
	mine, before := EndedPod()
	labelled, unlabelled := with(newPod("mine", me), func(p *corev1.Pod) { p.Labels["app"] = "y" }), newPod("mine", me)
	return []Case{
		admitted("pods", "create a mirror pod", write(create, "pods.v1.", "", mirrorPod(same), nil)),
		refused("pods", "create another pod", write(create, "pods.v1.", "", newPod("new", me), nil)),
		refused("pods", "create a mirror pod with a secret", write(create, "pods.v1.", "", mirrorPod(func(p *corev1.Pod) {
			p.Spec.Volumes[3].VolumeSource = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}}
		}), nil)),
		admitted("pods", "delete its pod", write(remove, "pods.v1.", "", nil, newPod("mine", me))),
		refused("pods", "delete another's pod", write(remove, "pods.v1.", "", nil, newPod("theirs", other))),
		admitted("pods/status", "update its pod's status", write(update, "pods.v1.", "status", mine, before)),
		refused("pods/status", "update another's pod's status", write(update, "pods.v1.", "status", newPod("theirs", other), newPod("theirs", other))),
		refused("pods/status", "change a label", write(update, "pods.v1.", "status", labelled, unlabelled)),
		admitted("pods/eviction", "evict its pod", write(create, "pods.v1.", "eviction", &policyv1.Eviction{ObjectMeta: metaOf(namespace, "mine")}, nil)),
		refused("pods/eviction", "evict another's pod", write(create, "pods.v1.", "eviction", &policyv1.Eviction{ObjectMeta: metaOf(namespace, "theirs")}, nil)),
	}
}

func nodeCases() []Case {
	ready := func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Unix(0, 0)) }
	unplanned := func(n *corev1.Node) { n.Spec.PodCIDR = "" }
	untainted := func(n *corev1.Node) { n.Spec.Taints = nil }
	relabelled := func(n *corev1.Node) { n.Labels["node-restriction.kubernetes.io/x"] = "y" }
	return []Case{
		admitted("nodes", "register", write(create, "nodes.v1.", "", with(newNode(me), unplanned), nil)),
		refused("nodes", "register with a label", write(create, "nodes.v1.", "", with(newNode(me), relabelled), nil)),
		admitted("nodes", "update its status", write(update, "nodes.v1.", "status", with(newNode(me), ready), newNode(me))),
		admitted("nodes", "set a label", write(update, "nodes.v1.", "", with(newNode(me), func(n *corev1.Node) { n.Labels["example.com/x"] = "y" }), newNode(me))),
		refused("nodes", "set a label that is kept from it", write(update, "nodes.v1.", "", with(newNode(me), relabelled), newNode(me))),
		refused("nodes", "remove a taint", write(update, "nodes.v1.", "", with(newNode(me), untainted), newNode(me))),
		refused("nodes", "update another's status", write(update, "nodes.v1.", "status", newNode(other), newNode(other))),
	}
}

func newClaim() *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metaOf(namespace, "claim")}
	claim.Labels = map[string]string{"app": "x"}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim.Spec.VolumeName = "volume"
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}
	return claim
}

func claimCases() []Case {
	grown := func(c *corev1.PersistentVolumeClaim) {
		c.Status.Capacity[corev1.ResourceStorage] = resource.MustParse("2Gi")
	}
	return []Case{
		admitted("persistentvolumeclaims", "report a capacity", write(update, "persistentvolumeclaims.v1.", "status", with(newClaim(), grown), newClaim())),
		refused("persistentvolumeclaims", "change a label", write(update, "persistentvolumeclaims.v1.", "status",
			with(newClaim(), func(c *corev1.PersistentVolumeClaim) { c.Labels["app"] = "y" }), newClaim())),
	}
}

func tokenCases() []Case {
	token := func(pod string, audiences ...string) *authenticationv1.TokenRequest {
		request := &authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
		request.Spec = authenticationv1.TokenRequestSpec{Audiences: audiences, BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod, UID: newPod(pod, "").UID,
		}}
		return request
	}
	const family = "serviceaccounts/token"
	asks := func(r *authenticationv1.TokenRequest) *world.Write {
		return write(create, "serviceaccounts.v1.", "token", r, nil)
	}
	return []Case{
		admitted(family, "for the API server", asks(token("mine"))),
		admitted(family, "for an audience of a projected volume", asks(token("mine", "vault"))),
		admitted(family, "for an audience of an inline CSI volume", asks(token("mine", "inline"))),
		admitted(family, "for an audience behind a claim", asks(token("mine", "claims"))),
		refused(family, "for another audience", asks(token("mine", "none"))),
		refused(family, "of another's pod", asks(token("theirs"))),
	}
}

func podCertificateCases() []Case {
	request := func(pod, signer string) *certificatesv1.PodCertificateRequest {
		r := &certificatesv1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "r"}}
		r.Spec = certificatesv1.PodCertificateRequestSpec{
			SignerName: signer, PodName: pod, PodUID: newPod(pod, "").UID, ServiceAccountName: "default", ServiceAccountUID: "default-uid",
			NodeName: me, NodeUID: me + "-uid",
		}
		return r
	}
	const resource = "podcertificaterequests.v1.certificates.k8s.io"
	return []Case{
		admitted("podcertificaterequests", "for its pod", write(create, resource, "", request("mine", "example.com/signer"), nil)),
		refused("podcertificaterequests", "for another's pod", write(create, resource, "", request("theirs", "example.com/signer"), nil)),
		refused("podcertificaterequests", "of another signer", write(create, resource, "", request("mine", "example.com/none"), nil)),
	}
}

func otherCases() []Case {
	lease := func(name string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metaOf(corev1.NamespaceNodeLease, name), Spec: coordinationv1.LeaseSpec{HolderIdentity: &name}}
	}
	csiNode := func(name string) *storagev1.CSINode {
		count := int32(25)
		return &storagev1.CSINode{ObjectMeta: metaOf("", name), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: "inline.example.com", NodeID: name, TopologyKeys: []string{"zone"}, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
		}}}
	}
	slice := func(node string) *resourcev1.ResourceSlice {
		s := &resourcev1.ResourceSlice{ObjectMeta: metaOf("", "slice"), Spec: resourcev1.ResourceSliceSpec{NodeName: &node}}
		s.Spec.Devices = make([]resourcev1.Device, 64)
		return s
	}
	const leases, csiNodes, slices = "leases.v1.coordination.k8s.io", "csinodes.v1.storage.k8s.io", "resourceslices.v1.resource.k8s.io"
	moved := with(csiNode(me), func(c *storagev1.CSINode) { c.Spec.Drivers[0].NodeID = "x" })
	return []Case{
		admitted("leases", "renew", write(update, leases, "", lease(me), lease(me))),
		refused("leases", "renew another's", write(update, leases, "", lease(other), lease(other))),
		admitted("csinodes", "update", write(update, csiNodes, "", csiNode(me), csiNode(me))),
		admitted("csinodes", "update the status", write(update, csiNodes, "status", csiNode(me), csiNode(me))),
		refused("csinodes", "update another's", write(update, csiNodes, "", csiNode(other), csiNode(other))),
		refused("csinodes", "change the spec by the status", write(update, csiNodes, "status", moved, csiNode(me))),
		admitted("resourceslices", "create", write(create, slices, "", slice(me), nil)),
		refused("resourceslices", "create another's", write(create, slices, "", slice(other), nil)),
		admitted("events", "create", write(create, "events.v1.", "", &corev1.Event{
			ObjectMeta: metaOf(namespace, "e"), Source: corev1.EventSource{Host: me},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "mine", UID: "mine-uid"},
		}, nil)),
	}
}

func certificateCases() []Case {
	request := func(name string) *certificatesv1.CertificateSigningRequest {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{"system:nodes"}}}, key)
		if err != nil {
			// The names are in this package.
			panic(err)
		}
		r := &certificatesv1.CertificateSigningRequest{ObjectMeta: metaOf("", "csr")}
		r.Spec = certificatesv1.CertificateSigningRequestSpec{
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		}
		return r
	}
	const resource = "certificatesigningrequests.v1.certificates.k8s.io"
	return []Case{
		admitted("certificatesigningrequests", "for itself", write(create, resource, "", request("system:node:"+me), nil)),
		refused("certificatesigningrequests", "for another", write(create, resource, "", request("system:node:"+other), nil)),
	}
}

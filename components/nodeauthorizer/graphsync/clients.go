// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package graphsync

import (
	"k8s.io/client-go/kubernetes"
	certificatesv1client "k8s.io/client-go/kubernetes/typed/certificates/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	resourcev1client "k8s.io/client-go/kubernetes/typed/resource/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodeauthorizer/graphsync/lean"
)

// The functions below return the client of an API group. Its watches decode only the fields of one
// kind that are used. A fake clientset does not support this, so the functions return its own
// client.

func coreOf(client kubernetes.Interface, kind lean.Kind) corev1client.CoreV1Interface {
	if own, ok := kind.Client(client.CoreV1().RESTClient()); ok {
		return corev1client.New(own)
	}
	return client.CoreV1()
}

func storageOf(client kubernetes.Interface, kind lean.Kind) storagev1client.StorageV1Interface {
	if own, ok := kind.Client(client.StorageV1().RESTClient()); ok {
		return storagev1client.New(own)
	}
	return client.StorageV1()
}

func devicesOf(client kubernetes.Interface, kind lean.Kind) resourcev1client.ResourceV1Interface {
	if own, ok := kind.Client(client.ResourceV1().RESTClient()); ok {
		return resourcev1client.New(own)
	}
	return client.ResourceV1()
}

func certificatesOf(client kubernetes.Interface, kind lean.Kind) certificatesv1client.CertificatesV1Interface {
	if own, ok := kind.Client(client.CertificatesV1().RESTClient()); ok {
		return certificatesv1client.New(own)
	}
	return client.CertificatesV1()
}

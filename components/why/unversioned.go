// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// unversioned lets a client send bytes to any path, and decode the Status of an error.
func unversioned(config *rest.Config) *rest.Config {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return config
}

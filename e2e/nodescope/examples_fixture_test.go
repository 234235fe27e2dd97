// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// examples are the files that docs/node-scope.md shows to owners of DaemonSets.
const examples = "../../docs/examples/node-scope"

// example is one of these files: its account, with the annotation, and its rights.
type example struct {
	account corev1.ServiceAccount
	role    rbacv1.ClusterRole
	binding rbacv1.ClusterRoleBinding
}

// exampleOf reads an example with strict decoding.
func exampleOf(name string) (e example, err error) {
	file, err := os.Open(filepath.Join(examples, name+".yaml"))
	if err != nil {
		return e, fmt.Errorf("opening an example: %w", err)
	}
	defer file.Close()
	strict := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewDocumentDecoder(file)
	for {
		document := make([]byte, 64<<10)
		n, err := documents.Read(document)
		if errors.Is(err, io.EOF) {
			return e, nil
		}
		if err == nil {
			err = e.take(strict, document[:n])
		}
		if err != nil {
			return e, fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (e *example) take(decoder runtime.Decoder, document []byte) error {
	object, _, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return err
	}
	switch object := object.(type) {
	case *corev1.ServiceAccount:
		e.account = *object
	case *rbacv1.ClusterRole:
		e.role = *object
	case *rbacv1.ClusterRoleBinding:
		e.binding = *object
	default:
		return fmt.Errorf("an example has no %T", object)
	}
	return nil
}

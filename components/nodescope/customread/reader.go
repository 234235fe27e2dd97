// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

// Package customread reads a custom resource from the API server, to find the node that it
// belongs to.
//
// The reads are made for a pod, which may be hostile and may send many requests. So there are
// limits:
//
//   - The number of concurrent reads is limited, in total and for each node.
//   - A read has a timeout of one second.
//   - An object that is larger than an API server stores is not read.
//
// If an object cannot be read, the result is an error, and the caller denies the request.
package customread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/client-go/rest"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
)

const (
	// maxObject is larger than any object that an API server stores (1.5 MiB in etcd).
	maxObject = 3 << 20
	// timeout is the timeout of one read. Together with the earlier parts of a decision it is
	// less than the 3 s after which kube-apiserver gives up.
	timeout = time.Second
	// readTimeout is how long a read waits for each of its two slots: the shared one and that of
	// its node.
	readTimeout = 200 * time.Millisecond
)

// shares are the limits of concurrent reads: for all nodes together, and for one node.
var shares = webhook.Limits{InFlight: 32, InFlightPerNode: 4}

// Reader reads custom resources. Use [New]. It is safe for concurrent use.
type Reader struct {
	client  rest.Interface
	limiter *webhook.Limiter
	timeout time.Duration
}

var _ nodescope.Objects = &Reader{}

// New returns a Reader. client is a REST client of any API group, which needs permission to get
// the declared resources. New sends no request.
func New(client rest.Interface) *Reader {
	return &Reader{client: client, limiter: webhook.NewLimiter(shares, readTimeout), timeout: timeout}
}

var (
	errBusy  = errors.New("too many objects are being read")
	errLarge = fmt.Errorf("the object is larger than %d bytes", maxObject)
	errOther = errors.New("the API server answered with another object")
)

// NodeOf implements [nodescope.Objects]. It returns within two seconds.
func (r *Reader) NodeOf(ctx context.Context, asks string, at nodescope.Declaration, version, namespace,
	name string) (string, error) {
	path, err := pathOf(at.Resource, version, namespace, name)
	if err != nil {
		return "", err
	}
	release, over := r.limiter.AdmitNode(ctx, asks)
	if over != webhook.WithinLimits {
		return "", errBusy
	}
	defer release()
	data, err := r.get(ctx, path)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return nodeIn(data, at, namespace, name)
}

func (r *Reader) get(ctx context.Context, path []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	stream, err := r.client.Get().AbsPath(path...).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // all that was wanted has been read
	data, err := io.ReadAll(io.LimitReader(stream, maxObject+1))
	if err == nil && len(data) > maxObject {
		err = errLarge
	}
	return data, err
}

// pathOf rejects every part that could change the path. The parts come from a
// SubjectAccessReview, and its author can choose them freely.
func pathOf(r nodescope.Resource, version, namespace, name string) ([]string, error) {
	parts := []string{"/apis", r.Group, version}
	if namespace != "" {
		parts = append(parts, "namespaces", namespace)
	}
	parts = append(parts, r.Resource, name)
	for _, part := range parts[1:] {
		if problems := content.IsPathSegmentName(part); part == "" || part == "*" || len(problems) > 0 {
			return nil, fmt.Errorf("%q is no part of an object's address", webhook.Loggable(part))
		}
	}
	return parts, nil
}

// object has the fields of an object that are read in addition to the declared field.
type object struct {
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
}

// nodeIn returns the node that the object names.
func nodeIn(data []byte, at nodescope.Declaration, namespace, name string) (string, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return "", fmt.Errorf("decoding the object: %w", err)
	}
	if o.Metadata.Name != name || o.Metadata.Namespace != namespace {
		return "", errOther
	}
	if at.Label != "" {
		return o.Metadata.Labels[at.Label], nil
	}
	return field(data, at.Field)
}

// field returns the string at a path. The result is empty if the path does not exist, or if the
// value is not a string.
func field(data []byte, path string) (string, error) {
	raw := json.RawMessage(data)
	for name := range strings.SplitSeq(path, ".") {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return "", nil
		}
		raw = fields[name]
	}
	var node string
	if len(raw) == 0 || json.Unmarshal(raw, &node) != nil {
		return "", nil
	}
	return node, nil
}

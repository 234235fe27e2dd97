// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/components/internal/webhook"
)

// Write is the result of a dry run.
type Write struct {
	// Code and Message are the API server's answer. Code is 0 if the write would be accepted.
	Code    int32
	Message string
	// Unauthorized is true if the caller may not impersonate the user. Then there is no answer.
	Unauthorized bool
	// Err is why there is no answer.
	Err error
}

// MaxObject bounds a file with an object. The API server takes at most 3 MiB.
const MaxObject = 3 << 20

// ParseObject reads one object in YAML or JSON.
func ParseObject(data []byte) (*unstructured.Unstructured, error) {
	if len(data) > MaxObject {
		return nil, errors.New("cannot read the object: it is longer than 3 MiB, which is the API server's limit")
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &o.Object); err != nil {
		return nil, fmt.Errorf("cannot read the object: %s; give one object in YAML or JSON", cannotRead(err))
	}
	if o.GetAPIVersion() == "" || o.GetKind() == "" {
		return nil, errors.New("cannot read the object: it has no apiVersion or no kind; give one object, as for kubectl " +
			"create -f")
	}
	return o, nil
}

// Complete takes from the object what the request does not name. The namespace of the object replaces
// that of the kubeconfig; explicit is true if the user has named one, and then they must be the same.
func (r *Request) Complete(o *unstructured.Unstructured, explicit bool) error {
	ofSubresource := r.Subresource != "" && r.Subresource != "status" // its object has another name, or none
	if r.Name == "" && !ofSubresource {
		r.Name = o.GetName()
	}
	namespace := o.GetNamespace()
	if namespace == "" || namespace == r.Namespace {
		return nil
	}
	if explicit {
		return fmt.Errorf("cannot write an object of namespace %s in namespace %s: give the namespace of the object with -n",
			webhook.Loggable(namespace), webhook.Loggable(r.Namespace))
	}
	r.Namespace = namespace
	return nil
}

// DryRun returns a function that sends the object as the user, as a server-side dry run. The API server
// stores nothing. It has no body of an answer: a dry run of a token request gets a real token.
func DryRun(config *rest.Config, o *unstructured.Unstructured) (func(context.Context, *Request) Write, error) {
	body, err := o.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("cannot write the object as JSON: %w; give one object in YAML or JSON", err)
	}
	return func(ctx context.Context, r *Request) Write { return send(ctx, config, r, body) }, nil
}

func send(ctx context.Context, config *rest.Config, r *Request, body []byte) Write {
	as := rest.CopyConfig(config)
	// The API server adds these groups by itself. To name them would need one more right.
	groups := slices.DeleteFunc(slices.Clone(r.Groups), func(group string) bool {
		return group == user.AllAuthenticated || group == user.AllUnauthenticated
	})
	as.Impersonate = rest.ImpersonationConfig{UserName: r.User, Groups: groups, Extra: r.Extra}
	as.ContentType, as.AcceptContentTypes = "application/json", "application/json"
	client, err := rest.UnversionedRESTClientFor(unversioned(as))
	if err != nil {
		return Write{Err: err}
	}
	request, err := r.call(client)
	if err != nil {
		return Write{Err: err}
	}
	if r.Verb == "delete" {
		body = []byte(deleteOptions)
	}
	return writeOf(request.Param("dryRun", metav1.DryRunAll).Body(body).Do(ctx).Error(), r)
}

// storedSubresources are the subresources that have a dry run.
var storedSubresources = []string{"", "status", "scale", "token", "eviction", "binding", "approval", "resize",
	"ephemeralcontainers"}

// deleteOptions are the body of a delete. The API server ignores the parameter dryRun if there is a
// body, and takes any body for DeleteOptions. So the object must not be the body.
const deleteOptions = `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`

// call returns the request without its body.
func (r *Request) call(client rest.Interface) (*rest.Request, error) {
	// The API server passes requests for other subresources on, for example to a kubelet, which knows no
	// dry run.
	if !slices.Contains(storedSubresources, r.Subresource) {
		return nil, fmt.Errorf("the API server has no dry run of %s", webhook.Loggable(r.ResourceName()))
	}
	verbs := map[string]func() *rest.Request{
		"create": client.Post, "update": client.Put, "delete": client.Delete,
		"patch": func() *rest.Request { return client.Patch(types.MergePatchType) },
	}
	call := verbs[r.Verb]
	if call == nil {
		return nil, fmt.Errorf("cannot write with verb %s: use create, update, patch or delete with -f",
			webhook.Loggable(r.Verb))
	}
	if r.Version == "" {
		return nil, fmt.Errorf("the API server has no resource %s", webhook.Loggable(r.ResourceName()))
	}
	request := call()
	if r.Verb != "patch" {
		request = request.SetHeader("Content-Type", "application/json")
	}
	address := r.address()
	for _, segment := range address {
		if problems := content.IsPathSegmentName(segment); len(problems) > 0 {
			return nil, fmt.Errorf("cannot write to %q: it %s", webhook.Loggable(segment), problems[0])
		}
	}
	return request.AbsPath(address...), nil
}

// address returns the segments of the path of the request.
func (r *Request) address() []string {
	parts := []string{"api", r.Version}
	if r.Group != "" {
		parts = []string{"apis", r.Group, r.Version}
	}
	if r.Namespace != "" {
		parts = append(parts, "namespaces", r.Namespace)
	}
	parts = append(parts, r.Resource)
	if r.Verb != "create" || r.Subresource != "" {
		parts = append(parts, r.Name)
	}
	if r.Subresource != "" {
		parts = append(parts, r.Subresource)
	}
	return parts
}

func writeOf(err error, r *Request) Write {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return Write{Err: err}
	}
	w := Write{Code: status.Status().Code, Message: status.Status().Message}
	if w.Code == 0 {
		w.Code = http.StatusInternalServerError
	}
	// The API server checks impersonation first. The user in the message is the caller.
	if d := unauthorized.FindStringSubmatch(w.Message); d != nil && strings.HasPrefix(d[2], "impersonate") &&
		r.Verb != d[2] {
		w.Unauthorized = true
	}
	return w
}

// write asks admission with a dry run.
func (k Asker) write(ctx context.Context, a *Answer, r *Request) {
	w := k.Write(ctx, r)
	switch {
	case w.Err != nil:
		a.note("Admission was not asked: " + cannotRead(w.Err))
	case w.Unauthorized:
		a.note("Admission was not asked, because your user may not impersonate " + webhook.Loggable(r.User) +
			": a dry run needs the verb impersonate on users or serviceaccounts, on groups and, for --node-name, on " +
			"userextras. The API server says: " + webhook.Printable(w.Message, 512))
	case w.Code == 0:
		a.Step = Admission
		a.By += ", and admission accepts the object (dry run)"
	default:
		a.rejected(r, w)
	}
}

// rejected explains a write that authorizers allow and the API server does not accept.
func (a *Answer) rejected(r *Request, w Write) {
	a.Outcome, a.Rules, a.Reason = Denied, nil, webhook.Printable(w.Message, maxText)
	a.note("The authorizers allow the request.")
	if _, err := a.admission(r, w.Message); err != nil {
		a.note(cannotRead(err))
	}
	if _, known := admittedNotBy(w.Message); !known && w.Code != http.StatusForbidden {
		a.By = fmt.Sprintf("the API server, with code %d: not a question of rights", w.Code)
	}
}

// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package kubeletauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	"github.com/emicklei/go-restful/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/flagz"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/server"
	"k8s.io/kubernetes/pkg/kubelet/server/stats"

	"github.com/bulkhead-k8s/bulkhead/components/kubeletauth"
)

const node = "node"

// kubelet is the kubelet's HTTP server with fake dependencies. It is not safe for concurrent use.
type kubelet struct {
	server.Server
	gate *gate
	host *host
}

// theKubelet is the only instance, because a process can register the server's metrics only once.
var theKubelet = sync.OnceValue(func() *kubelet {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	k := &kubelet{
		gate: &gate{NodeRequestAttributesGetter: server.NewNodeAuthorizerAttributesGetter(node)},
		host: &host{},
	}
	k.Server = server.NewServer(
		context.Background(),
		k.host,
		analyzer{},
		nil,
		flagz.NamedFlagSetsReader{},
		k.gate,
		&kubeletconfig.KubeletConfiguration{
			EnableDebuggingHandlers: true,
			EnableSystemLogHandler:  true,
			EnableProfilingHandler:  true,
			EnableDebugFlagsHandler: true,
		},
	)
	return k
})

// asked serves a request, and returns the rights that the kubelet asks its authorizer for. The
// authorizer allows them, so that the test also sees the next step.
func (k *kubelet) asked(
	r *http.Request,
	allow bool,
) (asked []kubeletauth.Attributes, answer *httptest.ResponseRecorder, err error) {
	k.gate.asked, k.gate.allow, k.host.reached = nil, allow, reached{}
	answer = httptest.NewRecorder()
	k.ServeHTTP(answer, r)
	for _, a := range k.gate.asked {
		rest := authorizer.AttributesRecord{
			User:            caller,
			Verb:            a.GetVerb(),
			APIVersion:      "v1",
			Resource:        "nodes",
			Subresource:     a.GetSubresource(),
			Name:            node,
			ResourceRequest: true,
			Path:            r.URL.Path,
		}
		if !reflect.DeepEqual(a, rest) {
			err = fmt.Errorf(
				"%s %s: the kubelet asks about more than a verb and a subresource: %+v",
				r.Method,
				r.URL.Path,
				a,
			)
		}
		asked = append(asked, kubeletauth.Attributes{Verb: a.GetVerb(), Subresource: a.GetSubresource()})
	}
	return asked, answer, err
}

// mapped returns the kubelet's mapping of a request, even if the kubelet has no handler for it.
func (k *kubelet) mapped(method, path string) []kubeletauth.Attributes {
	r := &http.Request{Method: method, URL: &url.URL{Path: path}}
	var mapped []kubeletauth.Attributes
	for _, a := range k.gate.GetRequestAttributes(context.Background(), caller, r) {
		mapped = append(mapped, kubeletauth.Attributes{Verb: a.GetVerb(), Subresource: a.GetSubresource()})
	}
	return mapped
}

// container is the part of the kubelet's go-restful container that lists its routes.
type container interface {
	RegisteredWebServices() []*restful.WebService
	RegisteredHandlePaths() []string
}

// routes reads the server's private field, because there is no method for it.
func (k *kubelet) routes(t *testing.T) container {
	t.Helper()
	field := reflect.ValueOf(&k.Server).Elem().FieldByName("restfulCont")
	c, ok := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(container)
	if !ok {
		t.Fatal("the kubelet keeps its routes somewhere else")
	}
	return c
}

var caller = &user.DefaultInfo{Name: "caller"}

// gate authenticates every request as the same user, and records the rights that are asked for.
type gate struct {
	server.NodeRequestAttributesGetter
	dynamiccertificates.CAContentProvider
	asked []authorizer.Attributes
	allow bool
}

func (g *gate) AuthenticateRequest(*http.Request) (*authenticator.Response, bool, error) {
	return &authenticator.Response{User: caller}, true, nil
}

func (g *gate) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	g.asked = append(g.asked, a)
	if g.allow {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// reached is the object that a request reached.
type reached struct {
	// what is the last handler's name for the object, or "" if only the routes were reached.
	what   string
	target kubeletauth.Target
}

var errNothingBehind = errors.New("nothing is behind this kubelet")

// host records what a request reaches. Every pod exists, with UID "uid" and one container "c".
type host struct {
	server.HostInterface
	reached reached
}

func (h *host) GetPodByName(namespace, name string) (*corev1.Pod, bool) {
	h.reached.target.Namespace, h.reached.target.Pod = namespace, name
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
	}, true
}

func (h *host) container(what string, uid types.UID, name string) {
	h.reached.what, h.reached.target.UID, h.reached.target.Container = what, string(uid), name
}

func (h *host) GetExec(
	_ context.Context,
	_ string,
	uid types.UID,
	name string,
	_ []string,
	_ remotecommand.Options,
) (*url.URL, error) {
	h.container("exec", uid, name)
	return nil, errNothingBehind
}

func (h *host) GetAttach(
	_ context.Context,
	_ string,
	uid types.UID,
	name string,
	_ remotecommand.Options,
) (*url.URL, error) {
	h.container("attach", uid, name)
	return nil, errNothingBehind
}

func (h *host) RunInContainer(_ context.Context, _ string, uid types.UID, name string, _ []string) ([]byte, error) {
	h.container("run", uid, name)
	return nil, errNothingBehind
}

func (h *host) GetPortForward(context.Context, string, string, types.UID, portforward.V4Options) (*url.URL, error) {
	h.reached.what = "portForward"
	return nil, errNothingBehind
}

func (h *host) GetKubeletContainerLogs(
	_ context.Context,
	_, name string,
	_ *corev1.PodLogOptions,
	_, _ io.Writer,
) error {
	h.container("containerLogs", "", name)
	return errNothingBehind
}

func (h *host) CheckpointContainer(
	_ context.Context,
	_ types.UID,
	_, name string,
	_ *runtimeapi.CheckpointContainerRequest,
) error {
	h.container("checkpoint", "", name)
	return errNothingBehind
}

func (h *host) ServeLogs(http.ResponseWriter, *http.Request)          { h.reached.what = "logs" }
func (h *host) SyncLoopHealthCheck(*http.Request) error               { return nil }
func (h *host) GetPods() []*corev1.Pod                                { return nil }
func (h *host) GetRunningPods(context.Context) ([]*corev1.Pod, error) { return nil, nil }

// analyzer has no statistics.
type analyzer struct{ stats.ResourceAnalyzer }

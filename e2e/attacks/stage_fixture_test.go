// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package attacks_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bulkhead-k8s/bulkhead/components/nodescope"
	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// Accounts of the stage. Each has one pod of its name on the worker.
const (
	// plain has no annotation. scoped has a node scope.
	plain  = "plain"
	scoped = "scoped"
	// before gets the rights that nodes had by RBAC.
	before = "before"
)

const scope = "pods, pods/status, pods/eviction, nodes, nodes/status, secrets, configmaps, events, services, " +
	"services/status, serviceaccounts, serviceaccounts/token, leases.coordination.k8s.io, " +
	"csidrivers.storage.k8s.io, *.admissionregistration.k8s.io"

// stateOfScopes is the config map in kube-system that exists where node scope is installed.
const stateOfScopes = "bulkhead-node-scope"

// stage is what all specs share: the attackers' pods.
var stage struct{ Namespace string }

// bearers are the tokens of these pods, as this process read them.
var bearers = map[string]Bearer{}

// makeStage runs once for all processes. Without a worker, all stories are skipped.
func makeStage(ctx context.Context, e *Env) []byte {
	if suite.Worker != "" {
		stage.Namespace = e.Namespace(ctx)
		for _, name := range []string{plain, scoped, before} {
			account := fixtures.ServiceAccount(stage.Namespace, name)
			if name == scoped {
				account.Annotations = map[string]string{nodescope.ScopeAnnotation: scope}
			}
			e.Put(ctx, account, attackersPod(name))
		}
		for _, name := range []string{plain, scoped, before} {
			running(ctx, attackersPod(name))
		}
		if nodeScopeInstalled(ctx) {
			awaitLive(ctx, scoped)
		}
	}
	made, err := json.Marshal(stage)
	Expect(err).NotTo(HaveOccurred())
	return made
}

func takeStage(made []byte) { Expect(json.Unmarshal(made, &stage)).To(Succeed()) }

// attackersPod has a shell, except on a cluster about which nothing is known.
func attackersPod(name string) *corev1.Pod {
	tweaks := []fixtures.PodTweak{fixtures.As(name), fixtures.WithAccount}
	if suite.Settings.Profile != Any {
		tweaks = append(tweaks, fixtures.WithShell("shell", "while :; do sleep 60; done"))
	}
	return fixtures.Pod(stage.Namespace, name, suite.Worker, tweaks...)
}

// podOf returns the identity of a pod of the stage. The token is read in the pod, and the requests
// leave from the pod. On a cluster about which nothing is known, the token is requested as a kubelet
// does, and the requests leave from the suite.
func podOf(ctx context.Context, name string) *Identity {
	GinkgoHelper()
	pod := attackersPod(name)
	bearer, ok := bearers[name]
	if !ok {
		var err error
		bearer, err = suite.ReadToken(ctx, tokenIn(ctx, pod))
		Expect(err).NotTo(HaveOccurred())
		bearers[name] = bearer
	}
	who := suite.AsBearer(bearer)
	if suite.Settings.Profile == Any {
		return who
	}
	return who.From(suite.FromPod(pod))
}

func tokenIn(ctx context.Context, pod *corev1.Pod) string {
	GinkgoHelper()
	if suite.Settings.Profile != Any {
		token, err := suite.Exec(ctx, pod, "/bin/cat", "/var/run/secrets/kubernetes.io/serviceaccount/token")
		Expect(err).NotTo(HaveOccurred())
		return strings.TrimSpace(token)
	}
	got, err := suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	made, err := suite.Client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{Spec: fixtures.TokenRequest(got).Spec}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return made.Status.Token
}

// running waits until a pod runs.
func running(ctx context.Context, pod *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	var got *corev1.Pod
	Eventually(ctx, func() (phase corev1.PodPhase, err error) {
		got, err = suite.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		return got.Status.Phase, err
	}).WithTimeout(2*PodStart).WithPolling(200*time.Millisecond).Should(Equal(corev1.PodRunning), "pod %s", pod.Name)
	return got
}

func nodeScopeInstalled(ctx context.Context) bool {
	GinkgoHelper()
	_, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, stateOfScopes, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		Fail(err.Error())
	}
	return err == nil
}

func skipWithoutNodeScope(ctx context.Context) {
	GinkgoHelper()
	if !nodeScopeInstalled(ctx) {
		Skip("node scope is not installed: the cluster lacks the ConfigMap kube-system/" + stateOfScopes)
	}
}

// awaitLive waits until the scope of an account of the stage is in force on every host.
func awaitLive(ctx context.Context, account string) {
	GinkgoHelper()
	awaitLiveIn(ctx, stage.Namespace, account)
}

// awaitLiveIn is [awaitLive] for an account of any namespace.
func awaitLiveIn(ctx context.Context, namespace, account string) {
	GinkgoHelper()
	Eventually(ctx, func() (waiting []string, err error) {
		config, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, stateOfScopes, metav1.GetOptions{})
		if err != nil || len(config.Data) == 0 {
			return []string{"every host"}, err
		}
		for host, text := range config.Data {
			var record struct {
				Accounts map[string]map[string][]string `json:"accounts"`
			}
			if err := json.Unmarshal([]byte(text), &record); err != nil {
				return nil, err
			}
			if !slices.Contains(record.Accounts["live"][namespace], account) {
				waiting = append(waiting, host)
			}
		}
		return waiting, nil
	}).WithTimeout(time.Minute).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}

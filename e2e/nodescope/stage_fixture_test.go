// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package nodescope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bulkhead-k8s/bulkhead/e2e/fixtures"
	. "github.com/bulkhead-k8s/bulkhead/e2e/framework"
)

// stageOf holds what all specs share: a namespace, accounts, and their pods on both nodes. It also
// has other pods, called [ofOwnNode] and [ofOtherNode], with objects that these nodes may then
// read.
type stageOf struct {
	// Daemons is the namespace of the use cases.
	Namespace, Daemons string
	// Bearers are the tokens from the pods. UIDs are the UIDs of all pods. Both are by pod name.
	Bearers map[string]Bearer
	UIDs    map[string]types.UID
}

var stage stageOf

// The pods that use objects on their nodes: a secret and a config map with the name of the pod.
const (
	ofOwnNode   = "ours"
	ofOtherNode = "theirs"
	unusedName  = "nobodys"
)

// makeStage runs once for all processes.
func makeStage(ctx context.Context, e *Env) []byte {
	skipUnlessInstalled(ctx)
	stage = stageOf{Namespace: e.Namespace(ctx), Bearers: map[string]Bearer{}, UIDs: map[string]types.UID{}}
	mayEverything(ctx, e)
	for name, annotations := range scopes {
		account := fixtures.ServiceAccount(stage.Namespace, name)
		account.Annotations = annotations
		e.Put(ctx, account)
	}
	makeDaemons(ctx, e)
	pods := agents()
	for name, node := range map[string]string{ofOwnNode: suite.Worker, ofOtherNode: suite.ControlPlane, unusedName: ""} {
		e.Put(ctx, fixtures.Secret(stage.Namespace, name), fixtures.ConfigMap(stage.Namespace, name))
		if node != "" {
			pods[name] = fixtures.Pod("", name, node, fixtures.WithSecret(name), fixtures.WithConfigMap(name))
		}
	}
	for _, pod := range pods {
		pod.Namespace = stage.Namespace
		e.Put(ctx, pod)
	}
	running(ctx, pods)
	steal(ctx, pods)
	stealFromDaemons(ctx)
	awaitLive(ctx, annotated...)
	return must(json.Marshal(stage))
}

func takeStage(made []byte) { Expect(json.Unmarshal(made, &stage)).To(Succeed()) }

// skipUnlessInstalled skips the suite with the reason where node scope is not installed. It is an
// option of the installer.
func skipUnlessInstalled(ctx context.Context) {
	why := ""
	_, err := suite.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, stateOfLists, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		why = "node scope is not installed: there is no config map kube-system/" + stateOfLists
	case err != nil:
		Fail(err.Error())
	case suite.Worker == "":
		why = "no node is a worker: set E2E_WORKER"
	case suite.Host.Missing() != "" && suite.Settings.Profile != Any:
		why = "the tokens of pods are read from their nodes: " + suite.Host.Missing()
	}
	if why != "" {
		// Print to standard output: --silence-skips hides the reason in reports.
		fmt.Println("nodescope:", why)
		Skip(why)
	}
}

// mayEverything gives all accounts of the stage all rights in RBAC, and waits until the API server
// applies them.
func mayEverything(ctx context.Context, e *Env) {
	group := "system:serviceaccounts:" + stage.Namespace
	binding := &rbacv1.ClusterRoleBinding{
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	binding.Name = stage.Namespace
	e.Put(ctx, binding)
	witness := suite.AsForged(Bearer{User: "e2e-witness", Groups: []string{group}})
	Eventually(ctx, func() (bool, error) {
		decision, err := suite.Review(ctx, witness, List(api.Deployments))
		return decision.Allowed, err
	}).WithTimeout(Soon).WithPolling(100 * time.Millisecond).Should(BeTrue())
}

// running waits until all pods run, and records their UIDs.
func running(ctx context.Context, pods map[string]*corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) {
		list, err := suite.Client.CoreV1().Pods(stage.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		var waiting []string
		for i := range list.Items {
			pod := &list.Items[i]
			if _, asked := pods[pod.Name]; asked && pod.Status.Phase != corev1.PodRunning {
				waiting = append(waiting, pod.Name+": "+string(pod.Status.Phase))
			}
			stage.UIDs[pod.Name] = pod.UID
		}
		return waiting, nil
	}).WithTimeout(2 * PodStart).WithPolling(500 * time.Millisecond).Should(BeEmpty())
}

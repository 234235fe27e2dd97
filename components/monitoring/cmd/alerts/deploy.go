// Copyright The Bulkhead Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/prometheus/prometheus/model/rulefmt"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/bulkhead-k8s/bulkhead/kind/progress"
)

const (
	promModule = "github.com/prometheus/prometheus"
	// promNamespace and promAccount are those in manifests/monitoring.
	promNamespace, promAccount = "monitoring", "prometheus"
	promPod                    = "bulkhead-alerts"
	promPort                   = 9090
	promRole                   = "bulkhead-alerts"
	metricsReader              = "bulkhead:metrics-reader"
	// promFolder has the programs and the configuration on the worker.
	promFolder = "/kind/bulkhead-alerts"
	// nonRoot is the user of the image.
	nonRoot = 65532

	jobAuthorizer  = "bulkhead-node-authorizer"
	jobRestriction = "bulkhead-node-restriction"
	jobProxy       = "bulkhead-kubelet-auth-proxy"
	jobAPIServer   = "kube-apiserver"
	jobPodStatus   = "kube-state-metrics"
)

// configuration is the configuration of Prometheus, without what the repository has. The alerts also
// need metrics of kube-apiserver and of kube-state-metrics.
const configuration = `global: {scrape_interval: %[1]s, scrape_timeout: 4s, evaluation_interval: %[1]s}
rule_files: [%[2]s/rules.yaml]
scrape_config_files: [%[2]s/scrape/*.yaml]
scrape_configs:
  - job_name: kube-apiserver
    scheme: https
    authorization: {credentials_file: /var/run/secrets/kubernetes.io/serviceaccount/token}
    tls_config: {ca_file: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt}
    static_configs: [{targets: ["%[4]s:6443"]}]
  - job_name: kube-state-metrics
    honor_labels: true
    static_configs: [{targets: ["127.0.0.1:%[3]d"]}]
`

// deploy builds Prometheus, runs it in a pod, and waits until it scrapes every target.
func deploy(ctx context.Context, report *progress.Reporter, c *cluster, groups *rulefmt.RuleGroups) (*prometheus,
	error) {
	p := &prometheus{cluster: c}
	err := report.Step(ctx, "building Prometheus from its Go module", func(ctx context.Context, log io.Writer) error {
		return c.build(ctx, log)
	})
	if err != nil {
		return nil, err
	}
	return p, report.Step(ctx, "starting Prometheus in the cluster", func(ctx context.Context, log io.Writer) error {
		if err := c.copyFiles(ctx, log, groups); err != nil {
			return err
		}
		if err := c.createObjects(ctx); err != nil {
			return err
		}
		return await(ctx, func(ctx context.Context) error {
			pod, err := c.client.CoreV1().Pods(promNamespace).Get(ctx, promPod, metav1.GetOptions{})
			if err == nil {
				err = running(pod)
			}
			if err != nil {
				return err
			}
			p.address = pod.Status.PodIP
			return p.healthy(ctx)
		})
	})
}

// createObjects creates the objects of manifests/monitoring, and the pod of Prometheus with what it
// needs.
func (c *cluster) createObjects(ctx context.Context) error {
	labels := map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}
	core, rbac := c.client.CoreV1(), c.client.RbacV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: promNamespace,
		Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: promAccount}}
	if _, err := core.ServiceAccounts(promNamespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return err
	}
	var role rbacv1.ClusterRole
	var binding rbacv1.ClusterRoleBinding
	if err := errors.Join(c.manifest("monitoring/clusterrole.yaml", &role),
		c.manifest("monitoring/clusterrolebinding.yaml", &binding)); err != nil {
		return err
	}
	more := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: promRole}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}},
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
	}}
	moreBinding := *binding.DeepCopy()
	moreBinding.ObjectMeta, moreBinding.RoleRef.Name = more.ObjectMeta, promRole
	for _, role := range []*rbacv1.ClusterRole{&role, &more} {
		if _, err := rbac.ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, binding := range []*rbacv1.ClusterRoleBinding{&binding, &moreBinding} {
		if _, err := rbac.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	pod, err := c.pod(ctx)
	if err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) error {
		_, err := core.Pods(promNamespace).Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// manifest decodes a file below manifests.
func (c *cluster) manifest(file string, object any) error {
	text, err := os.ReadFile(filepath.Join(c.root, "manifests", filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	return yaml.UnmarshalStrict(text, object)
}

// pod returns the pod of Prometheus. Its image is Bulkhead's, because each node has it. The programs
// come from the folder on the worker.
func (c *cluster) pod(ctx context.Context) (*corev1.Pod, error) {
	set, err := c.client.AppsV1().DaemonSets(systemNamespace).Get(ctx, proxyDaemonSet, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	folder := corev1.VolumeMount{Name: "programs", MountPath: promFolder, ReadOnly: true}
	user := int64(nonRoot)
	container := func(name string, command ...string) corev1.Container {
		return corev1.Container{
			Name: name, Image: set.Spec.Template.Spec.Containers[0].Image, Command: command,
			VolumeMounts: []corev1.VolumeMount{folder, {Name: "data", MountPath: "/data"}},
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: promPod, Namespace: promNamespace},
		Spec: corev1.PodSpec{
			NodeName: c.worker, ServiceAccountName: promAccount,
			TerminationGracePeriodSeconds: new(int64),
			SecurityContext:               &corev1.PodSecurityContext{RunAsUser: &user, FSGroup: &user},
			Containers: []corev1.Container{
				container("prometheus", promFolder+"/prometheus", "--config.file="+promFolder+"/prometheus.yaml",
					"--storage.tsdb.path=/data", fmt.Sprintf("--web.listen-address=:%d", promPort)),
				container("pod-status", promFolder+"/alerts", podStatusCommand),
			},
			Volumes: []corev1.Volume{
				{Name: "programs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: promFolder}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}, nil
}
